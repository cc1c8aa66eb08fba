//! The usual cost at each n of a trial, and the spread of measurements above it: spikes are compared with
//! both.

use crate::median::median;
use crate::range::is_cost;
use crate::sweep::Sweep;
use std::ops::Range;

/// A spike lies so many spreads above the median…
const SPREADS: f64 = 6.0;
/// …and is at least so many times the median.
const RATIO: f64 = 1.5;
/// Values of a trial from which spreads are estimated.
const SAMPLE: usize = 256;
/// Parts of the range of n that have a spread, and a rate of spikes, of their own.
pub(crate) const PARTS: usize = 8;
/// With fewer values in a block a spike is most of its median.
const SPARSE: usize = 5;
/// From quartiles to the standard deviation of a normal distribution.
const DEVIATION: f64 = 1.4826;

/// The usual cost at each n of a trial: block medians, and straight lines between the middles of blocks.
pub(crate) struct Baseline {
    /// n and cost, by n.
    nodes: Vec<(f64, f64)>,
}

impl Baseline {
    fn new(logs: &[f64], middles: &[f64]) -> Baseline {
        let nodes = middles.iter().zip(logs).map(|(n, log)| (*n, log.exp()));
        Baseline { nodes: nodes.filter(|node| is_cost(node.1)).collect() }
    }

    /// The places of a sweep before the first node, between each two, and after the last.
    pub(crate) fn pieces<'s>(
        &'s self,
        sweep: &'s Sweep<'_>,
        span: (u64, u64),
    ) -> impl Iterator<Item = (usize, Range<usize>)> + 's {
        // The first n from a node on.
        let from = |node: usize| self.nodes.get(node).map(|node| node.0.ceil() as u64);
        let count = if self.nodes.is_empty() { 0 } else { self.nodes.len() + 1 };
        (0..count).map(move |piece| {
            let low = piece.checked_sub(1).and_then(from).unwrap_or(span.0).max(span.0);
            let high = from(piece).map_or(span.1, |next| next.saturating_sub(1)).min(span.1);
            let empty = low > high || (from(piece) == Some(0));
            (piece, if empty { 0..0 } else { sweep.places(low, high) })
        })
    }

    /// Writes the usual cost at each place of a sweep; other places keep their values.
    pub(crate) fn fill(&self, sweep: &Sweep<'_>, span: (u64, u64), fit: &mut [f64]) {
        for (piece, places) in self.pieces(sweep, span) {
            let right = self.nodes.get(piece).or(self.nodes.last());
            let left = piece.checked_sub(1).and_then(|left| self.nodes.get(left)).or(right);
            let (Some((n_left, left)), Some((n_right, right))) = (left, right) else { continue };
            let slope = if n_right > n_left { (right - left) / (n_right - n_left) } else { 0.0 };
            for place in places {
                fit[place] = left + slope * (sweep.n(place) as f64 - n_left).max(0.0);
            }
        }
    }

    /// The part of the range of n in which a piece lies.
    pub(crate) fn part(&self, piece: usize) -> usize {
        piece * PARTS / (self.nodes.len() + 1)
    }
}

/// The baseline of each trial. Where blocks hold few values, a trial's own median would follow its spikes:
/// there it is the median of all trials, moved to the trial's level.
pub(crate) fn baselines(
    trials: &[Sweep<'_>],
    ranges: &[(u64, u64)],
    rows: &[Vec<f64>],
    (n_low, n_high): (u64, u64),
) -> Vec<Baseline> {
    let middles: Vec<f64> = ranges.iter().map(|(low, high)| (*low as f64).midpoint(*high as f64)).collect();
    let values: usize = trials.iter().map(|trial| trial.places(n_low, n_high).len()).sum();
    if trials.len() < 3 || values >= SPARSE * ranges.len() * trials.len() {
        return rows.iter().map(|row| Baseline::new(row, &middles)).collect();
    }
    let middle = |values: &mut dyn Iterator<Item = f64>| -> f64 {
        let mut present: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        median(&mut present).unwrap_or(f64::NAN)
    };
    let at = |row: &Vec<f64>, place: usize| row.get(place).copied().unwrap_or(f64::NAN);
    let all: Vec<f64> =
        (0..ranges.len()).map(|place| middle(&mut rows.iter().map(|row| at(row, place)))).collect();
    let moved = |row: &Vec<f64>| {
        let level = middle(&mut all.iter().enumerate().map(|(place, log)| at(row, place) - log));
        Baseline::new(&all.iter().map(|log| log + level).collect::<Vec<f64>>(), &middles)
    };
    rows.iter().map(moved).collect()
}

/// How far usual values lie above the median, as standard deviations of the logarithm: the distance of the
/// upper quartile, because costs are skewed, so that the values below say nothing about those above (the
/// double median absolute deviation: Rosenmai, 2013).
pub(crate) struct Spreads {
    by_trial: Vec<f64>,
    by_part: [f64; PARTS],
}

impl Spreads {
    pub(crate) fn new(trials: &[Sweep<'_>], baselines: &[Baseline], span: (u64, u64)) -> Spreads {
        let mut parts: [Vec<f64>; PARTS] = Default::default();
        let mut own = Vec::new();
        let mut of_trial = |(sweep, baseline): (&Sweep<'_>, &Baseline)| {
            own.clear();
            let mut fit = vec![f64::NAN; sweep.values.len()];
            baseline.fill(sweep, span, &mut fit);
            for (piece, places) in baseline.pieces(sweep, span) {
                let stride = (places.len() * (baseline.nodes.len() + 1)).div_ceil(SAMPLE).max(1);
                for place in places.step_by(stride).filter(|place| is_cost(sweep.values[*place])) {
                    let log = (sweep.values[place] / fit[place]).ln();
                    own.push(log);
                    parts[baseline.part(piece)].push(log);
                }
            }
            upper(&mut own)
        };
        let by_trial = trials.iter().zip(baselines).map(&mut of_trial).collect();
        Spreads { by_trial, by_part: parts.map(|mut logs| upper(&mut logs)) }
    }

    /// A spike exceeds the usual by this factor.
    pub(crate) fn limit(&self, trial: usize, part: usize) -> f64 {
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
    DEVIATION * (quartile - middle)
}
