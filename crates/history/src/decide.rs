//! The history of a folder, from the courses of its machines.

use std::collections::HashSet;

use judge::Difference;
use record::Unit;
use stats::{ChangeGround, Interval, LevelChange, LevelHistory, LevelSegment, Suspicion, YearlyDrift};

use crate::answer::{
    Boundary, BoundaryKind, CostChange, CostDrift, HistoryAnswer, HistorySegment, LeftOutRun,
    LeftOutRunReason, MachineHistory, Night, SeriesHistory, SuspectedSeries,
};
use crate::course::{Lineage, MachineCourse, RunOfMachine, SeriesCourse};
use crate::store::Store;
use crate::summary::SeriesSummary;

/// Version of the answer.
const SCHEMA: u32 = 1;

/// The history of a folder.
pub fn history(store: &Store) -> HistoryAnswer {
    answer(store, false)
}

/// The same before series that look changed in the newest run are measured again: none of them is raised yet.
pub fn before_confirming(store: &Store) -> HistoryAnswer {
    answer(store, true)
}

fn answer(store: &Store, confirms: bool) -> HistoryAnswer {
    let courses = MachineCourse::all(store);
    let lineages = Lineage::all(&courses);
    let mut machines: Vec<MachineHistory> =
        lineages.iter().flat_map(|lineage| of_lineage(store, lineage, &courses, confirms)).collect();
    let newest = |machine: &MachineHistory| machine.nights.last().map(|night| night.started_at.clone());
    machines.sort_by_key(|machine| std::cmp::Reverse(newest(machine)));
    HistoryAnswer {
        schema: SCHEMA,
        folder: store.folder().display().to_string(),
        runs: store.summaries().filter(|(_, run)| run.counts()).count(),
        changes_since: None,
        machines,
        left_out: left_out(store),
    }
}

fn left_out(store: &Store) -> Vec<LeftOutRun> {
    let one = |file: &str, reason, error: &str| LeftOutRun {
        file: file.to_owned(),
        reason,
        error: error.to_owned(),
    };
    let unreadable = store.unreadable.iter().map(|stored| {
        let error = stored.run.as_ref().err().map_or("", String::as_str);
        one(&stored.state.file, LeftOutRunReason::Unreadable, error)
    });
    let not_counted = store.summaries().filter(|(_, run)| !run.counts());
    let not_counted = not_counted.map(|(stored, run)| match run.end {
        Some(_) => one(&stored.state.file, LeftOutRunReason::Damaged, ""),
        None => one(&stored.state.file, LeftOutRunReason::NotEnded, ""),
    });
    let copies = store.copies.iter().map(|stored| one(&stored.state.file, LeftOutRunReason::Copy, ""));
    unreadable.chain(not_counted).chain(copies).collect()
}

/// The histories of machines that were measured under one name.
fn of_lineage(
    store: &Store,
    lineage: &Lineage<'_, '_>,
    all: &[MachineCourse<'_>],
    confirms: bool,
) -> Vec<MachineHistory> {
    let boundaries: Vec<Vec<Boundary>> =
        lineage.courses.iter().map(|course| boundaries(course, all)).collect();
    let main = lineage.levels(&boundaries, false, confirms);
    let details = lineage.levels(&boundaries, true, false);
    let of_machine = |(machine, boundaries): (usize, Vec<Boundary>)| {
        let of = OfMachine { store, lineage, course: lineage.courses[machine], machine };
        of.history(&main, &details, boundaries)
    };
    boundaries.into_iter().enumerate().map(of_machine).collect()
}

/// One machine of a lineage.
struct OfMachine<'s, 'c, 'a> {
    store: &'s Store,
    lineage: &'s Lineage<'c, 'a>,
    course: &'c MachineCourse<'a>,
    machine: usize,
}

