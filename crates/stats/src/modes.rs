//! Two modes of the measurements at one size: operations that take one of two paths, or trials that keep to
//! one of two.
//!
//! A mixture of two normal distributions of the logarithm is accepted only if there is a valley between two
//! peaks. Skewed and heavy-tailed costs have one peak. Levels that differ between trials are subtracted
//! first, and a normal spread of levels is not two modes. Trials that keep to one of two are two `Groups`.

use fastrand::Rng;

use crate::block::median;
use crate::centre::{mean, squares};
use crate::mixture::{EVIDENCE, NARROWEST, Pair, SEPARATION};
use crate::sweep::{Sweep, is_cost};
use crate::verdict::Modes;

/// Ranges of n that are examined.
const WINDOWS: usize = 8;
/// Values of one window that are examined.
const SAMPLE: usize = 1000;
/// The rarer mode holds at least this share.
const LEAST_SHARE: f64 = 0.03;
/// Values as far above all others as a spike, and rarer than this, are spikes.
const SPIKES: f64 = 0.1;
/// Modes closer than this, as a share, are of no interest.
pub(crate) const LEAST_DISTANCE: f64 = 0.05;
/// Two modes are so many steps of the clock apart.
pub(crate) const TICKS: f64 = 3.0;
/// Few trials may be all on one side for a while: then values must alternate.
const STRETCHES: f64 = 0.9;

/// The ranges in which there are two modes. `tick` is the step of the clock in the unit of the values.
pub(crate) fn find(trials: &[Sweep<'_>], ranges: &[(u64, u64)], tick: f64, seed: u64) -> Vec<Modes> {
    let picked = WINDOWS.min(ranges.len());
    let place = |window: usize| window * (ranges.len() - 1) / (picked - 1).max(1);
    let ranges: Vec<(u64, u64)> = (0..picked).map(|window| ranges[place(window)]).collect();
    let windows = Windows::new(trials, &ranges, SAMPLE, tick, seed);
    let pairs: Vec<Option<Pair>> =
        (0..windows.points.len()).map(|window| windows.pair(window, LEAST_SHARE, SPIKES)).collect();
    let modes = |window: usize| {
        let alternating = pairs[window].as_ref().and_then(|pair| windows.modes(window, pair, trials));
        let (lower, upper, upper_share, separation, persistence) =
            alternating.or_else(|| windows.modes_of_trials(window))?;
        let (n_low, n_high) = windows.ranges[window];
        let apart = upper - lower >= (TICKS * windows.tick).max(LEAST_DISTANCE * lower);
        apart.then_some(Modes { n_low, n_high, lower, upper, upper_share, separation, persistence })
    };
    (0..windows.points.len()).filter_map(modes).collect()
}

/// Lower and upper cost, share of the upper, separation, persistence.
type Found = (f64, f64, f64, f64, f64);

/// A measurement, moved at random within the tick of the clock.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub(crate) trial: usize,
    pub(crate) n: f64,
    pub(crate) log: f64,
}

/// Samples of the measurements in a few ranges of n.
pub(crate) struct Windows {
    pub(crate) ranges: Vec<(u64, u64)>,
    pub(crate) points: Vec<Vec<Point>>,
    /// The excess of the logarithms of each trial over those of others.
    pub(crate) levels: Vec<f64>,
    /// Step of the clock, given or found.
    pub(crate) tick: f64,
}

