//! The shapes that a cost may have over n, and the fit of each.
//!
//! All fits are of logarithms: errors of a cost are proportional to the cost, so that least squares of logs
//! with the errors of the block means as weights is the gamma quasi-likelihood of McCullagh & Nelder
//! (Generalized Linear Models, 1989, ch. 8) to first order. Each trial keeps a level of its own, and so does
//! each stretch between two steps; the fit describes the cost inside.

use crate::block::NONE;
use crate::centre::{Centre, Interval, Student};
use crate::curve::{Curve, Edges};
use crate::verdict::Class;

/// How a cost depends on n, but for its level and for steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Family {
    /// a
    Constant,
    /// a + b·log n
    Logarithm,
    /// a + b·n
    Line,
    /// a + b·n·log n
    LineLog,
    /// a + b·n + c·n², with this ratio of the linear to the square part.
    Sum {
        /// b over c.
        linear: f64,
    },
    /// a + b·nᵖ
    Power {
        /// p.
        exponent: f64,
        /// Whether p was searched for.
        searched: bool,
    },
    /// a + b·exp(n/c)
    Exponential {
        /// c.
        scale: f64,
    },
    /// a up to n₀, then a + b·(n − n₀)
    Hinge {
        /// n₀.
        from: f64,
    },
    /// a + b·n up to n₀, from there b·`ratio` for each n
    Bend {
        /// n₀.
        at: f64,
        /// The second slope over the first.
        ratio: f64,
    },
    /// a + b/(1 − n/c); constant from c on.
    Approach {
        /// c.
        limit: f64,
    },
}

impl Family {
    /// a + b·n²
    pub(crate) const SQUARE: Family = Family::power(2.0);

    /// Those without a parameter of their own, simplest first. Between the common roots, lines and squares
    /// lie powers that must be excluded before one of these is named.
    pub(crate) const PLAIN: [Family; 9] = [
        Family::Constant,
        Family::Logarithm,
        Family::power(0.5),
        Family::power(BETWEEN[0]),
        Family::Line,
        Family::LineLog,
        Family::power(BETWEEN[1]),
        Family::SQUARE,
        Family::power(3.0),
    ];

    const fn power(exponent: f64) -> Family {
        Family::Power { exponent, searched: false }
    }

    /// Its class where there are no steps; all shapes that only fall have one class. That of a power depends
    /// on how well its exponent is known: [`Fit::class`].
    fn class(self) -> Class {
        match self {
            Family::Constant => Class::Flat,
            Family::Logarithm => Class::Sublinear,
            Family::Line | Family::LineLog | Family::Hinge { .. } | Family::Bend { .. } => Class::LinearLike,
            Family::Sum { .. } | Family::Exponential { .. } => Class::Superlinear,
            Family::Power { exponent, .. } if exponent < 1.0 => Class::Sublinear,
            Family::Power { .. } => Class::Superlinear,
            Family::Approach { .. } => Class::ApproachingLimit,
        }
    }

    /// Whether it has a parameter of its own; near the ends of that it equals a plainer family.
    pub(crate) fn is_flexible(self) -> bool {
        match self {
            Family::Power { searched, .. } => searched,
            Family::Sum { .. } | Family::Exponential { .. } => true,
            Family::Bend { .. } | Family::Approach { .. } => true,
            _ => false,
        }
    }

    /// Whether it stands between the families that are common.
    pub(crate) fn is_between(self) -> bool {
        matches!(self, Family::Power { exponent, searched: false } if BETWEEN.contains(&exponent))
    }

    /// Parameters: level, share of the growing part, and searched ones. A searched place counts as three,
    /// like a step.
    fn parameters(self) -> f64 {
        match self {
            Family::Constant => 1.0,
            Family::Hinge { .. } => 5.0,
            Family::Bend { .. } => 6.0,
            Family::Power { searched: true, .. } => 3.0,
            Family::Approach { .. } | Family::Exponential { .. } | Family::Sum { .. } => 3.0,
            _ => 2.0,
        }
    }

