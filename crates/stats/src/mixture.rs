//! Mixtures of the logarithms of measurements: of two normal distributions, and of two lines over n. Gates
//! accept them as two only if they are clearly apart.

use crate::block::{NORMAL_MAD, median};
use crate::centre::{mean, squares};
use crate::modes::{LEAST_DISTANCE, Point, TICKS, Windows};

/// The rarer mode holds at least so many values.
const LEAST_COUNT: f64 = 8.0;
/// Ashman's D of two modes that can be distinguished.
pub(crate) const SEPARATION: f64 = 2.5;
/// Difference of Schwarz's criterion that is strong evidence (Kass & Raftery, JASA 90, 1995).
pub(crate) const EVIDENCE: f64 = 10.0;
/// The rarer mode is at most so many times as wide as the other.
const WIDTHS: f64 = 3.0;
/// No spread of logarithms is smaller.
pub(crate) const NARROWEST: f64 = 1e-4;
/// Share of outliers from which a fit starts.
const BROAD: f64 = 0.02;
/// 1/√2π is left out of densities; one that is not normal is multiplied by √2π.
const ROOT: f64 = 2.506_628_274_631;
/// Places between two centres at which the density is computed.
const STEPS: usize = 64;
/// The most rounds; a mixture has settled by then.
const ROUNDS: usize = 60;

/// A normal distribution in a mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) centre: f64,
    pub(crate) spread: f64,
    pub(crate) share: f64,
}

impl Part {
    /// Up to the factor 1/√2π.
    fn density(&self, value: f64) -> f64 {
        let z = (value - self.centre) / self.spread;
        self.share / self.spread * (-0.5 * z * z).exp()
    }

    pub(crate) fn share_of(&self, other: Part) -> f64 {
        self.share / (self.share + other.share)
    }

    fn new(values: &[f64], share: f64) -> Part {
        let spread = (squares(values) / values.len() as f64).sqrt().max(NARROWEST);
        Part { centre: mean(values), spread, share }
    }
}

/// Two modes with a valley between them.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// The lower and the upper one.
    pub(crate) parts: [Part; 2],
    /// Where fewest values lie between them.
    pub(crate) valley: f64,
}

impl Pair {
    /// The modes of sorted values, when every gate accepts them.
    pub(crate) fn new(sorted: &[f64], least_share: f64, spikes: f64, evidence: f64) -> Option<Pair> {
        let outside = Outside::new(sorted, spikes)?;
        let beyond = sorted.partition_point(|value| *value <= outside.limit);
        let mut sorted = if outside.begins(sorted, beyond) { &sorted[..beyond] } else { sorted };
        let mut split = valley(sorted)?;
        // Spikes may also lie above expensive operations.
        if outside.begins(sorted, split) {
            sorted = &sorted[..split];
            split = valley(sorted)?;
        }
        let count = sorted.len() as f64;
        let (below, above) = sorted.split_at(split);
        let start = [below, above].map(|part| Part::new(part, (1.0 - BROAD) * part.len() as f64 / count));
        // Most valleys are chance in the tails, and no fit would accept them.
        let rare = start[0].share.min(start[1].share);
        let middle = |part: &[f64], start: Part| Part { centre: part[part.len() / 2], ..start };
        let parts = [middle(below, start[0]), middle(above, start[1])];
        let first = Pair { parts, valley: sorted[split].midpoint(sorted[split - 1]) };
        if rare < 0.5 * least_share || !first.is_hollow(sorted) {
            return None;
        }
        let (parts, two) = fit(sorted, start);
        let (_, one) = fit(sorted, [Part::new(sorted, 1.0 - BROAD)]);
        let [lower, upper] = parts;
        let (rare, common) = if lower.share < upper.share { (lower, upper) } else { (upper, lower) };
        // A centre, a spread and a share more.
        let accepted = 2.0 * (two - one) - 3.0 * count.ln() > evidence
            && rare.share >= least_share
            && rare.share * count >= LEAST_COUNT
            && rare.spread <= WIDTHS * common.spread;
        let density = |value: f64| lower.density(value) + upper.density(value);
        let between = (0..=STEPS).map(|step| {
            let value = lower.centre + (upper.centre - lower.centre) * step as f64 / STEPS as f64;
            (value, density(value))
        });
        let (place, least) = between.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let pair = Pair { parts, valley: place };
        let peak = density(lower.centre).min(density(upper.centre));
        (accepted && pair.separation() > SEPARATION && least <= peak / 2.0 && pair.is_hollow(sorted))
            .then_some(pair)
    }

