//! What each variant measured of each series, level by level, from the record.

use std::collections::BTreeMap;

use record::{Exclusion, Order, Recording, Series, SeriesKey, SeriesKind, System, Trial, Workload};

use super::Level;
use crate::findings::{is_of, is_of_levels, median};
use crate::generator::{self, Limited};
use crate::stops::{self, Stop};

/// A series with more levels is a curve, and no load.
const LEVELS_MAX: usize = 512;

/// One series in all variants that have values of it, or a reason for having none.
pub(super) struct Field {
    pub(super) kind: SeriesKind,
    pub(super) entrants: Vec<Entrant>,
}

/// What one variant has of a series.
pub(super) struct Entrant {
    pub(super) key: SeriesKey,
    /// Its place among the variants of the workload.
    pub(super) place: usize,
    /// By level, what each trial measured: its number and its value, the numbers rising.
    pub(super) values: BTreeMap<u64, Vec<(u32, f64)>>,
    pub(super) levels: Vec<Level>,
    pub(super) limited: Option<Limited>,
    pub(super) stops: Vec<Stop>,
}

impl Entrant {
    /// The levels at which it may be ranked, rising: half of its trials were there, and not the generator but
    /// the variant was measured.
    pub(super) fn reached(&self) -> impl DoubleEndedIterator<Item = u64> {
        let trials = self.values.values().map(Vec::len).max().unwrap_or(0);
        let reached = move |level: &&Level| !level.limited && 2 * level.trials >= trials;
        self.levels.iter().filter(reached).map(|level| level.n)
    }
}

/// All series of a workload whose n are levels.
pub(super) fn of(recording: &Recording, system: &System, workload: &Workload) -> Vec<Field> {
    let trials: Vec<Vec<&Trial>> =
        workload.variants.iter().map(|variant| trials(recording, system, workload, &variant.name)).collect();
    let field = |kind: &SeriesKind| {
        let entrant = |(place, trials): (usize, &Vec<&Trial>)| {
            let key = SeriesKey {
                system: system.name.clone(),
                workload: workload.name.clone(),
                variant: workload.variants[place].name.clone(),
                name: kind.name.clone(),
                direction: kind.direction,
            };
            entrant(recording, trials, key, place)
        };
        let entrants: Option<Vec<Entrant>> = trials.iter().enumerate().map(entrant).collect();
        Some(Field { kind: kind.clone(), entrants: entrants? })
    };
    workload.series.iter().filter_map(field).collect()
}

fn trials<'a>(
    recording: &'a Recording,
    system: &System,
    workload: &Workload,
    variant: &str,
) -> Vec<&'a Trial> {
    let is_of = |trial: &&Trial| {
        let Order { system: of, workload: name, variant: of_variant, .. } = &trial.order;
        (of, name, of_variant.as_str()) == (&system.name, &workload.name, variant)
    };
    recording.trials.iter().filter(is_of).collect()
}

/// What a variant has of a series; `None` where that is no load.
fn entrant(recording: &Recording, trials: &[&Trial], key: SeriesKey, place: usize) -> Option<Entrant> {
    let has_values = |series: &&Series| !series.values.is_empty();
    let counted: Vec<&Series> = recording.trials_of(&key).iter().filter(has_values).collect();
    // A trial whose generator did not keep up does not count, and yet it is shown.
    let kept_out = recording.excluded.iter().filter(|excluded| {
        matches!(&excluded.reason, Exclusion::Check(claim) if generator::is_claim(claim))
            && is_of(&excluded.series, &key)
    });
    let kept_out: Vec<&Series> = kept_out.map(|excluded| &excluded.series).filter(has_values).collect();
    let all: Vec<&Series> = counted.iter().chain(&kept_out).copied().collect();
    let is_load = all.is_empty() || is_of_levels(&all) && all.iter().all(|s| s.sizes.len() <= LEVELS_MAX);
    if !is_load {
        return None;
    }
    let (values, shown) = (by_level(&counted), by_level(&all));
    let limited = generator::limited(trials, &shown.keys().copied().collect::<Vec<u64>>());
    let level = |n: u64| {
        let limited = limited.as_ref().is_some_and(|limited| limited.at(n));
        let of_trials = if limited { shown.get(&n) } else { values.get(&n) };
        let of_trials = of_trials.filter(|values| !values.is_empty())?;
        let value = median(of_trials.iter().map(|(_, value)| *value));
        Some(Level { n, value, trials: of_trials.len(), limited })
    };
    let levels = shown.keys().filter_map(|n| level(*n)).collect();
    let mut stops = stops::of(trials);
    if trials.is_empty() {
        stops.push(stops::not_measured(recording.end.as_ref()));
    }
    Some(Entrant { key, place, values, levels, limited, stops })
}

/// By level the finite positive value of each trial.
fn by_level(all: &[&Series]) -> BTreeMap<u64, Vec<(u32, f64)>> {
    let mut levels: BTreeMap<u64, Vec<(u32, f64)>> = BTreeMap::new();
    for series in all {
        for (n, value) in series.points() {
            if value.is_finite() && value > 0.0 {
                levels.entry(n).or_default().push((series.trial, value));
            }
        }
    }
    levels
}
