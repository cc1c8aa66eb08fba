//! The costs of the series that no other table of a screen has: those whose verdict is certain, and below
//! these, dimmed, the undecided ones. Users ask for costs more often than for growths.

use judge::{Finding, Findings};

use super::kind::Kind;
use super::yields;
use crate::document::{Table, Tone, Yields};
use crate::table;

/// The tables that have a row.
pub(super) fn tables(findings: &Findings, shown: &[&Finding]) -> Vec<Table> {
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
        super::in_a_word(&mut table, series);
        table
    };
    let tables = [
        table(&decided, Tone::Plain, yields::COSTS),
        table(&undecided, Tone::Faint, yields::UNDECIDED_COSTS),
    ];
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}
