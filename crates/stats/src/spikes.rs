//! Spikes, single measurements far above their neighbours: how many, how high, and how regular.
//!
//! A measurement is compared with the usual cost at its n in its own trial (`Baseline`), by the spread above
//! it (`Spreads`), and with its neighbours in time, so that neither a jump of the cost nor a more expensive
//! stretch counts as a series of spikes.

use std::cmp::Reverse;
use std::ops::Range;

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::block::{NORMAL_MAD, median};
use crate::sweep::{Sweep, is_cost};
use crate::verdict::{Period, Repeated, Spikes};

/// A spike exceeds the median by so many steps of the clock.
const TICKS: f64 = 3.0;
/// Neighbours in time, to either side, of which most must lie below a spike.
const NEIGHBOURS: usize = 8;
/// Fewer neighbours on a side do not count.
const FEWEST_NEIGHBOURS: usize = 3;
/// Error rate of repeated n, and of a period.
const ALPHA: f64 = 0.01;
/// A part with fewer n has no rate of its own.
const ENOUGH: usize = 30;
/// As many repeated n are named.
const NAMED: usize = 16;

/// The spikes of one series. `rows` holds the log medians of the trials, a column per range, NaN where one
/// is missing; `tick` is the step of the clock in the unit of the values.
pub(crate) fn find(trials: &[Sweep<'_>], ranges: &[(u64, u64)], rows: &[Vec<f64>], tick: f64) -> Spikes {
    let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return Spikes::default() };
    let span = (first.0, last.1);
    let baselines = baselines(trials, ranges, rows, span);
    let spreads = Spreads::new(trials, &baselines);
    let mut found = Vec::new();
    let (mut time, mut of_part) = (0.0, [0; PARTS]);
    for (trial, (sweep, Baseline { pieces, fit })) in trials.iter().zip(&baselines).enumerate() {
        let before = found.len();
        for (part, places) in pieces {
            let (part, limit) = (*part, spreads.limit(trial, *part));
            for place in places.clone() {
                let value = sweep.values[place];
                if !is_cost(value) {
                    continue;
                }
                of_part[part] += 1;
                time += value;
                if value > limit * fit[place] + TICKS * tick.max(0.0)
                    && value > limit * fit[place] * around(sweep.values, fit, place)
                {
                    let ratio = value / fit[place];
                    found.push(Spike { trial, place, n: sweep.n(place), part, ratio, value, at: 0.0 });
                }
            }
        }
        found[before..].sort_unstable_by_key(|spike| spike.place);
        set_times(&mut found[before..], sweep.values);
    }
    let of = of_part.iter().sum();
    if found.is_empty() {
        return Spikes { of, ..Spikes::default() };
    }
    let grain = time / of as f64;
    let period = Period::of_time(&found, grain);
    let excess: f64 = found.iter().map(|spike| spike.value * (1.0 - 1.0 / spike.ratio)).sum();
    let sizes = trials.iter().map(|trial| trial.places(span.0, span.1).len()).max().unwrap_or(0);
    let mut repeated = repeated(&mut found, trials, sizes, &of_part);
    let period = Period::of_sizes(&repeated, widest_gap(trials, span)).or(period);
    repeated.sort_by_key(|repeated| (Reverse(repeated.trials), repeated.n));
    repeated.truncate(NAMED);
    Spikes {
        count: found.len(),
        of,
        worst: found.iter().map(|spike| spike.ratio).fold(0.0, f64::max),
        time_share: if time.is_finite() { excess / time } else { 0.0 },
        period,
        repeated,
    }
}

struct Spike {
    trial: usize,
    /// Place among the values of the trial.
    place: usize,
    n: u64,
    part: usize,
    /// Against the median at its n.
    ratio: f64,
    value: f64,
    /// Seconds since the trial began.
    at: f64,
}

/// The cost of the more expensive side, relative to the usual, in the middle of its next values.
fn around(values: &[f64], fit: &[f64], place: usize) -> f64 {
    let side = |places: Range<usize>| {
        let mut ratios = [0.0; NEIGHBOURS];
        let mut count = 0;
        for place in places {
            let ratio = values[place] / fit[place];
            if ratio.is_finite() {
                ratios[count] = ratio;
                count += 1;
            }
        }
        if count < FEWEST_NEIGHBOURS { 1.0 } else { median(&mut ratios[..count]).unwrap_or(1.0) }
    };
    let end = values.len().min(place + 1 + NEIGHBOURS);
    side(place.saturating_sub(NEIGHBOURS)..place).max(side(place + 1..end)).max(1.0)
}

