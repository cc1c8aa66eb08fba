//! The centre of one value per trial, with its standard error: the basis of the intervals of this crate.
//!
//! A 10 % trimmed mean with the winsorised variance (Tukey & McLaughlin, Sankhyā A 25, 1963; Yuen, Biometrika
//! 61, 1974). On a shared machine one trial in twenty is disturbed by other guests. A mean loses its
//! precision to that trial, and a median wastes a third of the others. Below ten trials nothing is trimmed,
//! and this is the mean with Student's t. Statements that are to hold together share an error rate.

use std::cell::Cell;

use serde::{Deserialize, Serialize};
use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The estimate.
    #[serde(deserialize_with = "crate::verdict::or_nan")]
    pub value: f64,
    /// Lower end.
    #[serde(deserialize_with = "crate::verdict::or_negative_infinity")]
    pub low: f64,
    /// Upper end.
    #[serde(deserialize_with = "crate::verdict::or_infinity")]
    pub high: f64,
}

impl Interval {
    /// That of a rising function of the estimate.
    pub(crate) fn map(self, rising: impl Fn(f64) -> f64) -> Interval {
        Interval { value: rising(self.value), low: rising(self.low), high: rising(self.high) }
    }

    /// That of the inverse: of a rate where this is of a time.
    #[must_use]
    pub fn reciprocal(self) -> Interval {
        Interval { value: 1.0 / self.value, low: 1.0 / self.high, high: 1.0 / self.low }
    }

    /// One that reaches equally far to either side.
    pub(crate) fn around(value: f64, reach: f64) -> Interval {
        Interval { value, low: value - reach, high: value + reach }
    }
}

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
    /// That of a range of n without a value.
    pub(crate) const UNKNOWN: Centre = Centre { value: 0.0, error: f64::INFINITY, freedom: 0.0 };

    /// The chance that noise moves it by so much in either direction; 1 where the noise is not known.
    pub(crate) fn chance(&self, distance: f64) -> f64 {
        match self.error {
            _ if self.freedom < 1.0 => 1.0,
            0.0 => 0.0,
            error => tails(distance / error, self.freedom),
        }
    }

    /// The centre of `values`; those that are not finite are missing. `None` when all are.
    pub(crate) fn new(values: &[f64]) -> Option<Centre> {
        let Trimmed { least, most, kept } = Trimmed::new(values)?;
        let value = mean(&kept);
        let count = kept.len() as f64;
        if kept.len() < 2 {
            return Some(Centre { value, ..Centre::UNKNOWN });
        }
        let clamped: Vec<f64> =
            values.iter().filter(|value| value.is_finite()).map(|value| value.clamp(least, most)).collect();
        let error = (squares(&clamped) / (count * (count - 1.0))).sqrt();
        Some(Centre { value, error, freedom: count - 1.0 })
    }

    /// How far the interval reaches to either side.
    pub(crate) fn reach(&self, student: &Student) -> f64 {
        if self.error == 0.0 { 0.0 } else { self.error * student.critical(self.freedom) }
    }

    /// The interval around the estimate.
    pub(crate) fn interval(&self, student: &Student) -> Interval {
        Interval::around(self.value, self.reach(student))
    }

    /// The same of an estimate that is no finer than a tick.
    pub(crate) fn interval_on_ticks(&self, student: &Student, tick: f64) -> Interval {
        Interval::around(self.value, self.reach(student).max(tick))
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
    logs.map(f64::exp)
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

/// By Newton's method in logarithms, where the chance of the tails falls ever faster, from a value near it.
/// Where a step leaves the interval that holds the value, because chances are too small for a number, that is
/// halved.
fn critical(level: f64, freedom: f64) -> f64 {
    let Ok(student) = StudentsT::new(0.0, 1.0, freedom) else { return f64::INFINITY };
    // The largest of all, of 10⁻¹² and one degree of freedom, is below e³⁰.
    let (mut low, mut high) = (-7.0_f64, 30.0_f64);
    let normal = -Normal::standard().inverse_cdf(level.min(1.0) / 2.0);
    let mut log = expanded(normal.max(0.0), freedom).ln().clamp(low, high);
    for _ in 0..STEPS_MOST {
        let t = log.exp();
        let chance = 2.0 * student.cdf(-t);
        if chance > level {
            low = log
        } else {
            high = log
        }
        let step = (chance / level).ln() * chance / (2.0 * student.pdf(t) * t);
        let (next, is_near) = match log + step {
            next if (low..=high).contains(&next) => (next, step.abs() <= STEP_NEAR),
            _ => (low.midpoint(high), high - low <= 1e-10),
        };
        log = next;
        if is_near {
            break;
        }
    }
    log.exp()
}

/// The critical value by that of the normal distribution: Abramowitz and Stegun, Handbook of Mathematical
/// Functions, 26.7.5.
fn expanded(normal: f64, freedom: f64) -> f64 {
    let z = normal;
    let terms = [
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| (sum + term) / freedom) + z
}

/// Steps of Newton's method, which needs two or three, but more for chances too small for a number.
const STEPS_MOST: usize = 64;

/// The error after a step is about the square of the step.
const STEP_NEAR: f64 = 1e-6;

/// Chance that Student's t lies further from 0 than `t`.
pub(crate) fn tails(t: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |student| 2.0 * student.cdf(-t.abs()))
}

