//! Comparisons on one screen. Of the variants of a workload: one line for each contender, one column for each
//! series. Of systems: the cost of each operation on each system, and lists of the answers.

use judge::compare::{AnswerNote, Claim, Comparison, OfferedApart, Ranking, RankingEntry, Ratio};
use judge::{Cause, Finding, Findings, Stop};

use super::yields;
use crate::compare::{self, table, words};
use crate::document::{Cell, Column, Element, Names, Narrow, Row, Section, Table, Text, Tone};
use crate::quantity::Quantity;
use crate::words::{grouped, list, percent};
use crate::{place, sentences};

/// Sentences at the most; the table has the figures of all.
const FINDINGS_MOST: usize = 2;

/// Whether a comparison stands in place of the verdicts of its series.
pub(super) fn is_shown(compared: &Comparison) -> bool {
    compared.rankings.iter().any(|ranking| ranking.levels && ranking.n.is_some())
}

/// The largest differences, then the values of contenders, and behind these the trends of their times over n.
pub(super) fn variants(findings: &Findings, compared: &Comparison) -> Option<Section> {
    let rankings: Vec<&Ranking> = compared.rankings.iter().filter(|ranking| ranking.n.is_some()).collect();
    let first = rankings.first()?;
    let at = first.n.and_then(|n| place::at_level(n, &first.grows));
    let at = at.map_or(String::new(), |at| format!(" {at}"));
    let name = compared.workload.as_deref().unwrap_or_default();
    let on = words::on_system(findings, compared);
    let title = format!("{name}{on}{at}; {}", better(&rankings));
    let mut section = Section::new(Text::toned(title, Tone::Strong));
    words::findings(compared).into_iter().take(FINDINGS_MOST).for_each(|finding| section.say(finding));
    let headings = rankings.iter().enumerate().map(|(place, ranking)| match place {
        0 => Column::number(&ranking.name),
        _ => Column::number(&ranking.name).narrow(Narrow::LeftOut),
    });
    let columns = [Column::default()].into_iter().chain(headings);
    let mut table = Table::of_columns(columns.collect());
    table.yields = Some(yields::CONTENDERS);
    table.more = " contenders: --verbose";
    for entry in by_value(first) {
        let cells = rankings.iter().map(|ranking| cell(ranking, entry.place));
        let below = reasons(&rankings, entry.place).into_iter().map(|reason| Text::toned(reason, Tone::Open));
        table.push(Row {
            cells: [Cell::from(words::name(&entry.name))].into_iter().chain(cells).collect(),
            below: below.collect(),
            ..Row::default()
        });
    }
    section.push(table);
    // With several systems each has a table with these columns.
    let first_of_workload = findings.comparisons.iter().find(|other| other.workload == compared.workload);
    if first_of_workload.is_none_or(|first| std::ptr::eq(first, compared)) {
        section.push(measured(findings, name, &rankings));
    }
    if let Some(mut growths) = table::growths(findings, compared, true) {
        if let Some(Element::Table(table)) = growths.blocks.first_mut() {
            table.yields = Some(yields::CHANGES);
            table.more = ": --verbose";
        }
        section.push(growths);
    }
    Some(section)
}

/// The comparison as blocks: the claim, the facts that differ, the costs, then lists of the answers.
pub(super) fn systems(compared: &Comparison) -> Vec<Element> {
    let pairs: Vec<Pair<'_>> = compared
        .rankings
        .iter()
        .flat_map(|ranking| ranking.others().map(move |entry| (ranking, entry)))
        .map(|(ranking, entry)| Pair::of(compared, ranking, entry))
        .collect();
    let mut blocks: Vec<Element> = Vec::new();
    let interleaved = words::interleaved(compared).map(|text| Text::toned(text, Tone::Notable).into());
    blocks.extend(interleaved);
    blocks.push(Text::toned(words::title(compared), Tone::Strong).into());
    blocks.push(Text::from(words::summary(compared)).into());
    if !compared.is_of_other_programs() {
        blocks.push(facts(compared).into());
    }
    blocks.extend(apart(compared).into_iter().map(|note| Text::from(note).into()));
    let rows = table::cost_rows(compared);
    let rows = table::by_importance(compared, &rows);
    if !rows.is_empty() {
        let mut table = table::costs(compared, &rows);
        (table.yields, table.more) = (Some(yields::SYSTEMS), " series: --verbose");
        blocks.push(table.into());
        blocks.push(Text::toned(table::marks(compared), Tone::Faint).into());
        let mut counted = Table { tone: Tone::Faint, ..Table::without_headings(1) };
        counted.yields = Some(yields::COLUMNS);
        table::counted(&rows).into_iter().for_each(|text| counted.push([text]));
        blocks.push(counted.into());
    }
    let mut scalings = Table { yields: Some(yields::SCALED), ..Table::without_headings(1) };
    scalings.more = " operations that scale better: --verbose";
    compare::growth::scaling_sentences(compared).into_iter().for_each(|sentence| scalings.push([sentence]));
    blocks.push(scalings.into());
    let lists = lists(compared, &pairs);
    blocks.extend(lists.into_iter().filter(|list| !list.items.is_empty()).map(Into::into));
    blocks.push(Text::toned("--verbose has every ratio", Tone::Faint).into());
    blocks
}

