//! A comparison line by line: one line for a contender in a series. The terminal, the page and the picture
//! show these lines and nothing else.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use judge::compare::{Claim, Comparison, Ranking, RankingEntry, Ratio};

use super::{notes, words};
use crate::document::Tone;
use crate::quantity::Quantity;
use crate::sentences;
use crate::words::{count, list};

/// One contender in one series.
pub(super) struct Line<'a> {
    /// The series, and its place among the rankings; of a mean over all series none.
    pub(super) ranking: Option<(usize, &'a Ranking)>,
    /// Name of the series.
    pub(super) series: String,
    /// The place of the contender.
    pub(super) contender: usize,
    /// The drawing.
    pub(super) drawn: Drawn<'a>,
    /// The answer, or the value of the best, or why there is none.
    pub(super) answer: String,
    pub(super) is_reason: bool,
    pub(super) tone: Tone,
    /// The answer over all levels, where `answer` is that at the last.
    pub(super) overall: Option<String>,
    /// The possible places.
    pub(super) rank: Option<String>,
    /// The cause that shortened the comparison, or the reason why there is none; with the first line that it
    /// applies to.
    pub(super) note: Option<String>,
}

/// The drawing of a line.
#[derive(Clone, Copy)]
pub(super) enum Drawn<'a> {
    /// Nothing; it has no ratio.
    Nothing,
    /// A ratio with its margin.
    Ratio(&'a Ratio),
    /// A geometric mean.
    Mean(stats::Interval),
}

/// Every contender in every series, then the geometric means.
pub(super) fn of(compared: &Comparison) -> Vec<Line<'_>> {
    let mut said = HashSet::new();
    let mut lines = Vec::new();
    let measured = compared.rankings.iter().enumerate().filter(|(_, ranking)| ranking.is_measured());
    for (i, ranking) in measured {
        // The first of two systems has no line of its own.
        let is_shown =
            |entry: &&RankingEntry| entry.place > 0 || compared.workload.is_some() || entry.rank.is_some();
        for entry in ranking.standings.iter().filter(is_shown) {
            let (mut line, mut reason) = (line((i, ranking), entry), reason(ranking, entry));
            // Its name stands before it.
            if is_named(compared) {
                let name = format!(" in {}", words::name(&entry.name));
                reason = reason.map(|words| words.strip_suffix(&name).unwrap_or(&words).to_owned());
            }
            if let Some(engine) = notes::other_engine(entry)
                && !said.insert((entry.place, reason.clone()))
            {
                // One explanation is enough.
                (line.answer, line.tone, reason) = (format!("reference on {engine}"), Tone::Strong, None);
            }
            if compared.workload.is_some() {
                // The stop of a variant concerns most series: it is reported with the first.
                reason = reason.filter(|reason| said.insert((entry.place, Some(reason.clone()))));
                if reason.is_none() && line.answer.is_empty() {
                    continue;
                }
            }
            line.is_reason = line.answer.is_empty();
            match line.is_reason {
                true => line.answer = reason.unwrap_or_else(|| "no answer".into()),
                false => line.note = reason,
            }
            lines.push(line);
        }
    }
    let means = compared.means.iter().enumerate().filter_map(|(i, mean)| Some((i + 1, mean.as_ref()?)));
    lines.extend(means.map(|(contender, mean)| Line {
        ranking: None,
        series: "Geometric mean".into(),
        contender,
        drawn: Drawn::Mean(mean.ratio),
        answer: words::mean_ratio(mean),
        is_reason: false,
        tone: Tone::Plain,
        overall: Some(format!("{}, each weighing the same", words::of(mean))),
        rank: None,
        note: None,
    }));
    lines
}

/// The series without a number of any contender, with the reasons: no line shows them.
pub(super) fn without_number(compared: &Comparison) -> Vec<String> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for ranking in compared.rankings.iter().filter(|ranking| !ranking.is_measured()) {
        let stops = ranking.standings.iter().flat_map(|entry| &entry.stops);
        let reasons: BTreeSet<String> = stops.map(sentences::stop).collect();
        let reasons = reasons.into_iter().collect::<Vec<_>>().join("; ");
        all.entry(reasons).or_default().push(ranking.label.clone());
    }
    let sentence = |(reasons, names): (String, Vec<String>)| {
        let reasons = if reasons.is_empty() { reasons } else { format!(" ({reasons})") };
        format!("without a number: {}{reasons}", list(&names))
    };
    all.into_iter().map(sentence).collect()
}