    /// D of Ashman, Bird & Zepf, Astronomical Journal 108, 1994.
    pub(crate) fn separation(&self) -> f64 {
        let [lower, upper] = self.parts;
        (upper.centre - lower.centre) * (2.0 / (lower.spread.powi(2) + upper.spread.powi(2))).sqrt()
    }

    /// Whether the values, too, and not only the fit, are few in the valley.
    fn is_hollow(&self, sorted: &[f64]) -> bool {
        let [lower, upper] = self.parts;
        let near = |place: f64| {
            let reach = (upper.centre - lower.centre) / 8.0;
            let below = |end: f64| sorted.partition_point(|value| *value < end);
            below(place + reach) - below(place - reach)
        };
        2 * near(self.valley) <= near(lower.centre).min(near(upper.centre))
    }
}

/// A few values far above all others: the first of them, and how many there may be.
struct Outside {
    limit: f64,
    few: f64,
}

impl Outside {
    fn new(sorted: &[f64], share: f64) -> Option<Outside> {
        let count = sorted.len();
        let (middle, quartile) = (*sorted.get(count / 2)?, *sorted.get(count * 3 / 4)?);
        let limit = (middle + 6.0 * NORMAL_MAD * (quartile - middle)).max(middle + 1.5_f64.ln());
        // Two standard deviations more may be chance.
        let few = share * count as f64 + 2.0 * (share * (1.0 - share) * count as f64).sqrt();
        Some(Outside { limit, few })
    }

    /// Whether the values from `place` on are spikes.
    fn begins(&self, sorted: &[f64], place: usize) -> bool {
        place < sorted.len() && sorted[place] > self.limit && ((sorted.len() - place) as f64) <= self.few
    }
}

/// The valleys, where the density is at most half of that somewhere below and somewhere above: how many
/// values are below.
///
/// The density is taken from the distance over which a fixed number of values extends (Loftsgaarden &
/// Quesenberry, Annals of Mathematical Statistics 36, 1965).
fn valley(sorted: &[f64]) -> Option<usize> {
    let count = sorted.len();
    let near = (count / 60).max(3);
    if count < 4 * near {
        return None;
    }
    let distance = |place: usize| (sorted[place + near] - sorted[place]).max(NARROWEST / 10.0);
    let distances: Vec<f64> = (0..count - near).map(distance).collect();
    let mut above = distances.clone();
    (0..above.len() - 1).rev().for_each(|place| above[place] = above[place].min(above[place + 1]));
    // Few values make a rough density, in which chance digs valleys.
    let needed = (2.2 / (near as f64).sqrt()).exp().max(2.0);
    let mut below = f64::INFINITY;
    let mut best = (needed, None);
    for place in near..distances.len() - near {
        below = below.min(distances[place - near]);
        let ratio = distances[place] / below.max(above[place + near]);
        if ratio > best.0 {
            best = (ratio, Some(place + near / 2 + 1));
        }
    }
    // The largest gap of the values that span it: the edge of a tight mode is no valley.
    let gap = |place: &usize| sorted[*place] - sorted[*place - 1];
    let span =
        |split: usize| split.saturating_sub(near / 2 + 1).max(1)..=(split + near / 2 + 1).min(count - 1);
    best.1.and_then(|split| span(split).max_by(|a, b| gap(a).total_cmp(&gap(b))))
}