/// NaN without values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sum of the squared deviations from the mean.
pub(crate) fn squares(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|value| (value - middle).powi(2)).sum()
}

/// Fewer trials do not show how blocks move together.
const ENOUGH: usize = 20;
/// The quantile of interest, 5 % or a fifth of that, then rests on 20 to 100 draws.
const DRAWS: usize = 2_000;

/// The error rate of each statement for which the rate of the whole family is `alpha`.
///
/// `influences` holds a row per trial: how far the trial moves the estimate of each statement. Neighbouring
/// blocks move together, and Bonferroni's α/m, kept below 20 trials and as the least ever returned,
/// wastes that. With more trials the largest |t| of the family is drawn by flipping the signs of whole
/// trials, which keeps the correlation and is exact for symmetric errors (Westfall & Young,
/// Resampling-Based Multiple Testing, 1993, §2.3; Winkler et al., NeuroImage 92, 2014).
pub(crate) fn level_of_each(influences: &[Vec<f64>], alpha: f64, seed: u64) -> f64 {
    let trials = influences.len();
    let statements = influences.first().map_or(1, Vec::len).max(1);
    let bonferroni = alpha / statements as f64;
    if trials < ENOUGH {
        return bonferroni;
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let mut flips = SignFlips::new(influences);
    let mut largest: Vec<f64> =
        (0..DRAWS).map(|_| flips.shares(|_| !random.bool()).fold(0.0, f64::max)).collect();
    let place = ((1.0 - alpha) * DRAWS as f64) as usize;
    let share = *largest.select_nth_unstable_by(place.min(DRAWS - 1), f64::total_cmp).1;
    // The sum of squares does not change with signs, so t follows from the sum alone.
    let freedom = trials as f64 - 1.0;
    let t = (share * freedom / (trials as f64 - share)).sqrt();
    if t.is_finite() { tails(t, freedom).clamp(bonferroni, alpha) } else { bonferroni }
}

/// How often the signs of whole trials, flipped at random, make all statements together as far from zero as
/// they are: the sum of the statements' shares of their squares, which follow their t. It finds a departure
/// that is spread over several statements. All ways to flip are tried where there are few (Fisher, The Design
/// of Experiments, 1935, §21).
pub(crate) fn chance_of_all(influences: &[Vec<f64>], seed: u64) -> f64 {
    let mut flips = SignFlips::new(influences);
    let observed = flips.shares(|_| false).sum::<f64>() * (1.0 - 1e-9);
    let mut random = fastrand::Rng::with_seed(seed);
    // A flip of all trials changes nothing, so the last one keeps its sign.
    let ways = 1_usize << influences.len().saturating_sub(1).min(usize::BITS as usize - 1);
    let (far, of) = if ways <= FLIPS {
        let mut is_far = |way: &usize| flips.shares(|trial| way >> trial & 1 == 1).sum::<f64>() >= observed;
        ((0..ways).filter(&mut is_far).count(), ways)
    } else {
        let mut is_far = |_: &usize| flips.shares(|_| random.bool()).sum::<f64>() >= observed;
        // The measurement itself is one of the ways.
        ((1..FLIPS).filter(&mut is_far).count() + 1, FLIPS)
    };
    far as f64 / of as f64
}

/// Ways to flip signs that are tried.
const FLIPS: usize = 1_024;

/// The signs of whole trials, flipped.
struct SignFlips<'a> {
    /// A row per trial, a column per statement.
    influences: &'a [Vec<f64>],
    squares: Vec<f64>,
    sums: Vec<f64>,
}