/// When each spike began; they are in the order of time.
fn set_times(spikes: &mut [Spike], values: &[f64]) {
    let (mut now, mut next) = (0.0, 0);
    for spike in spikes {
        now += values[next..spike.place].iter().filter(|value| is_cost(**value)).sum::<f64>();
        next = spike.place;
        spike.at = now;
    }
}

/// The n at which more trials have a spike than independent ones would anywhere: a binomial test at each n
/// with the rate of all others, or of those in the same part if that is higher, and Bonferroni over `sizes`.
fn repeated(
    spikes: &mut [Spike],
    trials: &[Sweep<'_>],
    sizes: usize,
    of_part: &[usize; PARTS],
) -> Vec<Repeated> {
    let mut spikes_of_part = [0; PARTS];
    spikes.iter().for_each(|spike| spikes_of_part[spike.part] += 1);
    let (count, of) = (spikes.len(), of_part.iter().sum::<usize>());
    let others = trials.len() * ENOUGH;
    spikes.sort_unstable_by_key(|spike| (spike.n, spike.trial));
    let test = |group: &[Spike]| -> Option<Repeated> {
        let hit = group.chunk_by(|a, b| a.trial == b.trial).count();
        let rate = |spikes: usize, of: usize| {
            (spikes - group.len()).max(1) as f64 / (of - group.len()).max(1) as f64
        };
        let part = group[0].part;
        let here = if of_part[part] > others { rate(spikes_of_part[part], of_part[part]) } else { 0.0 };
        let rate = rate(count, of).max(here).min(1.0);
        if hit < 2 || (hit as f64) < rate * trials.len() as f64 {
            return None;
        }
        let n = group[0].n;
        let values = trials[group[0].trial].places(n, n).len() as f64;
        let of_trial = 1.0 - (1.0 - rate).powf(values);
        let chance = Binomial::new(of_trial, trials.len() as u64).ok()?.sf(hit as u64 - 1);
        let mut ratios: Vec<f64> = group.iter().map(|spike| spike.ratio).collect();
        let ratio = median(&mut ratios)?;
        (chance * (sizes as f64) < ALPHA).then_some(Repeated { n, trials: hit, ratio })
    };
    spikes.chunk_by(|a, b| a.n == b.n).filter_map(test).collect()
}

/// The largest distance between neighbouring n.
fn widest_gap(trials: &[Sweep<'_>], (n_low, n_high): (u64, u64)) -> f64 {
    let Some(trial) = trials.first() else { return 0.0 };
    let places = trial.places(n_low, n_high);
    let next = |place: usize| trial.n(place).abs_diff(trial.n(place + 1));
    (places.start..places.end.saturating_sub(1)).map(next).max().unwrap_or(0) as f64
}

impl Period {
    /// From the n at which spikes are repeated.
    fn of_sizes(repeated: &[Repeated], gap: f64) -> Option<Period> {
        let spacings = repeated.windows(2).map(|pair| (pair[1].n - pair[0].n) as f64).collect();
        regular(spacings, gap).map(|best| Period::Sizes(best.period))
    }

    /// From spikes that follow each other inside trials, by trial and in the order of time: regular in
    /// time or, where that fits more of them, in n. A row of spikes counts as one.
    fn of_time(spikes: &[Spike], grain: f64) -> Option<Period> {
        let pairs = || {
            let inside =
                |pair: &&[Spike]| pair[0].trial == pair[1].trial && pair[1].place > pair[0].place + 2;
            spikes.windows(2).filter(inside)
        };
        let time = regular(pairs().map(|pair| pair[1].at - pair[0].at).collect(), grain);
        let steps = regular(pairs().map(|pair| pair[1].n.abs_diff(pair[0].n) as f64).collect(), 1.0);
        let count = |found: &Option<Regular>| found.as_ref().map_or(0, |found| found.count);
        if count(&steps) > count(&time) {
            steps.map(|found| Period::Sizes(found.period))
        } else {
            time.map(|found| Period::Seconds(found.period))
        }
    }
}

/// Spacings within this share of a period, or one grain, match it.
const KEEP: f64 = 0.02;
/// A period is at least so many grains.
const GRAINS: f64 = 8.0;
/// At least this share of the spacings matches a period.
const MOST: f64 = 0.25;

/// A period, and its evidence.
struct Regular {
    period: f64,
    /// Spacings that match it.
    count: usize,
}

/// The period that more spacings match than chance allows.
///
/// Between random spikes of any rate, a spacing lies within ±h of P with a probability of at most 2h/(eP),
/// the maximum for an exponential distribution (d·e^(−d) ≤ 1/e). Binomial, with Bonferroni over the spacings
/// at which a window may begin.
fn regular(mut spacings: Vec<f64>, grain: f64) -> Option<Regular> {
    spacings.retain(|spacing| spacing.is_finite() && *spacing > 0.0);
    spacings.sort_unstable_by(f64::total_cmp);
    let total = spacings.len();
    let mut best: Option<(f64, Regular)> = None;
    let mut end = 0;
    for start in 0..total {
        let least = spacings[start];
        // Half a window above the least.
        let period = (least + grain) / (1.0 - KEEP);
        let most = period * (1.0 + KEEP) + grain;
        end = end.max(start);
        while end < total && spacings[end] <= most {
            end += 1;
        }
        let count = end - start;
        if period < GRAINS * grain || count < 3 || (count as f64) < MOST * total as f64 {
            continue;
        }
        let chance = 2.0 * (KEEP + grain / period) / std::f64::consts::E;
        let tail = Binomial::new(chance.min(1.0), total as u64).map_or(1.0, |all| all.sf(count as u64 - 1));
        if tail * (total as f64) < ALPHA && best.as_ref().is_none_or(|(least, _)| tail < *least) {
            let period = median(&mut spacings[start..end].to_vec()).unwrap_or(period);
            best = Some((tail, Regular { period, count }));
        }
    }
    best.map(|(_, regular)| regular)
}

/// A spike lies so many spreads above the median…
const SPREADS: f64 = 6.0;
/// …and is at least so many times the median.
const RATIO: f64 = 1.5;
/// Values of a trial from which spreads are estimated.
const SAMPLE: usize = 256;
/// Parts of the range of n that have a spread, and a rate of spikes, of their own.
const PARTS: usize = 8;
/// With fewer values in a block a spike is most of its median.
const SPARSE: usize = 5;

/// The usual cost at each n of a trial: block medians, and straight lines between the middles of blocks.
struct Baseline {
    /// Places of the sweep between neighbouring middles, each with the part of the range of n that it lies
    /// in.
    pieces: Vec<(usize, Range<usize>)>,
    /// The usual cost at each place; NaN outside the span.
    fit: Vec<f64>,
}

impl Baseline {
    fn new(sweep: &Sweep<'_>, span: (u64, u64), logs: &[f64], middles: &[f64]) -> Baseline {
        let nodes = middles.iter().zip(logs).map(|(n, log)| (*n, log.exp()));
        let nodes: Vec<(f64, f64)> = nodes.filter(|node| is_cost(node.1)).collect();
        // The first n from a node on.
        let from = |node: usize| nodes.get(node).map(|node| node.0.ceil() as u64);
        let (mut pieces, mut fit) = (Vec::new(), vec![f64::NAN; sweep.values.len()]);
        for piece in 0..=nodes.len() {
            let right = nodes.get(piece).or(nodes.last());
            let left = piece.checked_sub(1).and_then(|left| nodes.get(left)).or(right);
            let (Some((n_left, left)), Some((n_right, right))) = (left, right) else { continue };
            let slope = if n_right > n_left { (right - left) / (n_right - n_left) } else { 0.0 };
            let low = piece.checked_sub(1).and_then(from).unwrap_or(span.0).max(span.0);
            let high = from(piece).map_or(span.1, |next| next.saturating_sub(1)).min(span.1);
            let is_empty = low > high || from(piece) == Some(0);
            let places = if is_empty { 0..0 } else { sweep.places(low, high) };
            for place in places.clone() {
                fit[place] = left + slope * (sweep.n(place) as f64 - n_left).max(0.0);
            }
            pieces.push((piece * PARTS / (nodes.len() + 1), places));
        }
        Baseline { pieces, fit }
    }
}

/// The baseline of each trial. Where blocks hold few values, a trial's own median would follow its spikes:
/// there it is the median of all trials, moved to the trial's level.
fn baselines(
    trials: &[Sweep<'_>],
    ranges: &[(u64, u64)],
    rows: &[Vec<f64>],
    span: (u64, u64),
) -> Vec<Baseline> {
    let middles: Vec<f64> = ranges.iter().map(|(low, high)| (*low as f64).midpoint(*high as f64)).collect();
    let values: usize = trials.iter().map(|trial| trial.places(span.0, span.1).len()).sum();
    if trials.len() < 3 || values >= SPARSE * ranges.len() * trials.len() {
        let own = |(trial, row): (&Sweep<'_>, &Vec<f64>)| Baseline::new(trial, span, row, &middles);
        return trials.iter().zip(rows).map(own).collect();
    }
    let middle = |values: &mut dyn Iterator<Item = f64>| -> f64 {
        let mut present: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        median(&mut present).unwrap_or(f64::NAN)
    };
    let at = |row: &Vec<f64>, place: usize| row.get(place).copied().unwrap_or(f64::NAN);
    let all: Vec<f64> =
        (0..ranges.len()).map(|place| middle(&mut rows.iter().map(|row| at(row, place)))).collect();
    let moved = |(trial, row): (&Sweep<'_>, &Vec<f64>)| {
        let level = middle(&mut all.iter().enumerate().map(|(place, log)| at(row, place) - log));
        Baseline::new(trial, span, &all.iter().map(|log| log + level).collect::<Vec<f64>>(), &middles)
    };
    trials.iter().zip(rows).map(moved).collect()
}

/// How far usual values lie above the median, as standard deviations of the logarithm: the distance of the
/// upper quartile, because costs are skewed, so that the values below say nothing about those above (the
/// double median absolute deviation: Rosenmai, 2013).
struct Spreads {
    by_trial: Vec<f64>,
    by_part: [f64; PARTS],
}

impl Spreads {
    fn new(trials: &[Sweep<'_>], baselines: &[Baseline]) -> Spreads {
        let mut parts: [Vec<f64>; PARTS] = Default::default();
        let mut own = Vec::new();
        let mut of_trial = |(sweep, Baseline { pieces, fit }): (&Sweep<'_>, &Baseline)| {
            own.clear();
            for (part, places) in pieces {
                let stride = (places.len() * pieces.len()).div_ceil(SAMPLE).max(1);
                for place in places.clone().step_by(stride).filter(|place| is_cost(sweep.values[*place])) {
                    let log = (sweep.values[place] / fit[place]).ln();
                    own.push(log);
                    parts[*part].push(log);
                }
            }
            upper(&mut own)
        };
        let by_trial = trials.iter().zip(baselines).map(&mut of_trial).collect();
        Spreads { by_trial, by_part: parts.map(|mut logs| upper(&mut logs)) }
    }

    /// A spike exceeds the usual by this factor.
    fn limit(&self, trial: usize, part: usize) -> f64 {
        let spread = self.by_trial[trial].max(self.by_part[part]);
        (SPREADS * spread).exp().max(RATIO)
    }
}

/// From the median to the upper quartile, as a standard deviation.
fn upper(logs: &mut [f64]) -> f64 {
    let count = logs.len();
    if count == 0 {
        return 0.0;
    }
    let quartile = *logs.select_nth_unstable_by(count * 3 / 4, f64::total_cmp).1;
    let middle = *logs.select_nth_unstable_by(count / 2, f64::total_cmp).1;
    NORMAL_MAD * (quartile - middle)
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::simulate::{CALM, Noise, Operation, any_input, ranges, sweeps, up};

    fn judged(values: &[Vec<f64>], tick: f64) -> Spikes {
        let (trials, ranges) = (up(values), ranges(values[0].len()));
        let log_median = |trial: &Sweep<'_>, range: &(u64, u64)| {
            median(&mut trial.within(range.0, range.1).to_vec()).map_or(f64::NAN, f64::ln)
        };
        let row = |trial| ranges.iter().map(|range| log_median(trial, range)).collect();
        let rows: Vec<Vec<f64>> = trials.iter().map(row).collect();
        find(&trials, &ranges, &rows, tick)
    }

    fn close(value: f64, to: f64, by: f64) {
        assert!((value - to).abs() <= by, "{value} is not {to}");
    }

    #[test]
    fn spikes_are_counted_and_weighed() {
        let mut values = vec![vec![1e-6; 300]; 5];
        values[2][150] = 3e-6;
        values[4][200] = 11e-6;
        let spikes = judged(&values, 0.0);
        assert_eq!((spikes.count, spikes.of), (2, 5 * 291));
        close(spikes.worst, 11.0, 1e-9);
        close(spikes.time_share, 12.0 / (5.0 * 291.0 + 12.0), 1e-9);
        assert_eq!((spikes.repeated, spikes.period), (vec![], None));
        // Nine ticks are not three above seven of them.
        values[2][150] = 1.2e-6;
        assert_eq!(judged(&values, 1e-6).count, 1);
    }

    #[test]
    fn a_jump_or_a_dearer_stretch_is_no_spike() {
        let mut rng = Rng::with_seed(1);
        let values = sweeps(&mut rng, 10, 2000, &CALM, |_, _, n| if n < 1237.0 { 1.0 } else { 100.0 });
        assert_eq!(judged(&values, 0.0).count, 0);
        let values = sweeps(&mut rng, 40, 2000, &Noise { neighbours: 0.5, ..CALM }, |_, _, _| 1.0);
        assert_eq!(judged(&values, 0.0).count, 0);
    }

    #[test]
    fn repeated_and_periodic_in_n() {
        let mut rng = Rng::with_seed(2);
        let noise = Noise { spikes: 0.005, ..CALM };
        let truth = |_: &mut Rng, _, n: f64| if n % 512.0 == 0.0 { 6.0 } else { 1.0 + n / 1e4 };
        let spikes = judged(&sweeps(&mut rng, 10, 5000, &noise, truth), 0.0);
        let mut found: Vec<u64> = spikes.repeated.iter().map(|repeated| repeated.n).collect();
        found.sort_unstable();
        assert_eq!(found, (1..10).map(|times| 512 * times).collect::<Vec<u64>>());
        assert_eq!(spikes.period, Some(Period::Sizes(512.0)));
        let doubling = |_: &mut Rng, _, n: f64| if (n as u64).is_power_of_two() { 6.0 } else { 1.0 };
        let spikes = judged(&sweeps(&mut rng, 10, 5000, &noise, doubling), 0.0);
        assert_eq!(spikes.repeated.len(), 6);
        assert_eq!(spikes.period, None);
    }

    #[test]
    fn periodic_in_time() {
        let mut rng = Rng::with_seed(3);
        let mut values =
            sweeps(&mut rng, 10, 10_000, &Noise { spikes: 0.0003, ..CALM }, |_, _, n| 1.0 + n / 1e4);
        for trial in &mut values {
            let (mut now, mut tick) = (0.0, rng.f64() * 1e-3);
            for value in trial {
                if now + *value > tick {
                    *value += 8e-6;
                    tick += 1e-3;
                }
                now += *value;
            }
        }
        let spikes = judged(&values, 0.0);
        let Some(Period::Seconds(period)) = spikes.period else { panic!("{:?}", spikes.period) };
        close(period, 1e-3, 2e-5);
        assert_eq!(spikes.repeated, []);
    }

    #[test]
    fn few_values_at_each_n_are_compared_with_the_other_trials() {
        let sizes: Vec<u64> = (0..14).map(|power| 1 << power).collect();
        let mut values = vec![vec![1e-6; 14]; 10];
        values.iter_mut().enumerate().for_each(|(trial, values)| {
            values.iter_mut().zip(&sizes).for_each(|(value, n)| *value *= (1 + trial) as f64 + *n as f64);
            values[9] *= 4.0;
        });
        let blocks: Vec<(u64, u64)> = sizes.iter().map(|n| (*n, *n)).collect();
        let count = |values: &[Vec<f64>]| {
            let trials: Vec<Sweep<'_>> = values.iter().map(|values| Sweep::listed(&sizes, values)).collect();
            let log = |values: &Vec<f64>| values.iter().map(|value| value.ln()).collect();
            find(&trials, &blocks, &values.iter().map(log).collect::<Vec<Vec<f64>>>(), 0.0).count
        };
        // Repeated in every trial it is the curve; in one trial it is a spike.
        assert_eq!(count(&values), 0);
        values[3][5] *= 20.0;
        assert_eq!(count(&values), 1);
    }

    #[test]
    fn random_spikes_are_neither_repeated_nor_periodic() {
        let mut wrong = [0; 2];
        for seed in 0..60 {
            let mut rng = Rng::with_seed(seed);
            let rate = [0.0005, 0.002, 0.01, 0.05][seed as usize % 4];
            let operation = [Operation::Lognormal(0.1), Operation::Gamma(8)][seed as usize / 4 % 2];
            let noise = Noise { spikes: rate, operation, drift: 0.05, keep: 0.9, ..CALM };
            let (trials, sizes) = [(10, 200), (10, 3000), (40, 1000)][seed as usize % 3];
            let spikes = judged(&sweeps(&mut rng, trials, sizes, &noise, |_, _, n| 1.0 + n / 1e3), 0.0);
            wrong[0] += u64::from(!spikes.repeated.is_empty());
            wrong[1] += u64::from(spikes.period.is_some());
        }
        assert!(wrong[0] <= 2 && wrong[1] <= 2, "{wrong:?} of 60");
    }

    #[test]
    fn any_input_is_fine() {
        any_input(|trials, ranges| {
            for value in [0.0, f64::NAN, -800.0, 700.0] {
                let rows = vec![vec![value; ranges.len()]; trials.len()];
                find(trials, ranges, &rows, 1e-9);
            }
        });
    }
}