/// Expectation and maximisation (Dempster, Laird & Rubin, JRSS B 39, 1977) of a mixture of normal
/// distributions and a broad one for outliers, which covers all values evenly. Gives the log likelihood,
/// up to a constant for each value.
fn fit<const PARTS: usize>(sorted: &[f64], mut parts: [Part; PARTS]) -> ([Part; PARTS], f64) {
    let range = sorted.last().zip(sorted.first()).map_or(1.0, |(last, first)| last - first);
    let broad = ROOT / range.max(NARROWEST);
    let count = sorted.len() as f64;
    let (mut outliers, mut likelihood) = (BROAD, f64::NEG_INFINITY);
    for _ in 0..ROUNDS {
        let mut sums = [(0.0, 0.0, 0.0); PARTS];
        let (mut outside, mut now) = (0.0, 0.0);
        for value in sorted {
            let densities = parts.map(|part| part.density(*value));
            let all = densities.iter().sum::<f64>() + outliers * broad;
            now += all.ln();
            outside += outliers * broad / all;
            for ((density, part), sum) in densities.iter().zip(&parts).zip(&mut sums) {
                let (weight, away) = (density / all, value - part.centre);
                *sum = (sum.0 + weight, sum.1 + weight * away, sum.2 + weight * away * away);
            }
        }
        for (part, (weight, away, squares)) in parts.iter_mut().zip(sums) {
            let moved = away / weight.max(f64::MIN_POSITIVE);
            let variance = squares / weight.max(f64::MIN_POSITIVE) - moved * moved;
            *part = Part {
                centre: part.centre + moved,
                spread: variance.max(0.0).sqrt().max(NARROWEST),
                share: weight / count,
            };
        }
        outliers = (outside / count).max(1e-4);
        let gain = now - likelihood;
        likelihood = now;
        if gain < 1e-3 {
            break;
        }
    }
    (parts, likelihood)
}

/// Both lines hold at least this share: a tenth, with an allowance for chance.
pub(crate) const LEAST_SHARE: f64 = 0.07;
/// The lines are so many spreads apart in the middle of the upper half of n.
pub(crate) const LINE_SEPARATION: f64 = 3.0;
/// At most this share of the upper half may belong to either.
const AMBIGUOUS: f64 = 0.1;
/// A value that belongs to a line with less than this chance is ambiguous.
const SURE: f64 = 0.9;
/// Rounds after which the best of several starts is chosen, and after which it is settled.
const LINE_ROUNDS: [usize; 2] = [8, 40];

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
        let starts = [0.0, 0.5, 1.0].map(|apart| settle(start(apart), LINE_ROUNDS[0]));
        let best = starts.into_iter().max_by(|a, b| a.likelihood.total_cmp(&b.likelihood))?;
        Some(settle(best, LINE_ROUNDS[1]))
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
        distance > LINE_SEPARATION * spread
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

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::simulate::normal;

    #[test]
    fn a_fit_finds_what_was_mixed() {
        let mut rng = Rng::with_seed(4);
        let mut values: Vec<f64> = (0..2000)
            .map(|place| if place % 4 == 0 { 1.0 + 0.2 * normal(&mut rng) } else { 0.1 * normal(&mut rng) })
            .collect();
        values.sort_unstable_by(f64::total_cmp);
        let Pair { parts: [lower, upper], valley } = Pair::new(&values, 0.1, 0.1, EVIDENCE).expect("modes");
        for (found, truth) in [
            (lower.centre, 0.0),
            (lower.spread, 0.1),
            (lower.share, 0.75),
            (upper.centre, 1.0),
            (upper.spread, 0.2),
            (upper.share, 0.25),
        ] {
            assert!((found - truth).abs() < 0.03, "{found} is not {truth}");
        }
        assert!((0.2..0.7).contains(&valley));
    }
}
