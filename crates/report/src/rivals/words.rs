//! Contenders that are set against the best, in words: one line for a series at the largest level, one for
//! the mean of all levels, and the largest distance.

use record::Unit;
use stats::{Design, Interval};

use judge::compare::{Comparison, Ranking, RankingEntry, Ratio};

use crate::quantity::Quantity;
use crate::ratios::{inverted, place_of};
use crate::sentences;
use crate::words::{NO_BREAK, count, factor_with_interval, percent, ratio_with_interval, things};
use judge::Limited;
use judge::{Cause, Stop};

/// The ratio of a pair, as `12× inetd (11–13)`.
fn so_many_times(ratio: Interval, other: &str) -> String {
    let words = ratio_with_interval(ratio);
    match words.split_once(' ') {
        Some((value, interval)) => format!("{value}× {other} {interval}"),
        None => format!("{words}× {other}"),
    }
}

/// The name of a variant that has none.
pub(crate) fn name(variant: &str) -> &str {
    if variant.is_empty() { "plain" } else { variant }
}

/// `at 1 000 connections`; the level alone where it is unknown what n counts.
pub(crate) fn at(n: u64, grows: &str) -> String {
    if grows == "n" || grows.is_empty() {
        format!("at n = {}", count(n))
    } else {
        format!("at {} {grows}", count(n))
    }
}

/// The two ends of a field in a sentence: `uring 12× inetd (11–13) at 1 000 connections, 8.2×
/// (7.9–8.6) in the mean of 10 levels`. The larger value stands first. `None` where no difference is certain.
pub(crate) fn sentence(ranking: &Ranking) -> Option<String> {
    let best = ranking.best()?;
    let last = |standing: &&RankingEntry| standing.last.as_ref().is_some_and(Ratio::is_sure);
    let other = ranking.standings.iter().rfind(last)?;
    let ratio = other.last.as_ref()?;
    let values = |ratio: &Ratio| ratio.of_values(ranking.unit);
    let (larger, smaller, turned) = if values(ratio).value < 1.0 {
        (best, other, inverted as fn(Interval) -> Interval)
    } else {
        (other, best, std::convert::identity as fn(Interval) -> Interval)
    };
    let far = so_many_times(turned(values(ratio)), name(&smaller.name));
    let at = at(ratio.comparison.n_high, &ranking.grows);
    let mean = other.overall.as_ref().map(|mean| {
        let words = ratio_with_interval(turned(values(mean)));
        let levels = things(mean.levels, "level", "levels");
        format!(", {} in the mean of {levels}", words.replacen(' ', "× ", 1))
    });
    Some(format!("{} {far} {at}{}", name(&larger.name), mean.unwrap_or_default()))
}

/// What a line of a series is about: `throughput at 1 000 connections`.
pub(crate) fn heading(ranking: &Ranking) -> String {
    match ranking.n {
        Some(n) => format!("{} {}", ranking.name, at(n, &ranking.grows)),
        None => ranking.name.clone(),
    }
}

/// The words for a series in which no two differ for certain:
/// `no difference is certain; one may be after 4 more trials`.
pub(crate) fn untold<'a>(rankings: impl Iterator<Item = &'a Ranking>) -> String {
    let ratios = rankings.flat_map(|ranking| &ranking.standings).flat_map(RankingEntry::ratios);
    let more = ratios.filter_map(|ratio| {
        let ratio = &ratio.comparison;
        let needed = ratio.trials_needed? as usize;
        Some(needed.saturating_sub(ratio.trials.0.max(ratio.trials.1)).max(1))
    });
    let more = more.min().map(|more| {
        let trials = things(more, "more trial", "more trials");
        format!("; one may be after {trials}")
    });
    format!("no difference is certain{}", more.unwrap_or_default())
}

/// Every variant at the largest level, the best with its value, the others with their ratio:
/// `uring 118 000 /s · epoll ×0.93 (0.90–0.97), 2nd–3rd · select ×0.71 (0.68–0.74) at 500`.
pub(crate) fn field(ranking: &Ranking) -> String {
    let best = ranking.best().into_iter().filter_map(|best| value(ranking, best));
    let others = ranking.standings.iter().filter_map(|standing| {
        let ratio = standing.last.as_ref()?;
        Some(format!("{}{}{}", name(&standing.name), beside(ranking, ratio), place(ranking, standing)))
    });
    joined(best.chain(others))
}

/// The best: `uring 118 000 /s`.
fn value(ranking: &Ranking, best: &RankingEntry) -> Option<String> {
    let value = ranking.unit.cost(best.at(ranking.n?)?);
    Some(format!("{} {value}{}", name(&best.name), place(ranking, best)))
}

