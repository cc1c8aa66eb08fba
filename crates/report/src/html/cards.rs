//! The first part of a page: the growths as cards, each with its plots, then all else in lists. The order and
//! the sentences are those of the terminal.

use std::io::{self, Write};

use judge::{Finding, Highlight};

use super::escape::esc;
use super::source::{Numbered, Source};
use super::verdicts::{of_compared, table};
use super::{figure, filter};
use crate::document::{Element, Fold, Text, Tone, page};
use crate::overview::{self, Kind, List};
use crate::sentences::sentence;
use crate::words::things;

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
    super::matrix::write(source.findings, out)?;
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
        filter::classes(source.findings, first.1),
        esc(&overview::name(source.asked, highlight)),
        esc(&sentence(&overview::sentence(source.asked, highlight)))
    )?;
    // The first is open: it shows what the others hold.
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
    let Some((kind, series)) = &list.series else { return list.names().into() };
    let words = format!(": {}{}", list.items.join(", "), list.behind);
    let words = Text::toned(list.label.as_str(), Tone::Strong).and(words);
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