/// The explanation of each column, because its name alone may not suffice.
fn measured(findings: &Findings, workload: &str, shown: &[&Ranking]) -> Table {
    let is_it = |finding: &&Finding, name: &str| finding.key.workload == workload && finding.key.name == name;
    let mut table = Table { tone: Tone::Faint, yields: Some(yields::COLUMNS), ..Table::without_headings(2) };
    for ranking in shown {
        let finding = findings.series.iter().find(|finding| is_it(finding, &ranking.name));
        if let Some(finding) = finding.filter(|finding| !finding.summary.is_empty()) {
            table.push([ranking.name.as_str(), finding.summary.trim_end_matches('.')]);
        }
    }
    table
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

/// Every contender, by its value or its lower bound, the best first; those without a value last.
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

/// The value of a contender, and its rank where that is certain.
fn cell(ranking: &Ranking, place: usize) -> Cell {
    let Some(entry) = ranking.standings.iter().find(|entry| entry.place == place) else {
        return Cell::default();
    };
    let Some(value) = value(ranking, entry) else { return Cell::toned("—", Tone::Open) };
    let rank = entry.rank.filter(|_| ranking.has_difference());
    let rank = rank.map(|rank| format!(" {}", words::place_of(rank, rank.of))).unwrap_or_default();
    (value + &rank).into()
}

/// Why a contender has no value in some of the series, alike reasons once.
fn reasons(shown: &[&Ranking], place: usize) -> Vec<String> {
    let of_series = |ranking: &&Ranking| {
        let entry = ranking.standings.iter().find(|entry| entry.place == place)?;
        Some((reason(ranking, entry)?, ranking.name.clone()))
    };
    let said = |(reason, names): (String, Vec<String>)| match names.len() {
        all if all == shown.len() => reason,
        _ => format!("{}: {reason}", list(&names)),
    };
    grouped(shown.iter().filter_map(of_series)).into_iter().map(said).collect()
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

/// A series of one system against that of the first.
struct Pair<'a> {
    name: String,
    ranking: &'a Ranking,
    entry: &'a RankingEntry,
}

impl<'a> Pair<'a> {
    fn of(compared: &Comparison, ranking: &'a Ranking, entry: &'a RankingEntry) -> Pair<'a> {
        let name = match compared.contenders.len() {
            ..=2 => ranking.label.clone(),
            _ => format!("{} of {}", ranking.label, entry.name),
        };
        Pair { name, ranking, entry }
    }

    fn claim(&self) -> Option<Claim> {
        self.entry.overall.as_ref().map(Ratio::claim)
    }

    /// The different loads that the two were offered.
    fn offered(&self) -> Option<&OfferedApart> {
        self.entry.note.as_ref().and_then(AnswerNote::offered)
    }
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

/// The facts that differ.
fn facts(compared: &Comparison) -> Names {
    let differences: Vec<String> = compared.differences.iter().map(sentences::difference).collect();
    let items = if differences.is_empty() { vec!["no recorded fact".into()] } else { differences };
    Names { label: "Differs".into(), items, lines_max: 2, ..Names::default() }
}

/// The series without a number anywhere, and those of systems that have no ratio.
fn without_result(compared: &Comparison, pairs: &[Pair<'_>]) -> Vec<String> {
    let nowhere = compared.rankings.iter().filter(|ranking| !ranking.is_measured());
    let here = pairs.iter().filter(|pair| pair.entry.overall.is_none() && pair.ranking.is_measured());
    let here = here.filter(|pair| !pair.entry.is_one_sided());
    nowhere.map(|ranking| ranking.label.clone()).chain(here.map(|pair| pair.name.clone())).collect()
}

/// The series that do not differ for certain, or have no result.
fn lists(compared: &Comparison, pairs: &[Pair<'_>]) -> Vec<Names> {
    let named = |is_wanted: fn(Option<Claim>) -> bool| -> Vec<String> {
        pairs.iter().filter(|pair| is_wanted(pair.claim())).map(|pair| pair.name.clone()).collect()
    };
    let list = |label: &str, items| Names { label: label.into(), items, lines_max: 2, ..Names::default() };
    let more = pairs.iter().filter_map(|pair| match pair.claim()? {
        Claim::Unresolved { more } => more,
        _ => None,
    });
    let more: Vec<_> = more.collect();
    let would = |most| format!("; {} would resolve {}", compare::more_words(most), more.len());
    let would = more.iter().max().map(|most| would(*most)).unwrap_or_default();
    let refused: Vec<String> = compared.refused.iter().map(compare::refused).collect();
    let mut apart: Vec<String> = pairs.iter().filter_map(Pair::offered).map(compare::offered).collect();
    apart.sort_unstable();
    apart.dedup();
    let equivalent = named(|claim| matches!(claim, Some(Claim::Equivalent { .. })));
    let small = named(|claim| matches!(claim, Some(Claim::DifferentButSmall)));
    let unresolved = named(|claim| matches!(claim, Some(Claim::Unresolved { .. })));
    let one_sided = pairs.iter().filter(|pair| pair.entry.is_one_sided());
    let margin = percent(compared.margin);
    vec![
        list(&format!("Equivalent within {margin} or the noise floor"), equivalent),
        list(&format!("Different by less than {margin}"), small),
        Names { behind: would, ..list("Unresolved", unresolved) },
        list("Without a result", without_result(compared, pairs)),
        list("Measured on one side only", one_sided.map(|pair| pair.name.clone()).collect()),
        list("Not the same load", apart),
        list("Refused", refused),
    ]
}
