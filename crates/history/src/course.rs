//! The runs on one machine, and the course of each series over them.
//!
//! Machines that were measured under one name, such as those that a cloud rents out by turns, form a
//! [`Lineage`]: a change of the system shows on each of them, and their nights find it together.

use std::collections::{BTreeMap, HashMap};

use record::Direction;
use stats::{Confirmation, HistorySettings, LevelHistory, NightCosts};

use crate::answer::Boundary;
use crate::index::StoredRun;
use crate::store::{Store, StoredCheck};
use crate::summary::{MachineKey, RunSummary, SeriesSummary, Surroundings};

const SECONDS_OF_DAY: f64 = 86_400.0;

/// So many of the first runs say which cells of n a series has, and the usual costs there.
const FIRST: usize = 5;

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

/// Machines with the same system name.
pub(crate) struct Lineage<'c, 'a> {
    /// The courses of its machines.
    pub(crate) courses: Vec<&'c MachineCourse<'a>>,
    /// Its runs in the order of time: the machine of each, and the place among the runs of that machine.
    nights: Vec<(usize, usize)>,
    /// By machine and place of a series in its course: the place among the series of all machines.
    places: Vec<Vec<usize>>,
    series: usize,
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

impl<'c, 'a> Lineage<'c, 'a> {
    /// The lineages of a folder, in the order of its machines.
    pub(crate) fn all(courses: &'c [MachineCourse<'a>]) -> Vec<Lineage<'c, 'a>> {
        let mut lineages: Vec<Vec<&'c MachineCourse<'a>>> = Vec::new();
        for course in courses {
            let is_its =
                |lineage: &&mut Vec<&MachineCourse<'_>>| lineage[0].machine.system == course.machine.system;
            match lineages.iter_mut().find(is_its) {
                Some(lineage) => lineage.push(course),
                None => lineages.push(vec![course]),
            }
        }
        lineages.into_iter().map(Lineage::new).collect()
    }

    fn new(courses: Vec<&'c MachineCourse<'a>>) -> Lineage<'c, 'a> {
        let of_machine = |(machine, course): (usize, &&MachineCourse<'_>)| {
            (0..course.runs.len()).map(move |place| (machine, place)).collect::<Vec<_>>()
        };
        let mut nights: Vec<(usize, usize)> = courses.iter().enumerate().flat_map(of_machine).collect();
        let started = |(machine, place): &(usize, usize)| courses[*machine].runs[*place].run.started_seconds;
        nights.sort_by(|a, b| started(a).total_cmp(&started(b)));
        let mut known: HashMap<&SeriesId<'_>, usize> = HashMap::new();
        let mut places = Vec::new();
        for course in &courses {
            let place = |id| {
                let next = known.len();
                *known.entry(id).or_insert(next)
            };
            places.push(course.series.iter().map(|series| &series.id).map(place).collect());
        }
        let series = known.len();
        Lineage { nights, places, series, courses }
    }

    /// The levels of its series: of those that alarms are about, or of the details beside them; the others
    /// are empty. `confirms` says whether a change of the newest run is measured again before it is raised.
    pub(crate) fn levels(
        &self,
        boundaries: &[Vec<Boundary>],
        are_details: bool,
        confirms: bool,
    ) -> LevelHistory {
        let first = self.nights.first().map_or(0.0, |(machine, place)| self.seconds(*machine, *place));
        let last = self.nights.len().saturating_sub(1);
        let night = |(number, (machine, place)): (usize, &(usize, usize))| {
            let course = self.courses[*machine];
            let mut logs = vec![None; self.series];
            for (series, all) in course.series.iter().zip(&self.places[*machine]) {
                logs[*all] = series.values[*place].filter(|_| series.newest.detail == are_details);
            }
            let starts_epoch = boundaries[*machine]
                .iter()
                .any(|one| one.night == *place && one.series.is_empty() && *place > 0);
            let confirmations = self.confirmations(*machine, *place);
            NightCosts {
                machine: *machine,
                day: (self.seconds(*machine, *place) - first) / SECONDS_OF_DAY,
                logs,
                starts_epoch,
                has_new_system: course.has_new_system(*place),
                is_measured_again: !confirmations.is_empty() || confirms && number == last,
                confirmations,
            }
        };
        let nights: Vec<NightCosts> = self.nights.iter().enumerate().map(night).collect();
        stats::history(&nights, &HistorySettings::default())
    }

    fn seconds(&self, machine: usize, place: usize) -> f64 {
        self.courses[machine].runs[place].run.started_seconds
    }

    /// The series that were measured again after a run.
    fn confirmations(&self, machine: usize, place: usize) -> Vec<Confirmation> {
        let course = self.courses[machine];
        let confirmation = |check: &StoredCheck| {
            let is_of = |series: &SeriesCourse<'_>| {
                (&check.workload, &check.series) == (&series.newest.workload, &series.newest.label)
            };
            let series = course.series.iter().position(is_of)?;
            Some(Confirmation { series: self.places[machine][series], ratio: check.ratio() })
        };
        let checks = course.runs[place].checks.iter();
        checks.filter(|check| check.system == course.machine.system).filter_map(confirmation).collect()
    }

    /// The place of a series of a machine among those of all.
    pub(crate) fn place_of(&self, machine: usize, series: usize) -> usize {
        self.places[machine][series]
    }

    /// The place of a series among those of a machine.
    pub(crate) fn series_at(&self, machine: usize, place: usize) -> Option<usize> {
        self.places[machine].iter().position(|other| *other == place)
    }

    /// The run of a machine that is this night or follows it.
    pub(crate) fn from(&self, machine: usize, night: usize) -> Option<usize> {
        let own = self.nights[night.min(self.nights.len())..].iter().find(|(other, _)| *other == machine);
        own.map(|(_, place)| *place)
    }

    /// The run of a machine that is this night or the last one before it.
    pub(crate) fn to(&self, machine: usize, night: usize) -> Option<usize> {
        let nights = &self.nights[..self.nights.len().min(night + 1)];
        nights.iter().rfind(|(other, _)| *other == machine).map(|(_, place)| *place)
    }

    /// By run of a machine: the night.
    pub(crate) fn nights_of(&self, machine: usize) -> impl Iterator<Item = usize> {
        let own = self.nights.iter().enumerate().filter(move |(_, (other, _))| *other == machine);
        own.map(|(night, _)| night)
    }

    /// The machine of the newest run.
    pub(crate) fn newest(&self) -> Option<usize> {
        self.nights.last().map(|(machine, _)| *machine)
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

/// The cost of each run over the same n: the mean of its distances from the usual cost of each cell. A cell
/// that a run did not reach counts as in the run before: otherwise a run that ends below a step would look as
/// if the step were gone. Later runs change nothing of this, because the first ones define the usual level.
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
