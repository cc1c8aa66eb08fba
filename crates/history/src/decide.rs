//! The history of a folder, from the courses of its machines.

use std::collections::HashSet;

use judge::Difference;
use record::Unit;
use stats::{
    CourseChange, CourseOfSeries, CourseSegment, HistoryFold, HistorySettings, Interval, NightOfMachine,
};

use crate::answer::{
    Boundary, BoundaryKind, CostChange, CostDrift, HistoryAnswer, HistorySegment, LeftOutRun,
    LeftOutRunReason, MachineHistory, Night, SeriesHistory,
};
use crate::course::{MachineCourse, RunOfMachine, SeriesCourse};
use crate::store::{Store, StoredCheck};

/// Version of the answer.
const SCHEMA: u32 = 1;

/// The history of a folder.
pub fn history(store: &Store) -> HistoryAnswer {
    let courses = MachineCourse::all(store);
    HistoryAnswer {
        schema: SCHEMA,
        folder: store.folder().display().to_string(),
        runs: store.summaries().filter(|(_, run)| run.counts()).count(),
        machines: courses.iter().map(|course| of_machine(store, course, &courses)).collect(),
        left_out: left_out(store),
    }
}

fn left_out(store: &Store) -> Vec<LeftOutRun> {
    let one = |file: &str, reason, error: &str| LeftOutRun {
        file: file.to_owned(),
        reason,
        error: error.to_owned(),
    };
    let unreadable = store.unreadable.iter();
    let unreadable = unreadable.map(|(file, error)| one(file, LeftOutRunReason::Unreadable, error));
    let not_counted = store.summaries().filter(|(_, run)| !run.counts());
    let not_counted = not_counted.map(|(stored, run)| match run.end {
        Some(_) => one(&stored.state.file, LeftOutRunReason::Damaged, ""),
        None => one(&stored.state.file, LeftOutRunReason::NotEnded, ""),
    });
    let copies = store.copies.iter().map(|file| one(file, LeftOutRunReason::Copy, ""));
    unreadable.chain(not_counted).chain(copies).collect()
}

fn of_machine(store: &Store, course: &MachineCourse<'_>, all: &[MachineCourse<'_>]) -> MachineHistory {
    let night = |one: &RunOfMachine<'_>| Night {
        run: one.run.id.clone(),
        file: one.stored.state.file.clone(),
        started_at: one.run.started_at.clone(),
        started_seconds: one.run.started_seconds,
        kernel: one.run.systems[one.system].kernel(),
        tags: store.tags_of(one.run).to_vec(),
    };
    let boundaries = boundaries(course, all);
    let (main, machine) = folded(course, &boundaries, false);
    let (details, _) = folded(course, &boundaries, true);
    let mut taken = HashSet::new();
    let series: Vec<SeriesHistory> = course
        .series
        .iter()
        .zip(main.into_iter().zip(details))
        .map(|(series, (main, detail))| {
            one_series(series, if series.newest.detail { detail } else { main }, &mut taken)
        })
        .collect();
    let suspected = series.iter().filter(|one| one.is_suspected && !one.detail).map(|one| one.series.clone());
    MachineHistory {
        machine: course.machine.clone(),
        nights: course.runs.iter().map(night).collect(),
        changes: changes(store, course, &series, &machine),
        suspected: suspected.collect(),
        boundaries,
        series,
    }
}

/// The courses of the series of a machine: of those that alarms are about, or of the details beside them. The
/// others are empty.
fn folded(
    course: &MachineCourse<'_>,
    boundaries: &[Boundary],
    are_details: bool,
) -> (Vec<CourseOfSeries>, Vec<CourseChange>) {
    let first = course.runs.first().map_or(0.0, |one| one.run.started_seconds);
    let days: Vec<f64> =
        course.runs.iter().map(|one| (one.run.started_seconds - first) / SECONDS_OF_DAY).collect();
    let values = |series: &SeriesCourse<'_>| match series.newest.detail == are_details {
        true => series.values.clone(),
        false => vec![None; days.len()],
    };
    let series: Vec<Vec<Option<f64>>> = course.series.iter().map(values).collect();
    let mut fold = HistoryFold::new(series.len(), HistorySettings::default());
    for (place, day) in days.iter().enumerate() {
        let log_costs: Vec<Option<f64>> = series.iter().map(|values| values[place]).collect();
        let is_boundary =
            boundaries.iter().any(|one| one.night == place && one.series.is_empty() && place > 0);
        let night = NightOfMachine { day: *day, log_costs: &log_costs, is_boundary };
        fold.add(&night, &mut |series| check(course, series, place));
    }
    let answer = fold.answer();
    (answer.series, answer.machine)
}

