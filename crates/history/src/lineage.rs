//! Machines that were measured under one name, such as those that a cloud rents out by turns: a change of the
//! system shows on each of them, and their nights find it together.

use std::collections::HashMap;

use stats::{Confirmation, HistorySettings, LevelHistory, NightCosts};

use crate::answer::Boundary;
use crate::course::{MachineCourse, SeriesCourse, SeriesId};
use crate::store::StoredCheck;

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
    /// are empty. `confirms` says whether what the newest run shows is measured again before it is raised.
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

const SECONDS_OF_DAY: f64 = 86_400.0;
