//! A comparison of systems on one screen: what each operation costs on each system, and lists of the answers.

use std::cell::Cell;
use std::io;

use judge::compare::{AnswerNote, Claim, Comparison, OfferedApart, Ranking, RankingEntry, Ratio};

use super::fit::{Part, fitted, lines, list, part};
use super::lists::List;
use crate::compare::{self, costs, words};
use crate::document::Tone;
use crate::environment;
use crate::text::Style;
use crate::words::{percent, things};

/// Lines for costs at the least: what the marks mean, the names of the systems, and some rows.
const COST_LINES: usize = 4;

/// A series of one system against that of the first.
struct Pair<'a> {
    name: String,
    ranking: &'a Ranking,
    ratio: Option<&'a Ratio>,
    /// Where the two were offered different loads.
    offered: Option<&'a OfferedApart>,
}

impl<'a> Pair<'a> {
    fn of(compared: &Comparison, ranking: &'a Ranking, entry: &'a RankingEntry) -> Pair<'a> {
        let name = match compared.contenders.len() {
            ..=2 => ranking.label.clone(),
            _ => format!("{} of {}", ranking.label, entry.name),
        };
        let offered = entry.note.as_ref().and_then(AnswerNote::offered);
        Pair { name, ranking, ratio: entry.overall.as_ref(), offered }
    }

    fn claim(&self) -> Option<Claim> {
        self.ratio.map(Ratio::claim)
    }
}

/// Writes a comparison into so many lines, as far as it has that many.
pub(super) fn of(compared: &Comparison, style: &Style, room: usize) -> io::Result<Part> {
    let pairs: Vec<Pair<'_>> = compared
        .rankings
        .iter()
        .flat_map(|ranking| ranking.others().map(move |entry| (ranking, entry)))
        .map(|(ranking, entry)| Pair::of(compared, ranking, entry))
        .collect();
    let mut all = part(style, |page| {
        if let Some(interleaved) = words::interleaved(compared) {
            page.paragraph(&interleaved, 2, Tone::Notable)?;
        }
        page.paragraph(&words::title(compared), 2, Tone::Strong)?;
        page.paragraph(&words::summary(compared), 2, Tone::Plain)
    })?;
    all.extend(list(style, &facts(compared))?);
    all.extend(part(style, |page| {
        apart(compared).iter().try_for_each(|note| page.paragraph(note, 2, Tone::Plain))
    })?);
    let mut behind = Part::new();
    for named in lists(compared, &pairs).iter().filter(|list| !list.items.is_empty()) {
        behind.extend(list(style, named)?);
    }
    // The last line is not written yet.
    let left = room.saturating_sub(lines(&all) + lines(&behind) + 1).max(COST_LINES);
    let (costs, left_out) = costs(compared, style, left)?;
    all.extend(costs);
    all.extend(behind);
    let more = match left_out {
        0 => String::new(),
        more => format!("{} and ", things(more, "more series", "more series")),
    };
    let verbose = format!("--verbose has {more}every ratio");
    all.extend(part(style, |page| page.paragraph(&verbose, 2, Tone::Faint))?);
    Ok(all)
}

/// Why some systems are not compared with the first: the same in every series.
fn apart(compared: &Comparison) -> Vec<String> {
    let entries = compared.rankings.iter().flat_map(|ranking| &ranking.standings);
    let noted =
        entries.filter(|entry| entry.is_apart()).filter_map(|entry| Some((entry, entry.note.as_ref()?)));
    let mut notes: Vec<String> =
        noted.map(|(entry, note)| compare::note(compared, entry.place, note)).collect();
    notes.dedup();
    notes.sort_unstable();
    notes.dedup();
    notes
}

/// What every series costs on every system, as many as there is room for; and how many are left out.
fn costs(compared: &Comparison, style: &Style, room: usize) -> io::Result<(Part, usize)> {
    let rows = costs::of(compared);
    let left_out = Cell::new(0);
    let part = fitted(style, rows.len(), room, |page, shown| {
        left_out.set(rows.len() - shown);
        let foremost = costs::foremost(compared, &rows, shown);
        page.paragraph(&costs::legend(compared, &foremost), 2, Tone::Faint)?;
        page.columns(&costs::in_columns(compared, &foremost, style.width), 0)
    })?;
    Ok((part, left_out.get()))
}

/// The facts that differ.
fn facts(compared: &Comparison) -> List<'static> {
    let differences: Vec<String> = compared.differences.iter().map(environment::difference).collect();
    let items = if differences.is_empty() { vec!["nothing that was recorded".into()] } else { differences };
    List { label: "Differs".into(), items, behind: String::new(), lines: 2, series: None }
}

/// The series without a number anywhere, and those of systems that have no ratio.
fn without_result(compared: &Comparison, pairs: &[Pair<'_>]) -> Vec<String> {
    let nowhere = compared.rankings.iter().filter(|ranking| !ranking.is_measured());
    let here = pairs.iter().filter(|pair| pair.ratio.is_none() && pair.ranking.is_measured());
    nowhere.map(|ranking| ranking.label.clone()).chain(here.map(|pair| pair.name.clone())).collect()
}

/// The series that do not differ for certain, or have no result.
fn lists(compared: &Comparison, pairs: &[Pair<'_>]) -> Vec<List<'static>> {
    let named = |is_wanted: fn(Option<Claim>) -> bool| -> Vec<String> {
        pairs.iter().filter(|pair| is_wanted(pair.claim())).map(|pair| pair.name.clone()).collect()
    };
    let list = |label: String, items: Vec<String>, behind: String| List {
        label,
        items,
        behind,
        lines: 2,
        series: None,
    };
    let more = pairs.iter().filter_map(|pair| match pair.claim()? {
        Claim::Unresolved { more } => more,
        _ => None,
    });
    let more: Vec<_> = more.collect();
    let would = |most| format!("; {} would resolve {}", crate::compare::more_words(most), more.len());
    let would = more.iter().max().map(|most| would(*most)).unwrap_or_default();
    let refused: Vec<String> = compared.refused.iter().map(crate::compare::refused).collect();
    let mut apart: Vec<String> =
        pairs.iter().filter_map(|pair| pair.offered).map(crate::compare::offered).collect();
    apart.sort_unstable();
    apart.dedup();
    let unresolved = named(|claim| matches!(claim, Some(Claim::Unresolved { .. })));
    let margin = percent(compared.margin);
    vec![
        list(
            format!("Equivalent within {margin} or the noise floor"),
            named(|claim| matches!(claim, Some(Claim::Equivalent { .. }))),
            String::new(),
        ),
        list(
            format!("Different by less than {margin}"),
            named(|claim| matches!(claim, Some(Claim::DifferentButSmall))),
            String::new(),
        ),
        list("Unresolved".into(), unresolved, would),
        list("Without a result".into(), without_result(compared, pairs), String::new()),
        list("Not the same load".into(), apart, String::new()),
        list("Refused".into(), refused, String::new()),
    ]
}
