//! The best member of each family that has a parameter of its own, with the parameter's error.

use crate::centre::{Centre, Interval, Student, exp, squares};
use crate::curve::{Curve, Edges, dot};
use crate::shape::{Family, Fit, Law, golden};
use crate::sweep::JudgeSettings;

/// Places that are tried for the knee of a hinge and for a bend.
const KNEES: usize = 12;
/// Limits that are tried, beyond the largest n and as a share of it: half a decade at most.
const LIMITS: [f64; 12] = [0.0002, 0.0006, 0.002, 0.006, 0.015, 0.04, 0.1, 0.2, 0.4, 0.7, 1.2, 2.16];
/// Exponents that are tried.
const EXPONENTS: [f64; 11] = [0.1, 0.2, 0.35, 0.55, 0.8, 1.0, 1.25, 1.6, 2.1, 3.0, 4.0];
/// Scales of an exponential that are tried, as shares of the largest n.
const SCALES: [f64; 5] = [0.1, 0.2, 0.4, 0.7, 1.2];
/// Linear parts of a sum that are tried, in squares of the largest n.
const LINEAR_PARTS: [f64; 6] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0];
/// Fewer blocks show no bend between two slopes.
const BENT: usize = 8;
/// A slope is at most so many times the other one.
const STEEPEST: f64 = 50.0;

/// The best fit of each family without steps: those that grow, and the constant.
pub(crate) fn smooth_fits(curve: &Curve) -> Vec<Fit> {
    let blocks = curve.blocks();
    let mut fits: Vec<Fit> = Family::PLAIN.iter().map(|family| Fit::new(curve, *family, &[])).collect();
    if blocks >= 6 {
        let top = curve.middles[blocks - 1];
        let knees = || (0..KNEES).map(|place| curve.middles[1 + place * (blocks - 3) / (KNEES - 1)]);
        fits.extend(searched(curve, knees(), 0.0, |from| Family::Hinge { from }));
        if blocks >= BENT {
            let bend = |at: f64| Family::Bend { at, ratio: slopes_ratio(curve, at) };
            fits.extend(searched(curve, knees(), 0.0, bend));
        }
        let power = |exponent: f64| Family::Power { exponent, searched: true };
        fits.extend(
            searched(curve, EXPONENTS.into_iter(), 0.0, power)
                .map(|fit| Fit { exponent: searched_parameter(curve, &fit), ..fit }),
        );
        fits.extend(searched(curve, SCALES.iter().map(|part| part * top), 0.0, |scale| {
            Family::Exponential { scale }
        }));
        fits.extend(searched(curve, LINEAR_PARTS.iter().map(|part| part * top), 0.0, |linear| Family::Sum {
            linear,
        }));
        let limits = LIMITS.iter().map(|share| curve.end * (1.0 + share));
        fits.extend(searched(curve, limits, curve.end, |limit| Family::Approach { limit }));
    }
    fits
}

/// Slope after `at` over the slope before, for the two lines that meet there and fit the mean curve best:
/// least squares of costs with weights 1/cost², which is that of their logarithms to first order.
fn slopes_ratio(curve: &Curve, at: f64) -> f64 {
    let level = curve.means[0];
    // Normal equations of 1, min(n, at) and max(n - at, 0), each divided by the cost.
    let part = |of: &dyn Fn(f64) -> f64| -> Vec<f64> {
        curve.middles.iter().zip(&curve.means).map(|(n, mean)| of(*n) / (mean - level).exp()).collect()
    };
    let parts = [part(&|_| 1.0), part(&|n| n.min(at) / at), part(&|n| (n - at).max(0.0) / at)];
    let weighted = parts.each_ref().map(|part| curve.weighted(part));
    let mut sums = [[0.0; 4]; 3];
    for (sums, weighted) in sums.iter_mut().zip(&weighted) {
        sums.iter_mut().zip(&parts).for_each(|(sum, part)| *sum = dot(weighted, part));
        sums[3] = weighted.iter().sum();
    }
    let Some([_, before, after]) = solve(sums) else { return 1.0 };
    match (before > 0.0, after > 0.0) {
        (true, true) => (after / before).clamp(1.0 / STEEPEST, STEEPEST),
        (false, true) => STEEPEST,
        (true, false) => 1.0 / STEEPEST,
        (false, false) => 1.0,
    }
}

