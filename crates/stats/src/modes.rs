//! Two modes of the measurements at one size: operations that take one of two paths, or trials that keep to
//! one of two.
//!
//! A mixture of two normal distributions of the logarithm is accepted only if there is a valley between two
//! peaks. Skewed and heavy-tailed costs have one peak. Levels that differ between trials are subtracted
//! first, and a normal spread of levels is not two modes.

use crate::centre::mean;
use crate::finding::Modes;
use crate::median::median;
use crate::range::is_cost;
use crate::sweep::Sweep;
use fastrand::Rng;

/// Ranges of n that are looked at.
const WINDOWS: usize = 8;
/// Values of one window that are looked at.
const SAMPLE: usize = 1000;
/// The rarer mode holds at least this share…
const LEAST_SHARE: f64 = 0.03;
/// …and so many values.
const LEAST_COUNT: f64 = 8.0;
/// A mode of trials holds at least so many of them…
const LEAST_TRIALS: usize = 3;
/// …and this share.
const LEAST_SHARE_OF_TRIALS: f64 = 0.15;
/// What lies as far above all others as a spike, and is rarer than this, is spikes.
const SPIKES: f64 = 0.1;
/// Ashman's D of two modes that can be distinguished.
const SEPARATION: f64 = 2.5;
/// Difference of Schwarz's criterion that is strong evidence (Kass & Raftery, JASA 90, 1995).
pub(crate) const EVIDENCE: f64 = 10.0;
/// The rarer mode is at most so many times as wide as the other.
const WIDTHS: f64 = 3.0;
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
    let windows = Windows::of(trials, &ranges, SAMPLE, tick, seed);
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

/// A measurement, and what the clock left open drawn at random.
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
    /// What the logarithms of each trial have more than those of others.
    pub(crate) levels: Vec<f64>,
    /// Step of the clock, given or found.
    pub(crate) tick: f64,
}

impl Windows {
    /// At most `sample` values of each range, the same number of each trial.
    pub(crate) fn of(
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

    pub(crate) fn residual(&self, point: &Point) -> f64 {
        point.log - self.levels[point.trial]
    }

    /// The more windows, the more chances to be wrong.
    fn evidence(&self) -> f64 {
        EVIDENCE + 2.0 * (self.points.len() as f64).ln()
    }

    /// Two modes of what is left of the values without the levels of their trials.
    pub(crate) fn pair(&self, window: usize, least_share: f64, spikes: f64) -> Option<Pair> {
        let mut values: Vec<f64> = self.points[window].iter().map(|point| self.residual(point)).collect();
        values.sort_unstable_by(f64::total_cmp);
        Pair::of(&values, least_share, spikes, self.evidence())
    }

    /// The modes of single operations. They show in most trials: what a few trials went through for a
    /// while is no mode.
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

    /// Whether the modes are all over the window and over the trials: what is left of the rarer one without
    /// the trials that have most of it is still one.
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
        let groups = Groups::of(&medians, self.evidence())?;
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

/// Below and above which a twentieth lies.
fn tails(values: &mut [f64]) -> Option<(f64, f64)> {
    let last = values.len().checked_sub(1)?;
    let low = *values.select_nth_unstable_by(last / 20, f64::total_cmp).1;
    let high = *values.select_nth_unstable_by(last - last / 20, f64::total_cmp).1;
    Some((low, high))
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

    /// 0.5 where kinds are independent, whatever their shares, 1 where neighbours are always alike, 0 where
    /// as many as can be differ. Cohen's κ (Educ. Psychol. Meas. 20, 1960) moved to that scale.
    pub(crate) fn value(&self) -> f64 {
        let share = self.upper / self.all;
        let expected = share * share + (1.0 - share) * (1.0 - share);
        let kappa = (self.same / self.pairs - expected) / (1.0 - expected);
        if kappa.is_finite() { (0.5 + kappa / 2.0).clamp(0.0, 1.0) } else { 1.0 }
    }
}

/// A normal distribution in a mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) centre: f64,
    pub(crate) spread: f64,
    pub(crate) share: f64,
}

impl Part {
    /// Up to the factor 1/√2π.
    pub(crate) fn density(&self, value: f64) -> f64 {
        let z = (value - self.centre) / self.spread;
        self.share / self.spread * (-0.5 * z * z).exp()
    }

