//! Smooth curves that belong to no family of the verdicts, and the false claims of verdicts about them.
//!
//! No method can name them; the promise is that nothing false is claimed about them. Some are given, and some
//! are drawn anew for each replicate, so that no rule can be fitted to them one by one.

use std::f64::consts::TAU;

use fastrand::Rng;
use stats::{Class, Verdict};

use crate::noises::{normal, open};

/// A curve that is always the same: its name, and its cost at a place of the range. Places are x on a
/// logarithmic scale, 0 at the smallest n and 1 at the largest, and t, n as a share of the largest.
struct GivenCurve {
    name: &'static str,
    cost: fn(f64, f64) -> f64,
}

const fn given(name: &'static str, cost: fn(f64, f64) -> f64) -> GivenCurve {
    GivenCurve { name, cost }
}

static GIVEN: [GivenCurve; 38] = [
    given("line+square", |_, t| 1.0 + 20.0 * t + 100.0 * t * t),
    given("line+square-late", |_, t| 1.0 + 3.0 * t + 30.0 * t * t),
    given("root+square", |_, t| 1.0 + 10.0 * t.sqrt() + 60.0 * t * t),
    given("log+line", |x, t| 1.0 + 3.0 * x + 8.0 * t),
    given("line+cube", |_, t| 1.0 + 30.0 * t + 200.0 * t.powi(3)),
    given("log-squared", |x, _| 1.0 + 6.0 * x * x),
    given("log-cubed", |x, _| 1.0 + 12.0 * x.powi(3)),
    given("n-log-squared", |x, t| 1.0 + 10.0 * t * (0.4 + 0.6 * x).powi(2)),
    given("root-of-sum", |_, t| (1.0 + 100.0 * t).sqrt()),
    given("hyperbola", |_, t| 1.0f64.hypot(20.0 * t)),
    given("saturates", |_, t| 1.0 + 5.0 * (1.0 - (-t / 0.05).exp())),
    given("saturates-early", |_, t| 1.0 + 2.0 * (1.0 - (-t / 0.005).exp())),
    given("saturates-slowly", |_, t| 1.0 + 9.0 * t / (t + 0.03)),
    given("saturates-late", |_, t| 1.0 + 8.0 * (t / 0.3).tanh()),
    given("sigmoid-wide", |x, _| 1.0 + 4.0 * sigmoid(8.0 * (x - 0.5))),
    given("sigmoid", |x, _| 1.0 + 3.0 * sigmoid(16.0 * (x - 0.5))),
    given("sigmoid-narrow", |x, _| 1.0 + 1.5 * sigmoid(30.0 * (x - 0.6))),
    given("sigmoid-late", |x, _| 1.0 + 6.0 * sigmoid(14.0 * (x - 0.85))),
    given("two-sigmoids", |x, _| 1.0 + 1.2 * sigmoid(25.0 * (x - 0.3)) + 2.5 * sigmoid(25.0 * (x - 0.7))),
    given("cache-levels", |x, _| {
        1.0 + 0.6 * sigmoid(20.0 * (x - 0.25)) + sigmoid(20.0 * (x - 0.55)) + 2.0 * sigmoid(20.0 * (x - 0.85))
    }),
    given("hump", |x, _| 1.0 + 1.5 * bell(x, 0.5, 0.12)),
    given("hump-narrow", |x, _| 1.0 + bell(x, 0.6, 0.05)),
    given("hump-on-line", |x, t| 1.0 + 4.0 * t + 1.2 * bell(x, 0.4, 0.1)),
    given("dip", |x, _| 1.0 - 0.5 * bell(x, 0.5, 0.12)),
    given("dip-narrow", |x, _| 1.0 - 0.4 * bell(x, 0.4, 0.05)),
    given("dip-wide", |x, _| 3.0 - 2.0 * bell(x, 0.6, 0.2)),
    given("inverse+line", |_, t| 1.0 + 0.004 / t + 3.0 * t),
    given("inverse+root", |_, t| 1.0 + 0.002 / t + 1.5 * t.sqrt()),
    given("exponential", |_, t| (2.0 * t).exp()),
    given("exponential-steep", |_, t| (5.0 * t).exp()),
    given("exponential-in-log", |x, _| (2.0 * x * x).exp()),
    given("soft-bend-up", |_, t| 1.0 + 5.0 * t + 3.0 * ((t - 0.3) / 0.1).exp().ln_1p()),
    given("soft-bend-down", |_, t| 1.0 + 20.0 * t / (1.0 + (t / 0.2).powi(4)).powf(0.25)),
    given("wave", |x, _| (0.25 * (2.0 * TAU * x).sin()).exp()),
    given("wave-on-line", |x, t| (1.0 + 4.0 * t) * (0.15 * (2.5 * TAU * x).sin()).exp()),
    given("falls-and-saturates", |_, t| 1.0 + 3.0 * (-t / 0.02).exp()),
    given("falling-power", |_, t| t.powf(-0.3)),
    given("falling-sigmoid", |x, _| 3.0 - 2.0 * sigmoid(16.0 * (x - 0.5))),
];

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn bell(x: f64, middle: f64, width: f64) -> f64 {
    (-((x - middle) / width).powi(2) / 2.0).exp()
}

