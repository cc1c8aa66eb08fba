//! A comparison on one screen: one line for each contender, one column for each series.

use std::io;

use judge::compare::{Comparison, Ranking, RankingEntry};
use judge::{Cause, Finding, Findings, Stop};

use crate::compare::{growth, words};
use crate::document::Tone;
use crate::place;
use crate::quantity::Quantity;
use crate::sentences;
use crate::text::{Cell, Page, Row, Style};
use crate::words::{list, things};

/// Sentences at the most; the table has the figures of all.
const FINDINGS_MOST: usize = 2;
/// Columns that one series needs.
const SERIES_WIDTH: usize = 18;
/// Columns that the names of contenders need.
const NAMES_WIDTH: usize = 13;

/// Whether a comparison stands in place of the verdicts of its series.
pub(super) fn is_shown(compared: &Comparison) -> bool {
    compared.rankings.iter().any(|ranking| ranking.levels && ranking.n.is_some())
}

/// Writes the largest differences, then what contenders reached, and behind all of these how their times go
/// with n: so many lines.
pub(super) fn write(
    findings: &Findings,
    compared: &Comparison,
    most: usize,
    style: &Style,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let rankings: Vec<&Ranking> = compared.rankings.iter().filter(|ranking| ranking.n.is_some()).collect();
    let Some(first) = rankings.first() else { return Ok(()) };
    let at = first.n.map(|n| place::at(n, &first.grows)).unwrap_or_default();
    let name = compared.workload.as_deref().unwrap_or_default();
    let on = words::on_system(findings, compared);
    page.paragraph(&format!("{name}{on} {at}; {}", better(&rankings)), 2, Tone::Strong)?;
    for finding in words::findings(compared).iter().take(FINDINGS_MOST) {
        page.paragraph(finding, 2, Tone::Plain)?;
    }
    let room = (style.width.saturating_sub(NAMES_WIDTH) / SERIES_WIDTH).max(1);
    let shown = &rankings[..room.min(rankings.len())];
    let headings = shown.iter().map(|ranking| Cell::toned(&ranking.name, Tone::Faint));
    let headings = Row { cells: [Cell::new("")].into_iter().chain(headings).collect(), below: Vec::new() };
    let contenders = by_value(first);
    let rows = contenders.iter().take(most).map(|entry| {
        let cells = shown.iter().map(|ranking| cell(ranking, entry.place));
        let below = reasons(shown, entry.place).into_iter().map(|reason| (reason, Tone::Open));
        Row {
            cells: [Cell::new(words::name(&entry.name))].into_iter().chain(cells).collect(),
            below: below.collect(),
        }
    });
    let rows: Vec<Row> = [headings].into_iter().chain(rows).collect();
    page.columns(&rows, shown.len())?;
    // Of several systems each has a table with these columns.
    let first_of_workload = findings.comparisons.iter().find(|other| other.workload == compared.workload);
    if first_of_workload.is_none_or(|first| std::ptr::eq(first, compared)) {
        page.paragraph(&measured(findings, name, shown), 2, Tone::Faint)?;
    }
    let (heading, growths) = growth::sentences(findings, compared, true);
    let said = &growths[..most.saturating_sub(contenders.len()).min(growths.len())];
    if !said.is_empty() {
        page.paragraph(&heading, 2, Tone::Strong)?;
        let row = |one: &growth::Sentence| Row {
            cells: vec![Cell::new(&one.name), Cell::new(&one.words)],
            below: Vec::new(),
        };
        page.columns(&said.iter().map(row).collect::<Vec<_>>(), 1)?;
    }
    let hidden = rankings[shown.len()..].iter().map(|ranking| ranking.name.clone());
    let more = contenders.len().saturating_sub(most);
    let more = (more > 0).then(|| things(more, "more contender", "more contenders"));
    let unsaid = growths.len() - said.len();
    let unsaid =
        (unsaid > 0).then(|| format!("the changes of {}", things(unsaid, "contender", "contenders")));
    let hidden: Vec<String> = hidden.chain(more).chain(unsaid).collect();
    match hidden.len() {
        0 => Ok(()),
        _ => page.paragraph(&format!("--verbose has {} too", list(&hidden)), 2, Tone::Faint),
    }
}