/// The solution of linear equations, each of which ends with its right side, by elimination; `None` where
/// they have none.
fn solve<const COUNT: usize, const WIDTH: usize>(mut rows: [[f64; WIDTH]; COUNT]) -> Option<[f64; COUNT]> {
    for place in 0..COUNT {
        let pivot = (place..COUNT).max_by(|a, b| rows[*a][place].abs().total_cmp(&rows[*b][place].abs()))?;
        rows.swap(place, pivot);
        let top = rows[place];
        if top[place] == 0.0 || !top[place].is_finite() {
            return None;
        }
        for row in rows.iter_mut().enumerate().filter(|(other, _)| *other != place).map(|(_, row)| row) {
            let times = row[place] / top[place];
            row.iter_mut().zip(top).for_each(|(value, top)| *value -= times * top);
        }
    }
    let mut solution = [0.0; COUNT];
    for (place, row) in rows.iter().enumerate() {
        solution[place] = row[COUNT] / row[place];
    }
    Some(solution)
}

/// The best fit of families that differ in a place: the nearest of those given, then between its neighbours,
/// by the logarithm of the distance to `edge`.
fn searched(
    curve: &Curve,
    places: impl Iterator<Item = f64>,
    edge: f64,
    family: impl Fn(f64) -> Family,
) -> Option<Fit> {
    let mut logs: Vec<f64> = places.map(|place| (place - edge).max(f64::MIN_POSITIVE).ln()).collect();
    logs.dedup();
    let fits: Vec<Fit> = logs.iter().map(|log| Fit::new(curve, family(edge + log.exp()), &[])).collect();
    let best = (0..logs.len()).min_by(|a, b| fits[*a].distance.total_cmp(&fits[*b].distance))?;
    let log_odds = fits[best].law.log_odds();
    let distance = |log: f64| Fit::near(curve, family(edge + log.exp()), &[], log_odds).distance;
    // On each side of it by itself: where a place passes the middle of a block, the distance may have a kink.
    let sides = [best.saturating_sub(1), (best + 1).min(logs.len() - 1)].map(|side| logs[side]);
    let places = sides.map(|side| golden(side.min(logs[best]), side.max(logs[best]), REFINED, distance));
    nearest(curve, places.iter().map(|place| family(edge + place.exp())), &[])
}

/// Rounds of the golden section for a place.
const REFINED: usize = 8;