/// A smooth curve outside the families.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OutsideCurve {
    /// One of the given curves, by its place in their list.
    Given(usize),
    /// Rises everywhere, in a way that each replicate draws.
    Rising,
    /// Falls everywhere.
    Falling,
    /// A trend and a few waves.
    Waves,
    /// Constant, with a few humps and dips.
    Bumps,
}

impl OutsideCurve {
    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = OutsideCurve> {
        use OutsideCurve::{Bumps, Falling, Given, Rising, Waves};
        (0..GIVEN.len()).map(Given).chain([Rising, Falling, Waves, Bumps])
    }

    /// Names a cell together with noise, design and trials.
    pub(crate) fn name(self) -> &'static str {
        match self {
            OutsideCurve::Given(place) => GIVEN[place].name,
            OutsideCurve::Rising => "drawn-rising",
            OutsideCurve::Falling => "drawn-falling",
            OutsideCurve::Waves => "drawn-waves",
            OutsideCurve::Bumps => "drawn-bumps",
        }
    }

    /// The cost at each of `sizes`, 1 at the first.
    pub(crate) fn costs(self, rng: &mut Rng, sizes: &[u64], (low, high): (f64, f64)) -> Vec<f64> {
        let place = |n: &u64| (*n as f64 / low).max(1.0).ln() / (high / low).ln();
        let along: Vec<f64> = sizes.iter().map(place).collect();
        let logs: Vec<f64> = match self {
            OutsideCurve::Given(curve) => {
                let cost = |(x, n): (&f64, &u64)| (GIVEN[curve].cost)(*x, (*n as f64).max(low) / high).ln();
                along.iter().zip(sizes).map(cost).collect()
            }
            OutsideCurve::Rising | OutsideCurve::Falling => {
                let curve = MonotoneSpline::drawn(rng);
                let sign = if self == OutsideCurve::Rising { 1.0 } else { -1.0 };
                along.iter().map(|x| sign * curve.at(*x)).collect()
            }
            OutsideCurve::Waves => {
                let trend = 2.0 * rng.f64();
                let waves: Vec<(f64, f64)> =
                    (1..=4).map(|wave| (0.4 * normal(rng) / f64::from(wave), TAU * rng.f64())).collect();
                let at = |x: f64| -> f64 {
                    let wave = |(place, (height, phase)): (usize, &(f64, f64))| {
                        height * (TAU * 0.75 * (place + 1) as f64 * x + phase).sin()
                    };
                    trend * x + waves.iter().enumerate().map(wave).sum::<f64>()
                };
                along.iter().map(|x| at(*x)).collect()
            }
            OutsideCurve::Bumps => {
                let bumps: Vec<(f64, f64, f64)> = (0..rng.usize(1..=3))
                    .map(|_| (0.8 * normal(rng), rng.f64(), 0.05 + 0.15 * rng.f64()))
                    .collect();
                let at = |x: f64| -> f64 {
                    bumps.iter().map(|(height, middle, width)| height * bell(x, *middle, *width)).sum()
                };
                along.iter().map(|x| at(*x)).collect()
            }
        };
        let first = logs.first().copied().unwrap_or(0.0);
        logs.iter().map(|log| (log - first).exp()).collect()
    }
}

