//! The frame of a page: its head with the verdicts, and at its end what a reader needs to judge and repeat.

use std::collections::BTreeSet;
use std::io::{self, Write};

use stats::Class;

use super::escape::esc;
use super::plot::sparkline;
use super::tone::tone;
use judge::compare::Comparison;
use judge::{Finding, Findings};

use crate::compare::words::findings as findings_of;
use crate::quantity::{Quantity, duration};
use crate::words::{count, factor_with_interval, list, percent, things};
use crate::{environment, sentences, spark};

const STYLE: &str = include_str!("style.css");
/// What plots need, in a page and alone.
pub(crate) const PLOT_STYLE: &str = include_str!("plot.css");
const SCRIPT: &str = include_str!("zoom.js");
const UPLOT: &str = include_str!("../../assets/uPlot-1.6.32.iife.min.js");
const UPLOT_STYLE: &str = include_str!("../../assets/uPlot-1.6.32.min.css");
const UPLOT_LICENSE: &str = include_str!("../../assets/uPlot-LICENSE");
/// The explanations of loads and of variants that are compared, for pages that have any.
const LOAD: &str =
    "<p>For a load, every point is the measurement of one trial at one level. All levels are judged.</p>\n";
const COMPARED: &str = "<dt>1.08× slower (1.04–1.12)</dt><dd>Compared with the best variant at the level \
    named, by time per operation, with an interval that is corrected for the number of ratios. The mean is \
    the geometric mean of the ratios at all levels that both reached.</dd>\n\
    <dt>place 2nd–3rd</dt><dd>The possible ranks of a variant: after those that are certainly better, \
    before those that are certainly worse. Each pair is compared at the largest level that both \
    reached.</dd>\n\
    <dt>load generator saturated</dt><dd>The load generator, not the server, limited the value: it is shown \
    and never compared.</dd>\n";
/// Places of a curve in the table of verdicts.
const SPARK_COLUMNS: usize = 40;

/// Writes everything up to the content.
pub(crate) fn open(title: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>\n{PLOT_STYLE}{STYLE}{UPLOT_STYLE}</style>\n</head>\n<body>\n<main>",
        esc(title)
    )
}

/// Writes what stands after the content; with the scripts when there is something to zoom.
pub(crate) fn close(zoom: bool, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "</main>")?;
    if zoom {
        writeln!(out, "<script>\n/*\n{UPLOT_LICENSE}*/\n{UPLOT}\n{SCRIPT}</script>")?;
    }
    writeln!(out, "</body>\n</html>")
}

/// The name of the page.
pub(crate) fn title(findings: &Findings) -> String {
    format!("{}: {}", findings.run.tool.name, systems(findings))
}

/// What was measured; systems that look alike have their names.
fn systems(findings: &Findings) -> String {
    let titles: Vec<String> = findings.systems.iter().map(environment::title).collect();
    match titles.first() {
        Some(first) if titles.len() > 1 && titles.iter().all(|title| title == first) => {
            let names: Vec<String> = findings.systems.iter().map(|system| system.name.clone()).collect();
            format!("{} on {first}", list(&names))
        }
        _ => list(&titles),
    }
}

/// The system, and the run in one sentence.
pub(crate) fn head(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let run = &findings.run;
    let program = format!("{} {}", run.tool.name, run.tool.version);
    let over = [program, run.preset.clone(), when(&run.started_at)];
    let over: Vec<String> = over.into_iter().filter(|part| !part.is_empty()).collect();
    writeln!(
        out,
        "<header><p class=\"over\">{}</p><h1>{}</h1><p class=\"lead\">{}</p>",
        esc(&over.join(" · ")),
        esc(&systems(findings)),
        esc(&in_one_sentence(findings)),
    )?;
    if let Some(surprises) = sentences::surprises(findings) {
        writeln!(out, "<p>{}.</p>", esc(&sentences::capital(&surprises)))?;
    }
    for note in sentences::notes(findings) {
        writeln!(out, "<p class=\"remark\">{}</p>", esc(&note))?;
    }
    writeln!(out, "</header>")
}

/// `2026-11-21 20:14 UTC` of an RFC 3339 time in UTC; anything else as it is.
pub(crate) fn when(started_at: &str) -> String {
    match (started_at.get(..10), started_at.get(10..11), started_at.get(11..16), started_at.ends_with('Z')) {
        (Some(day), Some("T"), Some(minute), true) => format!("{day} {minute} UTC"),
        _ => started_at.to_string(),
    }
}

