//! The noise floor from a run that measures one system as two.

use record::{NoiseFloor, Recording, Series, SeriesKey};

pub use stats::FLOOR_PAIRS;

use crate::series::sweep;

/// Trials that show whether an operation is long enough for its clock. No shape is fitted to so few of them,
/// so they are judged at once.
const TRIALS_TIMED: usize = 3;

/// The floor from a run that measures one system as two; `None` when no series has enough pairs and is long
/// enough for its clock. Its `run` is empty, because it is in the file of that run.
pub fn measured(recording: &Recording) -> Option<NoiseFloor> {
    let [a, b] = recording.systems.as_slice() else { return None };
    let both = |(key, first): (&SeriesKey, &[Series])| {
        let second = recording.trials_of(&SeriesKey { system: b.name.clone(), ..key.clone() });
        let tick_seconds = tick(recording, key, first);
        if is_below_resolution(first, tick_seconds) {
            return None;
        }
        Some((key.clone(), self_ratio(recording, [first, second], tick_seconds)?))
    };
    // A reference is no result, so it needs no floor.
    let of_first =
        recording.series().filter(|(key, _)| key.system == a.name && recording.kind(key).is_some());
    let (keys, ratios): (Vec<_>, Vec<_>) = of_first.filter_map(both).unzip();
    let found = stats::noise_floor(&ratios, recording.run.seed)?;
    let judged = || keys.iter().zip(&ratios).zip(&found.series).filter(|(_, share)| share.is_some());
    let name = |key: &SeriesKey| {
        recording.settings(&a.name, &key.workload).map(|settings| NoiseFloor::name(key, settings))
    };
    Some(NoiseFloor {
        share: found.share,
        false_alarm_rate: found.false_alarm_rate,
        trials: judged().map(|((_, ratio), _)| ratio.pairs.len() as u32).min().unwrap_or(0),
        measured_at: recording.run.started_at.clone(),
        run: String::new(),
        series: judged().filter_map(|((key, _), share)| Some((name(key)?, (*share)?))).collect(),
    })
}

/// One series of both sides, trial by trial: equal numbers are a pair.
fn self_ratio(
    recording: &Recording,
    [first, second]: [&[Series]; 2],
    tick_seconds: f64,
) -> Option<stats::SelfRatio> {
    let seed = recording.run.seed;
    let settings =
        stats::JudgeSettings { margin: 0.0, alpha: 0.05, looks: 1, tick_seconds, seed, whole: false };
    let sweep = |series| sweep(series).of_boot(recording.boot(series));
    let partner = |one: &&Series| second.iter().find(|other| other.trial == one.trial);
    let pairs = first.iter().filter_map(|one| Some((sweep(one), sweep(partner(&one)?))));
    let (first, second): (Vec<_>, Vec<_>) = pairs.unzip();
    let design = stats::Design::Paired;
    let contrast = stats::Contrast::new(&first, &second, design, 0.0, &settings)?;
    let ratio = contrast.at(&stats::PerClaim::all(settings.alpha)).ratio;
    Some(stats::SelfRatio { ratio, pairs: contrast.pairs().to_vec() })
}

/// Whether an operation is too short for its clock: then the clock repeats exactly, not the system.
fn is_below_resolution(trials: &[Series], tick_seconds: f64) -> bool {
    let trials: Vec<&Series> = trials.iter().take(TRIALS_TIMED).collect();
    let settings = stats::JudgeSettings { tick_seconds, ..stats::JudgeSettings::default() };
    let trials: Vec<stats::Sweep<'_>> = trials.into_iter().map(sweep).collect();
    stats::judge(&trials, &settings)
        .is_some_and(|verdict| verdict.warnings.contains(&stats::Warning::BelowResolution))
}

/// The tick of the clock of a series, per operation.
fn tick(recording: &Recording, key: &SeriesKey, trials: &[Series]) -> f64 {
    let is_its =
        |trial: &&record::Trial| trial.order.system == key.system && trial.order.workload == key.workload;
    let clock = recording.trials.iter().filter(is_its).find_map(|trial| trial.clock.as_ref());
    let batch = trials.first().map_or(1, |series| series.batch.max(1));
    clock.map_or(0.0, |clock| clock.tick_seconds / f64::from(batch))
}
