//! A mixture of two lines, fitted to the logarithms of all measurements, and the gates that accept it.

use crate::centre::mean;
use crate::median::median;
use crate::mixture::{BROAD, NARROWEST, Pair, Part, ROOT};
use crate::modes::{LEAST_DISTANCE, Point, TICKS, Windows};

/// Both lines hold at least this share: a tenth, with an allowance for chance.
pub(crate) const LEAST_SHARE: f64 = 0.07;
/// The lines are so many spreads apart in the middle of the upper half of n.
pub(crate) const SEPARATION: f64 = 3.0;
/// At most this share of the upper half may belong to either.
const AMBIGUOUS: f64 = 0.1;
/// A value that belongs to a line with less than this chance is ambiguous.
const SURE: f64 = 0.9;
/// Rounds after which the best of several starts is chosen, and after which it is settled.
const ROUNDS: [usize; 2] = [8, 40];

/// a + b·n.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    a: f64,
    b: f64,
    spread: f64,
    share: f64,
}

impl Line {
    /// Through two points of n and log cost.
    fn through(first: (f64, f64), second: (f64, f64), part: Part) -> Line {
        let (low, high) = (first.1.exp(), second.1.exp());
        let slope = (high - low) / (second.0 - first.0);
        let b = if slope.is_finite() { slope } else { 0.0 };
        Line { a: high - b * second.0, b, spread: part.spread, share: part.share }
    }

    pub(crate) fn log(&self, n: f64) -> f64 {
        (self.a + self.b * n).max(f64::MIN_POSITIVE).ln()
    }

    /// As that of a part of a mixture.
    fn density(&self, n: f64, log: f64) -> f64 {
        Part { centre: self.log(n), spread: self.spread, share: self.share }.density(log)
    }
}

/// A mixture of two lines of the logarithm, with the levels of the trials and a broad component for outliers.
pub(crate) struct LineMixture {
    pub(crate) lines: [Line; 2],
    levels: Vec<f64>,
    outliers: f64,
    broad: f64,
    likelihood: f64,
}

impl LineMixture {
    /// The likeliest from several starts: both lines leave from one point, or from two as far apart as at
    /// the top, or cross over from the other side.
    pub(crate) fn new(
        points: &[Point],
        levels: &[f64],
        (n_top, top): (f64, &Pair),
        trials: usize,
    ) -> Option<LineMixture> {
        let n_low = points.iter().map(|point| point.n).fold(f64::INFINITY, f64::min);
        let n_high = points.iter().map(|point| point.n).fold(0.0, f64::max);
        let near = |point: &&Point| point.n <= n_low + (n_high - n_low) * 0.02;
        let mut first: Vec<f64> =
            points.iter().filter(near).map(|point| point.log - levels[point.trial]).collect();
        let first = median(&mut first)?;
        let mut logs: Vec<f64> = points.iter().map(|point| point.log).collect();
        logs.sort_unstable_by(f64::total_cmp);
        let range = logs.last()? - logs.first()?;
        let middle = top.parts[0].centre.midpoint(top.parts[1].centre);
        let start = |apart: f64| LineMixture {
            lines: top.parts.map(|part| {
                let beginning = first + apart * (part.centre - middle);
                Line::through((n_low, beginning), (n_top, part.centre), part)
            }),
            levels: levels.to_vec(),
            outliers: BROAD,
            broad: ROOT / range.max(NARROWEST),
            likelihood: f64::NEG_INFINITY,
        };
        let settle = |mut fit: LineMixture, rounds: usize| {
            for _ in 0..rounds {
                let before = fit.likelihood;
                fit.step(points, trials);
                if fit.likelihood - before < 1e-3 {
                    break;
                }
            }
            fit
        };
        let starts = [0.0, 0.5, 1.0].map(|apart| settle(start(apart), ROUNDS[0]));
        let best = starts.into_iter().max_by(|a, b| a.likelihood.total_cmp(&b.likelihood))?;
        Some(settle(best, ROUNDS[1]))
    }

    /// Chances that a value belongs to each line, up to a common factor, and that it is an outlier.
    pub(crate) fn chances(&self, point: &Point) -> [f64; 3] {
        let log = point.log - self.levels[point.trial];
        let [lower, upper] = self.lines.map(|line| line.density(point.n, log));
        [lower, upper, self.outliers * self.broad]
    }