/// The whole run in one sentence.
fn in_one_sentence(findings: &Findings) -> String {
    let judged = findings.series.iter().filter(|f| f.verdict.is_some()).count();
    if judged == 0 {
        return "There is nothing to judge.".into();
    }
    let said = |class, one: &str, many: &str| {
        let n = findings.of_class(class);
        (n > 0).then(|| format!("{} {}", count(n as u64), if n == 1 { one } else { many }))
    };
    let flat = findings.of_class(Class::Flat);
    let parts: Vec<String> = [
        (flat > 0)
            .then(|| format!("{} {} flat", count(flat as u64), if flat == 1 { "stays" } else { "stay" })),
        said(Class::SmallGrowth, "grows a little", "grow a little"),
        said(Class::Sublinear, "grows sublinearly", "grow sublinearly"),
        said(Class::LinearLike, "grows linearly", "grow linearly"),
        said(Class::Superlinear, "grows superlinearly", "grow superlinearly"),
        said(Class::ApproachingLimit, "approaches a limit", "approach a limit"),
        said(Class::Stepped, "is stepped", "are stepped"),
        said(Class::TwoLines, "lies on two lines", "lie on two lines"),
        said(Class::Decreasing, "falls", "fall"),
        said(Class::Value, "has one level", "have one level"),
        said(Class::Composite, "is mixed", "are mixed"),
        said(Class::Ambiguous, "is of unclear shape", "are of unclear shape"),
        said(Class::Uneven, "is uneven", "are uneven"),
        said(Class::Inconclusive, "is inconclusive", "are inconclusive"),
    ]
    .into_iter()
    .flatten()
    .collect();
    format!(
        "Of {}, {}. Flat means a change of at most {}, with {}.",
        things(judged, "series", "series"),
        list(&parts),
        percent(findings.margin),
        sentences::confidence(findings.alpha),
    )
}

/// The table of verdicts.
pub(crate) fn verdicts(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section><h2>Verdicts</h2>")?;
    super::matrix::write(findings, out)?;
    for system in &findings.systems {
        let series: Vec<(usize, &Finding)> =
            findings.series.iter().enumerate().filter(|(_, f)| f.key.system == system.name).collect();
        if series.is_empty() {
            continue;
        }
        if findings.systems.len() > 1 {
            writeln!(out, "<h3>{}</h3>", esc(&system.name))?;
        }
        let of = |finding: &Finding| findings.comparison(&finding.key);
        let (folded, open): (Vec<_>, Vec<_>) = series.into_iter().partition(|(_, f)| of(f).is_some());
        if !open.is_empty() {
            table(&open, out)?;
        }
        for series in folded.chunk_by(|a, b| a.1.key.workload == b.1.key.workload) {
            if let Some(compared) = series.first().and_then(|(_, finding)| of(finding)) {
                compared_variants(compared, series, out)?;
            }
        }
    }
    writeln!(out, "<p class=\"remark\">{}</p></section>", esc(&sentences::summary(findings)))
}

/// What was found of variants that are compared, and the verdict of each on demand.
fn compared_variants(
    compared: &Comparison,
    series: &[(usize, &Finding)],
    out: &mut dyn Write,
) -> io::Result<()> {
    let workload = esc(compared.workload.as_deref().unwrap_or_default());
    writeln!(out, "<h3>{workload}</h3><ul class=\"found\">")?;
    for finding in findings_of(compared) {
        writeln!(out, "<li>{}</li>", esc(&finding))?;
    }
    let verdicts = things(series.len(), "verdict", "verdicts");
    writeln!(out, "</ul><details><summary>{verdicts} of {workload}</summary>")?;
    table(series, out)?;
    writeln!(out, "</details>")
}

/// A row for each series.
fn table(series: &[(usize, &Finding)], out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<table class=\"verdicts\"><thead><tr>\
             <th scope=\"col\">Series</th><th scope=\"col\" class=\"num\">n</th>\
             <th scope=\"col\" class=\"num\">{} at the first n</th>\
             <th scope=\"col\" class=\"num\">at the last</th>\
             <th scope=\"col\" class=\"num\">Growth</th><th scope=\"col\">Verdict</th>\
             <th scope=\"col\"><span class=\"away\">Curve</span></th></tr></thead><tbody>",
        esc(&sentences::capital(sentences::what(series.iter().map(|(_, finding)| *finding))))
    )?;
    for (i, finding) in series {
        verdict_row(*i, finding, out)?;
    }
    writeln!(out, "</tbody></table>")
}

