//! Two lines on which measurements lie, each a + b·n: operations that alternate between a cheap and an
//! expensive path, or trials that keep to one of the two.
//!
//! The lines are searched for at the largest n, in windows so narrow that a curve cannot look like two modes.
//! Only what is found there is fitted as two lines.

use crate::centre::mean;
use crate::median::median;
use crate::modes::{
    BROAD, EVIDENCE, Groups, LEAST_DISTANCE, NARROWEST, Pair, Part, Persistence, Point, ROOT, TICKS, Windows,
};
use crate::range::is_cost;
use crate::sweep::Sweep;

/// Both lines hold at least this share: a tenth, less what chance may take from it.
const LEAST_SHARE: f64 = 0.07;
/// What lies as far above all others as a spike, and is rarer than this, is spikes.
const SPIKES: f64 = 0.05;
/// A window, which holds less, shows at least this share of both.
const SHOWN: f64 = 0.06;
/// The lines are so many spreads apart in the middle of the upper half of n.
const SEPARATION: f64 = 3.0;
/// At most this share of the upper half may belong to either.
const AMBIGUOUS: f64 = 0.1;
/// A value that belongs to a line with less than this chance is ambiguous.
const SURE: f64 = 0.9;
/// Values of one window at the largest n.
const SAMPLE: usize = 1000;
/// Values of one range in the fit of the lines.
const FIT: usize = 100;
/// Values of a trial that set its level.
const REFERENCE: usize = 25;

/// Two lines, and what belongs to each.
pub(crate) struct Found {
    /// As in `crate::Lines::persistence`.
    pub(crate) persistence: f64,
    /// Distance of the lines at the largest n, as a ratio.
    pub(crate) distance: f64,
    /// Shares of the lower and of the upper line in the measurements.
    pub(crate) shares: [f64; 2],
    /// n and values of each trial that has values on the lower line, in the order of time.
    pub(crate) lower: Vec<(Vec<u64>, Vec<f64>)>,
    /// The same of the upper line.
    pub(crate) upper: Vec<(Vec<u64>, Vec<f64>)>,
}