/// What the values of each column are, for a name alone does not say of what, or for each what.
fn measured(findings: &Findings, workload: &str, shown: &[&Ranking]) -> String {
    let is_it = |finding: &&Finding, name: &str| finding.key.workload == workload && finding.key.name == name;
    let summary = |name: &str| {
        findings.series.iter().find(|finding| is_it(finding, name)).map(|finding| &finding.summary)
    };
    let columns = shown.iter().filter_map(|ranking| {
        Some(format!("{}: {}", ranking.name, summary(&ranking.name)?.trim_end_matches('.')))
    });
    columns.collect::<Vec<_>>().join(" · ")
}

/// `less is better`, with the exceptions.
fn better(rankings: &[&Ranking]) -> String {
    let more = rankings.iter().filter(|ranking| ranking.unit.more_is_better());
    let more: Vec<String> = more.map(|ranking| ranking.name.clone()).collect();
    match more.len() {
        0 => "less is better".into(),
        all if all == rankings.len() => "more is better".into(),
        _ => format!("less is better, but more {}", list(&more)),
    }
}

/// Every contender, by what it reached, or at least reached, the best first; those without a value last.
fn by_value(ranking: &Ranking) -> Vec<&RankingEntry> {
    let mut entries: Vec<&RankingEntry> = ranking.standings.iter().collect();
    let reached = |entry: &RankingEntry| {
        entry.levels.iter().find(|level| Some(level.n) == ranking.n).map(|level| level.value)
    };
    entries.sort_by(|a, b| match (reached(a), reached(b)) {
        (Some(a), Some(b)) if ranking.unit.more_is_better() => b.total_cmp(&a),
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
    entries
}

/// What a contender reached, and its place where one is certain.
fn cell(ranking: &Ranking, place: usize) -> Cell {
    let Some(entry) = ranking.standings.iter().find(|entry| entry.place == place) else {
        return Cell::new("");
    };
    let Some(value) = value(ranking, entry) else { return Cell::toned("—", Tone::Open) };
    let rank = entry.rank.filter(|_| ranking.has_difference());
    let rank = rank.map(|rank| format!(" {}", words::place_of(rank, rank.of))).unwrap_or_default();
    Cell::new(value + &rank)
}

/// Why a contender has no value in some of the series, alike reasons once.
fn reasons(shown: &[&Ranking], place: usize) -> Vec<String> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for ranking in shown {
        let entry = ranking.standings.iter().find(|entry| entry.place == place);
        let Some(reason) = entry.and_then(|entry| reason(ranking, entry)) else { continue };
        match all.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(ranking.name.clone()),
            None => all.push((reason, vec![ranking.name.clone()])),
        }
    }
    let said = |(reason, names): (String, Vec<String>)| match names.len() {
        all if all == shown.len() => reason,
        _ => format!("{}: {reason}", list(&names)),
    };
    all.into_iter().map(said).collect()
}

/// Why a contender has no value at the level of the comparison; `None` where it has.
fn reason(ranking: &Ranking, entry: &RankingEntry) -> Option<String> {
    if value(ranking, entry).is_some() {
        return None;
    }
    let is_end = |stop: &&Stop| stop.cause != Cause::Allowance;
    let stop = entry.stops.iter().find(is_end).or(entry.stops.first()).map(sentences::stop);
    Some(stop.or(entry.limited.as_ref().map(sentences::limited)).unwrap_or_else(|| "no number".into()))
}

/// The value at the level of the comparison; a lower bound where the generator was the limit.
fn value(ranking: &Ranking, entry: &RankingEntry) -> Option<String> {
    let n = ranking.n?;
    if let Some(value) = entry.at(n) {
        return Some(ranking.unit.cost(value));
    }
    entry.at_least(n).map(|value| format!("≥ {}", ranking.unit.cost(value)))
}