fn verdict_row(i: usize, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let mut words = Vec::new();
    let (mut range, mut low, mut high, mut growth, mut curve) =
        (String::new(), String::new(), String::new(), String::new(), String::new());
    if let Some(v) = &finding.verdict {
        words.push(format!(
            "<span class=\"word {}\">{}</span>",
            tone(finding),
            esc(&sentences::verdict(v, finding.unit))
        ));
        words.extend(
            sentences::gross_jump(v, finding.unit).map(|jump| format!("largest jump {}", esc(&jump))),
        );
        range = format!("{}–{}", count(v.n_low), count(v.n_high));
        (low, high) = finding.unit.estimates(v.cost_low, v.cost_high);
        growth = factor_with_interval(v.growth);
        curve = sparkline(&spark::heights(v, SPARK_COLUMNS), &format!("curve of {}", finding.label));
    }
    words.extend(
        finding
            .stops
            .iter()
            .map(|s| format!("<span class=\"word open\">{}</span>", esc(&sentences::stop(s)))),
    );
    if words.is_empty() {
        words.push("<span class=\"word open\">no number</span>".into());
    }
    let name = format!("<a href=\"#s{i}\">{}</a>", esc(&finding.label));
    if finding.verdict.is_none() {
        return writeln!(
            out,
            "<tr><th scope=\"row\">{name}</th><td class=\"verdict\" colspan=\"6\">{}</td></tr>",
            words.join("<br>")
        );
    }
    writeln!(
        out,
        "<tr><th scope=\"row\">{name}</th><td class=\"num range\" data-is=\"n\">{range}</td>\
         <td class=\"num\" data-is=\"first\">{low}</td><td class=\"num\" data-is=\"last\">{high}</td>\
         <td class=\"num\" data-is=\"growth\">{growth}</td><td class=\"verdict\">{}</td>\
         <td class=\"curve\">{curve}</td></tr>",
        words.join("<br>")
    )
}

/// The facts: those that say most at once, all of them on demand.
pub(crate) fn environment(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let keys: BTreeSet<&str> =
        findings.systems.iter().flat_map(|s| s.environment.keys()).map(String::as_str).collect();
    let mut keys: Vec<&str> = keys.into_iter().collect();
    keys.sort_by_key(|key| (judge::environment::importance(key), *key));
    let idle = |key: &str| {
        let mut values = findings.systems.iter().filter_map(|s| s.environment.get(key));
        values.all(|value| value == "Not affected")
    };
    let (first, rest): (Vec<&str>, Vec<&str>) =
        keys.iter().partition(|key| environment::says_much(key) && !idle(key));
    writeln!(out, "<section><h2>Environment</h2>")?;
    facts(findings, &first, out)?;
    if !rest.is_empty() {
        writeln!(out, "<details><summary>{}</summary>", things(rest.len(), "more fact", "more facts"))?;
        facts(findings, &rest, out)?;
        writeln!(out, "</details>")?;
    }
    writeln!(out, "</section>")
}

fn facts(findings: &Findings, keys: &[&str], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<div class=\"scroll\"><table class=\"facts\">")?;
    if findings.systems.len() > 1 {
        write!(out, "<thead><tr><th></th>")?;
        for system in &findings.systems {
            write!(out, "<th scope=\"col\">{}</th>", esc(&system.name))?;
        }
        writeln!(out, "</tr></thead>")?;
    }
    writeln!(out, "<tbody>")?;
    for key in keys {
        write!(out, "<tr><th scope=\"row\">{}</th>", esc(key))?;
        for system in &findings.systems {
            write!(out, "<td>{}</td>", esc(system.environment.get(*key).map_or("—", String::as_str)))?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")
}

/// What is needed to repeat the run.
pub(crate) fn repeat(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let run = &findings.run;
    let took = findings.end.as_ref().map_or("cut off".into(), |end| duration(end.elapsed_seconds));
    writeln!(
        out,
        "<section><h2>How to repeat it</h2><pre><code>{}</code></pre><table class=\"facts\"><tbody>",
        esc(&command(run))
    )?;
    let rows = [
        ("program", format!("{} {}, {}", run.tool.name, run.tool.version, run.tool.build)),
        ("preset", run.preset.clone()),
        ("seed", run.seed.to_string()),
        ("started", when(&run.started_at)),
        ("took", took),
        ("trials", sentences::planning(findings)),
        ("pinned", if run.pinned { "to one processor".into() } else { "no".to_string() }),
    ];
    for (name, value) in rows {
        writeln!(out, "<tr><th scope=\"row\">{name}</th><td>{}</td></tr>", esc(&value))?;
    }
    writeln!(out, "</tbody></table></section>")
}

/// The command line of a run, as a shell takes it.
pub(crate) fn command(run: &record::Run) -> String {
    run.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word of a command line as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// How the plots and the words are to be read, and what they do not say.
pub(crate) fn how_to_read(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let judged = findings.series.iter().filter(|f| f.verdict.is_some()).count();
    let text = include_str!("reading.html")
        .replace("{margin}", &percent(findings.margin))
        .replace("{confidence}", &percent(1.0 - findings.alpha))
        .replace("{error}", &percent(findings.alpha))
        .replace("{judged}", &things(judged, "verdict", "verdicts"))
        .replace("{load}", if findings.series.iter().any(|f| f.levels) { LOAD } else { "" })
        .replace("{compared}", if findings.comparisons.is_empty() { "" } else { COMPARED })
        .replace("{tick}", &super::figure::tick(findings))
        .replace("{planning}", &esc(&sentences::planning(findings)));
    writeln!(out, "{text}")
}