impl OfMachine<'_, '_, '_> {
    fn history(&self, main: &LevelHistory, details: &LevelHistory, known: Vec<Boundary>) -> MachineHistory {
        let mut taken = HashSet::new();
        let series: Vec<SeriesHistory> = self
            .course
            .series
            .iter()
            .enumerate()
            .map(|(own, series)| {
                let levels = if series.newest.detail { details } else { main };
                self.series(series, self.lineage.place_of(self.machine, own), levels, &mut taken)
            })
            .collect();
        let mut boundaries = known;
        boundaries.extend(main.changes.iter().filter_map(|change| self.moved(change)));
        boundaries.sort_by_key(|boundary| boundary.night);
        let is_newest = self.lineage.newest() == Some(self.machine);
        let suspected = main.suspected.iter().filter(|_| is_newest);
        MachineHistory {
            machine: self.course.machine.clone(),
            nights: self.course.runs.iter().map(|one| self.night(one)).collect(),
            changes: self.changes(main, &series),
            suspected: suspected.filter_map(|suspicion| self.suspected(suspicion)).collect(),
            drift: main.machine_drifts.get(self.machine).copied().flatten().map(cost_drift),
            boundaries,
            series,
        }
    }

    fn night(&self, one: &RunOfMachine<'_>) -> Night {
        Night {
            run: one.run.id.clone(),
            file: one.stored.state.file.clone(),
            started_at: one.run.started_at.clone(),
            started_seconds: one.run.started_seconds,
            kernel: one.run.systems[one.system].kernel(),
            tags: self.store.tags_of(one.run).to_vec(),
        }
    }

    /// The last run before another one that measured a series; none where other machines did.
    fn measured_before(&self, place: usize, night: usize) -> Option<usize> {
        let own = self.lineage.series_at(self.machine, place)?;
        self.course.series[own].values[..night].iter().rposition(Option::is_some)
    }

    fn label(&self, place: usize) -> Option<&SeriesSummary> {
        let own = self.lineage.series_at(self.machine, place)?;
        self.course.series.get(own).map(|series| series.newest)
    }

    fn suspected(&self, suspicion: &Suspicion) -> Option<SuspectedSeries> {
        let series = self.label(suspicion.series)?;
        Some(SuspectedSeries {
            series: series.label.clone(),
            workload: series.workload.clone(),
            ratio: suspicion.ratio,
            night: self.lineage.from(self.machine, suspicion.from)?,
            base: self.lineage.to(self.machine, suspicion.base)?,
        })
    }

    /// A level that moved, though base and head do not differ.
    fn moved(&self, change: &LevelChange) -> Option<Boundary> {
        if change.is_alarm() || change.machine != self.machine {
            return None;
        }
        Some(Boundary {
            night: self.lineage.from(self.machine, change.from)?,
            kind: BoundaryKind::NotInSystem,
            from: String::new(),
            to: String::new(),
            ratio: Some(change.ratio),
            series: change
                .series
                .and_then(|place| self.label(place))
                .map(|one| one.label.clone())
                .into_iter()
                .collect(),
        })
    }

    /// The changes that were raised on this machine, the newest first. One of nearly all series is one
    /// change.
    fn changes(&self, levels: &LevelHistory, series: &[SeriesHistory]) -> Vec<CostChange> {
        let change = |change: &LevelChange| {
            let night = self.lineage.from(self.machine, change.from)?;
            let begins = |one: &&SeriesHistory| one.segments.iter().any(|segment| segment.first == night);
            let names = match change.series {
                None => series
                    .iter()
                    .filter(|one| !one.detail)
                    .filter(begins)
                    .map(|one| one.series.clone())
                    .collect(),
                Some(place) => self.label(place).map(|one| one.label.clone()).into_iter().collect(),
            };
            let measured = change.series.and_then(|place| self.measured_before(place, night));
            let before = measured.unwrap_or(night.saturating_sub(1));
            Some(CostChange {
                series: names,
                is_shared: change.series.is_none(),
                has_new_system: self.course.has_new_system(night),
                ratio: ratio(change),
                night,
                before,
                raised: self.lineage.to(self.machine, change.raised)?,
                is_side_by_side: matches!(change.ground, ChangeGround::SideBySide(_)),
                differences: differences(self.store, self.course, [before, night]),
            })
        };
        let raised =
            levels.changes.iter().filter(|change| change.is_alarm() && change.machine == self.machine);
        let mut changes: Vec<CostChange> = raised.filter_map(change).collect();
        let size = |change: &CostChange| change.ratio.value.ln().abs();
        changes.sort_by(|a, b| b.night.cmp(&a.night).then(size(b).total_cmp(&size(a))));
        changes
    }

    fn series(
        &self,
        series: &SeriesCourse<'_>,
        place: usize,
        levels: &LevelHistory,
        taken: &mut HashSet<String>,
    ) -> SeriesHistory {
        let newest = series.newest;
        let of = &levels.series[place];
        let unit = newest.unit;
        let steady = self.lineage.nights_of(self.machine).map(|night| of.steady[night]);
        let steady = steady.map(|log| log.is_finite().then(|| in_unit(log.exp(), unit)));
        let own = of.segments.iter().filter(|segment| segment.machine == self.machine);
        SeriesHistory {
            series: newest.label.clone(),
            id: unique(&newest.label, taken),
            workload: newest.workload.clone(),
            variant: newest.variant.clone(),
            name: newest.name.clone(),
            direction: newest.direction,
            settings: newest.settings.clone(),
            version: newest.version,
            unit,
            detail: newest.detail,
            class: newest.class,
            values: series.values.iter().map(|log| log.map(|log| in_unit(log.exp(), unit))).collect(),
            steady: steady.collect(),
            segments: own.filter_map(|segment| self.segment(segment, place, levels, unit)).collect(),
            drift: of.drift.map(cost_drift),
        }
    }

    fn segment(
        &self,
        segment: &LevelSegment,
        place: usize,
        levels: &LevelHistory,
        unit: Unit,
    ) -> Option<HistorySegment> {
        let begins = |change: &&LevelChange| {
            let is_its = match change.series {
                Some(series) => series == place,
                None => change.machine == self.machine,
            };
            is_its && change.is_alarm() && change.from == segment.first
        };
        // Its own before that of all series.
        let changes = levels.changes.iter().filter(begins);
        let change = changes.min_by_key(|change| change.series.is_none()).filter(|_| !segment.starts_epoch);
        let Interval { value, low, high } = segment.level;
        let [value, low, high] = [value, low, high].map(|log| in_unit(log.exp(), unit));
        Some(HistorySegment {
            first: self.lineage.from(self.machine, segment.first)?,
            last: self.lineage.to(self.machine, segment.last)?,
            nights: segment.measured,
            value: Interval { value, low: low.min(high), high: low.max(high) },
            ratio: change.map(ratio),
            raised: change.and_then(|change| self.lineage.to(self.machine, change.raised)),
            is_shared: change.is_some_and(|change| change.series.is_none()),
        })
    }
}

