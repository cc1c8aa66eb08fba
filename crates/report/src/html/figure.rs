//! One workload in the page: its description, and the plots and figures of each of its series.

use std::io::{self, Write};

use judge::compare::{Comparison, over_systems};
use judge::series::{sweeps, trials};
use judge::verdict::known_bound;
use judge::{Cause, Finding, Findings, Growth};
use record::{Direction, Expect, SeriesKey, Workload};
use stats::{Sweep, Verdict};

use super::page::{filter_classes, script_json};
use super::plot::{Subject, Tail};
use super::points::ZoomPoints;
use super::sheet::Panel;
use super::svg::Kind;
use super::tracks::{Track, draw};
use super::{Numbered, Source, esc, phases, verdicts};
use crate::compare::{write_means, write_variants};
use crate::document::{Element, Table, markdown, page};
use crate::place::range;
use crate::quantity::Quantity;
use crate::sentences;
use crate::words::{
    bound, count, count_with_interval, factor_with_interval, grouped, list, number_with_interval, percent,
    things,
};

/// Writes a workload with its series on all systems; those of the cards above are named.
pub(super) fn workload(source: &Source<'_>, workload: &Workload, out: &mut dyn Write) -> io::Result<()> {
    let all = source.series(|finding| finding.key.workload == workload.name);
    if all.is_empty() {
        return Ok(());
    }
    let (unsupported, all): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, f)| is_unsupported(f));
    let (carded, series): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, f)| source.card(f).is_some());
    writeln!(out, "<section class=\"workload\"><h2>{}</h2>", esc(&workload.name))?;
    let summary = "Question, method and expected answer";
    writeln!(out, "<details><summary>{summary}</summary><div class=\"prose\">")?;
    page::blocks(&markdown::blocks(&workload.page), 4, out)?;
    writeln!(out, "</div></details>")?;
    elsewhere(source, &carded, out)?;
    not_here(source.findings, &unsupported, out)?;
    phases::write(source, workload, out)?;
    let is_of = |compared: &Comparison| compared.workload.as_ref() == Some(&workload.name);
    let comparisons = source.findings.comparisons.iter().enumerate();
    let comparisons: Vec<_> = comparisons.filter(|(_, compared)| is_of(compared)).collect();
    for (i, compared) in &comparisons {
        if source.findings.systems.len() > 1 {
            writeln!(
                out,
                "<h3>On {}</h3>",
                esc(compared.contenders.first().map_or("", |contender| &contender.system.name))
            )?;
        }
        write_variants(*i, source.findings, compared, out)?;
    }
    let means = over_systems(&source.findings.comparisons);
    for (i, means) in means.iter().enumerate().filter(|(_, means)| means.workload == workload.name) {
        write_means(i, means, out)?;
    }
    // Figures are many; a reader opens those of interest.
    if !series.is_empty() {
        let figures = things(series.len(), "series: plots and numbers", "series: plots and numbers of each");
        writeln!(out, "<details class=\"list\"><summary>{figures}</summary>")?;
    }
    let end = if series.is_empty() { "" } else { "</details>" };
    for (i, finding) in series {
        let heading = format!("<h3>{}</h3>", esc(&sentences::label(source.findings, finding)));
        figure(source, (i, finding), &heading, out)?;
    }
    writeln!(out, "{end}</section>")
}

/// Whether it was not measured because the system lacks a facility.
fn is_unsupported(finding: &Finding) -> bool {
    let mut stops = finding.stops.iter();
    finding.verdict.is_none() && stops.any(|stop| matches!(stop.cause, Cause::Unsupported { .. }))
}

/// The series whose figures are among the findings.
fn elsewhere(source: &Source<'_>, series: &[Numbered<'_>], out: &mut dyn Write) -> io::Result<()> {
    let link = |(i, finding): &Numbered<'_>| {
        let number = source.card(finding)?;
        let label = esc(&sentences::label(source.findings, finding));
        Some(format!("<a href=\"#s{i}\">{label} (finding {number})</a>"))
    };
    let links: Vec<String> = series.iter().filter_map(link).collect();
    match links.len() {
        0 => Ok(()),
        _ => writeln!(out, "<p class=\"remark\">Shown above: {}.</p>", list(&links)),
    }
}

