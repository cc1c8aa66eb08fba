//! Night after night: the distance that all series have in common, the segments, and the changes.

use std::ops::RangeInclusive;

use super::drift::drift;
use super::scale::{Scale, Scatter, correlation, scales};
use super::window::{self, Candidate, Value, candidate, is_step, likeliest};
use super::{CourseChange, CourseOfSeries, CourseSegment, HistoryOfMachine, HistorySettings, confirms};
use crate::centre::{Interval, Student, exp};
use crate::gate::Decision;
use crate::median::{median, weighted_median};

/// New nights that a change needs to be raised without a measurement of its own.
const NEW_LEAST: usize = 3;
/// A change of the machine needs more: neighbours stay for a night or two.
const NEW_LEAST_OF_MACHINE: usize = 5;
/// Changes that are found only after more nights are drift.
const NEW_MOST: usize = 12;
/// Nights until a series says something about a night.
const READY: usize = 3;
/// Series until their median is one of a night.
const SERIES_LEAST: usize = 6;
/// Windows that overlap are worth so many that do not.
const WINDOWS: f64 = 2.5;
/// Nights in a year, from weekly ones to a run each hour.
const NIGHTS_OF_YEAR: [f64; 2] = [52.0, 8766.0];
const DAYS_OF_YEAR: f64 = 365.25;
/// The median of absolute deviations of a normal distribution, in standard deviations.
const NORMAL_MAD: f64 = 0.674_489_750_196_082;
/// A normal quantity exceeds its mean less this in 95 of 100.
const POWER: f64 = 1.645;
/// However much a series scatters, smaller distances do not look changed: it would be measured every night.
const SUSPICION_LEAST: f64 = 1.3;
/// Error rate of the interval of a level and of a ratio.
const ALPHA: f64 = 0.05;

/// One series so far.
#[derive(Clone, Debug, Default)]
struct SeriesNights {
    values: Vec<Value>,
    change: Option<CourseChange>,
    closed: Vec<CourseSegment>,
    /// The values of closed segments, without the distances that all series had in common.
    steady: Vec<(usize, f64)>,
    /// Whether the newest night looks changed, and nobody has measured it again.
    is_suspected: bool,
}

/// The history of one lineage so far: nights are added one after the other.
#[derive(Clone, Debug)]
pub struct HistoryFold {
    settings: HistorySettings,
    days: Vec<f64>,
    courses: Vec<SeriesNights>,
    scatters: Vec<Scatter>,
    machine: SeriesNights,
    of_machine: Scatter,
    changes_of_machine: Vec<CourseChange>,
    correlation: f64,
}

/// One night.
#[derive(Clone, Copy, Debug)]
pub struct NightOfMachine<'a> {
    /// Its time in days; later than that of the night before.
    pub day: f64,
    /// The natural logarithm of the cost of each series; none where it was not measured.
    pub log_costs: &'a [Option<f64>],
    /// Whether something beside the system is known to have changed before it: levels begin anew.
    pub is_boundary: bool,
}

/// Measures a series that looks changed again, base and head in one run: head divided by base; none if nobody
/// did.
pub type MeasureAgain<'a> = &'a mut dyn FnMut(usize) -> Option<Interval>;

impl HistoryFold {
    /// A history of so many series without a night.
    pub fn new(series: usize, settings: HistorySettings) -> HistoryFold {
        HistoryFold {
            settings,
            days: Vec::new(),
            courses: vec![SeriesNights::default(); series],
            scatters: vec![Scatter::default(); series],
            machine: SeriesNights::default(),
            of_machine: Scatter::default(),
            changes_of_machine: Vec::new(),
            correlation: 0.0,
        }
    }

