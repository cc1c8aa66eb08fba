//! The frame of a page: its head with the verdicts, the bar above it, its end with the facts to judge and
//! repeat the run. Strings from any source are made safe for it here.

use std::collections::BTreeSet;
use std::io::{self, Write};

use judge::compare::Comparison;
use judge::{Finding, Findings};
use record::System;

use crate::compare::definitions;
use crate::document::page::markup;
use crate::document::{Column, Element, Fold, Section, Table, Text, Tone};
use crate::overview::{self, Kind};
use crate::quantity::duration;
use crate::text::printable;
use crate::words::{list, percent, things};
use crate::{sentences, shell};

const STYLE: &str = include_str!("style.css");
/// The styles of plots, in a page and alone.
pub(crate) const PLOT_STYLE: &str = include_str!("plot.css");
const ZOOM_SCRIPT: &str = include_str!("zoom.js");
const FILTER_SCRIPT: &str = include_str!("filter.js");
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
    and never compared. Where a client is measured, <em>limited by the sink</em> says the same of the server \
    that it sends to.</dd>\n";

/// Systems beyond which a title has their names only.
const DESCRIBED_MOST: usize = 2;

/// A filter: its class in the page, and its name.
const FILTERS: [(&str, &str); 4] = [
    ("is-changed", "changed"),
    ("is-flat", "flat"),
    ("is-undecided", "undecided"),
    ("is-unlike", "unexpected"),
];

/// Links of a page to other files of its site; a page that stands alone has none.
#[derive(Clone, Debug, Default)]
pub struct PageLinks {
    /// The way to neighbouring pages, above all of the page.
    pub way: Text,
    /// Address of its script, which is in the page without one.
    pub script: Option<String>,
}

/// Writes everything up to the content.
///
/// # Errors
/// Those of `out`.
pub fn open(title: &str, way: &Text, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline' 'self'\">\n\
         <title>{}</title>\n<style>\n{PLOT_STYLE}{STYLE}{UPLOT_STYLE}</style>\n</head>\n<body>\n<main>",
        esc(title)
    )?;
    match way.is_empty() {
        true => Ok(()),
        false => writeln!(out, "<nav class=\"way\" aria-label=\"Way\">{}</nav>", markup(way)),
    }
}

/// Writes the part after the content.
///
/// # Errors
/// Those of `out`.
pub fn close(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "</main>\n</body>\n</html>")
}

/// The same behind points that can be zoomed.
pub(super) fn close_with_script(links: &PageLinks, out: &mut dyn Write) -> io::Result<()> {
    match &links.script {
        Some(address) => writeln!(out, "<script src=\"{}\"></script>", esc(address))?,
        None => writeln!(out, "<script>\n{}</script>", script())?,
    }
    close(out)
}

/// The script of pages with points to zoom. A server may send it apart from them.
pub fn script() -> String {
    format!("/*\n{UPLOT_LICENSE}*/\n{UPLOT}\n{ZOOM_SCRIPT}{FILTER_SCRIPT}")
}

