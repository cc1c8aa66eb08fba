//! The centre of one value per trial, with its standard error: the basis of the intervals of this crate.
//!
//! A 10 % trimmed mean with the winsorised variance (Tukey & McLaughlin, Sankhyā A 25, 1963; Yuen, Biometrika
//! 61, 1974). On a shared machine one trial in twenty is disturbed by other guests. A mean loses its
//! precision to that trial, and a median wastes a third of the others. Below ten trials nothing is trimmed,
//! and this is the mean with Student's t.

use serde::{Deserialize, Serialize};
use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};
use std::cell::Cell;

/// Fewer trials give no useful interval.
pub(crate) const FEWEST: u32 = 4;
/// More trials than this are not requested.
pub(crate) const MOST: u32 = 640;
/// Share of the trials cut at either end.
const TRIM: f64 = 0.10;

/// An estimate, its standard error and the degrees of freedom of that error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Centre {
    pub(crate) value: f64,
    /// Infinite for a single value, which shows no spread.
    pub(crate) error: f64,
    pub(crate) freedom: f64,
}

impl Centre {
    /// The centre of `values`; those that are not finite are missing. `None` when all are.
    pub(crate) fn new(values: &[f64]) -> Option<Centre> {
        let Trimmed { least, most, kept } = Trimmed::new(values)?;
        let value = mean(&kept);
        let count = kept.len() as f64;
        if kept.len() < 2 {
            return Some(Centre { value, error: f64::INFINITY, freedom: 0.0 });
        }
        let clamped: Vec<f64> =
            values.iter().filter(|value| value.is_finite()).map(|value| value.clamp(least, most)).collect();
        let middle = mean(&clamped);
        let squares: f64 = clamped.iter().map(|value| (value - middle).powi(2)).sum();
        Some(Centre { value, error: (squares / (count * (count - 1.0))).sqrt(), freedom: count - 1.0 })
    }

    /// How far the interval reaches to either side.
    pub(crate) fn reach(&self, student: &Student) -> f64 {
        if self.error == 0.0 { 0.0 } else { self.error * student.critical(self.freedom) }
    }

    /// The interval around the estimate.
    pub(crate) fn interval(&self, student: &Student) -> Interval {
        let reach = self.reach(student);
        Interval { value: self.value, low: self.value - reach, high: self.value + reach }
    }

    /// Whether it differs from 0 at this error rate.
    pub(crate) fn is_beyond(&self, level: f64) -> bool {
        tails(self.value / self.error, self.freedom) < level
    }

    /// The expected centre of `times` as many trials.
    pub(crate) fn with(&self, times: f64) -> Centre {
        let freedom = (self.freedom + 1.0) * times - 1.0;
        Centre { error: self.error / times.sqrt(), freedom, ..*self }
    }

    /// The same estimate with a further, independent error.
    pub(crate) fn beside(&self, error: f64) -> Centre {
        if error == 0.0 { *self } else { Centre { error: self.error.hypot(error), ..*self } }
    }
}

/// How far each value moves the centre: its winsorised deviation, 0 where it is missing.
pub(crate) fn influences(values: &[f64]) -> Vec<f64> {
    let Some(Trimmed { least, most, .. }) = Trimmed::new(values) else {
        return vec![0.0; values.len()];
    };
    let clamped = |value: &f64| if value.is_finite() { value.clamp(least, most) } else { f64::NAN };
    let clamped: Vec<f64> = values.iter().map(clamped).collect();
    let present: Vec<f64> = clamped.iter().copied().filter(|value| value.is_finite()).collect();
    let middle = mean(&present);
    clamped.iter().map(|value| if value.is_finite() { value - middle } else { 0.0 }).collect()
}

struct Trimmed {
    least: f64,
    most: f64,
    kept: Vec<f64>,
}

impl Trimmed {
    fn new(values: &[f64]) -> Option<Trimmed> {
        let mut kept: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        kept.sort_unstable_by(f64::total_cmp);
        let cut = (kept.len() as f64 * TRIM) as usize;
        kept.truncate(kept.len() - cut);
        kept.drain(..cut);
        Some(Trimmed { least: *kept.first()?, most: *kept.last()?, kept })
    }
}

/// From logarithms to factors.
pub(crate) fn exp(logs: Interval) -> Interval {
    Interval { value: logs.value.exp(), low: logs.low.exp(), high: logs.high.exp() }
}

/// Two-sided critical values of Student's t at one error rate.
pub(crate) struct Student {
    level: f64,
    /// The last value by degrees of freedom: most blocks of a series need the same.
    last: Cell<(f64, f64)>,
}

impl Student {
    /// An error rate below 10⁻¹² counts as 10⁻¹².
    pub(crate) fn new(level: f64) -> Student {
        Student { level: level.max(1e-12), last: Cell::new((0.0, f64::INFINITY)) }
    }