impl SignFlips<'_> {
    fn new(influences: &[Vec<f64>]) -> SignFlips<'_> {
        let statements = influences.first().map_or(0, Vec::len);
        let mut squares = vec![0.0; statements];
        for row in influences {
            squares.iter_mut().zip(row).for_each(|(sum, influence)| *sum += influence * influence);
        }
        SignFlips { influences, squares, sums: vec![0.0; statements] }
    }

    /// Of each statement that has any, the share of its squares in the square of its sum: its t follows.
    fn shares(&mut self, mut is_flipped: impl FnMut(usize) -> bool) -> impl Iterator<Item = f64> {
        self.sums.fill(0.0);
        for (trial, row) in self.influences.iter().enumerate() {
            let sign = if is_flipped(trial) { -1.0 } else { 1.0 };
            self.sums.iter_mut().zip(row).for_each(|(sum, influence)| *sum += sign * influence);
        }
        let shares = self.sums.iter().zip(&self.squares).map(|(sum, square)| sum * sum / square);
        shares.filter(|share| share.is_finite())
    }
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

    fn noise(trials: usize, statements: usize, copies: usize) -> Vec<Vec<f64>> {
        let mut random = fastrand::Rng::with_seed(3);
        let mut row = || -> Vec<f64> {
            let own: Vec<f64> = (0..statements / copies).map(|_| random.f64() - 0.5).collect();
            own.iter().flat_map(|value| vec![*value; copies]).collect()
        };
        (0..trials).map(|_| row()).collect()
    }

    #[test]
    fn independent_statements_need_bonferroni_and_copies_do_not_count() {
        let independent = level_of_each(&noise(40, 32, 1), 0.05, 1);
        assert!((0.05 / 32.0..0.06 / 32.0 * 2.0).contains(&independent), "{independent}");
        let copies = level_of_each(&noise(40, 32, 32), 0.05, 1);
        assert!((0.035..=0.05).contains(&copies), "{copies}");
    }

    #[test]
    fn a_departure_that_is_spread_is_found() {
        let mut rows = noise(10, 6, 1);
        assert!(chance_of_all(&rows, 1) > 0.05);
        rows.iter_mut().flatten().for_each(|value| *value += 0.25);
        assert!(chance_of_all(&rows, 1) < 0.01, "{}", chance_of_all(&rows, 1));
        let mut many = noise(40, 6, 1);
        assert!(chance_of_all(&many, 1) > 0.05);
        many.iter_mut().flatten().for_each(|value| *value += 0.2);
        assert!(chance_of_all(&many, 1) < 0.01);
        assert_eq!(chance_of_all(&[], 1), 1.0);
    }

    #[test]
    fn few_trials_take_bonferroni() {
        assert_eq!(level_of_each(&noise(19, 32, 32), 0.05, 1), 0.05 / 32.0);
        assert_eq!(level_of_each(&[], 0.05, 1), 0.05);
    }
}
