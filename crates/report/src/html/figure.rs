//! One workload in the page: what it is, and for each of its series the plots and the figures.

use std::io::{self, Write};

use record::{Direction, Expect, Recording, SeriesKey, Workload};
use stats::{Sweep, Verdict};

use super::escape::{esc, script_json};
use super::markdown;
use super::panel::Panel;
use super::plot::Subject;
use super::scale::Kind;
use super::tail::Tail;
use super::tracks::{Track, draw};
use super::zoom::Points;
use crate::compare::write_html_part;
use crate::quantity::Quantity;
use crate::sentences;
use crate::words::{count, count_with_interval, factor_with_interval, number_with_interval, percent, things};
use judge::compare::Comparison;
use judge::series::sweeps;
use judge::{Finding, Findings};

/// What all pictures of clouds may take together, before base64 makes them a third larger.
const CLOUD_BYTES: usize = 1_600_000;
/// What the points that can be zoomed may take together.
const ZOOM_BYTES: usize = 1_100_000;

/// The limits of one series: its two clouds and its points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) cloud: usize,
    pub(crate) zoom: usize,
}

impl Budget {
    /// Shares what there is between the series that have points.
    pub(super) fn of(findings: &Findings) -> Budget {
        let drawn = findings.series.iter().filter(|f| f.measurements > 0).count().max(1);
        Budget { cloud: (CLOUD_BYTES / 2 / drawn).min(60_000), zoom: (ZOOM_BYTES / drawn).min(400_000) }
    }
}

/// Writes a workload with all of its series on all systems.
pub(super) fn workload(
    recording: &Recording,
    findings: &Findings,
    workload: &Workload,
    budget: Budget,
    out: &mut dyn Write,
) -> io::Result<()> {
    let series: Vec<(usize, &Finding)> =
        findings.series.iter().enumerate().filter(|(_, f)| f.key.workload == workload.name).collect();
    if series.is_empty() {
        return Ok(());
    }
    writeln!(out, "<section class=\"workload\"><h2>{}</h2>", esc(&workload.name))?;
    writeln!(out, "<div class=\"prose\">{}</div>", markdown::render(&workload.page))?;
    let is_of = |compared: &Comparison| compared.workload.as_ref() == Some(&workload.name);
    let comparisons = findings.comparisons.iter().enumerate().filter(|(_, compared)| is_of(compared));
    let comparisons: Vec<(usize, &Comparison)> = comparisons.collect();
    for (i, compared) in &comparisons {
        if findings.systems.len() > 1 {
            writeln!(
                out,
                "<h3>On {}</h3>",
                esc(compared.contenders.first().map_or("", |contender| &contender.system.name))
            )?;
        }
        write_html_part(*i, compared, out)?;
    }
    // The figures of single variants are folded: they are many, and the common ones have them all.
    if !comparisons.is_empty() {
        let figures = things(series.len(), "series by itself", "series, each by itself");
        writeln!(out, "<details><summary>{figures}</summary>")?;
    }
    for (i, finding) in series {
        figure(recording, findings, i, finding, budget, out)?;
    }
    writeln!(out, "{}</section>", if comparisons.is_empty() { "" } else { "</details>" })
}

fn figure(
    recording: &Recording,
    findings: &Findings,
    i: usize,
    finding: &Finding,
    budget: Budget,
    out: &mut dyn Write,
) -> io::Result<()> {
    let sweeps = sweeps(recording, &finding.key);
    let sentence =
        finding.verdict.as_ref().map(|v| sentences::verdict_sentence(v, finding.unit, findings.alpha));
    let sentence = sentence.unwrap_or_default();
    writeln!(out, "<figure id=\"s{i}\"><h3>{}</h3>", esc(&sentences::label(findings, finding)))?;
    if !sentence.is_empty() {
        writeln!(out, "<p class=\"says {}\">{}.</p>", super::tone::tone(finding), esc(&sentence))?;
    }
    found(findings, finding, out)?;
    if let Some(limited) = &finding.limited {
        writeln!(
            out,
            "<p class=\"says open\">{}.</p>",
            esc(&sentences::capital(&sentences::limited(limited)))
        )?;
    }
    for stop in &finding.stops {
        let advice = sentences::advice(stop).map(|a| format!(" <span class=\"advice\">{}</span>", esc(a)));
        let words = sentences::capital(&sentences::stop(stop));
        writeln!(
            out,
            "<p class=\"says open\">{}.{}</p>",
            esc(words.trim_end_matches('.')),
            advice.unwrap_or_default()
        )?;
    }
    let subject = subject(findings, (i, finding), &sweeps, &sentence, budget.cloud);
    let (linear, log, change) = (subject.cost(Kind::Linear), subject.cost(Kind::Log), subject.change());
    if linear.is_none() && finding.verdict.is_none() {
        remarks(finding, out)?;
        return writeln!(out, "</figure>");
    }
    writeln!(out, "{}", legend(findings, finding))?;
    writeln!(out, "<div class=\"grid2\">")?;
    let above = linear.as_ref().map_or(0, |p| p.above);
    for (shows, plot) in [(Panel::Linear, linear), (Panel::Logarithmic, log)] {
        if let Some(plot) = plot {
            panel(&shows.title(sentences::what_of(finding)), &plot.svg, out)?;
        }
    }
    if let Some(svg) = change {
        panel(&Panel::Change.title(sentences::what_of(finding)), &svg, out)?;
    }
    let range = finding.verdict.as_ref().filter(|_| !finding.levels).map(|v| (v.n_low, v.n_high));
    if let Some(tail) = Tail::of(&sweeps, range) {
        let head = subject.head_of_change();
        let svg = tail.draw(&subject.id, &finding.label, finding.unit, finding.verdict.as_ref(), head);
        panel(&tail.title(), &svg, out)?;
    }
    if let Some(verdict) = &finding.verdict {
        let ways = ways(findings, finding, i);
        if let Some(svg) = &ways {
            panel("The way up and the way down, medians", svg, out)?;
        }
        numbers(findings, finding, verdict, ways.is_none() && !finding.levels, out)?;
    }
    writeln!(out, "</div>")?;
    caption(finding, above, out)?;
    remarks(finding, out)?;
    zoomable(finding, &sweeps, budget.zoom, out)?;
    writeln!(out, "</figure>")
}