/// The size of a change: as it was measured side by side, where it was.
fn ratio(change: &LevelChange) -> Interval {
    match change.ground {
        ChangeGround::SideBySide(ratio) => ratio,
        ChangeGround::Nights | ChangeGround::Machine(_) => change.ratio,
    }
}

fn cost_drift(drift: YearlyDrift) -> CostDrift {
    CostDrift { ratio_per_year: drift.ratio, reaches_limit: drift.decision }
}

/// The facts that differ between two runs: all that the heads of their files have.
fn differences(store: &Store, course: &MachineCourse<'_>, runs: [usize; 2]) -> Vec<Difference> {
    let system = |night: usize| {
        let one = course.runs.get(night)?;
        store.systems(one.stored)?.into_iter().nth(one.system)
    };
    match runs.map(system) {
        [Some(before), Some(after)] => judge::environment::differences(&[&before, &after]),
        _ => Vec::new(),
    }
}

/// A cost as a value: where more is better, a rate.
fn in_unit(cost: f64, unit: Unit) -> f64 {
    if unit.more_is_better() { cost.recip() } else { cost }
}

/// A name for addresses: letters, digits and lines, and a number where two are the same.
fn unique(label: &str, taken: &mut HashSet<String>) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let name: String = label.chars().map(plain).collect();
    let name = if name.trim_matches('-').is_empty() { "series".to_owned() } else { name };
    let mut candidates = std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}-{number}")));
    candidates.find(|name| taken.insert(name.clone())).unwrap_or(name)
}

/// The known changes beside the system, in the order of time.
fn boundaries(course: &MachineCourse<'_>, all: &[MachineCourse<'_>]) -> Vec<Boundary> {
    let mut boundaries: Vec<Boundary> = machine_before(course, all).into_iter().collect();
    for (place, pair) in course.runs.windows(2).enumerate() {
        let [before, after] = [&pair[0].surroundings, &pair[1].surroundings];
        let kinds = [
            (BoundaryKind::Microcode, &before.microcode, &after.microcode),
            (BoundaryKind::Compiler, &before.compiler, &after.compiler),
        ];
        let changed = kinds.into_iter().filter(|(_, from, to)| from != to);
        boundaries.extend(changed.map(|(kind, from, to)| Boundary {
            night: place + 1,
            kind,
            from: from.clone(),
            to: to.clone(),
            ratio: None,
            series: Vec::new(),
        }));
    }
    boundaries.extend(course.series.iter().filter_map(|series| workload_before(series, course)));
    boundaries.sort_by_key(|boundary| boundary.night);
    boundaries
}

/// The machine that was measured under the same name before this one.
fn machine_before(course: &MachineCourse<'_>, all: &[MachineCourse<'_>]) -> Option<Boundary> {
    let first = &course.runs.first()?.run.started_at;
    let began = |other: &MachineCourse<'_>| other.runs.last().map(|one| one.run.started_at.clone());
    let before = all
        .iter()
        .filter(|other| other.machine.system == course.machine.system && other.machine != course.machine)
        .filter(|other| began(other).is_some_and(|last| last < *first))
        .max_by_key(|other| began(other))?;
    Some(Boundary {
        night: 0,
        kind: BoundaryKind::Machine,
        from: before.machine.title(),
        to: course.machine.title(),
        ratio: None,
        series: Vec::new(),
    })
}

/// The version of a workload before that of a series, where the series began with it.
fn workload_before(series: &SeriesCourse<'_>, course: &MachineCourse<'_>) -> Option<Boundary> {
    let first = |series: &SeriesCourse<'_>| series.values.iter().position(Option::is_some);
    let night = first(series)?;
    let is_before = |other: &&SeriesCourse<'_>| {
        let other_id = crate::course::SeriesId { version: series.id.version, ..other.id.clone() };
        other_id == series.id
            && other.id.version != series.id.version
            && first(other).is_some_and(|other| other < night)
    };
    let before = course.series.iter().filter(is_before).max_by_key(|other| first(other))?;
    Some(Boundary {
        night,
        kind: BoundaryKind::Workload,
        from: before.id.version.to_string(),
        to: series.id.version.to_string(),
        ratio: None,
        series: vec![series.newest.label.clone()],
    })
}
