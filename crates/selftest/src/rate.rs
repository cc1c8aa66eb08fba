//! A rate, its interval, and its target.

use std::iter::Sum;

use statrs::distribution::{ContinuousCDF, Normal};

/// The target of a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateTarget {
    /// So much or less.
    AtMost(f64),
    /// So much or more.
    AtLeast(f64),
    /// Between the two.
    Within(f64, f64),
}

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub count: usize,
    /// Of how many.
    pub of: usize,
}

impl RateTarget {
    /// How far a rate is on the wrong side; 0 or less where it is not.
    pub(crate) fn excess(self, rate: f64) -> f64 {
        match self {
            RateTarget::AtMost(most) => rate - most,
            RateTarget::AtLeast(least) => least - rate,
            RateTarget::Within(least, most) => (least - rate).max(rate - most),
        }
    }

    /// Whether an interval holds an acceptable rate.
    pub(crate) fn touches(self, (low, high): (f64, f64)) -> bool {
        match self {
            RateTarget::AtMost(most) => low <= most,
            RateTarget::AtLeast(least) => high >= least,
            RateTarget::Within(least, most) => low <= most && high >= least,
        }
    }
}

impl Rate {
    /// Counts one more.
    pub(crate) fn add(&mut self, is_counted: bool) {
        self.count += usize::from(is_counted);
        self.of += 1;
    }

    /// Adds the counts of others.
    pub(crate) fn join(&mut self, other: Rate) {
        self.count += other.count;
        self.of += other.of;
    }

    /// As a share.
    pub fn value(self) -> f64 {
        self.count as f64 / self.of.max(1) as f64
    }

    /// Its interval with this error rate (Wilson, JASA 22, 1927). Where things can happen more than once it
    /// is cut at one a replicate.
    pub fn interval(self, alpha: f64) -> (f64, f64) {
        let z = Normal::standard().inverse_cdf(1.0 - alpha / 2.0);
        let (share, of) = (self.value().min(1.0), self.of.max(1) as f64);
        let middle = share + z * z / (2.0 * of);
        let reach = z * (share * (1.0 - share) / of + z * z / (4.0 * of * of)).sqrt();
        let scale = 1.0 + z * z / of;
        // At 0 and 1 the ends are exact, and rounding must not move them.
        let low = if self.count == 0 { 0.0 } else { (middle - reach) / scale };
        let high = if share >= 1.0 { 1.0 } else { (middle + reach) / scale };
        (low, high)
    }
}

impl Sum for Rate {
    fn sum<I: Iterator<Item = Rate>>(rates: I) -> Rate {
        rates.fold(Rate::default(), |mut all, rate| {
            all.join(rate);
            all
        })
    }
}
