//! The verdicts of a page: the growths of all series on one axis, the first of them as cards with their
//! plots, then all else in lists, and with several systems a matrix. The order and the sentences are those of
//! the terminal.

use std::io::{self, Write};

use judge::compare::Comparison;
use judge::{Finding, Findings, Growth, Highlight};
use record::{SeriesKey, Unit};
use stats::{Class, Interval};

use super::page::filter_classes;
use super::plot::sparkline;
use super::svg::{self, Axis};
use super::{Numbered, Source, esc, figure};
use crate::compare::drawing;
use crate::compare::words::{findings as findings_of, on_system};
use crate::document::{Cell, Column, Element, Fold, Names, Row, Section, Table, Text, Tone, page};
use crate::overview::{self, Kind, List, growth};
use crate::place::range;
use crate::quantity::Quantity;
use crate::sentences::{self, sentence};
use crate::text::spark_heights;
use crate::words::{factor_with_interval, percent, things};

/// Places of a curve in the table of verdicts.
const SPARK_COLUMNS: usize = 40;
/// The place of the column that has the words.
const VERDICT: usize = 5;
/// An end of an interval beyond this factor from its value is drawn there.
const REACH: f64 = 3.0;
/// More systems than this have no room for words beside each other: their cells are signs, whose words are
/// shown where one points at them, and read by programs that read aloud.
const WORDS_MAX: usize = 6;
/// The place where the page defines stops, and series without a number.
const STOPPED: &str = "v-stopped";

/// The rows, the worst first; `None` where no series has more than one n.
pub(super) fn growths(source: &Source<'_>) -> Option<Section> {
    let mut rows = growing(source);
    rows.sort_by(|(_, a, _), (_, b, _)| b.total_cmp(a));
    let margin = source.findings.margin;
    let axis = axis(rows.iter().map(|(_, _, growth)| growth.ratio), margin);
    let columns = vec![
        Column::from("Series"),
        Column { picture: Some(drawing::labels(&axis)), ..Column::from("Growth").class("strip") },
        Column::from("Growth").class("verdict"),
        Column::from("From the smallest n to the largest").class("ends"),
    ];
    let mut table = Table { class: "verdicts ratios growth", ..Table::of_columns(columns) };
    rows.iter().for_each(|(numbered, _, growth)| table.push(growth_row(source, *numbered, growth, &axis)));
    let mut section = Section { id: "overview".into(), ..Section::new("Growth of every series") };
    let words = format!(
        "The value at the largest n divided by that at the smallest, with its {} interval. Inside the grey \
         band, ±{}, growth does not matter.",
        percent(1.0 - source.findings.alpha),
        percent(margin)
    );
    section.say(Text::toned(words, Tone::Faint));
    section.push(table);
    (!rows.is_empty()).then_some(section)
}

/// Whether there is a row.
pub(super) fn has_growths(source: &Source<'_>) -> bool {
    !growing(source).is_empty()
}

/// Writes the growths, the lists, and the findings about compared variants.
pub(super) fn write(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    if !source.highlights.is_empty() {
        writeln!(out, "<section id=\"findings\"><h2>Findings</h2>")?;
        for (i, highlight) in source.highlights.iter().enumerate() {
            card(source, highlight, i + 1, out)?;
        }
        writeln!(out, "</section>")?;
    }
    if !has_verdicts(source) {
        return Ok(());
    }
    writeln!(out, "<section id=\"verdicts\"><h2>Verdicts</h2>")?;
    matrix(source.findings, out)?;
    let lists = overview::lists(source.asked);
    let mut blocks: Vec<Element> = lists.iter().map(|list| of_list(source, list)).collect();
    let details = source.series(is_measured_beside);
    if !details.is_empty() {
        let words = Text::toned("Measured beside these", Tone::Strong)
            .and(format!(": {}", things(details.len(), "series", "series")));
        blocks.push(folded(source, ("details", false), words, &details));
    }
    let compared = source.findings.comparisons.iter();
    blocks.extend(compared.map(|compared| of_compared(source, compared).into()));
    page::blocks(&blocks, 3, out)?;
    writeln!(out, "</section>")
}

/// Whether anything follows the growths: scalings have a part of their own.
pub(super) fn has_verdicts(source: &Source<'_>) -> bool {
    let findings = source.findings;
    let has_list = !source.asked.series.is_empty() || findings.series.iter().any(is_measured_beside);
    has_list || !findings.comparisons.is_empty() || findings.systems.len() > 1
}