/// The variants that a system lacks, in one line, those with one reason together.
fn not_here(findings: &Findings, series: &[Numbered<'_>], out: &mut dyn Write) -> io::Result<()> {
    if series.is_empty() {
        return Ok(());
    }
    let reason = |(_, finding): &Numbered<'_>| {
        let words = list(&finding.stops.iter().map(sentences::stop).collect::<Vec<_>>());
        (words, sentences::variant_label(findings, finding))
    };
    let said = |(words, labels): &(String, Vec<String>)| format!("{}: {}", list(labels), esc(words));
    let ids = series.iter().map(|(i, _)| format!("<i id=\"s{i}\"></i>")).collect::<String>();
    let lines: Vec<String> = grouped(series.iter().map(reason)).iter().map(said).collect();
    writeln!(out, "<p class=\"remark\">{ids}{}.</p>", lines.join("; "))
}

/// The figure of a series: its sentences, the plots of its cost, and the rest on demand.
pub(super) fn figure(
    source: &Source<'_>,
    (i, finding): Numbered<'_>,
    heading: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Source { recording, findings, cloud_bytes, .. } = source;
    let sweeps = sweeps(recording, &finding.key);
    let classes = filter_classes(findings, finding);
    writeln!(out, "<figure id=\"s{i}\" class=\"{classes}\">{heading}")?;
    says(findings, finding, out)?;
    let sentence =
        finding.verdict.as_ref().map(|v| sentences::verdict_sentence(v, finding.unit, findings.alpha));
    let sentence = sentence.unwrap_or_default();
    let subject = subject(findings, (i, finding), &sweeps, &sentence, *cloud_bytes);
    let (linear, log) = (subject.cost(Kind::Linear), subject.cost(Kind::Log));
    if linear.is_none() && finding.verdict.is_none() {
        remarks(finding, out)?;
        return writeln!(out, "</figure>");
    }
    writeln!(out, "{}", legend(findings, finding))?;
    writeln!(out, "<div class=\"grid2\">")?;
    let above = [&linear, &log].map(|plot| plot.as_ref().map_or(0, |plot| plot.points_above));
    for (shows, plot) in [(Panel::Linear, linear), (Panel::Logarithmic, log)] {
        if let Some(plot) = plot {
            let title = shows.title(sentences::what_of(finding));
            panel(&(title + &plot.above()), &plot.svg, out)?;
        }
    }
    writeln!(out, "</div>")?;
    zoomable(source, finding, &sweeps, out)?;
    writeln!(out, "<details class=\"more\"><summary>Changes, percentiles and numbers</summary>")?;
    more(source, (i, finding), &subject, out)?;
    caption(finding, above, out)?;
    remarks(finding, out)?;
    writeln!(out, "</details></figure>")
}

/// The sentences about a series: its verdict, other findings, and how trials stopped.
fn says(findings: &Findings, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    if let Some(v) = &finding.verdict {
        let (words, rest) = sentences::verdict_and_rest(v, finding.unit, findings.alpha);
        let tone = verdicts::tone(finding);
        let words = page::markup(&verdicts::of_class(&words, finding, v.class));
        writeln!(out, "<p class=\"says {tone}\">{words}{}.</p>", esc(&rest))?;
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
        let words = page::markup(&verdicts::of_stop(words.trim_end_matches('.')));
        writeln!(out, "<p class=\"says open\">{words}.{}</p>", advice.unwrap_or_default())?;
    }
    Ok(())
}

/// The plots and the numbers beyond the cost over n.
fn more(
    source: &Source<'_>,
    (i, finding): Numbered<'_>,
    subject: &Subject<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "<div class=\"grid2\">")?;
    if let Some(svg) = subject.change() {
        panel(&Panel::Change.title(sentences::what_of(finding)), &svg, out)?;
    }
    let range = finding.verdict.as_ref().filter(|_| !finding.levels).map(|v| (v.n_low, v.n_high));
    if let Some(tail) = Tail::of(subject.sweeps, range) {
        let head = subject.head_of_change();
        let svg = tail.draw(&subject.id, &finding.label, finding.unit, finding.verdict.as_ref(), head);
        panel(&tail.title(), &svg, out)?;
    }
    if let Some(verdict) = &finding.verdict {
        let ways = ways(source.findings, finding, i);
        if let Some(svg) = &ways {
            panel("The way up and the way down, medians", svg, out)?;
        }
        numbers(source.findings, finding, verdict, ways.is_none() && !finding.levels, out)?;
    }
    writeln!(out, "</div>")
}

