//! Slow change within a segment.

use super::CourseDrift;
use super::scale::{Scale, inflation};
use super::window::{Value, line};
use crate::centre::{Interval, Student, exp};
use crate::gate::Decision;

/// Fewer nights, or nights of fewer days, say nothing of a year.
const NIGHTS_LEAST: usize = 20;
/// A slow change that matters, a year.
const LIMIT: f64 = 0.10;
const DAYS_OF_YEAR: f64 = 365.25;
const ALPHA: f64 = 0.05;

/// The drift of a segment by a straight line, with the correlation of successive nights.
pub(super) fn drift(values: &[Value], scale: Scale, correlation: f64) -> Option<CourseDrift> {
    let days = values.last().zip(values.first()).map_or(0.0, |(last, first)| last.day - first.day);
    if values.len() < NIGHTS_LEAST || days + 1.0 < NIGHTS_LEAST as f64 {
        return None;
    }
    let line = line(values);
    if line.spread <= 0.0 {
        return None;
    }
    let residuals = values.iter().map(|one| one.weight * (one.log_cost - line.at(one.day)).powi(2));
    let count = values.len() as f64;
    let deviation = (residuals.sum::<f64>() / (count - 2.0)).sqrt().max(0.5 * scale.deviation);
    let error = deviation * (inflation(correlation, values.len()) / line.spread).sqrt() * DAYS_OF_YEAR;
    let slope = line.slope * DAYS_OF_YEAR;
    let reach = Student::new(ALPHA).critical(count - 2.0) * error;
    let logs = Interval { value: slope, low: slope - reach, high: slope + reach };
    let limit = LIMIT.ln_1p();
    let reaches_limit = match () {
        () if logs.low > 0.0 && slope >= limit / 2.0 || logs.high < 0.0 && slope <= -limit / 2.0 => {
            Decision::Certain
        }
        () if logs.low > -limit && logs.high < limit => Decision::Excluded,
        () => Decision::Undecided,
    };
    Some(CourseDrift { ratio_per_year: exp(logs), reaches_limit })
}
