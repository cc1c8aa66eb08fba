//! How far neighbours in time are of one kind, such as on one of two lines.

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
