//! The shapes that the data allow, and the one that describes them best.

use std::ops::Range;

use crate::block::{NONE, column};
use crate::centre::{Centre, chance_of_all, mean, tails};
use crate::curve::{Curve, Edges};
use crate::search::{nearest, smooth_fits};
use crate::shape::{Family, Fit, segment};
use crate::verdict::Class;
use crate::view::View;

/// A shape may leave this share of a cost, even if it is certain.
const MATERIAL: f64 = 0.01;
/// Shapes this close to the best, by the criterion of Schwarz (Annals of Statistics 6, 1978), are not
/// excluded.
const CLOSE: f64 = 6.0;
/// Nor are those that are best in this share of resampled runs.
const OFTEN: f64 = 0.05;
/// Nor those from which the trials do not depart this surely in the direction of the best. The best of a
/// dozen was chosen by the same data, so this is below 5 %.
const EXCLUDED: f64 = 0.02;
/// A departure as certain as this excludes a shape however often it is best: a resampled run is nearer to the
/// worse of two shapes as soon as it is half of the way there, so that resampling alone asks for twice the
/// distance.
const EXCLUDED_ALONE: f64 = 0.004;
/// Powers between the common ones need only be less likely.
const EXCLUDED_BETWEEN: f64 = 0.1;
/// Resampled runs.
const RESAMPLES: usize = 200;
/// Families that are tried together with steps.
const WITH_STEPS: [Family; 3] = [Family::Logarithm, Family::Line, Family::SQUARE];
/// A jump by more than this factor may end the approach to a limit.
const CLIFF: f64 = 3.0;
/// Where a limit inside the range may lie between the last block before its step and the first after.
const BETWEEN: [f64; 7] = [0.01, 0.03, 0.08, 0.2, 0.4, 0.7, 1.0];

/// Fitted shapes, the best first.
#[derive(Clone)]
pub(crate) struct ModelSelection {
    fits: Vec<Fit>,
    /// Overdispersion: the remainder of the best shape, over the part that the trials' errors explain.
    scale: f64,
}

impl ModelSelection {
    /// Fits every shape, with steps where they fit best.
    pub(crate) fn new(curve: &Curve) -> ModelSelection {
        let mut fits = smooth_fits(curve);
        if curve.blocks() >= 6 {
            for steps in segment(curve, &vec![0.0; curve.blocks()]) {
                fits.push(Fit::new(curve, Family::Constant, &steps));
                fits.extend(WITH_STEPS.iter().filter_map(|family| with_steps(curve, *family, &steps)));
                fits.extend(with_limit(curve, &steps));
            }
        }
        ModelSelection::among(curve, fits)
    }

    /// The same shapes where the places of steps are known.
    pub(crate) fn with_known(curve: &Curve, steps: &[usize]) -> ModelSelection {
        let mut fits = smooth_fits(curve);
        if !steps.is_empty() {
            fits.push(Fit::new(curve, Family::Constant, steps));
            fits.extend(WITH_STEPS.iter().map(|family| Fit::new(curve, *family, steps)));
            fits.extend(with_limit(curve, steps));
        }
        ModelSelection::among(curve, fits)
    }

    fn among(curve: &Curve, mut fits: Vec<Fit>) -> ModelSelection {
        let blocks = curve.blocks() as f64;
        let spread = |fit: &Fit| fit.distance / (blocks - fit.parameters()).max(1.0);
        let scale = fits.iter().map(spread).fold(f64::INFINITY, f64::min).max(1.0);
        let penalty = blocks.max(2.0).ln();
        let score = |fit: &Fit| fit.distance / scale + fit.parameters() * penalty;
        fits.sort_by(|a, b| score(a).total_cmp(&score(b)));
        ModelSelection { fits, scale }
    }

    /// The best shape.
    pub(crate) fn best(&self) -> Option<&Fit> {
        self.fits.first()
    }

