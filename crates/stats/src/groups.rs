//! Two groups of trials, by one value of each.

use crate::centre::mean;
use crate::mixture::{NARROWEST, SEPARATION};

/// A group holds at least so many trials…
pub(crate) const LEAST_TRIALS: usize = 3;
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