    /// The part that grows, at one n.
    fn growing(self, n: f64) -> f64 {
        let n = n.max(NONE);
        match self {
            Family::Constant => 0.0,
            Family::Logarithm => n.ln(),
            Family::Line => n,
            Family::LineLog => n * n.ln(),
            Family::Sum { linear } => n * (linear + n),
            Family::Power { exponent, .. } => n.powf(exponent),
            Family::Exponential { scale } => (n / scale).exp_m1(),
            Family::Hinge { from } => (n - from).max(0.0),
            Family::Bend { at, ratio } => n.min(at) + ratio * (n - at).max(0.0),
            Family::Approach { limit } if n < limit => 1.0 / (1.0 - n / limit),
            Family::Approach { .. } => 1.0,
        }
    }
}

/// Powers without a theory behind them, which must be excluded before a neighbour is named.
const BETWEEN: [f64; 2] = [0.7, 1.5];

/// A fitted shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fit {
    pub(crate) family: Family,
    /// The first block after each step.
    pub(crate) steps: Vec<usize>,
    /// The part without steps, in logarithms, but for a level.
    pub(crate) smooth: Vec<f64>,
    pub(crate) law: Law,
    /// All of it, in logarithms.
    pub(crate) curve: Vec<f64>,
    /// Weighted squared distance of the means.
    pub(crate) distance: f64,
    /// The exponent that was searched for, with its error.
    pub(crate) exponent: Option<Centre>,
}

/// An exponent that lies between these for certain is called linear: over a few decades n·log n is as steep
/// as n to the power of 1.1 to 1.2.
const LINEAR: (f64, f64) = (0.8, 1.25);
/// The confidence of the exponent that gives a power its class.
const KNOWN: f64 = 0.01;

impl Fit {
    /// Parameters, of which each step has three.
    pub(crate) fn parameters(&self) -> f64 {
        self.family.parameters() + 3.0 * self.steps.len() as f64
    }

    /// Its class.
    pub(crate) fn class(&self) -> Class {
        match (self.steps.is_empty(), self.family) {
            (true, Family::Power { .. }) => self.class_of_power(),
            (true, family) => family.class(),
            (false, Family::Constant) => Class::Stepped,
            // A limit inside the range is known by the step behind it.
            (false, _) => Class::Composite,
        }
    }

    /// The classes that the exponent of a power allows; an exponent that may be 1 does not exclude a line.
    fn class_of_power(&self) -> Class {
        let Some(exponent) = &self.exponent else { return self.family.class() };
        let Interval { low, high, .. } = exponent.interval(&Student::new(KNOWN));
        if high < 1.0 && low < LINEAR.0 {
            Class::Sublinear
        } else if low > 1.0 && high > LINEAR.1 {
            Class::Superlinear
        } else {
            Class::LinearLike
        }
    }

    /// The best fit of a family with steps at known places.
    pub(crate) fn new(curve: &Curve, family: Family, steps: &[usize]) -> Fit {
        Fit::with_odds(curve, family, steps, |distance| least(distance))
    }

    /// The same, with the odds near those of a fit of nearly the same family.
    pub(crate) fn near(curve: &Curve, family: Family, steps: &[usize], log_odds: f64) -> Fit {
        Fit::with_odds(curve, family, steps, |distance| least_near(log_odds, distance))
    }

    /// The fit with the odds that `search` finds for a distance.
    fn with_odds(
        curve: &Curve,
        family: Family,
        steps: &[usize],
        search: impl FnOnce(&mut dyn FnMut(f64) -> f64) -> f64,
    ) -> Fit {
        let edges = Edges::new(steps, curve.blocks());
        let law = Law::new(curve, family);
        let grown: Vec<f64> = curve.middles.iter().map(|n| law.grown(*n)).collect();
        let mut smooth = vec![0.0; grown.len()];
        let fill = |law: Law, smooth: &mut [f64]| {
            smooth.iter_mut().zip(&grown).for_each(|(smooth, grown)| *smooth = law.log(*grown));
        };
        let law = if family == Family::Constant || law.most <= 0.0 {
            law
        } else {
            law.with(search(&mut |log_odds| {
                fill(law.with(log_odds), &mut smooth);
                edges.distance(curve, &smooth)
            }))
        };
        fill(law, &mut smooth);
        Fit {
            family,
            steps: steps.to_vec(),
            curve: edges.curve(curve, &smooth),
            distance: edges.distance(curve, &smooth),
            smooth,
            law,
            exponent: None,
        }
    }

    /// The part without steps at any n, in logarithms, but for a level.
    pub(crate) fn smooth_at(&self, n: f64) -> f64 {
        self.law.at(n)
    }
}