/// The points of a series, for the script that zooms into them.
fn zoomable(
    finding: &Finding,
    sweeps: &[Sweep<'_>],
    bytes_max: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let of = (finding.grows.as_str(), finding.unit);
    if let Some(points) = Points::of(sweeps, finding.verdict.as_ref(), of, bytes_max) {
        let note = if points.shown == points.of {
            format!("all {} points", count(points.of as u64))
        } else {
            format!(
                "showing {} of {} points: of each stretch of n the lowest, the highest and one between",
                count(points.shown as u64),
                count(points.of as u64)
            )
        };
        writeln!(
            out,
            "<div class=\"zoom\" hidden data-note=\"{}\"><script type=\"application/json\">{}</script></div>",
            esc(&note),
            script_json(&points)?
        )?;
    }
    Ok(())
}

/// What the plots of a series show.
pub(super) fn subject<'a>(
    findings: &Findings,
    (i, finding): (usize, &'a Finding),
    sweeps: &'a [Sweep<'a>],
    sentence: &'a str,
    bytes_max: usize,
) -> Subject<'a> {
    Subject {
        id: format!("p{i}"),
        label: &finding.label,
        what: sentences::what_of(finding),
        grows: &finding.grows,
        sweeps,
        verdict: finding.verdict.as_ref(),
        stops: &finding.stops,
        margin: findings.margin,
        unit: finding.unit,
        sentence,
        bytes_max,
    }
}

/// A plot with what it shows above it.
fn panel(title: &str, svg: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<div><p class=\"panel\">{}</p>{svg}</div>", esc(title))
}

/// What was found beside the word, each a line.
fn found(findings: &Findings, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let all = sentences::beside(findings, finding);
    if all.is_empty() {
        return Ok(());
    }
    let lines: String =
        all.iter().map(|beside| format!("<li>{}</li>", esc(&sentences::sentence(&beside.text)))).collect();
    writeln!(out, "<ul class=\"found\">{lines}</ul>")
}

/// The medians of both ways of an operation, in the figure of either.
fn ways(findings: &Findings, finding: &Finding, i: usize) -> Option<String> {
    let other = findings.series.iter().find(|other| {
        let turned = SeriesKey { direction: other.key.direction, ..finding.key.clone() };
        other.key == turned && other.key != finding.key
    })?;
    let (up, down) = match finding.key.direction {
        Direction::Up => (finding, other),
        Direction::Down => (other, finding),
    };
    let tracks = [
        Track::of_verdict(0, "up", up.verdict.as_ref()?),
        Track::of_verdict(1, "down", down.verdict.as_ref()?),
    ];
    let described = (&*format!("Median of {}, both ways", finding.label), "Each way is judged by itself.");
    draw(&format!("p{i}-ways"), described, (&finding.grows, finding.unit), &tracks)
}