    /// The shapes that are called like the best and lie close to it, the simplest first.
    pub(crate) fn plainest(&self, curve: &Curve) -> Vec<&Fit> {
        let Some(best) = self.fits.first() else { return Vec::new() };
        let limit = self.score(curve, best) + CLOSE;
        let alike = |fit: &&Fit| fit.class() == best.class() && self.score(curve, fit) <= limit;
        let mut fits: Vec<&Fit> = self.fits.iter().filter(alike).collect();
        fits.sort_by(|a, b| a.parameters().total_cmp(&b.parameters()));
        fits
    }

    /// The simplest of the shapes that have the steps of the best and lie close to it.
    pub(crate) fn plainest_with_its_steps(&self, curve: &Curve) -> Option<&Fit> {
        let best = self.fits.first()?;
        let limit = self.score(curve, best) + CLOSE;
        let alike = |fit: &&Fit| fit.steps == best.steps && self.score(curve, fit) <= limit;
        self.fits.iter().filter(alike).min_by(|a, b| a.parameters().total_cmp(&b.parameters()))
    }

    /// The shapes that lie close to the best and have its steps.
    pub(crate) fn close(&self, curve: &Curve) -> impl Iterator<Item = &Fit> {
        let best = self.fits.first();
        let limit = best.map_or(0.0, |best| self.score(curve, best) + CLOSE);
        let alike = move |fit: &&Fit| {
            best.is_some_and(|best| best.steps == fit.steps) && self.score(curve, fit) <= limit
        };
        self.fits.iter().filter(alike)
    }

    /// Schwarz's criterion, without the terms that all shapes share.
    fn score(&self, curve: &Curve, fit: &Fit) -> f64 {
        fit.distance / self.scale + fit.parameters() * (curve.blocks() as f64).max(2.0).ln()
    }

    /// The shapes without steps, but for the constant.
    pub(crate) fn growing(&self) -> ModelSelection {
        let grows = |fit: &&Fit| fit.steps.is_empty() && fit.family != Family::Constant;
        ModelSelection { fits: self.fits.iter().filter(grows).cloned().collect(), scale: self.scale }
    }

    /// The power whose exponent was searched for.
    pub(crate) fn power(&self) -> Option<&Fit> {
        self.fits.iter().find(|fit| fit.exponent.is_some())
    }

    /// The shapes without those that have one parameter more than a plain shape and are hardly better: near
    /// the ends of that parameter they equal the plain shape.
    pub(crate) fn without_idle(mut self, curve: &Curve) -> ModelSelection {
        let plain = self.fits.iter().filter(|fit| fit.steps.is_empty() && !fit.family.is_flexible());
        let plain = plain.map(|fit| self.score(curve, fit)).fold(f64::INFINITY, f64::min);
        let scores: Vec<f64> = self.fits.iter().map(|fit| self.score(curve, fit)).collect();
        let mut scores = scores.into_iter();
        self.fits.retain(|fit| {
            let score = scores.next().unwrap_or(f64::INFINITY);
            !fit.steps.is_empty() || !fit.family.is_flexible() || score < plain - CLOSE
        });
        self
    }

    /// Drops shapes whose steps were rejected.
    pub(crate) fn retain(&mut self, there: impl Fn(&Fit) -> bool) {
        self.fits.retain(there);
    }