/// Two lines in the measurements within `ranges`; `tick` is the step of the clock in the unit of the values.
pub(crate) fn find(trials: &[Sweep<'_>], ranges: &[(u64, u64)], tick: f64, seed: u64) -> Option<Found> {
    let span = (ranges.first()?.0, ranges.last()?.1);
    let thirds = upper_thirds(span);
    let windows = Windows::of(trials, &thirds, SAMPLE, tick, seed);
    alternating(trials, ranges, &windows, seed).or_else(|| by_trial(trials, ranges, &windows))
}

/// The upper half of n in three parts, rising.
fn upper_thirds((low, high): (u64, u64)) -> Vec<(u64, u64)> {
    let border = |part: u64| (high / 2 + (high - high / 2) / 3 * part).max(low);
    let all = [(border(0) + 1, border(1)), (border(1) + 1, border(2)), (border(2) + 1, high)];
    all.into_iter().filter(|(low, high)| low <= high).collect()
}

/// Lines between which single operations choose.
fn alternating(trials: &[Sweep<'_>], ranges: &[(u64, u64)], windows: &Windows, seed: u64) -> Option<Found> {
    let (top, pair) = (0..windows.points.len())
        .rev()
        .find_map(|window| windows.pair(window, SHOWN, SPIKES).map(|pair| (window, pair)))?;
    let all = Windows::of(trials, ranges, FIT, windows.tick, seed);
    let points: Vec<Point> = all.points.into_iter().flatten().collect();
    let (low, high) = windows.ranges[top];
    let n = (low as f64).midpoint(high as f64);
    let lines = Fit::of(&points, &windows.levels, (n, &pair), trials.len())?;
    let half = ranges.last()?.1 as f64 / 2.0;
    (lines.are_apart(&points, half, windows.tick) && lines.are_everywhere(windows)).then_some(())?;
    let found = lines.divide(trials, ranges, half);
    let common = windows.is_common(top, &pair, found.persistence);
    (common && found.shares.iter().all(|share| *share >= LEAST_SHARE)).then_some(found)
}

/// a + b·n.
#[derive(Clone, Copy, Debug)]
struct Line {
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

    fn log(&self, n: f64) -> f64 {
        (self.a + self.b * n).max(f64::MIN_POSITIVE).ln()
    }

    /// As that of a part of a mixture.
    fn density(&self, n: f64, log: f64) -> f64 {
        Part { centre: self.log(n), spread: self.spread, share: self.share }.density(log)
    }
}

/// A mixture of two lines of the logarithm, with the levels of the trials and a broad part for outliers.
struct Fit {
    lines: [Line; 2],
    levels: Vec<f64>,
    outliers: f64,
    broad: f64,
    likelihood: f64,
}

/// Rounds after which the best of several starts is chosen, and after which it is settled.
const ROUNDS: [usize; 2] = [8, 40];

impl Fit {
    /// The likeliest from several starts: both lines leave from one point, or from two as far apart as at
    /// the top, or cross over from the other side.
    fn of(points: &[Point], levels: &[f64], (n_top, top): (f64, &Pair), trials: usize) -> Option<Fit> {
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
        let start = |apart: f64| Fit {
            lines: top.parts.map(|part| {
                let beginning = first + apart * (part.centre - middle);
                Line::through((n_low, beginning), (n_top, part.centre), part)
            }),
            levels: levels.to_vec(),
            outliers: BROAD,
            broad: ROOT / range.max(NARROWEST),
            likelihood: f64::NEG_INFINITY,
        };
        let settle = |mut fit: Fit, rounds: usize| {
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
    fn chances(&self, point: &Point) -> [f64; 3] {
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
    fn are_apart(&self, points: &[Point], half: f64, tick: f64) -> bool {
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
    fn are_everywhere(&self, windows: &Windows) -> bool {
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

    /// Every value to a line or to none. Where the lines are close a value is drawn by its chances, so that
    /// neither line keeps only the cheap or only the expensive ones.
    fn divide(&self, trials: &[Sweep<'_>], ranges: &[(u64, u64)], half: f64) -> Found {
        let mut random = fastrand::Rng::with_seed(trials.len() as u64);
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        let (mut persistence, mut counts) = (Persistence::default(), [0.0, 0.0]);
        let (n_low, n_high) = (ranges[0].0, ranges[ranges.len() - 1].1);
        for (trial, sweep) in trials.iter().enumerate() {
            let mut own: [(Vec<u64>, Vec<f64>); 2] = Default::default();
            let mut kinds = Vec::new();
            for place in sweep.places(n_low, n_high) {
                let (n, value) = (sweep.n(place), sweep.values[place]);
                if !is_cost(value) {
                    continue;
                }
                let chances = self.chances(&Point { trial, n: n as f64, log: value.ln() });
                let all: f64 = chances.iter().sum();
                if chances[2] > all / 2.0 || all <= 0.0 {
                    continue;
                }
                let is_upper = random.f64() * (chances[0] + chances[1]) < chances[1];
                let (sizes, values) = &mut own[usize::from(is_upper)];
                sizes.push(n);
                values.push(value);
                if n as f64 > half {
                    kinds.push(is_upper);
                    counts[usize::from(is_upper)] += 1.0;
                }
            }
            persistence.add(kinds.into_iter());
            let [own_lower, own_upper] = own;
            if !own_lower.0.is_empty() {
                lower.push(own_lower);
            }
            if !own_upper.0.is_empty() {
                upper.push(own_upper);
            }
        }
        let all = counts[0] + counts[1];
        let end = n_high as f64;
        Found {
            persistence: persistence.value(),
            distance: (self.lines[1].log(end) - self.lines[0].log(end)).exp(),
            shares: counts.map(|count| count / all),
            lower,
            upper,
        }
    }
}

/// What a Gauss–Newton step needs.
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

/// Lines to which whole trials keep: two groups of trials that change differently up to the largest n.
/// Levels that differ from the start and change alike are modes, if anything.
fn by_trial(trials: &[Sweep<'_>], ranges: &[(u64, u64)], windows: &Windows) -> Option<Found> {
    let start = |trial: &Sweep<'_>| {
        let mut first = Vec::new();
        for (low, high) in ranges {
            first.extend(trial.within(*low, *high).iter().copied().filter(|value| is_cost(*value)));
            if first.len() >= REFERENCE {
                break;
            }
        }
        median(&mut first).map_or(f64::NAN, f64::ln)
    };
    let starts: Vec<f64> = trials.iter().map(start).collect();
    let changes: Vec<Vec<f64>> = windows
        .points
        .iter()
        .filter(|points| !points.is_empty())
        .map(|points| {
            let mut by_trial = vec![Vec::new(); trials.len()];
            points.iter().for_each(|point| by_trial[point.trial].push(point.log));
            let median = |logs: &mut Vec<f64>| median(logs).unwrap_or(f64::NAN);
            by_trial.iter_mut().zip(&starts).map(|(logs, start)| median(logs) - start).collect()
        })
        .collect();
    let groups: Option<Vec<Groups>> = changes.iter().map(|changes| Groups::of(changes, EVIDENCE)).collect();
    let groups = groups?;
    let is_upper = |window: usize, trial: usize| changes[window][trial] > groups[window].border;
    let top = groups.len().checked_sub(1)?;
    // Trials keep to their line all the way up.
    let measured = |trial: &usize| changes[top][*trial].is_finite();
    let keeps = |trial: &usize| (0..=top).all(|window| is_upper(window, *trial) == is_upper(top, *trial));
    if !(0..trials.len()).filter(measured).all(|trial| keeps(&trial)) {
        return None;
    }
    let [low, high] = groups[top].centres;
    let before = difference(&starts, |trial| is_upper(top, trial));
    let distance = (high - low + before).exp();
    (distance >= 1.0 + LEAST_DISTANCE).then_some(())?;
    let whole = |trial: usize| {
        let sweep = &trials[trial];
        let places = sweep.places(ranges[0].0, ranges[ranges.len() - 1].1);
        let costs = places.filter(|place| is_cost(sweep.values[*place]));
        costs.map(|place| (sweep.n(place), sweep.values[place])).unzip()
    };
    let of = |kind: bool| -> Vec<(Vec<u64>, Vec<f64>)> {
        (0..trials.len()).filter(measured).filter(|trial| is_upper(top, *trial) == kind).map(whole).collect()
    };
    let (lower, upper) = (of(false), of(true));
    let all = (lower.len() + upper.len()) as f64;
    let shares = [lower.len() as f64 / all, upper.len() as f64 / all];
    Some(Found { persistence: 1.0, distance, shares, lower, upper })
}

/// How much more the upper trials have from the start, if that is plain; trials differ in their levels by
/// chance.
fn difference(starts: &[f64], is_upper: impl Fn(usize) -> bool) -> f64 {
    let of = |kind: bool| -> Vec<f64> {
        let own = (0..starts.len()).filter(|trial| starts[*trial].is_finite() && is_upper(*trial) == kind);
        own.map(|trial| starts[trial]).collect()
    };
    let (lower, upper) = (of(false), of(true));
    let squared_error = |values: &[f64]| -> f64 {
        let middle = mean(values);
        let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
        squares / (values.len() as f64 * (values.len() as f64 - 1.0).max(1.0))
    };
    let difference = mean(&upper) - mean(&lower);
    let error = (squared_error(&lower) + squared_error(&upper)).sqrt();
    if difference.abs() > SEPARATION * error { difference } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{CALM, Noise, Operation, any_input, ranges, sweeps, up};
    use fastrand::Rng;

    fn judged(values: &[Vec<f64>], tick: f64) -> Option<Found> {
        find(&up(values), &ranges(values[0].len()), tick, 7)
    }

    /// Share of replicates in which lines are found.
    fn share(replicates: u64, find: impl Fn(&mut Rng) -> Option<Found>) -> f64 {
        let found = |seed: u64| u8::from(find(&mut Rng::with_seed(seed)).is_some());
        (0..replicates).map(|seed| f64::from(found(seed))).sum::<f64>() / replicates as f64
    }

    const NOISES: [(&str, Noise); 13] = [
        ("calm", CALM),
        ("levels 5 %", Noise { level: 0.05, ..CALM }),
        ("levels 25 %", Noise { level: 0.25, ..CALM }),
        ("wide", Noise { operation: Operation::Lognormal(0.5), ..CALM }),
        ("gamma 2", Noise { operation: Operation::Gamma(2), ..CALM }),
        ("pareto", Noise { operation: Operation::Pareto(3.0), ..CALM }),
        ("widening", Noise { operation: Operation::Widening(0.1), ..CALM }),
        ("spikes", Noise { spikes: 0.05, ..CALM }),
        ("drift", Noise { drift: 0.2, keep: 0.9, ..CALM }),
        ("slow drift", Noise { drift: 0.065, keep: 0.98, ..CALM }),
        ("neighbours", Noise { neighbours: 0.025, ..CALM }),
        ("tick of a tenth", Noise { tick: 1e-7, ..CALM }),
        ("tick of a half", Noise { tick: 5e-7, ..CALM }),
    ];

    type Truth = fn(f64) -> f64;

    /// Of the way up to the largest n, which is 1.
    const CURVES: [(&str, Truth); 6] = [
        ("const", |_| 1.0),
        ("linear", |way| 1.0 + 2.0 * way),
        ("log", |way| 1.0 + (1.0 + 1000.0 * way).ln()),
        ("square", |way| 1.0 + 8.0 * way * way),
        ("step", |way| if way < 0.62 { 1.0 } else { 1.6 }),
        ("late step", |way| if way < 0.9 { 1.0 } else { 3.0 }),
    ];

    fn alternating(upper: f64, size: usize) -> impl Fn(&mut Rng, usize, f64) -> f64 {
        move |rng, _, n| if rng.f64() < upper { 1.0 + 2.0 * n / size as f64 } else { 1.0 }
    }

    #[test]
    fn one_line_is_not_two() {
        for (name, noise) in NOISES {
            for (curve, truth) in CURVES {
                let wrong = share(6, |rng| {
                    judged(&sweeps(rng, 10, 200, &noise, |_, _, n| truth(n / 200.0)), noise.tick)
                });
                assert!(wrong <= 0.17, "{name}, {curve}: {wrong}");
            }
        }
    }

    #[test]
    fn lines_between_which_operations_alternate() {
        for upper in [0.1, 0.5, 0.9] {
            let values = sweeps(&mut Rng::with_seed(1), 10, 2000, &CALM, alternating(upper, 2000));
            let found = judged(&values, 0.0).expect("lines");
            assert!((found.persistence - 0.5).abs() < 0.05, "{}", found.persistence);
            assert!((found.distance / 3.0 - 1.0).abs() < 0.1, "{}", found.distance);
            assert!((found.shares[1] - upper).abs() < 0.03, "{:?}", found.shares);
            assert_eq!((found.lower.len(), found.upper.len()), (10, 10));
            // Each line keeps its own growth, although they begin together.
            for (line, growth) in [(&found.lower, 1.0), (&found.upper, 2.9 / 1.1)] {
                let ratio = |(sizes, values): &(Vec<u64>, Vec<f64>)| {
                    let place = |n: u64| sizes.partition_point(|size| *size < n);
                    let early = median(&mut values[..place(200)].to_vec()).unwrap_or(f64::NAN);
                    early.recip() * median(&mut values[place(1800)..].to_vec()).unwrap_or(f64::NAN)
                };
                let found = mean(&line.iter().map(ratio).collect::<Vec<f64>>());
                assert!((found / growth - 1.0).abs() < 0.1, "{upper}: {found} is not {growth}");
            }
        }
    }

    #[test]
    fn lines_to_which_trials_keep() {
        let truth = |_: &mut Rng, trial: usize, n: f64| {
            if trial.is_multiple_of(3) { 1.0 + (n - 100.0).max(0.0) / 450.0 } else { 1.0 }
        };
        let values = sweeps(&mut Rng::with_seed(2), 12, 1000, &CALM, truth);
        let found = judged(&values, 0.0).expect("lines");
        assert_eq!((found.persistence, found.lower.len(), found.upper.len()), (1.0, 8, 4));
        assert!((found.distance / 3.0 - 1.0).abs() < 0.2, "{}", found.distance);
    }

    #[test]
    fn thirds_of_the_upper_half_cover_it() {
        assert_eq!(upper_thirds((100, 10_000)), [(5001, 6666), (6667, 8332), (8333, 10_000)]);
        assert_eq!(upper_thirds((7, 7)), [(8, 7); 0]);
        assert_eq!(upper_thirds((1, 2)).last().map(|last| last.1), Some(2));
    }

    #[test]
    fn any_input_is_fine() {
        any_input(|trials, ranges| {
            for tick in [0.0, f64::NAN, 1.0, -1.0, f64::INFINITY] {
                find(trials, ranges, tick, 1);
            }
        });
    }
}