const SECONDS_OF_DAY: f64 = 86_400.0;

/// The changes of a machine, the newest first. One of nearly all series is one change.
fn changes(
    store: &Store,
    course: &MachineCourse<'_>,
    series: &[SeriesHistory],
    machine: &[CourseChange],
) -> Vec<CostChange> {
    let mut changes: Vec<CostChange> = Vec::new();
    for change in machine {
        let begins = |one: &&SeriesHistory| one.segments.iter().any(|segment| segment.first == change.night);
        let names = series.iter().filter(|one| !one.detail).filter(begins).map(|one| one.series.clone());
        changes.push(cost_change(store, course, change, names.collect()));
    }
    for one in series.iter().filter(|one| !one.detail) {
        for segment in one.segments.iter().filter(|segment| !segment.is_of_machine) {
            let Some((ratio, raised)) = segment.ratio.zip(segment.raised) else { continue };
            let change = CourseChange { ratio, night: segment.first, raised, is_of_machine: false };
            changes.push(cost_change(store, course, &change, vec![one.series.clone()]));
        }
    }
    let size = |change: &CostChange| change.ratio.value.ln().abs();
    changes.sort_by(|a, b| b.night.cmp(&a.night).then(size(b).total_cmp(&size(a))));
    changes
}

fn cost_change(
    store: &Store,
    course: &MachineCourse<'_>,
    change: &CourseChange,
    series: Vec<String>,
) -> CostChange {
    CostChange {
        series,
        is_of_machine: change.is_of_machine,
        ratio: change.ratio,
        night: change.night,
        raised: change.raised,
        differences: differences(store, course, change.night),
    }
}

/// The facts that differ between a run and the one before it: all that the heads of their files have.
fn differences(store: &Store, course: &MachineCourse<'_>, night: usize) -> Vec<Difference> {
    let system = |night: usize| {
        let one = course.runs.get(night)?;
        store.systems(one.stored)?.into_iter().nth(one.system)
    };
    let (before, after) = (night.checked_sub(1).and_then(system), system(night));
    match (before, after) {
        (Some(before), Some(after)) => judge::environment::differences(&[&before, &after]),
        _ => Vec::new(),
    }
}

fn one_series(
    series: &SeriesCourse<'_>,
    course: CourseOfSeries,
    taken: &mut HashSet<String>,
) -> SeriesHistory {
    let newest = series.newest;
    let drift = course
        .drift
        .map(|drift| CostDrift { ratio_per_year: drift.ratio_per_year, reaches_limit: drift.reaches_limit });
    let mut steady = vec![None; series.values.len()];
    for (night, cost) in &course.steady {
        steady[*night] = Some(in_unit(*cost, newest.unit));
    }
    SeriesHistory {
        series: newest.label.clone(),
        id: unique(&newest.label, taken),
        workload: newest.workload.clone(),
        variant: newest.variant.clone(),
        name: newest.name.clone(),
        direction: newest.direction,
        settings: newest.settings.clone(),
        version: newest.version,
        unit: newest.unit,
        detail: newest.detail,
        class: newest.class,
        values: series.values.iter().map(|cost| cost.map(|cost| in_unit(cost.exp(), newest.unit))).collect(),
        steady,
        segments: course.segments.iter().map(|segment| segment_of(segment, newest.unit)).collect(),
        drift,
        is_suspected: course.is_suspected,
    }
}

/// A cost as a value: where more is better, a rate.
fn in_unit(cost: f64, unit: Unit) -> f64 {
    if unit.more_is_better() { cost.recip() } else { cost }
}

fn segment_of(segment: &CourseSegment, unit: Unit) -> HistorySegment {
    let Interval { value, low, high } = segment.cost;
    let ends = [in_unit(low, unit), in_unit(high, unit)];
    let change = segment.change;
    HistorySegment {
        first: segment.first,
        last: segment.last,
        nights: segment.nights,
        value: Interval {
            value: in_unit(value, unit),
            low: ends[0].min(ends[1]),
            high: ends[0].max(ends[1]),
        },
        ratio: change.map(|change| change.ratio),
        raised: change.map(|change| change.raised),
        is_of_machine: change.is_some_and(|change| change.is_of_machine),
    }
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
        series: vec![series.newest.label.clone()],
    })
}

/// The measurement of a series that was made again after a run.
fn check(course: &MachineCourse<'_>, series: usize, night: usize) -> Option<Interval> {
    let of = course.series.get(series)?.newest;
    let checks = course.runs.get(night)?.checks;
    checks.iter().find(|one| one.workload == of.workload && one.series == of.label).map(StoredCheck::ratio)
}