    /// Adds a night, and raises the changes that it makes certain.
    pub fn add(&mut self, night: &NightOfMachine<'_>, again: MeasureAgain<'_>) {
        let number = self.days.len();
        self.days.push(night.day);
        if night.is_boundary {
            let scales = scales(&self.scatters);
            let correlation = self.correlation;
            for (course, scale) in self.courses.iter_mut().zip(scales) {
                course.close(course.values.len(), None, scale, correlation);
            }
            self.machine = SeriesNights::default();
        }
        let scales = scales(&self.scatters);
        self.correlation = correlation(&self.scatters);
        self.take(number, night.log_costs, &scales);
        let alpha = self.alpha();
        self.test_machine(number, alpha);
        let [certain, suspected] = [alpha, self.settings.suspicion].map(Student::new);
        for (place, scale) in scales.into_iter().enumerate() {
            self.test(place, number, scale, [&certain, &suspected], again);
        }
    }

    /// Adds the values of a night, without the distance that all series have in common.
    fn take(&mut self, night: usize, log_costs: &[Option<f64>], scales: &[Scale]) {
        let of_series = |place: usize| {
            let log_cost = (*log_costs.get(place)?)?;
            let course = &self.courses[place];
            let level = (course.values.len() >= READY).then(|| course.level(scales[place], self.correlation));
            Some((place, log_cost, level.flatten()))
        };
        let values: Vec<(usize, f64, Option<f64>)> = (0..self.courses.len()).filter_map(of_series).collect();
        let away = |(place, log_cost, level): &(usize, f64, Option<f64>)| {
            Some((log_cost - (*level)?, scales[*place].deviation.recip()))
        };
        let mut ready: Vec<(f64, f64)> = values.iter().filter_map(away).collect();
        let is_many = ready.len() >= SERIES_LEAST;
        let common = is_many.then(|| weighted_median(&mut ready)).flatten();
        let shift = common.unwrap_or(0.0);
        let mut sizes: Vec<f64> = ready.iter().map(|(away, weight)| (away - shift).abs() * weight).collect();
        let scatter = median(&mut sizes).map_or(1.0, |size| size / NORMAL_MAD);
        let weight = if is_many && scatter > 1.0 { scatter.powi(-2) } else { 1.0 };
        let day = self.days[night];
        for (place, log_cost, level) in values {
            self.courses[place].values.push(Value {
                night,
                day,
                log_cost: log_cost - shift,
                shared: shift,
                weight,
            });
            if let Some(level) = level {
                self.scatters[place].add((log_cost - shift - level) * weight.sqrt());
            }
        }
        if let Some(common) = common {
            if self.machine.values.len() >= READY {
                let scale = self.scale_of_machine();
                let level = self.machine.level(scale, self.correlation).unwrap_or(0.0);
                self.of_machine.add(common - level);
            }
            self.machine.values.push(Value { night, day, log_cost: common, shared: 0.0, weight: 1.0 });
        }
    }

    /// The speed of the machine stays high or low for some nights: its correlation is its own.
    fn correlation_of_machine(&self) -> f64 {
        correlation(std::slice::from_ref(&self.of_machine))
    }

    fn scale_of_machine(&self) -> Scale {
        let of_machine = scales(std::slice::from_ref(&self.of_machine));
        of_machine.first().copied().unwrap_or(Scale { deviation: 0.02, freedom: 1.0 })
    }

    /// The error rate of one test of one night: the rate of a year, shared by its nights, series and windows.
    fn alpha(&self) -> f64 {
        let span = self.days.last().zip(self.days.first()).map_or(0.0, |(last, first)| last - first) + 1.0;
        let [least, most] = NIGHTS_OF_YEAR;
        let nights = (self.days.len() as f64 / span.max(1.0) * DAYS_OF_YEAR).clamp(least, most);
        let series = self.courses.iter().filter(|course| !course.values.is_empty()).count().max(1);
        self.settings.alarms_per_year / (nights * series as f64 * WINDOWS)
    }

    /// The most certain change of the newest nights, if it is one.
    fn found(
        &self,
        course: &SeriesNights,
        counts: RangeInclusive<usize>,
        (scale, correlation): (Scale, f64),
        student: &Student,
    ) -> Option<Candidate> {
        let critical = student.critical(scale.freedom);
        let found = counts
            .filter_map(|count| candidate(&course.values, count, scale, correlation))
            .filter(|found| found.distance() > critical)
            .filter(|found| found.difference.abs() >= self.settings.margin.ln_1p())
            .max_by(|a, b| a.distance().total_cmp(&b.distance()))?;
        is_step(&course.values, found.count, scale).then_some(found)
    }