impl Windows {
    /// At most `sample` values of each range, the same number of each trial.
    pub(crate) fn new(
        trials: &[Sweep<'_>],
        ranges: &[(u64, u64)],
        sample: usize,
        tick: f64,
        seed: u64,
    ) -> Windows {
        let mut rng = Rng::with_seed(seed);
        let places: Vec<Vec<(usize, usize)>> =
            ranges.iter().map(|range| places(trials, *range, sample)).collect();
        let value = |(trial, place): &(usize, usize)| trials[*trial].values[*place];
        let mut all: Vec<f64> = places.iter().flatten().step_by(places.len().max(1)).map(value).collect();
        let tick = if tick.is_finite() { tick.max(0.0) } else { 0.0 }.max(grain(&mut all));
        let mut point = |(trial, place): (usize, usize)| {
            let value = trials[trial].values[place];
            let dithered = (value + tick * (rng.f64() - 0.5)).max(value / 4.0);
            Point { trial, n: trials[trial].n(place) as f64, log: dithered.ln() }
        };
        let points: Vec<Vec<Point>> =
            places.into_iter().map(|places| places.into_iter().map(&mut point).collect()).collect();
        let mut windows = Windows { ranges: ranges.to_vec(), points, levels: vec![0.0; trials.len()], tick };
        windows.set_levels();
        windows
    }

    /// From the windows that a trial has, each of which may cost another amount: an additive fit. Values in
    /// the tails count as their border.
    fn set_levels(&mut self) {
        let mut sums = vec![(0.0, 0.0); self.levels.len()];
        for points in &self.points {
            let mut logs: Vec<f64> = points.iter().map(|point| point.log).collect();
            let Some((low, high)) = tails(&mut logs) else { continue };
            let mut by_trial = vec![(0.0, 0.0); self.levels.len()];
            for point in points {
                let (sum, count) = &mut by_trial[point.trial];
                *sum += point.log.clamp(low, high);
                *count += 1.0;
            }
            let means: Vec<f64> =
                by_trial.iter().filter(|sums| sums.1 > 0.0).map(|(sum, count)| sum / count).collect();
            let middle = mean(&means);
            for ((level, windows), (sum, count)) in sums.iter_mut().zip(by_trial) {
                if count > 0.0 {
                    *level += sum / count - middle;
                    *windows += 1.0;
                }
            }
        }
        for (level, (sum, windows)) in self.levels.iter_mut().zip(sums) {
            *level = if windows > 0.0 { sum / windows } else { 0.0 };
        }
    }

    fn residual(&self, point: &Point) -> f64 {
        point.log - self.levels[point.trial]
    }

    /// The more windows, the more chances to be wrong.
    fn evidence(&self) -> f64 {
        EVIDENCE + 2.0 * (self.points.len() as f64).ln()
    }

    /// Two modes of the values without the levels of their trials.
    pub(crate) fn pair(&self, window: usize, least_share: f64, spikes: f64) -> Option<Pair> {
        let mut values: Vec<f64> = self.points[window].iter().map(|point| self.residual(point)).collect();
        values.sort_unstable_by(f64::total_cmp);
        Pair::new(&values, least_share, spikes, self.evidence())
    }

    /// The modes of single operations. They show in most trials: a disturbance of a few trials is no mode.
    fn modes(&self, window: usize, pair: &Pair, trials: &[Sweep<'_>]) -> Option<Found> {
        let persistence = self.persistence(window, pair.valley, trials);
        self.is_common(window, pair, persistence).then_some(())?;
        let [lower, upper] = pair.parts;
        Some((lower.centre.exp(), upper.centre.exp(), upper.share_of(lower), pair.separation(), persistence))
    }

    /// Whether both modes are all over the window. Where a cost jumps, the mean n before it and the mean n
    /// after it are half a window apart.
    fn is_mixed(&self, window: usize, pair: &Pair) -> bool {
        let points = &self.points[window];
        let mean_n = |upper: bool| {
            let own = points.iter().filter(|point| (self.residual(point) > pair.valley) == upper);
            mean(&own.map(|point| point.n).collect::<Vec<f64>>())
        };
        let ends = points
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |ends, point| (ends.0.min(point.n), ends.1.max(point.n)));
        (mean_n(true) - mean_n(false)).abs() <= (ends.1 - ends.0) / 4.0
    }

    /// Whether the modes are all over the window and over the trials: the rarer one remains without the
    /// trials that hold most of it.
    pub(crate) fn is_common(&self, window: usize, pair: &Pair, persistence: f64) -> bool {
        let points = &self.points[window];
        if !self.is_mixed(window, pair) {
            return false;
        }
        if self.levels.len() <= LEAST_TRIALS {
            return persistence <= STRETCHES;
        }
        let upper_is_rarer = pair.parts[1].share < pair.parts[0].share;
        let mut rare = vec![0.0; self.levels.len()];
        for point in points {
            let upper = self.residual(point) > pair.valley;
            rare[point.trial] += f64::from(u8::from(upper == upper_is_rarer));
        }
        rare.sort_unstable_by(f64::total_cmp);
        let kept = rare.len() - 1 - rare.len().div_ceil(10);
        let expected = pair.parts[0].share.min(pair.parts[1].share) * points.len() as f64;
        let all = points.len() as f64 * kept as f64 / rare.len() as f64;
        let left: f64 = rare[..kept].iter().sum();
        left >= (LEAST_SHARE * all).max(expected / 3.0)
    }

    /// How far neighbours keep to one side of `border`.
    fn persistence(&self, window: usize, border: f64, trials: &[Sweep<'_>]) -> f64 {
        let (low, high) = self.ranges[window];
        let mut count = Persistence::default();
        for (trial, level) in trials.iter().zip(&self.levels) {
            let border = (border + level).exp();
            let values = trial.within(low, high);
            let values = &values[..values.len().min(SAMPLE)];
            count.add(values.iter().filter(|value| is_cost(**value)).map(|value| *value > border));
        }
        count.value()
    }

    /// The modes of whole trials: two groups of their medians.
    fn modes_of_trials(&self, window: usize) -> Option<Found> {
        let mut by_trial = vec![Vec::new(); self.levels.len()];
        self.points[window].iter().for_each(|point| by_trial[point.trial].push(point.log));
        let medians: Vec<f64> = by_trial.iter_mut().filter_map(|logs| median(logs)).collect();
        let groups = Groups::new(&medians, self.evidence())?;
        let share = groups.upper as f64 / medians.len() as f64;
        Some((groups.centres[0].exp(), groups.centres[1].exp(), share, groups.separation, 1.0))
    }
}

/// Trials and places of at most `most` values in a range of n.
fn places(trials: &[Sweep<'_>], (low, high): (u64, u64), most: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (trial, sweep) in trials.iter().enumerate() {
        let places = sweep.places(low, high);
        let stride = (places.len() * trials.len()).div_ceil(most).max(1);
        let costs = places.skip(stride / 2).step_by(stride).filter(|place| is_cost(sweep.values[*place]));
        found.extend(costs.map(|place| (trial, place)));
    }
    found
}

/// The step of an unknown clock: the smallest distance between values if most values occur more than once.
fn grain(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let gaps = values.windows(2).map(|pair| pair[1] - pair[0]);
    let real = || gaps.clone().zip(values.iter()).filter(|(gap, value)| *gap > 1e-6 * **value);
    if real().count() * 4 > values.len() {
        return 0.0;
    }
    let least = real().map(|pair| pair.0).fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

/// The limits of the lower and upper twentieth.
fn tails(values: &mut [f64]) -> Option<(f64, f64)> {
    let last = values.len().checked_sub(1)?;
    let low = *values.select_nth_unstable_by(last / 20, f64::total_cmp).1;
    let high = *values.select_nth_unstable_by(last - last / 20, f64::total_cmp).1;
    Some((low, high))
}

/// A group holds at least so many trials…
const LEAST_TRIALS: usize = 3;
/// …and this share.
const LEAST_SHARE_OF_TRIALS: f64 = 0.15;

/// Two groups of trials.
pub(crate) struct Groups {
    /// Means of the groups.
    pub(crate) centres: [f64; 2],
    /// Values above this belong to the upper group.
    pub(crate) border: f64,
    /// Trials in the upper group.
    pub(crate) upper: usize,
    /// Ashman's D.
    pub(crate) separation: f64,
}

impl Groups {
    /// The best split of one value per trial in two normal groups of one spread, when it is strong evidence
    /// against a single group: Schwarz's criterion with the likelihood of the classification (Biernacki,
    /// Celeux & Govaert, IEEE PAMI 22, 2000), which, unlike that of the mixture, requires a gap.
    pub(crate) fn new(values: &[f64], needed: f64) -> Option<Groups> {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let trials = sorted.len() as f64;
        let least = LEAST_TRIALS.max((LEAST_SHARE_OF_TRIALS * trials).ceil() as usize);
        let all = squares(&sorted);
        let split = |lower: usize| {
            let (below, above) = sorted.split_at(lower);
            let inside = (squares(below) + squares(above)).max(trials * NARROWEST * NARROWEST);
            let share = lower as f64 / trials;
            let entropy = share * share.ln() + (1.0 - share) * (1.0 - share).ln();
            let evidence = trials * ((all / inside).ln() + 2.0 * entropy) - 2.0 * trials.ln();
            (evidence, lower, inside)
        };
        let last = sorted.len().checked_sub(least)?;
        let (evidence, lower, inside) = (least..=last).map(split).max_by(|a, b| a.0.total_cmp(&b.0))?;
        let (below, above) = sorted.split_at(lower);
        let centres = [mean(below), mean(above)];
        let separation = (centres[1] - centres[0]) / (inside / (trials - 2.0)).sqrt();
        let border = below.last()?.midpoint(*above.first()?);
        (evidence > needed && separation > SEPARATION).then_some(Groups {
            centres,
            border,
            upper: above.len(),
            separation,
        })
    }
}

/// How often neighbours in time are of one kind.
#[derive(Default)]
pub(crate) struct Persistence {
    upper: f64,
    all: f64,
    same: f64,
    pairs: f64,
}

impl Persistence {
    /// The kinds of the values of one trial, in the order of time: whether each is an upper one.
    pub(crate) fn add(&mut self, kinds: impl Iterator<Item = bool>) {
        let mut last = None;
        for upper in kinds {
            self.upper += f64::from(u8::from(upper));
            self.all += 1.0;
            if let Some(last) = last {
                self.same += f64::from(u8::from(last == upper));
                self.pairs += 1.0;
            }
            last = Some(upper);
        }
    }

    /// 0.5 where kinds are independent, 1 where neighbours are always alike, 0 where as many as possible
    /// differ. Cohen's κ (Educ. Psychol. Meas. 20, 1960) moved to that scale.
    pub(crate) fn value(&self) -> f64 {
        let share = self.upper / self.all;
        let expected = share * share + (1.0 - share) * (1.0 - share);
        let kappa = (self.same / self.pairs - expected) / (1.0 - expected);
        if kappa.is_finite() { (0.5 + kappa / 2.0).clamp(0.0, 1.0) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{CALM, Noise, Operation, any_input, ranges, sweeps, up};

    fn judged(values: &[Vec<f64>], tick: f64) -> Vec<Modes> {
        find(&up(values), &ranges(values[0].len()), tick, 7)
    }

    /// Share of replicates in which modes are found.
    fn share(replicates: u64, find: impl Fn(&mut Rng) -> Vec<Modes>) -> f64 {
        let found = |seed: u64| u8::from(!find(&mut Rng::with_seed(seed)).is_empty());
        (0..replicates).map(|seed| f64::from(found(seed))).sum::<f64>() / replicates as f64
    }

    /// Noises with one mode.
    const UNIMODAL: [(&str, Noise); 14] = [
        ("lognormal", CALM),
        ("levels", Noise { level: 0.25, ..CALM }),
        ("wide", Noise { operation: Operation::Lognormal(0.5), ..CALM }),
        ("gamma 1", Noise { operation: Operation::Gamma(1), ..CALM }),
        ("gamma 8", Noise { operation: Operation::Gamma(8), ..CALM }),
        ("pareto 1", Noise { operation: Operation::Pareto(1.0), ..CALM }),
        ("pareto 5", Noise { operation: Operation::Pareto(5.0), ..CALM }),
        ("spikes", Noise { spikes: 0.05, ..CALM }),
        ("few spikes", Noise { spikes: 0.02, ..CALM }),
        ("drift", Noise { drift: 0.2, keep: 0.9, ..CALM }),
        ("slow drift", Noise { drift: 0.065, keep: 0.98, ..CALM }),
        ("neighbours", Noise { neighbours: 0.025, ..CALM }),
        ("tick of a tenth", Noise { tick: 1e-7, ..CALM }),
        ("tick of a half", Noise { tick: 5e-7, ..CALM }),
    ];

    fn alternating(share: f64, distance: f64) -> impl Fn(&mut Rng, usize, f64) -> f64 {
        move |rng, _, _| if rng.f64() < share { distance } else { 1.0 }
    }

    #[test]
    fn one_mode_is_not_two() {
        for (name, noise) in UNIMODAL {
            let wrong = share(40, |rng| judged(&sweeps(rng, 10, 300, &noise, |_, _, _| 1.0), noise.tick));
            assert!(wrong <= 0.05, "{name}: {wrong}");
        }
    }

    #[test]
    fn a_jump_is_not_two_modes() {
        for place in [150.0, 198.0, 600.0, 995.0] {
            let jump = |_: &mut Rng, _, n: f64| if n < place { 1.0 } else { 2.0 };
            let wrong = share(20, |rng| judged(&sweeps(rng, 10, 1000, &CALM, jump), 0.0));
            assert!(wrong <= 0.05, "at {place}: {wrong}");
        }
    }

    #[test]
    fn two_modes_are_found_op_by_op_and_trial_by_trial() {
        let values = sweeps(&mut Rng::with_seed(1), 10, 2000, &CALM, alternating(0.3, 1.6));
        let found = judged(&values, 0.0);
        assert!(found.len() >= 5, "{found:?}");
        for modes in &found {
            assert!((modes.upper / modes.lower / 1.6 - 1.0).abs() < 0.1, "{modes:?}");
            assert!((modes.upper_share - 0.3).abs() < 0.1 && (modes.persistence - 0.5).abs() < 0.2);
        }
        let by_trial = |_: &mut Rng, trial: usize, _: f64| if trial.is_multiple_of(2) { 2.0 } else { 1.0 };
        let noise = Noise { level: 0.05, ..CALM };
        let found = judged(&sweeps(&mut Rng::with_seed(2), 20, 500, &noise, by_trial), 0.0);
        assert!(found.iter().all(|modes| modes.persistence == 1.0) && found.len() >= 5, "{found:?}");
    }

    #[test]
    fn any_input_is_fine() {
        any_input(|trials, ranges| {
            for tick in [0.0, f64::NAN, 1.0, -1.0, f64::INFINITY] {
                find(trials, ranges, tick, 1);
            }
        });
    }

    #[test]
    fn persistence_does_not_depend_on_shares() {
        let mut rng = Rng::with_seed(3);
        for upper in [0.1, 0.5, 0.9] {
            let mut independent = Persistence::default();
            (0..200).for_each(|_| independent.add((0..100).map(|_| rng.f64() < upper)));
            assert!((independent.value() - 0.5).abs() < 0.02);
            let mut sticky = Persistence::default();
            (0..200).for_each(|_| sticky.add([rng.f64() < upper; 100].into_iter()));
            assert_eq!(sticky.value(), 1.0);
        }
        let mut turns = Persistence::default();
        turns.add((0..1000).map(|place| place % 2 == 0));
        assert!(turns.value() < 0.01);
        assert_eq!(Persistence::default().value(), 1.0);
    }
}