fn is_measured_beside(finding: &Finding) -> bool {
    finding.detail && finding.verdict.is_some()
}

/// One growth: its sentence, the plots of the series that costs a user most, and the others in a table.
fn card(
    source: &Source<'_>,
    highlight: &Highlight<'_>,
    number: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let series: Vec<Numbered<'_>> =
        highlight.series.iter().filter_map(|finding| source.numbered(&finding.key)).collect();
    let Some(first) = series.first() else { return Ok(()) };
    writeln!(
        out,
        "<article class=\"card {}\"><h3><span class=\"rank\">{number}</span> {}</h3>\
         <p class=\"claim\">{}</p>",
        filter_classes(source.findings, first.1),
        esc(&overview::name(source.asked, highlight)),
        esc(&sentence(&overview::sentence(source.asked, highlight)))
    )?;
    // The first is open, as an example of the others.
    let open = if number == 1 { " open" } else { "" };
    writeln!(out, "<details class=\"list\"{open}><summary>Plots and numbers</summary>")?;
    figure::figure(source, *first, "", out)?;
    if series.len() > 1 {
        page::blocks(&[table(source, &series).into()], 4, out)?;
    }
    writeln!(out, "</details></article>")
}

/// A list of the terminal; its series as a table, folded unless they change.
fn of_list(source: &Source<'_>, list: &List<'_>) -> Element {
    let Some((kind, series)) = &list.series else { return list.names.clone().into() };
    let Names { label, items, behind, .. } = &list.names;
    let words = Text::toned(label, Tone::Strong).and(format!(": {}{behind}", items.join(", ")));
    let series: Vec<Numbered<'_>> =
        series.iter().filter_map(|finding| source.numbered(&finding.key)).collect();
    folded(source, place(*kind), words, &series)
}

/// The id of a list, and whether it is open.
fn place(kind: Kind) -> (&'static str, bool) {
    match kind {
        Kind::Worse => ("worse", true),
        Kind::GrowsLittle => ("small-growth", true),
        Kind::Better => ("better", true),
        Kind::Uneven => ("uneven", true),
        Kind::OneLevel => ("one-level", true),
        Kind::Flat => ("flat", false),
        Kind::Undecided => ("undecided", true),
        Kind::TooShort => ("too-short", false),
        Kind::Compared => ("compared", false),
        Kind::NoNumber => ("no-number", false),
    }
}

fn folded(source: &Source<'_>, (id, is_open): (&str, bool), title: Text, series: &[Numbered<'_>]) -> Element {
    Fold { id: id.into(), title, blocks: vec![table(source, series).into()], is_open }.into()
}

/// A row for each series.
fn table(source: &Source<'_>, series: &[Numbered<'_>]) -> Table {
    let what = sentences::capital(sentences::what(series.iter().map(|(_, finding)| *finding)));
    let columns = vec![
        Column::from("Series"),
        Column::number("n").class("range"),
        Column::number(format!("{what} at the first n")),
        Column::number("at the last"),
        Column::number("Growth"),
        Column::from("Verdict").class("verdict"),
        Column::from("Curve").class("curve"),
    ];
    let mut table = Table { wraps: VERDICT, ..Table::of_columns(columns) };
    series.iter().for_each(|numbered| table.push(row(source, *numbered)));
    table
}

fn row(source: &Source<'_>, (i, finding): Numbered<'_>) -> Row {
    let name = Text::linked(sentences::label(source.findings, finding), Tone::Plain, format!("#s{i}"));
    let mut words = words(finding).into_iter();
    let verdict = words.next().unwrap_or_default();
    let cells = match &finding.verdict {
        None => vec![name.into(), verdict.into()],
        Some(v) => {
            let (low, high, growth) = match Growth::from_verdict(v) {
                Some(Growth { from, to, ratio }) => {
                    let (low, high) = finding.unit.estimates_with_interval(from.cost, to.cost);
                    (low, high, factor_with_interval(ratio))
                }
                None => (finding.unit.estimate_with_interval(v.cost_low), String::new(), String::new()),
            };
            let curve = sparkline(&spark_heights(v, SPARK_COLUMNS), &format!("curve of {}", finding.label));
            let curve = Cell { picture: Some(curve), ..Cell::default() };
            let range = range(v.n_low, v.n_high);
            vec![name.into(), range.into(), low.into(), high.into(), growth.into(), verdict.into(), curve]
        }
    };
    Row { below: words.collect(), class: filter_classes(source.findings, finding), ..Row::new(cells) }
}