/// The points of a series, for the script that zooms into them.
fn zoomable(
    source: &Source<'_>,
    finding: &Finding,
    sweeps: &[Sweep<'_>],
    out: &mut dyn Write,
) -> io::Result<()> {
    let of = (finding.grows.as_str(), finding.unit);
    let numbers = trials(source.recording, &finding.key);
    let sweeps: Vec<(u32, Sweep<'_>)> = numbers.into_iter().zip(sweeps.iter().copied()).collect();
    if let Some(points) = ZoomPoints::of(&sweeps, finding.verdict.as_ref(), of, source.zoom_bytes) {
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

/// The subject of the plots of a series.
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

/// A plot with its title above it.
fn panel(title: &str, svg: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<div><p class=\"panel\">{}</p>{svg}</div>", esc(title))
}

/// The findings beside the word, each a line.
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

/// The legend of a figure, by the classes in the style sheet.
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
    rows.extend(Growth::from_verdict(v).into_iter().flat_map(|growth| of_change(finding, v, growth, &what)));
    if finding.expect != Expect::Any {
        rows.push(("Documented expectation".into(), expected(findings, finding)));
    }
    rows.push(("Trials".into(), count(v.trials as u64)));
    if finding.tick_seconds > 0.0 {
        rows.push(("Clock tick".into(), finding.unit.with_digits(finding.tick_seconds, 2)));
    }
    // Alone they fill both columns of the page.
    let each = if wide { rows.len().div_ceil(2) } else { rows.len() };
    let table = |rows: &[(String, String)]| {
        let mut table = Table { class: "numbers", ..Table::without_headings(2) };
        rows.iter().for_each(|(name, value)| table.push([name, value]));
        table.into()
    };
    page::blocks(&rows.chunks(each).map(table).collect::<Vec<Element>>(), 4, out)
}

/// The rows for several n: the cost at the last, and the change.
fn of_change(finding: &Finding, v: &Verdict, growth: Growth, what: &str) -> Vec<(String, String)> {
    let unit = finding.unit;
    let mut rows: Vec<(String, String)> = vec![
        (format!("{what} at n = {}", count(growth.to.n)), unit.estimate_with_interval(growth.to.cost)),
        ("Growth".into(), factor_with_interval(growth.ratio)),
    ];
    if let Some(block) = judge::worse_before_the_end(v, unit) {
        let worst = factor_with_interval(block.relative);
        rows.push((format!("Worst, at n = {}", range(block.n_low, block.n_high)), worst));
    }
    if let Some(each) = judge::verdict::slope_each(v, unit) {
        let name = if each == 1 { "For each".into() } else { format!("Per {} more", count(each)) };
        rows.push((name, unit.signed_interval(v.marginal_cost, each as f64)));
        if let Some(size) = v.doubling_size {
            rows.push((format!("{what} doubles every"), count_with_interval(size)));
        }
    }
    rows.push(("Slope in the last decade".into(), number_with_interval(v.top_decade_slope)));
    rows.extend(known_bound(v).map(|known| ("Change at most".into(), bound(known))));
    rows
}

fn expected(findings: &Findings, finding: &Finding) -> String {
    let word = sentences::expectation(finding.expect);
    match findings.as_expected(finding) {
        Some(true) => format!("{word}, which the verdict matches"),
        Some(false) => format!("{word}, which the verdict contradicts"),
        None => word.to_string(),
    }
}

fn caption(finding: &Finding, [linear, log]: [usize; 2], out: &mut dyn Write) -> io::Result<()> {
    let way = match finding.key.direction {
        Direction::Up => "",
        Direction::Down => " Measured on the way down, while n fell.",
    };
    let edge = match linear {
        0 => String::new(),
        n => format!(
            " Above the linear axes there are {}, above the logarithmic ones {}; the strip at the top has \
             them, up to the largest.",
            things(n, "point", "points"),
            count(log as u64)
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

/// The tick of a clock in words, for the page that explains: for imported numbers it may be unknown.
pub(super) fn tick(findings: &Findings) -> String {
    let timed = || findings.series.iter().filter(|finding| finding.tick_seconds > 0.0);
    let Some(first) = timed().next() else { return "not known".into() };
    first.unit.cost(judge::series::median(timed().map(|finding| finding.tick_seconds)))
}
