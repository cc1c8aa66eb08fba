//! A comparison of systems on one screen: the cost of each operation on each system, and lists of the
//! answers.

use judge::compare::{AnswerNote, Claim, Comparison, OfferedApart, Ranking, RankingEntry, Ratio};

use super::lists::List;
use super::yields;
use crate::compare::{self, costs, words};
use crate::document::{Element, Table, Text, Tone};
use crate::environment;
use crate::words::percent;

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

/// The comparison as blocks: the claim, the facts that differ, the costs, then lists of the answers.
pub(super) fn blocks(compared: &Comparison) -> Vec<Element> {
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
        blocks.push(facts(compared).names().into());
    }
    blocks.extend(apart(compared).into_iter().map(|note| Text::from(note).into()));
    let rows = costs::of(compared);
    let rows = costs::by_importance(compared, &rows);
    if !rows.is_empty() {
        let mut table = costs::table(compared, &rows);
        (table.yields, table.more) = (Some(yields::SYSTEMS), " series: --verbose");
        blocks.push(table.into());
        blocks.push(Text::toned(costs::marks(compared), Tone::Faint).into());
        let mut counted = Table { tone: Tone::Faint, ..Table::without_headings(1) };
        counted.yields = Some(yields::COLUMNS);
        costs::counted(&rows).into_iter().for_each(|text| counted.push([text]));
        blocks.push(counted.into());
    }
    let mut scalings = Table { yields: Some(yields::SCALED), ..Table::without_headings(1) };
    scalings.more = " operations that scale better: --verbose";
    compare::scalings::sentences(compared).into_iter().for_each(|sentence| scalings.push([sentence]));
    blocks.push(scalings.into());
    let lists = lists(compared, &pairs);
    blocks.extend(lists.iter().filter(|list| !list.items.is_empty()).map(|list| list.names().into()));
    blocks.push(Text::toned("--verbose has every ratio", Tone::Faint).into());
    blocks
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
fn facts(compared: &Comparison) -> List<'static> {
    let differences: Vec<String> = compared.differences.iter().map(environment::difference).collect();
    let items = if differences.is_empty() { vec!["nothing that was recorded".into()] } else { differences };
    List { label: "Differs".into(), items, behind: String::new(), lines: 2, series: None }
}

/// The series without a number anywhere, and those of systems that have no ratio.
fn without_result(compared: &Comparison, pairs: &[Pair<'_>]) -> Vec<String> {
    let nowhere = compared.rankings.iter().filter(|ranking| !ranking.is_measured());
    let here = pairs.iter().filter(|pair| pair.entry.overall.is_none() && pair.ranking.is_measured());
    let here = here.filter(|pair| !pair.entry.is_one_sided());
    nowhere.map(|ranking| ranking.label.clone()).chain(here.map(|pair| pair.name.clone())).collect()
}

/// The series that one side was not to measure.
fn one_sided(pairs: &[Pair<'_>]) -> Vec<String> {
    pairs.iter().filter(|pair| pair.entry.is_one_sided()).map(|pair| pair.name.clone()).collect()
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
        pairs.iter().filter_map(Pair::offered).map(crate::compare::offered).collect();
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
        list("Measured on one side only".into(), one_sided(pairs), String::new()),
        list("Not the same load".into(), apart, String::new()),
        list("Refused".into(), refused, String::new()),
    ]
}
