//! How contenders grow, a sentence for each: their times over n, and of systems the operations that scale
//! better over workers on one of them.

use judge::Findings;
use judge::compare::{Claim, Comparison, ContenderGrowth, GrowthClaim, Ranking, RankingEntry, SeriesGrowth};
use record::Side;
use serde::Serialize;
use stats::{Interval, Scaling, Speedup};

use super::words;
use crate::place::{at, counted};
use crate::sentences;
use crate::words::{bound, count, factor_with_interval, list, percent, share_with_interval};

/// A contender, and the trends of its times over n.
pub(crate) struct GrowthSentence {
    /// Its name.
    pub(crate) name: String,
    /// Its place among the contenders.
    pub(crate) place: usize,
    /// `server cpu flat within 9 %, p50 grows to ×12 (11–13)`.
    pub(crate) words: String,
}

/// An operation that scales better on one system than on another.
#[derive(Clone, Debug, Serialize)]
pub struct ScalingComparison<'a> {
    /// The series that shows it.
    pub label: &'a str,
    /// Name of the system on which it scales better.
    pub better: &'a str,
    /// Name of the other.
    pub worse: &'a str,
    /// The result in words.
    pub words: String,
}

/// The heading, and a sentence for each contender, the best first. All times, or only the first of those that
/// clients measure.
pub(crate) fn growths(
    findings: &Findings,
    compared: &Comparison,
    is_short: bool,
) -> (String, Vec<GrowthSentence>) {
    let growths = findings.growths(compared);
    let ranges = growths.iter().flat_map(|contender| &contender.series).map(|series| series.range);
    let (low, high) = ranges.fold((u64::MAX, 0), |(low, high), range| (low.min(range.0), high.max(range.1)));
    let grows = compared.rankings.first().map_or("n", |ranking| ranking.grows.as_str());
    let heading = match low < high {
        true => format!("How the times change from {} to {}", count(low), counted(&count(high), grows)),
        false => format!("The times {}", at(high, grows)),
    };
    let sentence = |contender: &ContenderGrowth| GrowthSentence {
        name: words::name(&contender.name).to_owned(),
        place: contender.place,
        words: of_contender(contender, is_short, high),
    };
    (heading, growths.iter().map(sentence).collect())
}

/// Every operation that scales better, or worse, on a system than on the reference of this.
pub(super) fn scalings(compared: &Comparison) -> Vec<ScalingComparison<'_>> {
    let entries = compared.rankings.iter().flat_map(|row| row.others().map(move |entry| (row, entry)));
    entries.filter_map(|(row, entry)| between(row, entry)).collect()
}

/// The sentences alone.
pub(crate) fn scaling_sentences(compared: &Comparison) -> Vec<String> {
    scalings(compared).into_iter().map(|one| one.words).collect()
}

/// The claim about each time, equal claims together.
fn of_contender(contender: &ContenderGrowth, is_short: bool, high: u64) -> String {
    let mut said: Vec<(Vec<String>, String)> = Vec::new();
    for series in shown(&contender.series, is_short) {
        let words = of_series(series, high);
        match said.last_mut().filter(|(_, last)| *last == words) {
            Some((names, _)) => names.push(series.name.clone()),
            None => said.push((vec![series.name.clone()], words)),
        }
    }
    let said = said.into_iter().map(|(names, words)| format!("{} {words}", list(&names)));
    said.collect::<Vec<_>>().join("; ")
}

fn shown(series: &[SeriesGrowth], is_short: bool) -> impl Iterator<Item = &SeriesGrowth> {
    let first = series.iter().position(|series| series.side == Side::Client);
    let is_shown = move |(place, series): &(usize, &SeriesGrowth)| {
        !is_short || series.side == Side::Server || Some(*place) == first
    };
    series.iter().enumerate().filter(is_shown).map(|(_, series)| series)
}

/// `grows to ×12 (11–13)`, with its last level if that is before the others.
fn of_series(series: &SeriesGrowth, high: u64) -> String {
    let said = match &series.growth {
        GrowthClaim::Flat { within } => format!("flat within {}", bound(*within)),
        GrowthClaim::Grows(times) => format!("grows to {}", factor_with_interval(*times)),
        GrowthClaim::Falls(times) => format!("falls to {}", factor_with_interval(*times)),
        GrowthClaim::Changes { most } => format!("changes by up to {}", percent(*most)),
        GrowthClaim::Undecided { at_most: Some(share) } => format!("undecided, at most {}", bound(*share)),
        GrowthClaim::Undecided { at_most: None } => "undecided".to_owned(),
        GrowthClaim::Limited(limited) => format!("not judged: {}", sentences::limited(limited)),
    };
    let to = if series.range.1 < high { format!(" at {}", count(series.range.1)) } else { String::new() };
    said + &to
}

fn between<'a>(row: &'a Ranking, entry: &'a RankingEntry) -> Option<ScalingComparison<'a>> {
    let reference = row.standings.iter().find(|other| Some(other.place) == entry.reference)?;
    let (better, worse) = match entry.overall.as_ref()?.claim() {
        Claim::Faster | Claim::InPart { is_slower: false, .. } => (entry, reference),
        Claim::Slower | Claim::InPart { is_slower: true, .. } => (reference, entry),
        _ => return None,
    };
    let [of_better, of_worse] = [better.scaling.as_ref()?, worse.scaling.as_ref()?];
    let (most, at_worse) = apart(of_better, of_worse)?;
    let operation = row.label.strip_suffix(&row.name).unwrap_or(&row.label).trim_end();
    let words = format!(
        "{operation} scales better on {} than on {}: {} workers reach {}, not {}{}",
        words::name(&better.name),
        words::name(&worse.name),
        count(most.workers),
        factor_with_interval(most.ratio),
        factor_with_interval(at_worse.ratio),
        share_apart(of_better, of_worse)
    );
    Some(ScalingComparison { label: &row.label, better: &better.name, worse: &worse.name, words })
}

/// The largest number of workers at which the losses certainly differ, without those of the machines. The
/// claim may be about other numbers of workers, or about those without processors of their own.
fn apart<'a>(better: &'a Scaling, worse: &'a Scaling) -> Option<(&'a Speedup, &'a Speedup)> {
    better.speedups.iter().rev().find_map(|speedup| {
        let other = worse.speedups.iter().find(|other| other.workers == speedup.workers)?;
        (speedup.efficiency.low > other.efficiency.high).then_some((speedup, other))
    })
}

/// `; 2 (1–3) % of the work is serial, not 20 (19–21) %`, where that is certain: σ of the law, or with two
/// workers the time that each waits.
fn share_apart(better: &Scaling, worse: &Scaling) -> String {
    let pair = |of: fn(&Scaling) -> Option<Interval>| {
        let (better, worse) = (of(better)?, of(worse)?);
        (better.high < worse.low).then_some((better, worse))
    };
    if let Some((better, worse)) = pair(|scaling| scaling.law.map(|law| law.serial)) {
        let [better, worse] = [better, worse].map(share_with_interval);
        return format!("; {better} of the work is serial, not {worse}");
    }
    pair(|scaling| scaling.loss).map_or_else(String::new, |(better, worse)| {
        let [better, worse] = [better, worse].map(sentences::share_of_time);
        format!("; each waits {better} of its time, not {worse}")
    })
}