    /// The classes that the data do not exclude, and the share of resampled runs in which the class of the
    /// best shape is that of the best.
    ///
    /// A shape is excluded only if three ways agree: it is worse by the criterion of Schwarz, with distances
    /// divided by the overdispersion (Burnham & Anderson, Model Selection, 2002, §2.5); it is hardly ever
    /// best when whole trials are resampled and the fits are kept (Kishino & Hasegawa, J. Mol. Evol. 29,
    /// 1989); and the trials depart from it, in the direction of the best, by Student's t over trials (after
    /// Davidson & MacKinnon, Econometrica 49, 1981). The second is not needed where the third is decisive.
    pub(crate) fn allowed(&self, curve: &Curve, seed: u64) -> (Vec<Class>, f64) {
        let Some(best) = self.fits.first() else { return (Vec::new(), 0.0) };
        let penalty = (curve.blocks() as f64).max(2.0).ln();
        let rows = curve.influential();
        let losses: Vec<Vec<f64>> = self.fits.iter().map(|fit| losses(curve, &rows, fit)).collect();
        let wins = self.wins(&losses, penalty, seed);
        let share = |class: Class| -> f64 {
            self.fits.iter().zip(&wins).filter(|(fit, _)| fit.class() == class).map(|(_, wins)| wins).sum()
        };
        let mut classes: Vec<Class> = self
            .fits
            .iter()
            .filter(|fit| {
                let is_worse = self.score(curve, fit) > self.score(curve, best) + CLOSE;
                let chance = chance_of_departure(curve, fit, best);
                match fit.family.is_between() {
                    true => chance >= EXCLUDED_BETWEEN,
                    false if share(fit.class()) >= OFTEN => !is_worse || chance >= EXCLUDED_ALONE,
                    false => !is_worse || chance >= EXCLUDED,
                }
            })
            .map(Fit::class)
            .collect();
        classes.sort_unstable();
        classes.dedup();
        (classes, share(best.class()).min(1.0))
    }

    /// The classes that are not excluded between the steps of the shapes that have some.
    pub(crate) fn families(&self, curve: &Curve, seed: u64, sign: f64) -> Vec<Class> {
        if sign < 0.0 {
            return vec![Class::Decreasing];
        }
        let grows = |fit: &&Fit| !fit.steps.is_empty() && fit.family != Family::Constant;
        // As if there were no steps, so that each family has its own class.
        let bare = |fit: &Fit| Fit { steps: Vec::new(), ..fit.clone() };
        let fits: Vec<Fit> = self.fits.iter().filter(grows).map(bare).collect();
        ModelSelection { fits, scale: self.scale }.allowed(curve, seed).0
    }

    /// Share of resampled runs in which each shape is best. Powers between the common ones take no part
    /// unless they are best of all: one that wins narrowly over a line would keep another class in the set.
    fn wins(&self, losses: &[Vec<f64>], penalty: f64, seed: u64) -> Vec<f64> {
        let trials = losses.first().map_or(0, Vec::len);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut wins = vec![0.0; self.fits.len()];
        let mut drawn = vec![0.0; trials];
        for _ in 0..RESAMPLES {
            drawn.fill(0.0);
            (0..trials).for_each(|_| drawn[random.usize(..trials)] += 1.0 / trials as f64);
            let score = |(fit, losses): (&Fit, &Vec<f64>)| {
                let distance: f64 = losses.iter().zip(&drawn).map(|(loss, times)| loss * times).sum();
                distance / self.scale + fit.parameters() * penalty
            };
            let scores: Vec<f64> = self.fits.iter().zip(losses).map(score).collect();
            let best = (0..scores.len())
                .filter(|place| *place == 0 || !self.fits[*place].family.is_between())
                .min_by(|a, b| scores[*a].total_cmp(&scores[*b]));
            wins[best.unwrap_or(0)] += 1.0 / RESAMPLES as f64;
        }
        wins
    }
}

/// The best fit of a family with as many steps as given: at those places, or at better ones that the
/// remainder of the family shows.
fn with_steps(curve: &Curve, family: Family, steps: &[usize]) -> Option<Fit> {
    let first = Fit::new(curve, family, steps);
    let moved = segment(curve, &first.smooth).into_iter().find(|moved| moved.len() == steps.len())?;
    let second = Fit::new(curve, family, &moved);
    Some(if second.distance < first.distance { second } else { first })
}

