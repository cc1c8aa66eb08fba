//! Two groups of trials, by one value of each, and how long neighbours in time stay in one group.

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
    use fastrand::Rng;

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
