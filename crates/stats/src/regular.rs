//! Regular spacings: the period to which more of them keep than chance allows.

use crate::median::median;
use statrs::distribution::{Binomial, DiscreteCDF};

/// Error rate of a period.
const ALPHA: f64 = 0.01;
/// Spacings within this share of a period keep to it, besides one grain.
const KEEP: f64 = 0.02;
/// A period is at least so many grains.
const GRAINS: f64 = 8.0;
/// At least this share of the spacings keeps to a period.
const MOST: f64 = 0.25;

/// A period, and how much of it there is.
pub(crate) struct Regular {
    pub(crate) period: f64,
    /// Spacings that keep to it.
    pub(crate) count: usize,
}

/// The period to which more spacings keep than chance allows.
///
/// Between spikes that come by chance, at whatever rate, a spacing lies within ±h of P with a
/// probability of at most 2h/(eP), which is what an exponential distribution has where it is most
/// (d·e^(−d) ≤ 1/e). Binomial, with Bonferroni over the spacings at which a window may begin.
pub(crate) fn regular(mut spacings: Vec<f64>, grain: f64) -> Option<Regular> {
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
