//! The costs of the series that no other table of a screen has: those whose verdict is certain, and below
//! these, dimmed, the undecided ones. How long something takes is asked more often than how it grows.

use std::io;

use judge::{Finding, Findings};

use super::fit::{Part, fitted, lines};
use super::kind::Kind;
use crate::document::Tone;
use crate::table;
use crate::text::Style;

/// Lines of a table at the least: its heading and a row.
const LINES_LEAST: usize = 2;

/// Writes as many costs as there is room for; where that is too little for all, each table has its half, and
/// what the first leaves.
pub(super) fn write(
    findings: &Findings,
    shown: &[&Finding],
    style: &Style,
    room: usize,
) -> io::Result<[Part; 2]> {
    let is_shown = |finding: &Finding| shown.iter().any(|other| other.key == finding.key);
    let of = |is_wanted: fn(Kind) -> bool| -> Vec<&Finding> {
        let series = findings.series.iter().filter(|finding| finding.verdict.is_some() && !is_shown(finding));
        series.filter(|finding| is_wanted(Kind::in_run(findings, finding))).collect()
    };
    let decided = of(|kind| !matches!(kind, Kind::Undecided | Kind::Compared | Kind::NoNumber));
    let undecided = of(|kind| kind == Kind::Undecided);
    let least = (undecided.len() + 1).min(room / 2);
    let first = table(findings, &decided, Tone::Plain, style, room.saturating_sub(least))?;
    let left = room.saturating_sub(lines(&first));
    let second = table(findings, &undecided, Tone::Faint, style, left)?;
    Ok([first, second])
}

/// The rows that fit; none where not even one does.
fn table(
    findings: &Findings,
    series: &[&Finding],
    tone: Tone,
    style: &Style,
    room: usize,
) -> io::Result<Part> {
    if series.is_empty() || room < LINES_LEAST {
        return Ok(Part::new());
    }
    let part = fitted(style, series.len(), room, |page, shown| {
        table::write_costs(findings, &series[..shown], tone, style, page)?;
        match series.len() - shown {
            0 => Ok(()),
            more => page.paragraph(&format!("and {more} more: --verbose"), 2, Tone::Faint),
        }
    })?;
    Ok(if lines(&part) <= room { part } else { Part::new() })
}