    /// One round of expectation and maximisation; the lines take a Gauss–Newton step of the logarithm.
    fn step(&mut self, points: &[Point], trials: usize) {
        let mut sums = [Sums::default(), Sums::default()];
        let mut levels = vec![(0.0, 0.0); trials];
        let (mut outside, mut likelihood) = (0.0, 0.0);
        for point in points {
            let chances = self.chances(point);
            let all: f64 = chances.iter().sum();
            likelihood += all.max(f64::MIN_POSITIVE).ln();
            outside += chances[2] / all;
            for ((line, sums), chance) in self.lines.iter().zip(&mut sums).zip(chances) {
                let weight = chance / all;
                let cost = (line.a + line.b * point.n).max(f64::MIN_POSITIVE);
                let away = point.log - self.levels[point.trial] - cost.ln();
                sums.add(weight, away, 1.0 / cost, point.n / cost);
                let (sum, precision) = &mut levels[point.trial];
                *sum += weight * away / line.spread.powi(2);
                *precision += weight / line.spread.powi(2);
            }
        }
        let ends = points
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |ends, point| (ends.0.min(point.n), ends.1.max(point.n)));
        for (line, sums) in self.lines.iter_mut().zip(&sums) {
            sums.improve(line, points.len() as f64, ends);
        }
        let moves: Vec<f64> = levels
            .iter()
            .map(|(sum, precision)| if *precision > 0.0 { sum / precision } else { 0.0 })
            .collect();
        let middle = mean(&moves);
        self.levels.iter_mut().zip(&moves).for_each(|(level, move_by)| *level += move_by - middle);
        self.outliers = (outside / points.len() as f64).max(1e-4);
        self.likelihood = likelihood;
    }

    /// The gates of two lines: in the upper half they are far apart against their spreads, and hardly a
    /// value may belong to either.
    pub(crate) fn are_apart(&self, points: &[Point], half: f64, tick: f64) -> bool {
        let upper: Vec<&Point> = points.iter().filter(|point| point.n > half).collect();
        let [low, high] = &self.lines;
        let spread = (0.5 * (low.spread.powi(2) + high.spread.powi(2))).sqrt();
        let mut distances: Vec<f64> =
            upper.iter().map(|point| high.log(point.n) - low.log(point.n)).collect();
        let ambiguous = upper.iter().filter(|point| {
            let [lower, upper, outside] = self.chances(point);
            let most = lower.max(upper).max(outside);
            most < SURE * (lower + upper + outside)
        });
        let ambiguous = ambiguous.count() as f64 / upper.len() as f64;
        let Some(distance) = median(&mut distances) else { return false };
        let n_high = upper.iter().map(|point| point.n).fold(0.0, f64::max);
        let ticks = (high.log(n_high).exp() - low.log(n_high).exp()) / tick;
        distance > SEPARATION * spread
            && distance >= LEAST_DISTANCE.ln_1p()
            && ambiguous < AMBIGUOUS
            && (tick <= 0.0 || ticks >= TICKS)
            && low.share.min(high.share) >= LEAST_SHARE * (low.share + high.share)
    }

    /// Whether both lines hold values in every window: a cost that jumps from one to the other does not.
    pub(crate) fn are_everywhere(&self, windows: &Windows) -> bool {
        let share = |points: &[Point]| {
            let is_upper = |point: &&Point| {
                let [lower, upper, _] = self.chances(point);
                upper > lower
            };
            points.iter().filter(is_upper).count() as f64 / points.len() as f64
        };
        let shares = self.lines.map(|line| line.share);
        let filled = windows.points.iter().filter(|points| !points.is_empty());
        filled
            .map(|points| share(points))
            .all(|upper| 3.0 * upper > shares[1] && 3.0 * (1.0 - upper) > shares[0])
    }
}

/// The terms of a Gauss–Newton step.
#[derive(Default)]
struct Sums {
    weight: f64,
    squares: f64,
    aa: f64,
    ab: f64,
    bb: f64,
    a: f64,
    b: f64,
}

impl Sums {
    fn add(&mut self, weight: f64, away: f64, by_a: f64, by_b: f64) {
        self.weight += weight;
        self.squares += weight * away * away;
        self.aa += weight * by_a * by_a;
        self.ab += weight * by_a * by_b;
        self.bb += weight * by_b * by_b;
        self.a += weight * away * by_a;
        self.b += weight * away * by_b;
    }

    fn improve(&self, line: &mut Line, count: f64, ends: (f64, f64)) {
        line.share = self.weight / count;
        line.spread = (self.squares / self.weight.max(f64::MIN_POSITIVE)).sqrt().max(NARROWEST);
        let determinant = self.aa * self.bb - self.ab * self.ab;
        let mut step = (
            (self.a * self.bb - self.b * self.ab) / determinant,
            (self.b * self.aa - self.a * self.ab) / determinant,
        );
        if determinant <= 1e-12 * self.aa * self.bb || !(step.0.is_finite() && step.1.is_finite()) {
            // At a single n only the level can move.
            step = (self.a / self.aa, 0.0);
        }
        let positive = |step: (f64, f64)| {
            let at = |n: f64| line.a + step.0 + (line.b + step.1) * n;
            let was = |n: f64| line.a + line.b * n;
            at(ends.0) > 0.2 * was(ends.0) && at(ends.1) > 0.2 * was(ends.1)
        };
        for _ in 0..8 {
            if positive(step) {
                (line.a, line.b) = (line.a + step.0, line.b + step.1);
                return;
            }
            step = (step.0 / 2.0, step.1 / 2.0);
        }
    }
}