/// (1 − φ) + φ·g(n), with g 0 at the smallest n and 1 at the largest: the constant part may be anything that
/// leaves a cost a cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Law {
    family: Family,
    /// Smallest n, and the growing part there.
    start: (f64, f64),
    /// The amount of the growth.
    most: f64,
    /// φ and 1 − φ, so that neither is lost next to the other.
    share: f64,
    rest: f64,
}

impl Law {
    pub(crate) fn new(curve: &Curve, family: Family) -> Law {
        let first = curve.middles[0];
        let start = family.growing(first);
        let most = curve.middles.iter().map(|n| family.growing(*n) - start).fold(0.0, f64::max);
        Law { family, start: (first, start), most, share: 0.0, rest: 1.0 }
    }

    /// The logarithm of φ over 1 − φ.
    pub(crate) fn log_odds(&self) -> f64 {
        let (least, most, _) = ODDS;
        (self.share / self.rest).ln().clamp(least, most)
    }

    pub(crate) fn with(self, log_odds: f64) -> Law {
        let odds = log_odds.exp();
        Law { share: odds / (1.0 + odds), rest: 1.0 / (1.0 + odds), ..self }
    }

    pub(crate) fn at(&self, n: f64) -> f64 {
        self.log(self.grown(n))
    }

    /// g at one n.
    fn grown(&self, n: f64) -> f64 {
        let (first, start) = self.start;
        let grown = (self.family.growing(n) - start) / self.most;
        // Beyond its limit nothing grows; before the smallest n a cost is less, and above 0.
        if n >= first { grown.max(0.0) } else { grown }
    }

    /// The logarithm of the cost for this g.
    fn log(&self, grown: f64) -> f64 {
        if self.share == 0.0 {
            return 0.0;
        }
        (self.rest + self.share * grown).max(self.rest / 100.0).max(f64::MIN_POSITIVE).ln()
    }
}

/// Logarithms of odds that are tried, beside which the least is looked for.
const ODDS: (f64, f64, usize) = (-9.0, 27.0, 18);
/// One in so many of them comes first, then those around the best: the tables of `selftest` stay the same.
const COARSE: usize = 3;
/// The error of the log odds.
const ODDS_ERROR: f64 = 0.002;

/// Where a function of the log odds is least.
fn least(distance: &mut dyn FnMut(f64) -> f64) -> f64 {
    let (low, high, count) = ODDS;
    let step = (high - low) / count as f64;
    let odds = |place: usize| low + step * place as f64;
    let mut best = |places: &mut dyn Iterator<Item = usize>| -> usize {
        let tried = places.map(|place| (place, distance(odds(place))));
        tried.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |best| best.0)
    };
    let coarse = best(&mut (0..=count).step_by(COARSE));
    let fine = best(&mut (coarse.saturating_sub(COARSE - 1)..=count.min(coarse + COARSE - 1)));
    least_near(odds(fine), distance)
}

/// The same beside known odds.
fn least_near(log_odds: f64, distance: &mut dyn FnMut(f64) -> f64) -> f64 {
    let (low, high, count) = ODDS;
    let step = (high - low) / count as f64;
    brent(log_odds - step, log_odds + step, ODDS_ERROR, distance)
}

