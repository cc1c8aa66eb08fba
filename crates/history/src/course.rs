//! The runs on one machine, and the course of each series over them.

use std::collections::{BTreeMap, HashMap};

use record::Direction;

use crate::machine::{MachineKey, Surroundings};
use crate::store::Store;
use crate::summary::{RunSummary, SeriesSummary};
use crate::{StoredCheck, StoredRun};

/// The runs on one machine.
pub(crate) struct MachineCourse<'a> {
    pub(crate) machine: MachineKey,
    pub(crate) runs: Vec<RunOfMachine<'a>>,
    pub(crate) series: Vec<SeriesCourse<'a>>,
}

/// A run, as far as it is of one machine.
pub(crate) struct RunOfMachine<'a> {
    pub(crate) stored: &'a StoredRun,
    pub(crate) run: &'a RunSummary,
    /// Place of the machine's system in the run.
    pub(crate) system: usize,
    pub(crate) surroundings: Surroundings,
    /// Series of it that were measured again.
    pub(crate) checks: &'a [StoredCheck],
}

/// Costs are set against each other if all of this is equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SeriesId<'a> {
    pub(crate) workload: &'a str,
    pub(crate) variant: &'a str,
    pub(crate) name: &'a str,
    pub(crate) direction: Direction,
    pub(crate) settings: &'a str,
    pub(crate) version: u32,
}

/// One series over the runs of a machine.
pub(crate) struct SeriesCourse<'a> {
    pub(crate) id: SeriesId<'a>,
    /// In the newest run that has it.
    pub(crate) newest: &'a SeriesSummary,
    /// The natural logarithm of its cost in each run; none where it was not measured.
    pub(crate) values: Vec<Option<f64>>,
}

impl<'a> MachineCourse<'a> {
    /// The machines of a folder, the one with the newest run first.
    pub(crate) fn all(store: &'a Store) -> Vec<MachineCourse<'a>> {
        let mut machines: BTreeMap<MachineKey, Vec<RunOfMachine<'a>>> = BTreeMap::new();
        for (stored, run) in store.summaries().filter(|(_, run)| run.counts()) {
            for (place, system) in run.systems.iter().enumerate() {
                let surroundings = Surroundings::new(run, system);
                let checks = store.checks_of(run);
                let one = RunOfMachine { stored, run, system: place, surroundings, checks };
                machines.entry(system.machine()).or_default().push(one);
            }
        }
        let course = |(machine, runs): (MachineKey, Vec<RunOfMachine<'a>>)| {
            let series = series(&runs);
            MachineCourse { machine, runs, series }
        };
        let mut all: Vec<MachineCourse<'a>> = machines.into_iter().map(course).collect();
        let newest = |course: &MachineCourse<'_>| course.runs.last().map(|one| one.run.started_at.clone());
        all.sort_by_key(|course| std::cmp::Reverse(newest(course)));
        all
    }

    /// Whether a run is the first one of another kernel.
    pub(crate) fn has_new_system(&self, place: usize) -> bool {
        let system = |place: usize| {
            let one = self.runs.get(place)?;
            let system = &one.run.systems[one.system];
            Some(["kernel.name", "kernel.release", "kernel.version"].map(|key| system.fact(key)))
        };
        place.checked_sub(1).is_some_and(|before| system(before) != system(place))
    }
}

/// Every series of some runs, in the order of the newest run that has it.
fn series<'a>(runs: &[RunOfMachine<'a>]) -> Vec<SeriesCourse<'a>> {
    let mut places: HashMap<SeriesId<'a>, usize> = HashMap::new();
    let mut all: Vec<(SeriesId<'a>, Vec<Option<&'a SeriesSummary>>)> = Vec::new();
    for (night, one) in runs.iter().enumerate().rev() {
        for series in one.run.series.iter().filter(|series| series.system == one.system) {
            let id = SeriesId {
                workload: &series.workload,
                variant: &series.variant,
                name: &series.name,
                direction: series.direction,
                settings: &series.settings,
                version: series.version,
            };
            let place = *places.entry(id.clone()).or_insert_with(|| {
                all.push((id, vec![None; runs.len()]));
                all.len() - 1
            });
            all[place].1[night] = Some(series);
        }
    }
    let course = |(id, nights): (SeriesId<'a>, Vec<Option<&'a SeriesSummary>>)| {
        let newest = nights.iter().rev().flatten().next().copied()?;
        Some(SeriesCourse { id, newest, values: values(&nights) })
    };
    all.into_iter().filter_map(course).collect()
}

/// So many of the first runs say which cells of n a series has, and the usual costs there.
const FIRST: usize = 5;

/// The cost of each run over the same n: the mean of its distances from the usual cost of each cell. A cell
/// that a run did not reach counts as in the run before: otherwise a run that ends below a step would look as
/// if the step were gone. Later runs change nothing of this, because the first ones say what is usual.
fn values(nights: &[Option<&SeriesSummary>]) -> Vec<Option<f64>> {
    let first: Vec<&&SeriesSummary> = nights.iter().flatten().take(FIRST).collect();
    let mut costs: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for cost in first.iter().flat_map(|series| series.costs()) {
        costs.entry(cost.cell).or_default().push(cost.log_cost);
    }
    costs.retain(|_, costs| 2 * costs.len() > first.len());
    let mean = |costs: &[f64]| costs.iter().sum::<f64>() / costs.len().max(1) as f64;
    let usual: BTreeMap<u32, f64> = costs.iter().map(|(cell, costs)| (*cell, mean(costs))).collect();
    let level = mean(&usual.values().copied().collect::<Vec<_>>());
    let mut away: BTreeMap<u32, f64> = usual.keys().map(|cell| (*cell, 0.0)).collect();
    let mut value = |series: &SeriesSummary| {
        let own = series.costs().filter_map(|cost| Some((cost.cell, cost.log_cost - usual.get(&cost.cell)?)));
        let own: Vec<(u32, f64)> = own.collect();
        let is_enough = 2 * own.len() >= usual.len() && !own.is_empty();
        away.extend(own.into_iter().filter(|_| is_enough));
        is_enough.then(|| level + away.values().sum::<f64>() / away.len() as f64)
    };
    nights.iter().map(|series| series.and_then(&mut value)).collect()
}