/// What the colours of a figure are, by their classes in the style sheet.
pub(super) fn keys(findings: &Findings, finding: &Finding) -> Vec<(&'static str, String)> {
    let verdict = finding.verdict.as_ref();
    let mut keys = match verdict.and_then(|v| v.lines.as_ref()) {
        Some(lines) => vec![
            ("lower", format!("lower line, {} of the points", percent(lines.lower.share))),
            ("upper", format!("upper line, {} of the points", percent(lines.upper.share))),
        ],
        None => vec![("cloud", "all points".into())],
    };
    keys.push(("line", "median".into()));
    keys.push(("band", format!("its {} interval", percent(1.0 - findings.alpha))));
    keys.push(("corridor", format!("±{}", percent(findings.margin))));
    if verdict.is_some_and(|v| !v.fit.is_empty()) {
        keys.push(("fit", "fitted shape".into()));
    }
    if verdict.is_some_and(|v| !v.spikes.repeated.is_empty()) {
        keys.push(("again", "spikes trial after trial".into()));
    }
    keys
}

fn legend(findings: &Findings, finding: &Finding) -> String {
    let key =
        |(class, words): &(&str, String)| format!("<span><b class=\"key {class}\"></b>{}</span>", esc(words));
    format!("<p class=\"legend\">{}</p>", keys(findings, finding).iter().map(key).collect::<String>())
}

/// The figures beside the plots.
fn numbers(
    findings: &Findings,
    finding: &Finding,
    v: &Verdict,
    wide: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let what = sentences::capital(sentences::what_of(finding));
    let mut rows: Vec<(String, String)> =
        vec![(format!("{what} at n = {}", count(v.n_low)), finding.unit.estimate_with_interval(v.cost_low))];
    if v.n_low < v.n_high {
        rows.extend(of_change(finding, v, &what));
    }
    if finding.expect != Expect::Any {
        rows.push(("Expected".into(), expected(findings, finding)));
    }
    rows.push(("Trials".into(), count(v.trials as u64)));
    if finding.tick_seconds > 0.0 {
        rows.push(("Clock tick".into(), finding.unit.with_digits(finding.tick_seconds, 2)));
    }
    // Beside nothing they fill both columns of the page.
    let each = if wide { rows.len().div_ceil(2) } else { rows.len() };
    for rows in rows.chunks(each) {
        writeln!(out, "<table class=\"numbers\"><tbody>")?;
        for (name, value) in rows {
            writeln!(out, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>", esc(name), esc(value))?;
        }
        writeln!(out, "</tbody></table>")?;
    }
    Ok(())
}

/// What several n tell: the cost at the last, and how it gets there.
fn of_change(finding: &Finding, v: &Verdict, what: &str) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = vec![
        (format!("{what} at n = {}", count(v.n_high)), finding.unit.estimate_with_interval(v.cost_high)),
        ("Growth".into(), factor_with_interval(v.growth)),
    ];
    // A cost per object means nothing where one jump is most of the growth; nor does a rate by the object.
    if sentences::gross_jump(v, finding.unit).is_none() && !finding.unit.more_is_better() {
        rows.push((
            format!("Per {} more", count(1000)),
            finding.unit.signed_interval(v.marginal_cost, 1000.0),
        ));
        if let Some(size) = v.doubling_size {
            rows.push((format!("{what} doubles every"), count_with_interval(size)));
        }
    }
    rows.push(("Slope in the last decade".into(), number_with_interval(v.top_decade_slope)));
    rows.push(("Largest change".into(), percent(v.peak) + &sentences::at_most(v)));
    rows
}

fn expected(findings: &Findings, finding: &Finding) -> String {
    let word = sentences::expectation(finding.expect);
    match findings.as_expected(finding) {
        Some(true) => format!("{word}, as measured"),
        Some(false) => format!("{word}, unlike measured"),
        None => word.to_string(),
    }
}

fn caption(finding: &Finding, above: usize, out: &mut dyn Write) -> io::Result<()> {
    let way = match finding.key.direction {
        Direction::Up => "",
        Direction::Down => " Measured on the way down, while n fell.",
    };
    let edge = match above {
        0 => String::new(),
        n => format!(
            " On the linear axes {} above the edge, drawn at it; the logarithmic axes show all.",
            things(n, "point is", "points are")
        ),
    };
    writeln!(
        out,
        "<figcaption>{} {} in {}.{way}{edge}</figcaption>",
        esc(&sentences::sentence(&finding.summary)),
        things(finding.measurements, "point", "points"),
        things(finding.trials, "trial", "trials"),
    )
}

fn remarks(finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    for remark in sentences::remarks(finding) {
        writeln!(out, "<p class=\"remark\">{}</p>", esc(&remark))?;
    }
    Ok(())
}

/// The tick of a clock in words, for the page that explains: of the numbers of others it may be unknown.
pub(super) fn tick(findings: &Findings) -> String {
    let timed = || findings.series.iter().filter(|finding| finding.tick_seconds > 0.0);
    let Some(first) = timed().next() else { return "not known".into() };
    first.unit.cost(judge::series::median(timed().map(|finding| finding.tick_seconds)))
}
