//! The findings of a run on one screen: growths with remedies, flat series, undecided series. [`table`] has
//! all of it.

mod compared;
pub(crate) mod growth;
mod lists;

use judge::compare::Comparison;
use judge::{Cause, Finding, Findings, Note};

pub use self::growth::growth_sentences;
pub(crate) use self::growth::{name, sentence};
pub(crate) use self::lists::{Kind, List, counts, lists};
use crate::document::terminal::Length;
use crate::document::{Column, Document, Section, Table, Text, Tone, Yields};
use crate::text::spark;
use crate::words::{count, list, things};
use crate::{fleet, sentences, table};

/// A screen of 40 lines, with room for the places of the files that follow.
pub const SCREEN: Length = Length::Screen(36);
/// Rows of the table of changes at the most.
const ROWS_MAX: usize = 9;

/// The order in which tables give up rows on a screen.
pub(crate) mod yields {
    use super::Yields;

    pub(super) const UNDECIDED_COSTS: Yields = Yields { order: 0, rows_min: 0 };
    /// A cost that is certain is shown whatever its shape.
    pub(crate) const COSTS: Yields = Yields { order: 0, rows_min: 2 };
    pub(super) const COLUMNS: Yields = Yields { order: 0, rows_min: 0 };
    pub(super) const REMARKS: Yields = Yields { order: 1, rows_min: 1 };
    pub(super) const CHANGES: Yields = Yields { order: 2, rows_min: 1 };
    pub(crate) const SYSTEMS: Yields = Yields { order: 3, rows_min: 1 };
    pub(super) const CONTENDERS: Yields = Yields { order: 4, rows_min: 2 };
    /// The systems' own costs stand below.
    pub(super) const SCALED: Yields = Yields { order: 4, rows_min: 2 };
    pub(super) const SCALINGS: Yields = Yields { order: 5, rows_min: 6 };
    pub(super) const CHANGED: Yields = Yields { order: 5, rows_min: 1 };
    pub(crate) const GROWTHS: Yields = Yields { order: 6, rows_min: 1 };
}

/// The machine, how its systems compare where it has several, the growths that cost a user most, the table of
/// changes, and lists of all else. Details are left to [`table`].
pub fn document(findings: &Findings, systems: Option<&Comparison>) -> Document {
    of_screen(findings, systems, false)
}

/// The same without the machine, which was printed when the run began.
pub fn document_after_machine(findings: &Findings, systems: Option<&Comparison>) -> Document {
    of_screen(findings, systems, true)
}

fn of_screen(findings: &Findings, systems: Option<&Comparison>, is_machine_known: bool) -> Document {
    if let Some(fleet) = &findings.fleet {
        return fleet::document(findings, fleet, is_machine_known);
    }
    let scalings = growth::scaling_sections(findings, false);
    let mut findings = growth::without_scalings(findings.clone());
    let details = findings.series.iter().filter(|finding| finding.detail).count();
    findings.series.retain(|finding| !finding.detail);
    if is_machine_known {
        findings.notes.retain(|note| !matches!(note, Note::Readiness { .. }));
    }
    let findings = &findings;
    let mut document = Document::default();
    machine(findings, is_machine_known, &mut document);
    if let Some(systems) = systems {
        document.blocks.extend(compared::systems(systems));
    }
    let highlights = judge::highlights(findings);
    if !findings.series.is_empty() || scalings.is_empty() {
        document.push(growths(findings, &highlights));
    }
    // Costs at one level are in the table that follows, where there is one.
    let is_in_table = |list: &List<'_>| systems.is_none() && matches!(list.series, Some((Kind::OneLevel, _)));
    lists(findings).into_iter().filter(|list| !is_in_table(list)).for_each(|list| document.push(list.names));
    document.blocks.extend(scalings.into_iter().map(Into::into));
    if systems.is_none() {
        let (changed, shown) = changed(findings, &highlights);
        document.blocks.extend(changed.map(Into::into));
        document.blocks.extend(cost_tables(findings, &shown).into_iter().map(Into::into));
    }
    for compared in findings.comparisons.iter().filter(|compared| compared::is_shown(compared)) {
        document.blocks.extend(compared::variants(findings, compared).map(Into::into));
    }
    remarks(findings, details, &mut document);
    document
}

/// A comparison of systems: the certain differences, the largest first, and lists of all else.
pub fn systems(compared: &Comparison) -> Document {
    Document { blocks: compared::systems(compared), ..Document::default() }
}

/// The machine, and its first disturbance.
fn machine(findings: &Findings, is_known: bool, document: &mut Document) {
    for system in findings.systems.iter().filter(|_| !is_known) {
        let several = findings.systems.len() > 1;
        let name = if several { format!("{} · ", system.name) } else { String::new() };
        let tool = &findings.run.tool;
        let machine = sentences::machine(&format!("{} {}", tool.name, tool.version), system);
        document.say(Text::toned(name + &machine, Tone::Strong));
    }
    let beside = sentences::clients(findings).into_iter().chain(sentences::backgrounds(findings));
    beside.for_each(|sentence| document.say(sentence));
    let notes = sentences::notes(findings);
    if let Some(first) = notes.first() {
        let more = match notes.len() - 1 {
            0 => String::new(),
            more => format!(" ({} with --verbose)", things(more, "more remark", "more remarks")),
        };
        document.say(Text::toned(format!("{first}{more}"), Tone::Notable));
    }
}

