//! The trends of the times of each contender over n, a sentence for each.

use judge::Findings;
use judge::compare::{Comparison, ContenderGrowth, GrowthClaim, SeriesGrowth};
use record::Side;

use super::words;
use crate::place::{at, counted};
use crate::sentences;
use crate::words::{bound, count, factor_with_interval, list, percent};

/// A contender, and the trends of its times over n.
pub(crate) struct Sentence {
    /// Its name.
    pub(crate) name: String,
    /// Its place among the contenders.
    pub(crate) place: usize,
    /// `server cpu flat within 9 %, p50 grows to ×12 (11–13)`.
    pub(crate) words: String,
}

/// The heading, and a sentence for each contender, the best first. All times, or only the first of those that
/// clients measure.
pub(crate) fn sentences(
    findings: &Findings,
    compared: &Comparison,
    is_short: bool,
) -> (String, Vec<Sentence>) {
    let growths = findings.growths(compared);
    let ranges = growths.iter().flat_map(|contender| &contender.series).map(|series| series.range);
    let (low, high) = ranges.fold((u64::MAX, 0), |(low, high), range| (low.min(range.0), high.max(range.1)));
    let grows = compared.rankings.first().map_or("n", |ranking| ranking.grows.as_str());
    let heading = match low < high {
        true => format!("How the times change from {} to {}", count(low), counted(&count(high), grows)),
        false => format!("The times {}", at(high, grows)),
    };
    let sentence = |contender: &ContenderGrowth| Sentence {
        name: words::name(&contender.name).to_owned(),
        place: contender.place,
        words: of_contender(contender, is_short, high),
    };
    (heading, growths.iter().map(sentence).collect())
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