/// The verdict, then how trials stopped, each a line.
fn words(finding: &Finding) -> Vec<Text> {
    let mut words = Vec::new();
    if let Some(v) = &finding.verdict {
        let said = sentences::verdict_beside_cost(v, finding.unit);
        words.push(of_class(&said, finding, v.class));
        let jump = sentences::gross_jump(v, finding.unit);
        words.extend(jump.map(|jump| format!("largest jump {jump}").into()));
    }
    words.extend(finding.stops.iter().map(|stop| of_stop(&sentences::stop(stop))));
    if words.is_empty() {
        words.push(of_stop("no number"));
    }
    words
}

/// The findings about compared variants, and the verdict of each on demand.
fn of_compared(source: &Source<'_>, compared: &Comparison) -> Section {
    let series = source.series(|finding| compared.is_of(&finding.key.system, &finding.key.workload));
    let workload = compared.workload.as_deref().unwrap_or_default();
    let workload = format!("{workload}{}", on_system(source.findings, compared));
    let mut section = Section::new(workload.as_str());
    let found = findings_of(compared).into_iter().map(|finding| vec![Text::from(finding).into()]);
    section.push(Element::Items { first: None, items: found.collect() });
    let title = format!("{} of {workload}", things(series.len(), "verdict", "verdicts")).into();
    section.push(Fold { title, blocks: vec![table(source, &series).into()], ..Fold::default() });
    section
}

/// The series that have a growth of their own, each with how much worse it gets.
fn growing<'a>(source: &Source<'a>) -> Vec<(Numbered<'a>, f64, Growth)> {
    let is_shown = |finding: &Finding| {
        let is_elsewhere =
            growth::is_of_scaling(source.findings, finding) || source.findings.is_ranked_elsewhere(finding);
        !finding.detail && !is_elsewhere
    };
    let row = |(i, finding): Numbered<'a>| {
        let growth = Growth::from_verdict(finding.verdict.as_ref()?)?;
        let worse = growth.ratio.value.ln() * if finding.unit.more_is_better() { -1.0 } else { 1.0 };
        worse.is_finite().then_some(((i, finding), worse, growth))
    };
    source.series(is_shown).into_iter().filter_map(row).collect()
}

fn growth_row(source: &Source<'_>, (i, finding): Numbered<'_>, growth: &Growth, axis: &Axis) -> Row {
    let label = sentences::label(source.findings, finding);
    let said = factor_with_interval(growth.ratio);
    let margin = source.findings.margin;
    let strip = drawing::of_growth(axis, bounded(growth.ratio), margin, (tone(finding), &said));
    let ends = finding.verdict.as_ref().map(|v| sentences::ends(v, finding.unit)).unwrap_or_default();
    let rate = if finding.unit == Unit::PerSecond { ", more is better" } else { "" };
    let cells = [
        Text::linked(label, Tone::Plain, format!("#s{i}")).into(),
        Cell { picture: Some(strip), ..Cell::default() },
        Cell::toned(said, sentences::tone(finding)),
        format!("{ends}{rate}").into(),
    ];
    Row { class: filter_classes(source.findings, finding), ..Row::new(cells) }
}

/// An interval with ends that can be drawn.
fn bounded(ratio: Interval) -> Interval {
    let Interval { value, low, high } = ratio;
    Interval { value, low: low.max(value / REACH), high: high.min(value * REACH) }
}

/// An axis that has room for all growths.
fn axis(ratios: impl Iterator<Item = Interval>, margin: f64) -> Axis {
    let around = (1.0 / (1.0 + 2.0 * margin), 1.0 + 2.0 * margin);
    let ends =
        ratios.map(bounded).fold(around, |(low, high), ratio| (low.min(ratio.low), high.max(ratio.high)));
    let (from, to) = drawing::ENDS;
    Axis::new(svg::Kind::Log, ends.0 / 1.03, ends.1 * 1.03, from, to)
}

