//! Two lines on which measurements lie, each a + b·n: operations that alternate between a cheap and an
//! expensive path, or trials that keep to one of the two.
//!
//! The lines are searched for at the largest n, in windows so narrow that a curve cannot look like two modes.
//! Only lines that are found there are fitted. Each is judged by itself.

use std::collections::HashMap;

use crate::block::{Grid, median};
use crate::centre::{FEWEST, mean, squares};
use crate::mixture::{EVIDENCE, LEAST_SHARE, LINE_SEPARATION, LineMixture};
use crate::model_selection::ModelSelection;
use crate::modes::{Groups, LEAST_DISTANCE, Persistence, Point, Windows};
use crate::sweep::{Common, JudgeSettings, Sweep, is_cost};
use crate::verdict::{Class, FittedLine, Lines, Verdict};
use crate::view::View;

/// Two lines, each judged by itself, that separate by more than the margin from the smallest n to the
/// largest. Lines that do not separate are two modes, unless both hold so many values that the medians jump
/// between them. `judge` judges one line by itself.
pub(crate) fn find(
    common: &Common<'_>,
    view: &View,
    settings: &JudgeSettings,
    judge: impl Fn(&[Sweep<'_>], &JudgeSettings) -> Option<Verdict>,
) -> Option<Lines> {
    let found = lines_within(&common.trials, &view.ranges, settings.tick_seconds, settings.seed)?;
    if is_set_by_n(&found) {
        return None;
    }
    let line = |share: f64, points: &[(Vec<u64>, Vec<f64>)]| {
        let trials: Vec<Sweep<'_>> =
            points.iter().map(|(sizes, values)| Sweep::listed(sizes, values)).collect();
        let settings = JudgeSettings { whole: true, ..settings.clone() };
        let verdict = judge(&trials, &settings)?;
        // Values with jumps or without any shape are a disturbance, not a line.
        let is_line =
            verdict.classes != [Class::Uneven] && verdict.steps.is_empty() && !jumps(&trials, &settings);
        let Verdict { class, bound, growth, marginal_cost, cost_low, cost_high, .. } = verdict;
        is_line.then_some(FittedLine { share, class, bound, growth, marginal_cost, cost_low, cost_high })
    };
    let [lower, upper] = found.shares;
    let (lower, upper) = (line(lower, &found.lower)?, line(upper, &found.upper)?);
    let margin = settings.log_margin();
    let way = (view.ranges[view.ranges.len() - 1].1 - view.ranges[0].0) as f64;
    // With few values the whole line is more informative than its two ends.
    let rise = |line: &FittedLine| line.marginal_cost.map(|each| 1.0 + each * way / line.cost_low.value);
    let (one, other) = (rise(&upper), rise(&lower));
    let certain = one.low > other.high || other.low > one.high;
    let part = certain && (one.value / other.value).ln().abs() >= margin;
    let both_count = lower.share.min(upper.share) >= PARALLEL;
    let apart = found.distance.ln() >= margin && (part || both_count);
    apart.then_some(Lines { lower, upper, persistence: found.persistence, distance: found.distance })
}

/// Whether all trials choose the same line at the same n: then the cost depends on n, and nothing is chosen.
fn is_set_by_n(found: &Found) -> bool {
    let mut counts: HashMap<u64, [u32; 2]> = HashMap::new();
    for (kind, trials) in [&found.lower, &found.upper].into_iter().enumerate() {
        let sizes = trials.iter().flat_map(|(sizes, _)| sizes);
        sizes.for_each(|n| counts.entry(*n).or_default()[kind] += 1);
    }
    let [lower, upper] = found.shares;
    let (mut asked, mut agree, mut by_chance) = (0.0, 0.0, 0.0);
    for [below, above] in counts.into_values().filter(|[below, above]| below + above >= FEWEST) {
        asked += 1.0;
        agree += f64::from(u8::from(below == 0 || above == 0));
        let trials = (below + above) as i32;
        by_chance += lower.powi(trials) + upper.powi(trials);
    }
    agree - by_chance > (asked - by_chance) / 2.0
}

/// Whether a step describes these trials best; used where they are too few to be judged.
fn jumps(trials: &[Sweep<'_>], settings: &JudgeSettings) -> bool {
    if trials.len() >= FEWEST as usize {
        return false;
    }
    let view = Common::new(trials, settings.whole).and_then(|common| {
        let grid = Grid::new(&common.sizes, common.trials.len());
        View::new(&common, &grid, settings)
    });
    view.is_some_and(|view| {
        let curve = view.curve(&view.rows, (0, view.ranges.len()));
        ModelSelection::new(&curve).best().is_some_and(|best| !best.steps.is_empty())
    })
}

/// Lines that do not separate hold at least this share each.
const PARALLEL: f64 = 0.25;

/// Values as far above all others as a spike, and rarer than this, are spikes.
const SPIKES: f64 = 0.05;
/// A window holds fewer values, and shows at least this share of both.
const SHOWN: f64 = 0.06;
/// Values of one window at the largest n.
const SAMPLE: usize = 1000;
/// Values of one range in the fit of the lines.
const FIT: usize = 100;
/// Values of a trial that set its level.
const REFERENCE: usize = 25;

/// Two lines, with the values of each.
struct Found {
    /// As in `crate::Lines::persistence`.
    persistence: f64,
    /// Distance of the lines at the largest n, as a ratio.
    distance: f64,
    /// Shares of the lower and of the upper line in the measurements.
    shares: [f64; 2],
    /// n and values of each trial that has values on the lower line, in the order of time.
    lower: Vec<(Vec<u64>, Vec<f64>)>,
    /// The same of the upper line.
    upper: Vec<(Vec<u64>, Vec<f64>)>,
}

/// Two lines in the measurements within `ranges`; `tick` is the step of the clock in the unit of the values.
fn lines_within(trials: &[Sweep<'_>], ranges: &[(u64, u64)], tick: f64, seed: u64) -> Option<Found> {
    let span = (ranges.first()?.0, ranges.last()?.1);
    let thirds = upper_thirds(span);
    let windows = Windows::new(trials, &thirds, SAMPLE, tick, seed);
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
    let all = Windows::new(trials, ranges, FIT, windows.tick, seed);
    let points: Vec<Point> = all.points.into_iter().flatten().collect();
    let (low, high) = windows.ranges[top];
    let n = (low as f64).midpoint(high as f64);
    let lines = LineMixture::new(&points, &windows.levels, (n, &pair), trials.len())?;
    let half = ranges.last()?.1 as f64 / 2.0;
    (lines.are_apart(&points, half, windows.tick) && lines.are_everywhere(windows)).then_some(())?;
    let found = divide(&lines, trials, ranges, half);
    let common = windows.is_common(top, &pair, found.persistence);
    (common && found.shares.iter().all(|share| *share >= LEAST_SHARE)).then_some(found)
}

/// Every value to a line or to none. Where the lines are close a value is drawn by its chances, so that
/// neither line keeps only the cheap or only the expensive ones.
fn divide(fit: &LineMixture, trials: &[Sweep<'_>], ranges: &[(u64, u64)], half: f64) -> Found {
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
            let chances = fit.chances(&Point { trial, n: n as f64, log: value.ln() });
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
        distance: (fit.lines[1].log(end) - fit.lines[0].log(end)).exp(),
        shares: counts.map(|count| count / all),
        lower,
        upper,
    }
}

/// Lines to which whole trials keep: two groups of trials that change differently up to the largest n. Levels
/// that differ from the start and change alike can only be modes.
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
    let groups: Option<Vec<Groups>> = changes.iter().map(|changes| Groups::new(changes, EVIDENCE)).collect();
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

/// The excess of the upper trials from the start, if that is clear; trials differ in their levels by chance.
fn difference(starts: &[f64], is_upper: impl Fn(usize) -> bool) -> f64 {
    let of = |kind: bool| -> Vec<f64> {
        let own = (0..starts.len()).filter(|trial| starts[*trial].is_finite() && is_upper(*trial) == kind);
        own.map(|trial| starts[trial]).collect()
    };
    let (lower, upper) = (of(false), of(true));
    let squared_error = |values: &[f64]| -> f64 {
        squares(values) / (values.len() as f64 * (values.len() as f64 - 1.0).max(1.0))
    };
    let difference = mean(&upper) - mean(&lower);
    let error = (squared_error(&lower) + squared_error(&upper)).sqrt();
    if difference.abs() > LINE_SEPARATION * error { difference } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::simulate::{CALM, Noise, Operation, any_input, ranges, sweeps, up};

    fn judged(values: &[Vec<f64>], tick: f64) -> Option<Found> {
        lines_within(&up(values), &ranges(values[0].len()), tick, 7)
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
                lines_within(trials, ranges, tick, 1);
            }
        });
    }
}