    fn test(
        &mut self,
        place: usize,
        night: usize,
        scale: Scale,
        [certain, suspected]: [&Student; 2],
        again: MeasureAgain<'_>,
    ) {
        let course = &mut self.courses[place];
        course.is_suspected = false;
        if course.values.last().is_none_or(|newest| newest.night != night) {
            return;
        }
        let course = &self.courses[place];
        let found = self.found(course, NEW_LEAST..=NEW_MOST, (scale, self.correlation), certain).is_some();
        let looks_changed = found || self.looks_changed(course, scale, suspected);
        let ratio = looks_changed.then(|| again(place)).flatten();
        match ratio.map(|ratio| (ratio, confirms(ratio, &self.settings))) {
            Some((ratio, Decision::Certain)) if course.values.len() > 1 => {
                let count = self.newest_likeliest(&course.values, 1..=NEW_LEAST);
                self.raise(place, count, night, scale, Some(ratio));
            }
            Some((_, Decision::Excluded)) => {}
            _ if found => {
                let count = self.newest_likeliest(&course.values, 2..=NEW_MOST + 2);
                self.raise(place, count, night, scale, None);
            }
            measured => self.courses[place].is_suspected = looks_changed && measured.is_none(),
        }
    }

    /// Whether the newest night, or the newest few, look changed.
    fn looks_changed(&self, course: &SeriesNights, scale: Scale, student: &Student) -> bool {
        let usual = student.critical(scale.freedom);
        let margin = self.settings.margin.ln_1p();
        (1..=NEW_LEAST)
            .filter_map(|count| candidate(&course.values, count, scale, self.correlation))
            .filter(|found| found.difference.abs() >= margin)
            .any(|found| {
                let of_sought = self.settings.sought.ln_1p() / found.error - POWER;
                found.distance() > usual.min(of_sought.max(SUSPICION_LEAST))
            })
    }

    fn newest_likeliest(&self, values: &[Value], counts: RangeInclusive<usize>) -> usize {
        likeliest(values, counts).unwrap_or(1)
    }

    /// Ends the segment of a series before the newest `count` nights.
    fn raise(&mut self, place: usize, count: usize, night: usize, scale: Scale, ratio: Option<Interval>) {
        let correlation = self.correlation;
        let course = &mut self.courses[place];
        let Some(difference) = window::difference(&course.values, count, scale, correlation) else { return };
        let split = course.values.len() - count;
        let change = CourseChange {
            ratio: ratio.unwrap_or_else(|| difference.ratio(scale)),
            night: course.values[split].night,
            raised: night,
            is_of_machine: false,
        };
        course.close(split, Some(change), scale, correlation);
        let level = course.level(scale, correlation).unwrap_or(0.0);
        let newest: Vec<f64> =
            course.values.iter().map(|one| (one.log_cost - level) * one.weight.sqrt()).collect();
        self.scatters[place].replace(&newest);
    }

    /// A lasting distance of all series is a change of the machine.
    fn test_machine(&mut self, night: usize, alpha: f64) {
        let (scale, correlation) = (self.scale_of_machine(), self.correlation_of_machine());
        let student = Student::new(alpha);
        let counts = NEW_LEAST_OF_MACHINE..=NEW_MOST;
        if self.machine.values.last().is_none_or(|newest| newest.night != night)
            || self.found(&self.machine, counts, (scale, correlation), &student).is_none()
        {
            return;
        }
        let count = self.newest_likeliest(&self.machine.values, NEW_LEAST_OF_MACHINE..=NEW_MOST + 2);
        let Some(difference) = window::difference(&self.machine.values, count, scale, correlation) else {
            return;
        };
        let split = self.machine.values.len() - count;
        let first = self.machine.values[split].night;
        let change =
            CourseChange { ratio: difference.ratio(scale), night: first, raised: night, is_of_machine: true };
        self.changes_of_machine.push(change);
        // From here on the new speed of the machine is the usual one, and it is in the levels of all series.
        self.machine.values.drain(..split);
        let level = self.machine.level(scale, correlation).unwrap_or(0.0);
        self.machine.values.iter_mut().for_each(|one| one.log_cost -= level);
        let newest: Vec<f64> = self.machine.values.iter().map(|one| one.log_cost).collect();
        self.of_machine.replace(&newest);
        let scales = scales(&self.scatters);
        for (course, scale) in self.courses.iter_mut().zip(scales) {
            let split = course.values.partition_point(|one| one.night < first);
            if split == course.values.len() {
                continue;
            }
            for one in &mut course.values[split..] {
                (one.log_cost, one.shared) = (one.log_cost + level, one.shared - level);
            }
            let before = if split > 0 { Some(change) } else { None };
            course.close(split, before, scale, self.correlation);
        }
    }

