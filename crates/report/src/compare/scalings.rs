//! Systems on which an operation scales better for certain, a sentence for each.

use judge::compare::{Claim, Comparison, Ranking, RankingEntry};
use serde::Serialize;
use stats::{Interval, Scaling, Speedup};

use super::words;
use crate::sentences;
use crate::words::{count, factor_with_interval, share_with_interval};

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

/// Every operation that scales better, or worse, on a system than on the reference of this.
pub(super) fn of(compared: &Comparison) -> Vec<ScalingComparison<'_>> {
    let entries = compared.rankings.iter().flat_map(|row| row.others().map(move |entry| (row, entry)));
    entries.filter_map(|(row, entry)| between(row, entry)).collect()
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
        share(of_better, of_worse)
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
fn share(better: &Scaling, worse: &Scaling) -> String {
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

/// The sentences alone.
pub(crate) fn sentences(compared: &Comparison) -> Vec<String> {
    of(compared).into_iter().map(|one| one.words).collect()
}
