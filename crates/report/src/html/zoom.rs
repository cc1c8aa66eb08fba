//! The points that can be zoomed: quantised, and sampled where there are too many.
//!
//! A trial is two strings in base64: the steps of n from point to point, one byte each (0 says that a step
//! of 255 goes on), and the cost as sixteen bits, little-endian, on a logarithmic scale.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use stats::{Sweep, Verdict};

use record::Unit;

use crate::sentences::middle;

/// Bytes that a point takes in the page: three, and a third more in base64.
const BYTES_OF_POINT: usize = 4;
/// Of each stretch of n these many points stay: the lowest, the highest and one between.
const OF_STRETCH: usize = 3;
/// The largest step in one byte.
const STEP_MAX: u64 = 255;
/// Bytes that the gaps between values may take, for each value, beyond what all points may take: a file may
/// claim any step of n.
const GAP_BYTES: u64 = 4;

/// The points of one series.
#[derive(Debug, Serialize)]
pub(crate) struct Points {
    /// Points kept here.
    pub(crate) shown: usize,
    /// All points.
    pub(crate) of: usize,
    /// The objects that n counts.
    grows: String,
    /// The unit of the values, as in a record; empty for bare numbers.
    unit: &'static str,
    /// Costs that 0 and 65 535 stand for.
    low: f64,
    high: f64,
    trials: Vec<Packed>,
    /// The medians: n, cost.
    medians: Vec<(f64, f64)>,
}

#[derive(Debug, Serialize)]
struct Packed {
    /// The number of the trial.
    trial: u32,
    first: u64,
    steps: String,
    costs: String,
}