/// Writes the matrix; nothing for one system.
fn matrix(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    if findings.systems.len() < 2 {
        return Ok(());
    }
    // A series that was not measured on one system has its name from another.
    let mut rows: Vec<&Finding> = Vec::new();
    for finding in &findings.series {
        match rows.iter_mut().find(|row| is_same_series(&row.key, &finding.key)) {
            Some(row) if row.measurements == 0 => *row = finding,
            Some(_) => {}
            None => rows.push(finding),
        }
    }
    let class = if findings.systems.len() > WORDS_MAX { "matrix signs" } else { "matrix" };
    writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"{class}\"><thead><tr>\
         <th scope=\"col\">Series</th>"
    )?;
    for system in &findings.systems {
        writeln!(out, "<th scope=\"col\"><span>{}</span></th>", esc(&system.name))?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for row in rows {
        write!(out, "<tr><th scope=\"row\">{}</th>", esc(&row.label))?;
        for system in &findings.systems {
            let on_it = || findings.series.iter().enumerate().filter(|(_, f)| f.key.system == system.name);
            let same = on_it().find(|(_, f)| is_same_series(&f.key, &row.key));
            // One line says that none of a workload was measured.
            let none_of_it = |f: &Finding| {
                f.measurements == 0
                    && (&f.key.workload, &f.key.variant) == (&row.key.workload, &row.key.variant)
            };
            let cell = same.or_else(|| on_it().find(|(_, f)| none_of_it(f))).map(|(i, f)| cell(i, f));
            write!(out, "<td>{}</td>", cell.unwrap_or_else(|| "—".into()))?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")
}

/// Whether two systems have the same series.
fn is_same_series(one: &SeriesKey, two: &SeriesKey) -> bool {
    *one == SeriesKey { system: one.system.clone(), ..two.clone() }
}

/// The glyph and the word of one series on one system, with a link to more.
fn cell(i: usize, finding: &Finding) -> String {
    let (glyph, words) = match (&finding.verdict, finding.stops.first()) {
        (Some(v), _) => (glyph(v.class), sentences::in_short(v, finding.unit)),
        (None, Some(stop)) => ("M7 3L13 9M13 3L7 9", sentences::stop(stop)),
        (None, None) => ("", "no number".into()),
    };
    format!(
        "<a class=\"word {}\" href=\"#s{i}\" title=\"{1}\"><svg class=\"glyph\" viewBox=\"0 0 20 12\" \
         aria-hidden=\"true\"><path d=\"{glyph}\"/></svg><span>{1}</span></a>",
        tone(finding),
        esc(&words)
    )
}

/// How a class looks, in a box of 20 by 12.
fn glyph(class: Class) -> &'static str {
    match class {
        Class::Value => "M3 3V9M17 3V9M3 6H17M10 4V8",
        Class::Flat => "M1 8H19",
        Class::SmallGrowth => "M1 8.5L19 6",
        Class::Sublinear => "M1 11C3 5 8 3 19 2",
        Class::LinearLike => "M1 11L19 1",
        Class::Superlinear => "M1 11C12 10 17 7 19 1",
        Class::ApproachingLimit => "M1 10C12 9 15.5 8 16 1M19 1V11",
        Class::Stepped => "M1 10H10V2H19",
        Class::TwoLines => "M1 10H19M1 8L19 2",
        Class::Composite => "M1 9C5 9 5 3 9 3S13 9 15 9L19 2",
        Class::Ambiguous => "M1 11L19 1M1 11C3 5 8 3 19 2",
        Class::Uneven => "M1 8L4 3L8 9L12 4L15 8L19 5",
        Class::Decreasing => "M1 2L19 10",
        Class::Inconclusive => "M1 4H4M7 8H10M13 3H16M18 9H19",
    }
}

/// The class of a finding's words in the style sheet.
pub(super) fn tone(finding: &Finding) -> &'static str {
    match sentences::tone(finding) {
        Tone::Good => "good",
        Tone::Notable => "notable",
        _ => "open",
    }
}

/// The place in `reading.html` that defines a class.
fn definition(class: Class) -> &'static str {
    match class {
        Class::Value => "v-value",
        Class::Flat => "v-flat",
        Class::SmallGrowth => "v-small-growth",
        Class::Sublinear | Class::LinearLike | Class::Superlinear => "v-shape",
        Class::ApproachingLimit => "v-limit",
        Class::Stepped => "v-stepped",
        Class::TwoLines => "v-two-lines",
        Class::Composite => "v-mixed",
        Class::Ambiguous => "v-grows",
        Class::Decreasing => "v-falls",
        Class::Uneven => "v-uneven",
        Class::Inconclusive => "v-inconclusive",
    }
}

/// The words of the class of a finding.
pub(super) fn of_class(words: &str, finding: &Finding, class: Class) -> Text {
    Text::linked(words, sentences::tone(finding), format!("#{}", definition(class)))
}

/// The reason why trials ended, or why there is no number.
pub(super) fn of_stop(words: &str) -> Text {
    Text::linked(words, Tone::Open, format!("#{STOPPED}"))
}