/// The growths, with their remedies.
fn growths(findings: &Findings, highlights: &[judge::Highlight<'_>]) -> Section {
    let mut section = Section::new(Text::toned(counts(findings), Tone::Strong));
    section.push(Table { yields: Some(yields::GROWTHS), ..growth::table(findings, highlights) });
    section
}

/// The series that change, in their order, and those that are shown.
fn changed<'f>(
    findings: &'f Findings,
    highlights: &[judge::Highlight<'f>],
) -> (Option<Table>, Vec<&'f Finding>) {
    let others = lists::other_changes(findings);
    let mut series: Vec<&Finding> =
        highlights.iter().map(judge::Highlight::first).chain(lists::firsts(&others)).collect();
    series.truncate(ROWS_MAX);
    let rows = series.iter().map(|finding| (*finding, Vec::new()));
    let mut table =
        Table { yields: Some(yields::CHANGED), more: ": --verbose", ..table::of_series(&series, rows) };
    for (row, finding) in table.rows.iter_mut().zip(&series) {
        row.sentence = short(finding);
    }
    in_a_word(&mut table, &series);
    ((!series.is_empty()).then_some(table), series)
}

/// Verdicts are a word where there is no room for more: the growths are above.
fn in_a_word(table: &mut Table, series: &[&Finding]) {
    for (row, finding) in table.rows.iter_mut().zip(series) {
        if let (Some(cell), Some(verdict)) = (row.cells.get_mut(table::VERDICT), &finding.verdict) {
            cell.short =
                Some(Text::toned(sentences::in_a_word(verdict, finding.unit), sentences::tone(finding)));
        }
    }
}

/// `bind: 510 ns → 1.1 ms from n = 10 to 19 999, linear ×2 180 ▁▁▁▁▁▁▁█`.
fn short(finding: &Finding) -> Option<Text> {
    let verdict = finding.verdict.as_ref()?;
    let (ends, short) = (sentences::ends(verdict, finding.unit), sentences::in_short(verdict, finding.unit));
    let text = format!("{}: {ends}, {short} {}", finding.label, spark(verdict));
    Some(Text::toned(text, sentences::tone(finding)))
}

/// The remarks on the numbers, and the parts that are left to `--verbose`.
fn remarks(findings: &Findings, details: usize, document: &mut Document) {
    let mut table = Table::of_columns(vec![Column::default()]);
    (table.tone, table.yields, table.more) = (Tone::Faint, Some(yields::REMARKS), " remarks: --verbose");
    let all = shortened(findings).into_iter().chain(sentences::kinds_of_remarks(findings));
    all.for_each(|remark| table.push([remark]));
    document.push(table);
    if !findings.series.is_empty() || details > 0 {
        document.say(Text::toned(left_to_verbose(findings, details), Tone::Faint));
    }
}

/// The tables that have a row.
fn cost_tables(findings: &Findings, shown: &[&Finding]) -> Vec<Table> {
    let is_shown = |finding: &Finding| shown.iter().any(|other| other.key == finding.key);
    let of = |is_wanted: fn(Kind) -> bool| -> Vec<&Finding> {
        let series = findings.series.iter().filter(|finding| finding.verdict.is_some() && !is_shown(finding));
        series.filter(|finding| is_wanted(Kind::in_run(findings, finding))).collect()
    };
    let decided = of(|kind| !matches!(kind, Kind::Undecided | Kind::Compared | Kind::NoNumber));
    let undecided = of(|kind| kind == Kind::Undecided);
    let table = |series: &[&Finding], tone: Tone, yields: Yields| {
        let rows = series.iter().map(|finding| (*finding, Vec::new()));
        let mut table = table::of_series(series, rows);
        (table.tone, table.yields, table.more) = (tone, Some(yields), ": --verbose");
        in_a_word(&mut table, series);
        table
    };
    let tables = [
        table(&decided, Tone::Plain, yields::COSTS),
        table(&undecided, Tone::Faint, yields::UNDECIDED_COSTS),
    ];
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

/// Where n was shortened, by workload.
fn shortened(findings: &Findings) -> Option<String> {
    let is_shortened = |finding: &&Finding| finding.stops.iter().any(|stop| stop.cause == Cause::Allowance);
    let mut names: Vec<String> = Vec::new();
    for finding in findings.series.iter().filter(is_shortened) {
        if !names.contains(&finding.key.workload) {
            names.push(finding.key.workload.clone());
        }
    }
    let said = "n was shortened to fit the time in";
    (!names.is_empty()).then(|| format!("{said} {}; {}.", list(&names), sentences::further(findings)))
}

/// The parts that are left to `--verbose`.
fn left_to_verbose(findings: &Findings, details: usize) -> String {
    let verdicts = || findings.series.iter().filter_map(|finding| finding.verdict.as_ref());
    let with = |has: fn(&stats::Verdict) -> bool, what: &str| match verdicts().filter(|v| has(v)).count() {
        0 => None,
        n => Some(format!("{what} ({})", count(n as u64))),
    };
    let mut parts: Vec<String> = Vec::new();
    parts.extend(with(|v| !v.spikes.repeated.is_empty() || v.spikes.period.is_some(), "returning spikes"));
    parts.extend(with(|v| !v.modes.is_empty(), "two modes"));
    let shortened = findings.comparisons.iter().filter(|compared| !compared::is_shown(compared));
    let mut curves: Vec<String> = shortened.filter_map(|compared| compared.workload.clone()).collect();
    // Each system has one.
    curves.sort_unstable();
    curves.dedup();
    if !curves.is_empty() {
        parts.push(format!("a comparison of the variants of {}", list(&curves)));
    }
    let all = things(findings.series.len(), "series", "series");
    let details = match details {
        0 => String::new(),
        details => format!(" and {} of detail", count(details as u64)),
    };
    let said = if parts.is_empty() { String::new() } else { format!(", with {}", list(&parts)) };
    format!("--verbose has all {all}{details}{said}.")
}