/// A cost that approaches a limit inside the range and jumps there.
fn with_limit(curve: &Curve, steps: &[usize]) -> Option<Fit> {
    let flat = Fit::new(curve, Family::Constant, steps);
    let jump = |step: &&usize| flat.curve[**step] - flat.curve[**step - 1];
    let cliff =
        *steps.iter().filter(|step| jump(step) > CLIFF.ln()).max_by(|a, b| jump(a).total_cmp(&jump(b)))?;
    let (before, after) = (curve.middles[cliff - 1], curve.middles[cliff]);
    let limits = BETWEEN.iter().map(|share| Family::Approach { limit: before + (after - before) * share });
    nearest(curve, limits, steps)
}

/// Weighted squared distance of each row from a shape, its own level left aside.
fn losses(curve: &Curve, rows: &[Vec<f64>], fit: &Fit) -> Vec<f64> {
    let whole = Edges::new(&[], curve.blocks());
    rows.iter().map(|row| whole.distance_of(curve, row, &fit.curve)).collect()
}

/// The chance of trials that depart so far from `fit` in the direction of `best`; 1 in the other direction.
fn chance_of_departure(curve: &Curve, fit: &Fit, best: &Fit) -> f64 {
    let difference: Vec<f64> = best.curve.iter().zip(&fit.curve).map(|(best, fit)| best - fit).collect();
    // Neither a level nor, with steps, a height of a step is a departure.
    let direction = curve.weighted(&Edges::new(&fit.steps, curve.blocks()).within(curve, &difference));
    let of = |trial: &Vec<f64>| -> f64 {
        trial
            .iter()
            .zip(&fit.curve)
            .zip(&direction)
            .map(|((value, fitted), way)| way * (value - fitted))
            .sum()
    };
    let influences: Vec<f64> = curve.trials.iter().map(of).collect();
    let centre = Centre::new(&influences).filter(|centre| centre.value > 0.0);
    centre.map_or(1.0, |centre| tails(centre.value / centre.error, centre.freedom))
}

/// The remainder that a shape may leave: a share of the cost, and the part that its references may hide.
pub(crate) fn material(view: &View) -> f64 {
    MATERIAL.ln_1p().max(2.0 * view.controls.systematic)
}

/// Whether a shape leaves a certain remainder of more than `material`: then it is rejected, however much
/// worse the others are.
///
/// The rest of a smooth cost is spread over many blocks in one sign, so that no block shows it. It lies in
/// few contrasts: the rest of each trial is projected on the first orthogonal polynomials in log n. All of
/// them together are tested by flipping the signs of whole trials, and each by Student's t over the trials,
/// which is valid for any correlation within a trial (a smooth test of fit: Neyman, Skandinavisk
/// Aktuarietidskrift 20, 1937; Eubank, Nonparametric Regression and Spline Smoothing, 1999, ch. 3). Each
/// block is tested as well, for narrow departures.
pub(crate) fn lacks_fit(curve: &Curve, fit: &Fit, material: f64) -> bool {
    let edges = Edges::new(&fit.steps, curve.blocks());
    let rests: Vec<Vec<f64>> = curve
        .trials
        .iter()
        .map(|trial| {
            let rests: Vec<f64> =
                trial.iter().zip(&fit.curve).map(|(value, fitted)| value - fitted).collect();
            edges.within(curve, &rests)
        })
        .collect();
    let polynomials = polynomials(&curve.middles);
    let along = |rests: &Vec<f64>, polynomial: &Vec<f64>| -> f64 {
        rests.iter().zip(polynomial).map(|(rest, height)| rest * height).sum()
    };
    let contrasts: Vec<Vec<f64>> =
        rests.iter().map(|rests| polynomials.iter().map(|of| along(rests, of)).collect()).collect();
    let mut smooth = vec![0.0; curve.blocks()];
    let mut is_certain = chance_of_all(&contrasts, 1) < CERTAIN;
    for (place, polynomial) in polynomials.iter().enumerate() {
        let Some(centre) = Centre::new(&column(&contrasts, place)) else { continue };
        smooth.iter_mut().zip(polynomial).for_each(|(sum, height)| *sum += centre.value * height);
        is_certain |= centre.is_beyond(CERTAIN / polynomials.len() as f64);
    }
    is_certain && smooth.iter().any(|rest| rest.abs() > material)
        || (0..curve.blocks()).any(|block| {
            let centre = Centre::new(&column(&rests, block));
            let level = CERTAIN / curve.blocks() as f64;
            centre.is_some_and(|centre| centre.value.abs() > material && centre.is_beyond(level))
        })
}