    /// Its error rate.
    pub(crate) fn level(&self) -> f64 {
        self.level
    }

    /// Infinite below one degree of freedom. The inverse in statrs 0.19 is wrong, or panics, at some error
    /// rates below 10⁻⁷.
    pub(crate) fn critical(&self, freedom: f64) -> f64 {
        if freedom.is_nan() || freedom < 1.0 {
            return f64::INFINITY;
        }
        if self.last.get().0 != freedom {
            self.last.set((freedom, critical(self.level, freedom)));
        }
        self.last.get().1
    }
}

/// By Newton's method in logarithms, where the chance of the tails falls ever faster: it begins below, with
/// the value of the normal distribution, and comes down from above after the first step. Where a step leaves
/// the interval that holds the value, because chances are too small for a number, that is halved.
fn critical(level: f64, freedom: f64) -> f64 {
    let Ok(student) = StudentsT::new(0.0, 1.0, freedom) else { return f64::INFINITY };
    // The largest of all, of 10⁻¹² and one degree of freedom, is below e³⁰.
    let (mut low, mut high) = (-7.0_f64, 30.0_f64);
    let normal = -Normal::standard().inverse_cdf(level.min(1.0) / 2.0);
    let mut log = normal.max(0.0).ln().clamp(low, high);
    for _ in 0..STEPS_MOST {
        let t = log.exp();
        let chance = 2.0 * student.cdf(-t);
        if chance > level {
            low = log
        } else {
            high = log
        }
        let step = (chance / level).ln() * chance / (2.0 * student.pdf(t) * t);
        let next = Some(log + step).filter(|next| (low..=high).contains(next));
        let next = next.unwrap_or(low.midpoint(high));
        if (next - log).abs() <= 1e-10 {
            break;
        }
        log = next;
    }
    log.exp()
}

/// Steps of Newton's method, which needs about six.
const STEPS_MOST: usize = 64;

/// Chance that Student's t lies further from 0 than `t`.
pub(crate) fn tails(t: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |student| 2.0 * student.cdf(-t.abs()))
}

/// NaN without values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The estimate.
    #[serde(deserialize_with = "crate::number::unknown")]
    pub value: f64,
    /// Lower end.
    #[serde(deserialize_with = "crate::number::low")]
    pub low: f64,
    /// Upper end.
    #[serde(deserialize_with = "crate::number::high")]
    pub high: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of Student's t.
    #[test]
    fn critical_values_agree_with_the_table() {
        for (level, freedom, value) in [(0.05, 1.0, 12.706), (0.05, 9.0, 2.262), (0.01, 30.0, 2.750)] {
            assert!((Student::new(level).critical(freedom) - value).abs() < 6e-4);
            assert!((tails(value, freedom) - level).abs() < 5e-5);
        }
    }

    /// At every error rate and freedom, the tails beyond the critical value have that chance.
    #[test]
    fn critical_values_have_their_error_rate() {
        for level in [0.9, 0.3, 0.05, 1e-3, 1e-7, 1e-12] {
            for freedom in [1.0, 1.5, 2.0, 5.0, 30.0, 1e3, 1e6] {
                let chance = tails(Student::new(level).critical(freedom), freedom);
                assert!((chance / level - 1.0).abs() < 1e-6, "{level} {freedom}: {chance}");
            }
        }
        assert!(Student::new(1.0).critical(3.0) < 1e-3);
    }

    #[test]
    fn few_values_give_the_mean_and_its_standard_error() {
        let centre = Centre::new(&[1.0, 2.0, f64::NAN, 6.0]).expect("values");
        assert_eq!((centre.value, centre.freedom), (3.0, 2.0));
        assert!((centre.error - (7.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Centre::new(&[f64::NAN]), None);
        assert_eq!(Centre::new(&[5.0]).expect("a value").reach(&Student::new(0.05)), f64::INFINITY);
    }

    /// By hand: of 1…20 the trimmed mean keeps 3…18, and 1, 2, 19, 20 count as 3, 3, 18, 18.
    #[test]
    fn many_values_are_trimmed_and_winsorised() {
        let mut values: Vec<f64> = (1..=20).map(f64::from).collect();
        let centre = Centre::new(&values).expect("values");
        let inner: f64 = (0..8).map(|place| (f64::from(place) + 0.5).powi(2)).sum();
        let squares = 2.0 * (inner + 2.0 * 7.5_f64.powi(2));
        assert_eq!((centre.value, centre.freedom), (10.5, 15.0));
        assert!((centre.error - (squares / (16.0 * 15.0)).sqrt()).abs() < 1e-12);
        values[19] = 1e9;
        assert_eq!(Centre::new(&values).expect("values"), centre);
    }

    #[test]
    fn pulls_add_up_to_nothing() {
        let influences = influences(&[1.0, 2.0, f64::NAN, 6.0]);
        assert_eq!(influences, [-2.0, -1.0, 0.0, 3.0]);
    }
}