    pub(crate) fn share_of(&self, other: Part) -> f64 {
        self.share / (self.share + other.share)
    }

    fn of(values: &[f64], share: f64) -> Part {
        let centre = mean(values);
        let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
        Part { centre, spread: (squares / values.len() as f64).sqrt().max(NARROWEST), share }
    }
}

/// No spread of logarithms is smaller.
pub(crate) const NARROWEST: f64 = 1e-4;
/// Share of outliers from which a fit starts.
pub(crate) const BROAD: f64 = 0.02;
/// 1/√2π is left out of densities; one that is not normal is multiplied by √2π.
pub(crate) const ROOT: f64 = 2.506_628_274_631;

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
    pub(crate) fn of(sorted: &[f64], least_share: f64, spikes: f64, evidence: f64) -> Option<Pair> {
        let outside = Outside::of(sorted, spikes)?;
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
        let start = [below, above].map(|part| Part::of(part, (1.0 - BROAD) * part.len() as f64 / count));
        // Most valleys are chance in the tails: no fit would make modes of them.
        let rare = start[0].share.min(start[1].share);
        let middle = |part: &[f64], start: Part| Part { centre: part[part.len() / 2], ..start };
        let parts = [middle(below, start[0]), middle(above, start[1])];
        let first = Pair { parts, valley: sorted[split].midpoint(sorted[split - 1]) };
        if rare < 0.5 * least_share || !first.is_hollow(sorted) {
            return None;
        }
        let (parts, two) = fit(sorted, start);
        let (_, one) = fit(sorted, [Part::of(sorted, 1.0 - BROAD)]);
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

/// Places between two centres at which the density is looked at.
const STEPS: usize = 64;

/// What lies far above all other values, when it is few: from here on up, and how many may.
struct Outside {
    limit: f64,
    few: f64,
}

impl Outside {
    fn of(sorted: &[f64], share: f64) -> Option<Outside> {
        let count = sorted.len();
        let (middle, quartile) = (*sorted.get(count / 2)?, *sorted.get(count * 3 / 4)?);
        let limit = (middle + 6.0 * 1.4826 * (quartile - middle)).max(middle + 1.5_f64.ln());
        // Two standard deviations more may be chance.
        let few = share * count as f64 + 2.0 * (share * (1.0 - share) * count as f64).sqrt();
        Some(Outside { limit, few })
    }

    /// Whether what begins at `place` is spikes.
    fn begins(&self, sorted: &[f64], place: usize) -> bool {
        place < sorted.len() && sorted[place] > self.limit && ((sorted.len() - place) as f64) <= self.few
    }
}

/// Where values lie at most half as densely as somewhere below and somewhere above: how many are below.
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
    // Of the values that span it the two that lie furthest apart: the edge of a tight mode is no valley.
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

/// A mixture is settled by then.
const ROUNDS: usize = 60;

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
    pub(crate) fn of(values: &[f64], needed: f64) -> Option<Groups> {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let trials = sorted.len() as f64;
        let least = LEAST_TRIALS.max((LEAST_SHARE_OF_TRIALS * trials).ceil() as usize);
        let squares = |values: &[f64]| -> f64 {
            let middle = mean(values);
            values.iter().map(|value| (value - middle).powi(2)).sum()
        };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{CALM, Noise, Operation, any_input, normal, ranges, sweeps, up};

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

    #[test]
    fn a_fit_finds_what_was_mixed() {
        let mut rng = Rng::with_seed(4);
        let mut values: Vec<f64> = (0..2000)
            .map(|place| if place % 4 == 0 { 1.0 + 0.2 * normal(&mut rng) } else { 0.1 * normal(&mut rng) })
            .collect();
        values.sort_unstable_by(f64::total_cmp);
        let Pair { parts: [lower, upper], valley } = Pair::of(&values, 0.1, 0.1, EVIDENCE).expect("modes");
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

    #[test]
    fn any_input_is_fine() {
        any_input(|trials, ranges| {
            for tick in [0.0, f64::NAN, 1.0, -1.0, f64::INFINITY] {
                find(trials, ranges, tick, 1);
            }
        });
    }
}