/// Whether a shape follows the trials along these blocks, their level left aside: no block departs from it
/// for certain by more than `material` and by a share of the shape's own change over them. A shape that lacks
/// fit elsewhere may still show the way beyond them.
pub(crate) fn follows(curve: &Curve, fit: &Fit, near: Range<usize>, material: f64) -> bool {
    let shape = &fit.curve[near.clone()];
    let most = shape.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = shape.iter().copied().fold(f64::INFINITY, f64::min);
    let much = material.max(ASTRAY * (most - least));
    let rests = |trial: &Vec<f64>| -> Vec<f64> {
        let rests: Vec<f64> =
            trial[near.clone()].iter().zip(shape).map(|(value, fitted)| value - fitted).collect();
        let level = mean(&rests);
        rests.iter().map(|rest| rest - level).collect()
    };
    let rests: Vec<Vec<f64>> = curve.trials.iter().map(rests).collect();
    let level = CERTAIN / near.len() as f64;
    !(0..near.len()).any(|block| {
        let centre = Centre::new(&column(&rests, block));
        centre.is_some_and(|centre| centre.value.abs() > much && centre.is_beyond(level))
    })
}

/// A shape that leaves this share of its own change near an end does not show the cost beyond it.
pub(crate) const ASTRAY: f64 = 0.2;

/// How certain the remainder of a shape is, by each of three tests.
pub(crate) const CERTAIN: f64 = 0.003;
/// Polynomials on which rests are projected.
const POLYNOMIALS: usize = 8;

/// Orthonormal polynomials in log n at these places, from the slope on (Gram and Schmidt).
fn polynomials(middles: &[f64]) -> Vec<Vec<f64>> {
    let logs: Vec<f64> = middles.iter().map(|n| n.max(NONE).ln()).collect();
    let (first, last) = (logs[0], logs[logs.len() - 1]);
    let places: Vec<f64> = logs.iter().map(|log| 2.0 * (log - first) / (last - first) - 1.0).collect();
    let mut found = vec![vec![(1.0 / middles.len() as f64).sqrt(); middles.len()]];
    for _ in 0..POLYNOMIALS.min(middles.len().saturating_sub(2)) {
        let previous = &found[found.len() - 1];
        let mut next: Vec<f64> = previous.iter().zip(&places).map(|(value, place)| value * place).collect();
        for _ in 0..2 {
            for other in &found {
                let along: f64 = next.iter().zip(other).map(|(a, b)| a * b).sum();
                next.iter_mut().zip(other).for_each(|(value, other)| *value -= along * other);
            }
        }
        let length = next.iter().map(|value| value * value).sum::<f64>().sqrt();
        next.iter_mut().for_each(|value| *value /= length);
        found.push(next);
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_orthonormal() {
        let middles: Vec<f64> = (0..16).map(|place| 10.0 * 1.7f64.powi(place)).collect();
        let all = polynomials(&middles);
        assert_eq!(all.len(), POLYNOMIALS);
        for (place, one) in all.iter().enumerate() {
            assert!(one.iter().sum::<f64>().abs() < 1e-12);
            for (other, two) in all.iter().enumerate() {
                let product: f64 = one.iter().zip(two).map(|(a, b)| a * b).sum();
                assert!((product - f64::from(u8::from(place == other))).abs() < 1e-9, "{place} {other}");
            }
        }
        assert_eq!(polynomials(&middles[..3]).len(), 1);
    }
}
