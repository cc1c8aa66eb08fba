//! Compares the claims of a verdict about a smooth curve with that curve.

use stats::{Class, Verdict};

/// Claims of one verdict that are false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FalseClaims {
    /// A limit, where the cost has none.
    pub limit: bool,
    /// A step across which the true cost changes by less than half of it.
    pub step: bool,
    /// A shape without a member that comes close to the true cost.
    pub shape: bool,
    /// A direction that the true cost does not have.
    pub direction: bool,
}

impl FalseClaims {
    /// Whether anything is false.
    pub fn any(self) -> bool {
        self.limit || self.step || self.shape || self.direction
    }
}

/// A shape is false if even its nearest member departs from the true cost by more than this, somewhere.
const NEAR: f64 = 0.05;
/// A corner is a simplification: most bends are round.
const NEAR_BEND: f64 = 0.10;
/// The smallest change of direction that matters.
const TURN: f64 = 0.10;

/// The true cost at the n of a design, rising.
pub(crate) struct TrueCurve<'a> {
    /// n with the cost at each; equal n are there once.
    points: Vec<(f64, f64)>,
    verdict: &'a Verdict,
}

impl<'a> TrueCurve<'a> {
    pub(crate) fn new(points: impl Iterator<Item = (f64, f64)>, verdict: &'a Verdict) -> TrueCurve<'a> {
        let mut points: Vec<(f64, f64)> = points.collect();
        points.dedup_by_key(|point| point.0);
        TrueCurve { points, verdict }
    }

    /// The false claims about a curve that has neither limit nor step.
    pub(crate) fn false_claims(&self) -> FalseClaims {
        FalseClaims {
            limit: self.verdict.class == Class::ApproachingLimit || self.verdict.limit.is_some(),
            step: self.verdict.steps.iter().any(|step| !self.holds(step)),
            shape: self.is_other_shape(),
            direction: self.is_other_way(),
        }
    }

    /// Whether the verdict states the direction of the cost, with bounds.
    pub(crate) fn states_direction(&self) -> bool {
        let growth = self.verdict.growth;
        match self.verdict.class {
            Class::Inconclusive | Class::TwoLines => false,
            // Within its bounds it has no direction.
            Class::Flat | Class::SmallGrowth => true,
            Class::Uneven => self.verdict.turn.is_some(),
            Class::Composite => true,
            _ => growth.low > 1.0 || growth.high < 1.0,
        }
    }

    fn at(&self, n: u64) -> f64 {
        let place = self.points.partition_point(|point| point.0 <= n as f64);
        self.points[place.clamp(1, self.points.len()) - 1].1
    }

    fn holds(&self, step: &stats::Step) -> bool {
        let change = (self.at(step.n_high) / self.at(step.n_low.saturating_sub(1))).ln();
        change * step.ratio.value.ln().signum() >= step.ratio.value.ln().abs() / 2.0
    }

    fn is_other_way(&self) -> bool {
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else { return false };
        let change = (last.1 / first.1).ln();
        let (mut highest, mut lowest) = (f64::NEG_INFINITY, f64::INFINITY);
        let (mut fall, mut rise) = (0.0f64, 0.0f64);
        for (_, cost) in &self.points {
            (highest, lowest) = (highest.max(cost.ln()), lowest.min(cost.ln()));
            (fall, rise) = (fall.max(highest - cost.ln()), rise.max(cost.ln() - lowest));
        }
        match self.verdict.class {
            Class::Value | Class::Flat | Class::Uneven | Class::Inconclusive | Class::TwoLines => false,
            Class::Decreasing => change >= 0.0 || rise > TURN.ln_1p(),
            Class::Ambiguous | Class::Composite if self.verdict.growth.high < 1.0 => change >= 0.0,
            Class::Ambiguous | Class::Composite => self.verdict.growth.low > 1.0 && change <= 0.0,
            // A cost with a shape has one direction.
            _ => change <= 0.0 || fall > TURN.ln_1p(),
        }
    }

    fn is_other_shape(&self) -> bool {
        let near = |low: f64, high: f64| {
            let mut exponents = (0..=20).map(|place| low + (high - low) * f64::from(place) / 20.0);
            exponents.any(|p| self.is_near(&|n: f64| if p == 0.0 { n.ln() } else { n.powf(p) }))
        };
        match (self.verdict.class, self.verdict.bend) {
            (Class::Sublinear, _) => !self.is_bent(1.0) && !near(0.0, 0.95),
            (Class::LinearLike, None) => !near(0.8, 1.25) && !self.is_near(&|n: f64| n * n.ln()),
            (Class::LinearLike, Some(bend)) => {
                let ratio = bend.after / bend.before.max(bend.after / 1e3);
                !self
                    .is_within(NEAR_BEND, &|n: f64| n.min(bend.n.value) + ratio * (n - bend.n.value).max(0.0))
            }
            (Class::Superlinear, _) => !self.is_bent(-1.0) && !near(1.05, 4.0) && !self.is_near_sum(),
            (Class::Stepped, _) => {
                let steps = self.verdict.steps.iter().map(|step| step.ratio.value.ln()).sum::<f64>();
                let (first, last) = (self.points[0].1, self.points[self.points.len() - 1].1);
                ((last / first).ln() - steps).abs() > 2.0 * TURN.ln_1p()
            }
            _ => false,
        }
    }

    /// Whether a + b·n + c·n² comes near.
    fn is_near_sum(&self) -> bool {
        let last = self.points[self.points.len() - 1].0;
        (-20..=10).any(|place| {
            let linear = last * 10f64.powf(f64::from(place) / 5.0);
            self.is_near(&|n: f64| n * (linear + n))
        })
    }

    /// Whether the cost rises by ever less for each n (`sign` 1), or by ever more (−1).
    fn is_bent(&self, sign: f64) -> bool {
        let slopes = self.points.windows(2).map(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0));
        let slopes: Vec<f64> = slopes.collect();
        slopes.windows(2).all(|pair| sign * (pair[0] - pair[1]) >= -1e-9 * pair[0].abs())
    }

    /// Whether a + b·g(n), with the best a and b that are not negative, comes near to the true cost
    /// everywhere.
    fn is_near(&self, growing: &dyn Fn(f64) -> f64) -> bool {
        self.is_within(NEAR, growing)
    }

    fn is_within(&self, share: f64, growing: &dyn Fn(f64) -> f64) -> bool {
        let start = growing(self.points[0].0);
        let way = growing(self.points[self.points.len() - 1].0) - start;
        // From (almost) only a to only b.
        (0..=240).any(|place| {
            let odds = (-9.0 + f64::from(place) * 0.1).exp();
            let logs = self.points.iter().map(|(n, cost)| {
                cost.ln() - ((1.0 + odds * (growing(*n) - start) / way) / (1.0 + odds)).ln()
            });
            let (low, high) = logs
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| (low.min(log), high.max(log)));
            high - low <= 2.0 * share.ln_1p()
        })
    }
}