/// ` ×0.93 (0.90–0.97)`, and where it stopped earlier than the best ` at 500`.
fn beside(ranking: &Ranking, ratio: &Ratio) -> String {
    let earlier = (ranking.n != Some(ratio.comparison.n_high))
        .then(|| format!(" at {}", count(ratio.comparison.n_high)));
    format!(" {}{}", far(ranking, ratio), earlier.unwrap_or_default())
}

/// `×0.93 (0.90–0.97)`; a missing interval is mentioned only where others have one.
fn far(ranking: &Ranking, ratio: &Ratio) -> String {
    let words = factor_with_interval(ratio.of_values(ranking.unit));
    if ranking.is_told() { words } else { words.trim_end_matches(" (no interval)").to_string() }
}

/// `, 2nd–3rd`, where the place is not certain and yet not any.
fn place(ranking: &Ranking, standing: &RankingEntry) -> String {
    let rank = standing.rank.filter(|rank| rank.best != rank.worst && ranking.is_told());
    rank.map(|rank| format!(", {}", place_of(rank, rank.of))).unwrap_or_default()
}

/// The mean of every variant over the levels that it has in common with the best; `None` where there is one
/// level only.
pub(crate) fn means(ranking: &Ranking) -> Option<(String, String)> {
    let all: Vec<(&RankingEntry, &Ratio)> = ranking
        .standings
        .iter()
        .filter_map(|standing| Some((standing, standing.overall.as_ref()?)))
        .collect();
    let most = levels(ranking)?;
    let said = all.iter().map(|(standing, mean)| {
        let fewer = (mean.levels < most).then(|| format!(" over {}", count(mean.levels as u64)));
        format!("{} {}{}", name(&standing.name), far(ranking, mean), fewer.unwrap_or_default())
    });
    let best = ranking.best().map(|best| format!("{} ×1", name(&best.name)));
    let over = format!("mean of {}", things(most, "level", "levels"));
    Some((over, joined(best.into_iter().chain(said))))
}

/// How many levels most means are of.
pub(crate) fn levels(ranking: &Ranking) -> Option<usize> {
    ranking.standings.iter().filter_map(|standing| Some(standing.overall.as_ref()?.levels)).max()
}

/// Items of which none is broken, with dots between.
fn joined(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.map(|item| item.replace(' ', &NO_BREAK.to_string())).collect();
    items.join(&format!("{NO_BREAK}· "))
}

/// Where a variant stopped, and where the load generator was saturated. Each is reported once for all series.
pub(crate) fn notes(rivals: &Comparison) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for standing in rivals.rankings.iter().flat_map(|ranking| &ranking.standings) {
        let stops = standing.stops.iter().filter(|stop| stop.cause != Cause::Allowance);
        let stops = stops.map(|stop| format!("{} {}", name(&standing.name), stopped(stop)));
        let limited =
            standing.limited.as_ref().map(|l| format!("{}: {}", name(&standing.name), not_ranked(l)));
        for note in stops.chain(limited) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

/// Whether its line ends where the variant did, and not because time was up.
pub(crate) fn ends_early(standing: &RankingEntry) -> bool {
    standing.stops.iter().any(|stop| stop.cause != Cause::Allowance && stop.n.is_some())
}

fn stopped(stop: &Stop) -> String {
    sentences::stop(stop)
}

/// `load generator saturated at 1 000, not ranked there`.
fn not_ranked(limited: &Limited) -> String {
    format!(
        "{}, not ranked{}",
        sentences::limited(limited),
        if limited.levels.is_empty() { "" } else { " there" }
    )
}

/// How many were judged at once: `60 ratios of 30 pairs judged together, paired by rounds; false
/// discoveries held at 5 %`.
pub(crate) fn judged(rivals: &Comparison) -> String {
    let ratios = || {
        rivals
            .rankings
            .iter()
            .flat_map(|ranking| &ranking.standings)
            .filter_map(|standing| standing.last.as_ref())
    };
    let paired = match ratios().filter(|ratio| ratio.comparison.design == Design::Paired).count() {
        0 => ", unpaired",
        some if some == ratios().count() => ", paired by rounds",
        _ => ", some of them paired by rounds",
    };
    format!(
        "{} of {} judged together{paired}; false discoveries held at {}",
        things(rivals.ratios, "ratio", "ratios"),
        things(rivals.pairs, "pair", "pairs"),
        percent(rivals.alpha)
    )
}

/// Where the verdicts are that rivals stand in place of; `None` where there are none.
pub(crate) fn elsewhere(verdicts: usize) -> Option<String> {
    let which = match verdicts {
        0 => return None,
        1 => "the series".to_string(),
        n => format!("each of {} series", count(n as u64)),
    };
    Some(format!("the page and --format json have the verdict on {which}"))
}

/// What is better in a series.
pub(crate) fn better(unit: Unit) -> &'static str {
    if unit.more_is_better() { "more is better" } else { "less is better" }
}