/// The exponent of a power, or the logarithm of the place of a bend, with its error by the infinitesimal
/// jackknife over trials (Jaeckel, Bell Laboratories memorandum 72-1215-11, 1972; Efron, The Jackknife, 1982,
/// §6): how far each trial moves the estimate, while the share that grows and the ratio of two slopes follow.
fn searched_parameter(curve: &Curve, fit: &Fit) -> Option<Centre> {
    let (value, with): (f64, &dyn Fn([f64; 3]) -> Family) = match fit.family {
        Family::Power { exponent, .. } => {
            (exponent, &move |[step, ..]| Family::Power { exponent: exponent + step, searched: true })
        }
        Family::Bend { at, ratio } => (at.ln(), &move |[step, _, other]| Family::Bend {
            at: at * step.exp(),
            ratio: ratio * other.exp(),
        }),
        _ => return None,
    };
    let edges = Edges::new(&fit.steps, curve.blocks());
    let log_odds = fit.law.log_odds();
    let smooth = |steps: [f64; 3]| -> Vec<f64> {
        let law = Law::new(curve, with(steps)).with(log_odds + steps[1]);
        edges.within(curve, &curve.middles.iter().map(|n| law.at(*n)).collect::<Vec<f64>>())
    };
    let slopes = [0, 1, 2].map(|parameter| {
        let moved =
            |step: f64| smooth(std::array::from_fn(|place| if place == parameter { step } else { 0.0 }));
        let ends = moved(STEP).into_iter().zip(moved(-STEP));
        ends.map(|(above, below)| (above - below) / (2.0 * STEP)).collect::<Vec<f64>>()
    });
    let weighted = slopes.each_ref().map(|slope| curve.weighted(slope));
    let most = slopes.iter().zip(&weighted).map(|(slope, weighted)| dot(slope, weighted)).fold(0.0, f64::max);
    let influence = |trial: &Vec<f64>| -> Option<f64> {
        let rest: Vec<f64> = trial.iter().zip(&curve.means).map(|(value, mean)| value - mean).collect();
        let mut rows = [[0.0; 4]; 3];
        for (place, row) in rows.iter_mut().enumerate() {
            for (other, value) in row.iter_mut().enumerate().take(3) {
                *value = dot(&weighted[place], &slopes[other]);
            }
            // A parameter without effect keeps its value.
            row[place] += most * STILL;
            row[3] = dot(&weighted[place], &rest);
        }
        solve(rows).map(|[moved, ..]| moved)
    };
    let influences: Vec<f64> = curve.trials.iter().filter_map(influence).collect();
    let centre = Centre::new(&influences)?;
    Some(Centre { value, ..centre })
}

/// How far a parameter is moved for its slope; those but exponents are logarithms.
const STEP: f64 = 0.01;
/// A parameter that moves a curve by less than this squared share of another has no estimate.
const STILL: f64 = 1e-7;

/// The nearest of several families.
pub(crate) fn nearest(curve: &Curve, families: impl Iterator<Item = Family>, steps: &[usize]) -> Option<Fit> {
    families.map(|family| Fit::new(curve, family, steps)).min_by(|a, b| a.distance.total_cmp(&b.distance))
}

/// The estimate of what a family searches for (the knee, the limit), with its error by the jackknife over
/// trials (Tukey 1958; Efron, The Jackknife, 1982, §3), in logarithms of the distance to `edge`.
pub(crate) fn place(curve: &Curve, fit: &Fit, edge: f64) -> Option<Centre> {
    let (value, around): (f64, fn(f64) -> Family) = match fit.family {
        Family::Bend { .. } => return searched_parameter(curve, fit),
        Family::Hinge { from } => (from, |from| Family::Hinge { from }),
        Family::Approach { limit } => (limit, |limit| Family::Approach { limit }),
        _ => return None,
    };
    let log = |n: f64| (n - edge).max(f64::MIN_POSITIVE).ln();
    let start = log(value);
    let most = match fit.family {
        Family::Approach { .. } => log(curve.end * (1.0 + LIMITS[LIMITS.len() - 1])),
        _ => f64::INFINITY,
    };
    let best = |curve: &Curve, start: f64, reach: f64, rounds: usize| {
        golden(start - reach, (start + reach).min(most), rounds, |log| {
            Fit::new(curve, around(edge + log.exp()), &fit.steps).distance
        })
    };
    let whole = best(curve, start, 1.5, 16);
    let count = curve.trials.len() as f64;
    let without: Vec<f64> =
        (0..curve.trials.len()).map(|trial| best(&curve.without(trial), whole, 0.5, 10)).collect();
    let error = (squares(&without) * (count - 1.0) / count).sqrt();
    Some(Centre { value: whole, error, freedom: count - 1.0 })
}

/// The interval of the place that a family searches for.
pub(crate) fn interval(curve: &Curve, fit: &Fit, edge: f64, settings: &JudgeSettings) -> Option<Interval> {
    let centre = place(curve, fit, edge)?;
    let distance = exp(centre.interval(&Student::new(settings.error_rate())));
    Some(distance.map(|distance| edge + distance))
}