/// Logarithms of a cost that rises from knot to knot: a cubic spline that keeps to the order of its knots
/// (Fritsch and Carlson, SIAM Journal on Numerical Analysis 17, 1980).
struct MonotoneSpline {
    values: Vec<f64>,
    slopes: Vec<f64>,
}

/// Distances between knots.
const STRETCHES: usize = 6;
/// Smallest and largest growth that is drawn, in logarithms.
const DRAWN_GROWTH: (f64, f64) = (0.3, 4.0);

impl MonotoneSpline {
    fn drawn(rng: &mut Rng) -> MonotoneSpline {
        let (least, most) = DRAWN_GROWTH;
        let growth = least + (most - least) * rng.f64();
        let rises: Vec<f64> = (0..STRETCHES).map(|_| -open(rng).ln()).collect();
        let all: f64 = rises.iter().sum();
        let secants: Vec<f64> = rises.iter().map(|rise| rise / all * growth * STRETCHES as f64).collect();
        let mut values = vec![0.0];
        for secant in &secants {
            values.push(values[values.len() - 1] + secant / STRETCHES as f64);
        }
        // The harmonic mean of neighbouring secants keeps every stretch monotone.
        let inner = secants.windows(2).map(|pair| 2.0 * pair[0] * pair[1] / (pair[0] + pair[1]));
        let slopes = [secants[0]].into_iter().chain(inner).chain([secants[STRETCHES - 1]]).collect();
        MonotoneSpline { values, slopes }
    }

    fn at(&self, x: f64) -> f64 {
        let stretch = ((x * STRETCHES as f64) as usize).min(STRETCHES - 1);
        let width = 1.0 / STRETCHES as f64;
        let s = (x - stretch as f64 * width) / width;
        let (a, b) = (self.values[stretch], self.values[stretch + 1]);
        let (da, db) = (self.slopes[stretch] * width, self.slopes[stretch + 1] * width);
        let (square, cube) = (s * s, s * s * s);
        a * (2.0 * cube - 3.0 * square + 1.0)
            + da * (cube - 2.0 * square + s)
            + b * (3.0 * square - 2.0 * cube)
            + db * (cube - square)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_costs_and_begin_at_one() {
        let sizes: Vec<u64> =
            (0..=60).map(|place| (100.0 * 10f64.powf(f64::from(place) / 20.0)) as u64).collect();
        for curve in OutsideCurve::all() {
            for seed in 0..20 {
                let costs = curve.costs(&mut Rng::with_seed(seed), &sizes, (100.0, 100_000.0));
                assert_eq!(costs[0], 1.0, "{}", curve.name());
                assert!(costs.iter().all(|cost| cost.is_finite() && *cost > 0.0), "{}", curve.name());
            }
        }
    }

    #[test]
    fn a_drawn_spline_never_falls() {
        for seed in 0..200 {
            let spline = MonotoneSpline::drawn(&mut Rng::with_seed(seed));
            let values: Vec<f64> = (0..=1000).map(|place| spline.at(f64::from(place) / 1000.0)).collect();
            assert!(values.windows(2).all(|pair| pair[1] >= pair[0] - 1e-12), "seed {seed}");
        }
    }
}
