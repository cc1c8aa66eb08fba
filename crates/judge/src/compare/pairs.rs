//! Two contenders set against each other in one series.

use stats::{Contrast, Design, JudgeSettings, Sweep};

use super::result::{OfferedApart, OfferedLoad};
use super::sample::{Costs, Sample};
use crate::finding::{ALPHA, SEED, looks};

/// The n over which two are compared.
#[derive(Clone, Copy)]
pub(super) enum Over<'l> {
    /// Over every n that both reached.
    EveryN,
    /// At these levels, a trial counting as the geometric mean of its costs there.
    MeanOf(&'l [u64]),
    /// At each of these levels.
    Each(&'l [u64]),
}

/// The second against the first; `None` where they have nothing in common.
pub(super) fn contrast(
    first: &Sample<'_>,
    second: &Sample<'_>,
    over: Over<'_>,
    margin: f64,
) -> Option<Contrast> {
    if first.unit != second.unit {
        return None;
    }
    let is_every_n = matches!(over, Over::EveryN);
    if is_every_n && (first.verdict.is_none() || second.verdict.is_none()) {
        return None;
    }
    let settings = JudgeSettings {
        margin,
        alpha: ALPHA,
        // Changes within trials decided when the run ended: the levels of trials had no influence on that,
        // but the trend of the ratio over n had.
        looks: looks(&first.recording.run).max(looks(&second.recording.run)),
        tick_seconds: first.tick_seconds.max(second.tick_seconds),
        seed: SEED,
        whole: !is_every_n || first.is_load || second.is_load,
    };
    let floor = first.floor().max(second.floor());
    let (design, numbers) = pairing(first, second);
    let apart = offered_apart(first, second).map_or(Vec::new(), |apart| apart.levels);
    let mut sides = [costs(first, &numbers[0], over, &apart), costs(second, &numbers[1], over, &apart)];
    // Variants of one system were measured in the same boots, so the effect of a boot cancels.
    if !is_one_system(first, second) {
        tell_boots(first, &numbers[0], &mut sides[0]);
        tell_boots(second, &numbers[1], &mut sides[1]);
    }
    let [one, two] = sides.each_ref().map(|costs| costs.iter().map(Costs::sweep).collect::<Vec<Sweep<'_>>>());
    Contrast::new(&one, &two, design, floor, &settings)
}

fn is_one_system(first: &Sample<'_>, second: &Sample<'_>) -> bool {
    std::ptr::eq(first.recording, second.recording) && first.key.system == second.key.system
}

/// Adds the boot of each trial.
fn tell_boots(sample: &Sample<'_>, trials: &[u32], costs: &mut [Costs<'_>]) {
    for (trial, costs) in trials.iter().zip(costs) {
        costs.boot = sample.boots.get(trial).copied().unwrap_or(0);
    }
}

fn costs<'a>(sample: &Sample<'a>, trials: &[u32], over: Over<'_>, except: &[u64]) -> Vec<Costs<'a>> {
    let of_trial = |trial: &u32| match over {
        Over::EveryN => sample.every_n(*trial, except),
        Over::MeanOf(levels) => sample.mean_of_levels(levels, *trial),
        Over::Each(levels) => sample.at_levels(levels, *trial),
    };
    trials.iter().map(of_trial).collect()
}

/// How the trials of two belong together, and the numbers of those that count: a trial is known by its place
/// among them.
fn pairing(first: &Sample<'_>, second: &Sample<'_>) -> (Design, [Vec<u32>; 2]) {
    let all = |sample: &Sample<'_>| -> Vec<u32> {
        let mut numbers: Vec<u32> = sample.recording.trials.iter().map(|trial| trial.order.trial).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    if !std::ptr::eq(first.recording, second.recording) {
        return (Design::Independent, [all(first), all(second)]);
    }
    // Trials of several systems with one number were made back to back.
    if first.key.system != second.key.system && first.recording.run.paired && is_one_host(first, second) {
        return (Design::Paired, [all(first), all(second)]);
    }
    match rounds(first, second) {
        Some(numbers) => (Design::Paired, [numbers.clone(), numbers]),
        None => (Design::Independent, [all(first), all(second)]),
    }
}

/// Whether they are of one host of a fleet, or of no fleet: hosts are measured at the same time, each by
/// itself.
fn is_one_host(first: &Sample<'_>, second: &Sample<'_>) -> bool {
    let [first, second] = [first, second].map(|sample| sample.system.fleet.as_ref().map(|place| &place.host));
    first == second
}

/// The numbers of the trials of two variants, where they were run in rounds: no trial of the next round began
/// before all of this one had. A drift that lasts longer than a round affects both, and so they are pairs.
fn rounds(one: &Sample<'_>, two: &Sample<'_>) -> Option<Vec<u32>> {
    if one.key.system != two.key.system {
        return None;
    }
    let both: Vec<u32> =
        one.started.keys().filter(|number| two.started.contains_key(number)).copied().collect();
    let of = |number: &u32| Some((*one.started.get(number)?, *two.started.get(number)?));
    let times: Vec<(f64, f64)> = both.iter().filter_map(of).collect();
    let follows = |pair: &[(f64, f64)]| pair[0].0.max(pair[0].1) < pair[1].0.min(pair[1].1);
    let most = one.started.len().max(two.started.len());
    // Where one has many more trials than the other, pairs would leave out most of them.
    (2 * both.len() > most && times.len() > 1 && times.windows(2).all(follows)).then_some(both)
}

/// Rates are rounded to one digit when they are chosen: two that differ by less than this share are the same.
const SAME: f64 = 1e-6;

/// Where these two were offered different loads; `None` where they were not. Rivals of one run are offered
/// the same. Runs that were made one after the other may have found different rates, and a response time at
/// one rate is not comparable with one at another: the difference would be that of the loads.
pub(super) fn offered_apart(first: &Sample<'_>, other: &Sample<'_>) -> Option<OfferedApart> {
    let is_same = |a: f64, b: f64| (a - b).abs() <= SAME * a.abs().max(b.abs());
    let differs = |a: &OfferedLoad, b: &OfferedLoad| {
        !is_same(a.per_second, b.per_second) || !is_same(a.spacing_seconds, b.spacing_seconds)
    };
    let both = first.offered.iter().filter_map(|(n, load)| Some((*n, load, other.offered.get(n)?)));
    let apart: Vec<(u64, &OfferedLoad, &OfferedLoad)> = both.filter(|(_, a, b)| differs(a, b)).collect();
    let (_, one, two) = *apart.last()?;
    Some(OfferedApart {
        levels: apart.iter().map(|(n, ..)| *n).collect(),
        last: [(first.name.clone(), *one), (other.name.clone(), *two)],
    })
}