impl Points {
    /// Packs the points of a series into about `bytes_max`; `None` where n goes absurdly far for so few
    /// values.
    pub(crate) fn of(
        sweeps: &[(u32, Sweep<'_>)],
        verdict: Option<&Verdict>,
        (grows, unit): (&str, Unit),
        bytes_max: usize,
    ) -> Option<Points> {
        let values = || sweeps.iter().flat_map(|(_, sweep)| sweep.values).copied();
        let costs = || values().filter(|v| v.is_finite() && *v > 0.0);
        let of = values().count();
        let low = costs().reduce(f64::min)?;
        let high = costs().reduce(f64::max)?.max(low * 1.000_001);
        if gaps(sweeps) > GAP_BYTES.saturating_mul(of as u64).saturating_add(bytes_max as u64) {
            return None;
        }
        let each = bytes_max / BYTES_OF_POINT / sweeps.len();
        let mut points = Points {
            shown: 0,
            of,
            grows: grows.to_string(),
            unit: unit.name(),
            low,
            high,
            trials: Vec::with_capacity(sweeps.len()),
            medians: verdict
                .map(|v| v.blocks.iter().map(|b| (middle(b), b.cost.value)).collect())
                .unwrap_or_default(),
        };
        for (trial, sweep) in sweeps {
            points.pack(*trial, sweep, each);
        }
        Some(points)
    }

    fn pack(&mut self, trial: u32, sweep: &Sweep<'_>, each: usize) {
        let mut chosen: Vec<(u64, f64)> = chosen(sweep.values, each)
            .into_iter()
            .map(|i| (sweep.n(i), sweep.values[i]))
            .filter(|(_, v)| v.is_finite() && *v > 0.0)
            .collect();
        chosen.sort_by_key(|(n, _)| *n);
        chosen.dedup_by_key(|(n, _)| *n);
        let Some(&(first, _)) = chosen.first() else { return };
        self.shown += chosen.len();
        let span = (self.high / self.low).ln();
        let (mut steps, mut costs) = (Vec::new(), Vec::new());
        let mut before = first;
        for (n, value) in chosen {
            let mut step = n - before;
            while step > STEP_MAX {
                steps.push(0);
                step -= STEP_MAX;
            }
            if n != before {
                steps.push(step as u8);
            }
            before = n;
            let share = ((value / self.low).ln() / span).clamp(0.0, 1.0);
            costs.extend(((share * 65_535.0).round() as u16).to_le_bytes());
        }
        let (steps, costs) = (STANDARD.encode(steps), STANDARD.encode(costs));
        self.trials.push(Packed { trial, first, steps, costs });
    }
}

/// Bytes that only continue a step of n.
fn gaps(sweeps: &[(u32, Sweep<'_>)]) -> u64 {
    let span = |s: &Sweep<'_>| s.n(0).abs_diff(s.n(s.values.len().saturating_sub(1)));
    sweeps.iter().fold(0, |sum, (_, sweep)| sum.saturating_add(span(sweep) / STEP_MAX))
}

/// Places of the values that stay: all when there is room, else of each stretch the lowest, the highest and
/// the one in the middle. Stretches are narrow at both small n and large, so that either axis has its share.
fn chosen(values: &[f64], each: usize) -> Vec<usize> {
    let len = values.len();
    if len <= each {
        return (0..len).collect();
    }
    let stretches = (each / OF_STRETCH).max(1);
    let stretch_of = |i: usize| {
        let evenly = i as f64 / len as f64;
        let logarithmic = ((i + 1) as f64).ln() / ((len + 1) as f64).ln();
        ((0.7 * evenly + 0.3 * logarithmic) * stretches as f64) as usize
    };
    let mut places = Vec::with_capacity(each + OF_STRETCH);
    let mut start = 0;
    while start < len {
        let stretch = stretch_of(start);
        let mut end = start + 1;
        while end < len && stretch_of(end) == stretch {
            end += 1;
        }
        let by_value = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let lowest = (start..end).min_by(by_value).unwrap_or(start);
        let highest = (start..end).max_by(by_value).unwrap_or(start);
        let mut three = [lowest, start + (end - start) / 2, highest];
        three.sort_unstable();
        for place in three {
            if places.last() != Some(&place) {
                places.push(place);
            }
        }
        start = end;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extremes_of_every_trial_stay() {
        let mut values: Vec<f64> = (0..20_000).map(|i| 1.0 + f64::from(i % 7) * 0.01).collect();
        values[777] = 90.0;
        values[13_131] = 0.01;
        let places = chosen(&values, 600);
        assert!(places.len() <= 630, "{}", places.len());
        assert!(places.contains(&777) && places.contains(&13_131));
        assert!(places.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(chosen(&values[..500], 600).len(), 500);
    }

    #[test]
    fn what_is_packed_is_what_was_measured() {
        let values: Vec<f64> = (0..2_000).map(|i| 1e-6 * (1.0 + f64::from(i) / 100.0)).collect();
        let sweep = Sweep::even(1_999, -1, &values);
        let points = Points::of(&[(7, sweep)], None, ("things", Unit::Seconds), 400).unwrap();
        let trial = &points.trials[0];
        assert_eq!(trial.trial, 7);
        let costs = STANDARD.decode(&trial.costs).unwrap();
        assert_eq!(costs.len(), 2 * points.shown);
        let mut n = trial.first;
        let mut seen = 1;
        let mut carried = 0;
        for step in STANDARD.decode(&trial.steps).unwrap() {
            if step == 0 {
                carried += 255;
                continue;
            }
            n += carried + u64::from(step);
            carried = 0;
            seen += 1;
        }
        assert_eq!((seen, n), (points.shown, 1_999));
        let first = f64::from(u16::from_le_bytes([costs[0], costs[1]])) / 65_535.0;
        let cost = points.low * (points.high / points.low).powf(first);
        assert!((cost / values[1_999] - 1.0).abs() < 1e-3);
    }

    #[test]
    fn n_that_goes_absurdly_far_is_not_packed() {
        let values = [1e-6; 1_000];
        let points = |n_first, n_step| {
            Points::of(&[(0, Sweep::even(n_first, n_step, &values))], None, ("things", Unit::Seconds), 4_000)
        };
        assert_eq!(points(0, 1_000).map(|p| p.shown), Some(1_000));
        for (n_first, n_step) in [(0, 1_000_000_000), (u64::MAX, -1_000_000_000), (0, i64::MAX)] {
            assert!(points(n_first, n_step).is_none(), "{n_first} {n_step}");
        }
    }
}