/// The place where a smooth function is least, by parabolas, and where these fail by the golden section
/// (Brent, Algorithms for Minimization without Derivatives, 1973, ch. 5), to an error of about `error`.
fn brent(mut low: f64, mut high: f64, error: f64, mut function: impl FnMut(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.381_966_011_250_105;
    /// Enough for a bracket that only the golden section shrinks.
    const MOST: usize = 40;
    let start = low.midpoint(high);
    // The best three places, and the last two moves.
    let [mut best, mut second, mut third] = [(start, function(start)); 3];
    let (mut step, mut before) = (0.0_f64, 0.0_f64);
    for _ in 0..MOST {
        let middle = low.midpoint(high);
        if (best.0 - middle).abs() <= 2.0 * error - 0.5 * (high - low) {
            break;
        }
        // The lowest place of the parabola through the three.
        let (to_second, to_third) = (best.0 - second.0, best.0 - third.0);
        let (first, other) = (to_second * (best.1 - third.1), to_third * (best.1 - second.1));
        let leap = -0.5 * (to_second * first - to_third * other) / (first - other);
        let is_within = best.0 + leap > low && best.0 + leap < high;
        let is_parabola = before.abs() > error && is_within && leap.abs() < 0.5 * before.abs();
        (before, step) = if is_parabola {
            (step, leap)
        } else {
            let side = if best.0 < middle { high - best.0 } else { low - best.0 };
            (side, GOLDEN * side)
        };
        let place = best.0 + step.abs().max(error).copysign(step);
        let tried = (place, function(place));
        if tried.1 <= best.1 {
            *(if place < best.0 { &mut high } else { &mut low }) = best.0;
            (third, second, best) = (second, best, tried);
        } else {
            *(if place < best.0 { &mut low } else { &mut high }) = place;
            if tried.1 <= second.1 || second.0 == best.0 {
                (third, second) = (second, tried);
            } else if tried.1 <= third.1 || third.0 == best.0 || third.0 == second.0 {
                third = tried;
            }
        }
    }
    best.0
}

/// Golden section search (Kiefer, Proc. AMS 4, 1953).
pub(crate) fn golden(mut low: f64, mut high: f64, rounds: usize, distance: impl Fn(f64) -> f64) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_895;
    let inner = |low: f64, high: f64| (high - RATIO * (high - low), low + RATIO * (high - low));
    let (mut left, mut right) = inner(low, high);
    let (mut at_left, mut at_right) = (distance(left), distance(right));
    for _ in 0..rounds {
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = inner(low, high).0;
            at_left = distance(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = inner(low, high).1;
            at_right = distance(right);
        }
    }
    low.midpoint(high)
}

/// Fewer blocks than this on either side do not make a stretch of their own: where they are wide, a cliff
/// near the largest n has few blocks behind it.
fn shortest(blocks: usize) -> usize {
    if blocks >= 40 { 3 } else { 2 }
}

/// Steps that one curve may have.
const STEPS_MOST: usize = 3;

/// Best places of 1, 2 and 3 steps in the remainder of `smooth`, by dynamic programming (Bellman, Comm. ACM
/// 4, 1961): exact, and quick for the few blocks there are.
pub(crate) fn segment(curve: &Curve, smooth: &[f64]) -> Vec<Vec<usize>> {
    let blocks = curve.blocks();
    let shortest = shortest(blocks);
    let mut sums = vec![[0.0; 3]; blocks + 1];
    for block in 0..blocks {
        let (weight, value) = (curve.weights[block], curve.means[block] - smooth[block]);
        let [total, first, second] = sums[block];
        sums[block + 1] = [total + weight, first + weight * value, second + weight * value * value];
    }
    let distance = |start: usize, end: usize| {
        let [total, first, second] = [0, 1, 2].map(|power| sums[end][power] - sums[start][power]);
        (second - first * first / total).max(0.0)
    };
    let mut best: Vec<(f64, Vec<usize>)> = (0..=blocks).map(|end| (distance(0, end), Vec::new())).collect();
    let mut found = Vec::new();
    for _ in 0..STEPS_MOST {
        let next = |end: usize| {
            let last = end.checked_sub(shortest)?;
            (shortest..=last)
                .filter(|start| best[*start].0.is_finite())
                .map(|start| (best[start].0 + distance(start, end), start))
                .min_by(|a, b| a.0.total_cmp(&b.0))
        };
        best = (0..=blocks)
            .map(|end| match next(end) {
                Some((distance, start)) => {
                    let mut steps = best[start].1.clone();
                    steps.push(start);
                    (distance, steps)
                }
                None => (f64::INFINITY, Vec::new()),
            })
            .collect();
        let (distance, steps) = &best[blocks];
        if distance.is_finite() {
            found.push(steps.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_place_is_found_of_parabolas_kinks_and_slopes() {
        let is_found = |place: f64, function: &dyn Fn(f64) -> f64| {
            (brent(-2.0, 2.0, ODDS_ERROR, function) - place).abs() < 3.0 * ODDS_ERROR
        };
        assert!(is_found(0.7, &|x| (x - 0.7).powi(2)));
        assert!(is_found(-1.3, &|x| (x + 1.3).abs()));
        assert!(is_found(1.1, &|x| 1.0 - (-(x - 1.1).powi(2)).exp()));
        assert!(is_found(2.0, &|x| -x));
    }
}