/// A string from any source, safe to stand in the text or in an attribute of a page.
pub fn esc(text: &str) -> String {
    let text = printable(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A document for a script, safe to stand inside a `<script>` element.
pub(super) fn script_json<T: serde::Serialize>(value: &T) -> io::Result<String> {
    Ok(serde_json::to_string(value)?
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029"))
}

/// Writes the bar: a button for each filter that shows something, and links to the parts that are there.
pub(super) fn bar(findings: &Findings, parts: &[(&str, &str)], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<nav class=\"bar\" aria-label=\"Parts of this page\"><div class=\"filters\" hidden>")?;
    let all: Vec<String> = findings.series.iter().map(|finding| filter_classes(findings, finding)).collect();
    let shows = |class: &str| all.iter().any(|classes| classes.split(' ').any(|one| one == class));
    for (class, name) in FILTERS.into_iter().filter(|(class, _)| shows(class)) {
        writeln!(
            out,
            "<button type=\"button\" data-show=\"{class}\" aria-pressed=\"false\">{name}</button>"
        )?;
    }
    writeln!(
        out,
        "<input type=\"search\" placeholder=\"Search\" aria-label=\"Search the series\">\
         <output></output></div><div class=\"parts\">"
    )?;
    for (id, name) in parts {
        writeln!(out, "<a href=\"#{id}\">{}</a>", esc(name))?;
    }
    writeln!(out, "</div></nav>")
}

/// The classes by which a row, a card or a figure of a series is shown or hidden.
pub(super) fn filter_classes(findings: &Findings, finding: &Finding) -> String {
    let of_kind = match Kind::of(finding) {
        Kind::Worse | Kind::GrowsLittle | Kind::Better | Kind::Uneven => "is-changed",
        Kind::Flat => "is-flat",
        Kind::Undecided | Kind::TooShort => "is-undecided",
        Kind::OneLevel | Kind::Compared | Kind::NoNumber => "is-other",
    };
    let is_unlike = findings.as_expected(finding) == Some(false);
    format!("series {of_kind}{}", if is_unlike { " is-unlike" } else { "" })
}

/// The name of the page.
pub(crate) fn title(findings: &Findings) -> String {
    format!("{}: {}", findings.run.tool.name, systems(findings))
}

/// The measured systems; those that look alike have their names. One that did not describe itself looks like
/// the others.
pub(super) fn systems(findings: &Findings) -> String {
    let described = findings.systems.iter().filter(|system| !system.environment.is_empty());
    let described: Vec<String> = described.map(sentences::system_title).collect();
    let names = || list(&findings.systems.iter().map(|system| system.name.clone()).collect::<Vec<_>>());
    match described.first() {
        Some(first) if findings.systems.len() > 1 && described.iter().all(|title| title == first) => {
            format!("{} on {first}", names())
        }
        _ if findings.systems.len() > DESCRIBED_MOST => names(),
        _ => list(&findings.systems.iter().map(sentences::system_title).collect::<Vec<_>>()),
    }
}

/// Program, preset and time, above the title.
pub(super) fn over(findings: &Findings) -> String {
    let run = &findings.run;
    let program = format!("{} {}", run.tool.name, run.tool.version);
    let over = [program, run.preset.clone(), when(&run.started_at)];
    let over: Vec<String> = over.into_iter().filter(|part| !part.is_empty()).collect();
    over.join(" · ")
}

/// The findings about the workloads that the user asked for, with their remarks.
pub(super) fn head(findings: &Findings, asked: &Findings) -> Vec<Element> {
    let bound = format!(
        " means a change of at most {}, with {}.",
        percent(findings.margin),
        sentences::confidence(findings.alpha)
    );
    let mut head: Vec<Element> = Vec::new();
    if !asked.series.is_empty() || findings.series.is_empty() {
        head.push(Text::from(overview::counts(asked)).into());
        head.push(Text::linked("Flat", Tone::Faint, "#v-flat").and(Text::toned(bound, Tone::Faint)).into());
    }
    let beside = sentences::clients(findings).into_iter().chain(sentences::backgrounds(findings));
    let surprises = sentences::surprises(asked).into_iter().chain(beside);
    head.extend(surprises.map(|words| Text::from(sentences::capital(&words) + ".").into()));
    let notes = sentences::notes(findings);
    let mut notes = notes.into_iter().map(|note| Text::toned(note, Tone::Faint).into());
    head.extend(notes.next());
    let others: Vec<Element> = notes.collect();
    if !others.is_empty() {
        let title = things(others.len(), "more remark", "more remarks").into();
        head.push(Fold { title, blocks: others, ..Fold::default() }.into());
    }
    head
}

/// `2026-11-21 20:14 UTC` of an RFC 3339 time in UTC; anything else as it is.
pub(crate) fn when(started_at: &str) -> String {
    match (started_at.get(..10), started_at.get(10..11), started_at.get(11..16), started_at.ends_with('Z')) {
        (Some(day), Some("T"), Some(minute), true) => format!("{day} {minute} UTC"),
        _ => started_at.to_string(),
    }
}

/// The facts: the most important ones at once, all of them on demand.
pub(super) fn environment(findings: &Findings) -> Section {
    let keys: BTreeSet<&str> =
        findings.systems.iter().flat_map(|s| s.environment.keys()).map(String::as_str).collect();
    let mut keys: Vec<&str> = keys.into_iter().collect();
    keys.sort_by_key(|key| (judge::environment::importance(key), *key));
    let idle = |key: &str| {
        let mut values = findings.systems.iter().filter_map(|s| s.environment.get(key));
        values.all(|value| value == "Not affected")
    };
    let (first, rest): (Vec<&str>, Vec<&str>) =
        keys.iter().partition(|key| sentences::says_much(key) && !idle(key));
    let mut section = Section { id: "environment".into(), ..Section::new("Environment") };
    section.push(facts(findings, &first));
    if !rest.is_empty() {
        let title = things(rest.len(), "more fact", "more facts").into();
        section.push(Fold { title, blocks: vec![facts(findings, &rest).into()], ..Fold::default() });
    }
    section
}

fn facts(findings: &Findings, keys: &[&str]) -> Table {
    let several = findings.systems.len() > 1;
    let name = |system: &System| if several { Column::from(system.name.as_str()) } else { Column::default() };
    let columns = std::iter::once(Column::default()).chain(findings.systems.iter().map(name)).collect();
    let mut table = Table { class: "facts", ..Table::of_columns(columns) };
    for key in keys {
        let value = |system: &System| system.environment.get(*key).map_or("—", String::as_str).to_owned();
        let values = findings.systems.iter().map(value);
        table.push(std::iter::once((*key).to_owned()).chain(values).collect::<Vec<String>>());
    }
    table
}

/// The facts to repeat the run.
pub(super) fn repeat(findings: &Findings) -> Section {
    let run = &findings.run;
    let took = findings.end.as_ref().map_or("cut off".into(), |end| duration(end.elapsed_seconds));
    let mut table = Table { class: "facts", ..Table::without_headings(2) };
    for (name, value) in [
        ("program", format!("{} {}, {}", run.tool.name, run.tool.version, run.tool.build)),
        ("preset", run.preset.clone()),
        ("seed", run.seed.to_string()),
        ("started", when(&run.started_at)),
        ("took", took),
        ("trials", sentences::planning(findings)),
        ("pinned", if run.pinned { "to one processor".into() } else { "no".to_string() }),
    ] {
        table.push([name.to_owned(), value]);
    }
    let mut section = Section::new("How to repeat it");
    section.push(Element::Code(shell::command(run)));
    section.push(table);
    section
}

/// How to read the plots and the words, and their limits.
pub(super) fn how_to_read(
    findings: &Findings,
    systems: Option<&Comparison>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let judged = findings.series.iter().filter(|f| f.verdict.is_some()).count();
    let text = include_str!("reading.html")
        .replace("{margin}", &percent(findings.margin))
        .replace("{confidence}", &percent(1.0 - findings.alpha))
        .replace("{error}", &percent(findings.alpha))
        .replace("{judged}", &things(judged, "verdict", "verdicts"))
        .replace("{load}", if findings.series.iter().any(|f| f.levels) { LOAD } else { "" })
        .replace("{systems}", &systems.map(definitions).unwrap_or_default())
        .replace("{compared}", if findings.comparisons.is_empty() { "" } else { COMPARED })
        .replace("{tick}", &super::figure::tick(findings))
        .replace("{planning}", &esc(&sentences::planning(findings)));
    writeln!(out, "{text}")
}