    /// The history up to the newest night.
    pub fn answer(&self) -> HistoryOfMachine {
        let scales = scales(&self.scatters);
        let course = |(course, scale): (&SeriesNights, Scale)| {
            let mut segments = course.closed.clone();
            segments.extend(course.segment(course.values.len(), scale, self.correlation));
            let is_newest = course.values.last().is_some_and(|one| one.night + 1 == self.days.len());
            let mut steady = course.steady.clone();
            steady.extend(course.steady_values().unwrap_or_default());
            CourseOfSeries {
                segments,
                steady: steady.into_iter().map(|(night, log_cost)| (night, log_cost.exp())).collect(),
                drift: drift(&course.values, scale, self.correlation),
                is_suspected: course.is_suspected && is_newest,
            }
        };
        HistoryOfMachine {
            series: self.courses.iter().zip(scales).map(course).collect(),
            machine: self.changes_of_machine.clone(),
        }
    }

    /// The change that the newest night raised in a series.
    pub fn raised(&self, series: usize) -> Option<&CourseChange> {
        let change = self.courses.get(series)?.change.as_ref()?;
        (change.raised + 1 == self.days.len()).then_some(change)
    }

    /// Changes of nearly all series at once.
    pub fn of_machine(&self) -> &[CourseChange] {
        &self.changes_of_machine
    }
}

impl SeriesNights {
    fn level(&self, scale: Scale, correlation: f64) -> Option<f64> {
        window::mean(&self.values, scale, correlation).map(|mean| mean.value)
    }

    /// The first `count` of its values as a segment.
    fn segment(&self, count: usize, scale: Scale, correlation: f64) -> Option<CourseSegment> {
        let values = &self.values[..count];
        let (first, last) = (values.first()?, values.last()?);
        let mean = window::mean(values, scale, correlation)?;
        let reach = Student::new(ALPHA).critical(scale.freedom) * scale.deviation * mean.variance.sqrt();
        // As it was measured, at the usual speed of the machine in these nights.
        let level = mean.value + shared(values)?;
        let logs = Interval { value: level, low: level - reach, high: level + reach };
        Some(CourseSegment {
            first: first.night,
            last: last.night,
            nights: count,
            cost: exp(logs),
            change: self.change,
        })
    }

    /// Its values without the distances that all series had in common, by night.
    fn steady_values(&self) -> Option<Vec<(usize, f64)>> {
        let usual = shared(&self.values)?;
        Some(self.values.iter().map(|one| (one.night, one.log_cost + usual)).collect())
    }

    /// Ends a segment after its first `count` values; the others begin the next one.
    fn close(&mut self, count: usize, change: Option<CourseChange>, scale: Scale, correlation: f64) {
        self.closed.extend(self.segment(count, scale, correlation));
        let ended = SeriesNights { values: self.values.drain(..count).collect(), ..SeriesNights::default() };
        self.steady.extend(ended.steady_values().unwrap_or_default());
        self.change = change;
    }
}

/// The usual distance that all series had in common in some nights.
fn shared(values: &[Value]) -> Option<f64> {
    median(&mut values.iter().map(|one| one.shared).collect::<Vec<_>>())
}

impl Candidate {
    fn ratio(&self, scale: Scale) -> Interval {
        let reach = Student::new(ALPHA).critical(scale.freedom) * self.error;
        exp(Interval { value: self.difference, low: self.difference - reach, high: self.difference + reach })
    }
}