/// Whether a line needs the name of its contender: there are more than one and its reference.
pub(super) fn is_named(compared: &Comparison) -> bool {
    compared.contenders.len() > 2 || compared.workload.is_some()
}

/// A contender without notes that appear once; its answer is empty where it has none.
fn line<'a>((i, ranking): (usize, &'a Ranking), entry: &'a RankingEntry) -> Line<'a> {
    let (answer, tone) = match (&entry.last, &entry.overall) {
        (Some(last), _) if last.at_least && matches!(last.claim_overall(), Claim::Unresolved { .. }) => {
            (at_least(ranking, entry).unwrap_or_default(), Tone::Open)
        }
        (Some(last), _) => {
            let n = last.comparison.n_high;
            let at = if ranking.n == Some(n) { String::new() } else { format!(" at {}", count(n)) };
            (words::answer_overall(last, ranking.unit, &at), words::tone(last.claim_overall()))
        }
        (None, Some(overall)) => (words::answer(overall, ranking.unit), words::tone(overall.claim())),
        _ if is_reference(ranking, entry) => (of_reference(ranking, entry), Tone::Strong),
        _ => (at_least(ranking, entry).unwrap_or_default(), Tone::Open),
    };
    let overall = entry.overall.as_ref().filter(|_| entry.last.is_some()).map(|overall| {
        let is_fewer = overall.levels < ranking.most_levels();
        let over = if is_fewer { format!(" over {}", count(overall.levels as u64)) } else { String::new() };
        words::answer_overall(overall, ranking.unit, &over)
    });
    let rank = entry.rank.filter(|_| ranking.n.is_none() || ranking.has_difference());
    Line {
        ranking: Some((i, ranking)),
        series: ranking.label.clone(),
        contender: entry.place,
        drawn: entry.ratio().map_or(Drawn::Nothing, Drawn::Ratio),
        answer,
        is_reason: false,
        tone,
        overall,
        rank: rank.map(|rank| words::place_of(rank, ranking.standings.len())),
        note: None,
    }
}

/// The crossing of a variant with the best over n, and the cause that shortened the comparison or the reason
/// why there is none.
fn reason(ranking: &Ranking, entry: &RankingEntry) -> Option<String> {
    let crosses =
        entry.overall.as_ref().filter(|overall| entry.last.is_some() && overall.claim() == Claim::DependsOnN);
    let crosses = crosses.map(|overall| {
        let crossings = words::crossings(&overall.comparison.crossings, ranking.unit);
        format!("over {}: {crossings}", ranking.grows)
    });
    let all: Vec<String> = crosses.into_iter().chain(note(ranking, entry)).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The cause that shortened the comparison of a contender with the reference, or the reason why there is
/// none.
pub(super) fn note(ranking: &Ranking, entry: &RankingEntry) -> Option<String> {
    let is_reference = |other: &&RankingEntry| Some(other.place) == entry.reference;
    let reference = ranking.standings.iter().find(is_reference).or(ranking.standings.first());
    let names = [reference.unwrap_or(entry), entry].map(|entry| words::name(&entry.name));
    entry.note.as_ref().map(|note| notes::between(names, note))
}

/// Whether the others are compared with it.
fn is_reference(ranking: &Ranking, entry: &RankingEntry) -> bool {
    entry.note.is_none() && ranking.standings.first().is_some_and(|first| first.place == entry.place)
}

/// The value of the best: `108 000 /s`; the first of several systems is only the reference.
fn of_reference(ranking: &Ranking, entry: &RankingEntry) -> String {
    let value = ranking.n.and_then(|n| entry.at(n)).map(|value| ranking.unit.cost(value));
    value.or_else(|| at_least(ranking, entry)).unwrap_or_else(|| "reference".into())
}

/// The lower bound of a value, where the load generator was the limit: `≥ 27 000 /s`.
fn at_least(ranking: &Ranking, entry: &RankingEntry) -> Option<String> {
    let value = entry.at_least(ranking.n?)?;
    Some(format!("≥ {}", ranking.unit.cost(value)))
}
