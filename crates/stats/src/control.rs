//! Control variates: removes from the changes of a series the part that it shares with its references.
//!
//! A reference does not depend on n, so the mean of its own change is known: 0. The part of a change that a
//! reference shares is therefore noise, and can be removed (Lavenberg & Welch, Management Science 27, 1981).
//! The coefficients for a trial are estimated from the other trials, so that the spread of the rest shows the
//! error out of sample, with the cost of the estimation (Avramidis & Wilson, Operations Research Letters 14,
//! 1993). References are taken up one after the other, each with the coefficient that the rest has on it,
//! shrunk, and only while the error falls: boosting by least squares (Bühlmann & Yu, JASA 98, 2003).
//!
//! References are independent of n only up to [`PRIOR`]. This uncertainty is added to the squared error, as
//! in estimation with biased controls (Schmeiser, Taaffe & Wang, IIE Transactions 33, 2001): the smaller the
//! error of a series, the smaller the gain, and with many quiet trials nothing is removed. And a bound is
//! never below what references could hide if all of the noise that was removed were a growth: see
//! [`ReferenceUncertainty`]. Without that, 18 of 100 simulated runs called a slowdown of everything by 15 %
//! flat.

use crate::block::{Rows, column};
use crate::centre::{Centre, Student, influences};
use crate::flat::{Flatness, Layout, ReferenceUncertainty};
use crate::verdict::{Adjustment, ReferenceStanding, ReferenceUse};

/// Fewer trials do not show the part that a series shares with its references.
const FEWEST: usize = 6;
/// Parts of the trials, each of which is left out once; up to so many trials each is left out by itself.
const FOLDS: usize = 20;
/// The first reference is taken up if it lowers the squared error to this share or less; with ten trials
/// chance does so for fewer than one unrelated reference in twenty. Further ones need less.
const GAIN: f64 = 0.85;
const FURTHER_GAIN: f64 = 0.95;
/// Shares of a coefficient that are tried.
const SHARES: [f64; 4] = [0.4, 0.6, 0.8, 1.0];
/// How far the change of a reference with n may lie from 0, as a standard deviation of its logarithm: on
/// Linux 6.18 a null system call stayed within 0.7 % up to 19,000 sockets, files and mappings.
const PRIOR: f64 = 0.005;
/// A change of a reference for which this is exceeded for certain is not noise.
const DEVIATIONS: f64 = 2.0;
/// Error rate of that certainty: refusing a good reference costs only precision.
const REFUSAL: f64 = 0.10;

/// The changes of a series and of its references, each against the first blocks of the same trial.
pub(crate) struct Controls<'a> {
    pub(crate) changes: &'a Rows,
    /// Of each reference, in the same blocks.
    pub(crate) controls: &'a [Rows],
    pub(crate) layout: Layout<'a>,
    pub(crate) alpha: f64,
    pub(crate) seed: u64,
}

/// The part that a series shares with its references.
pub(crate) struct Controlled {
    /// The part to remove from each trial, a row, in each block; empty if there is none.
    pub(crate) removed: Rows,
    pub(crate) uncertainty: ReferenceUncertainty,
    pub(crate) adjustment: Adjustment,
}

/// A series from which some references have been removed.
struct Rest {
    rows: Rows,
    /// Mean squared error of the blocks that are compared with the first, with that of the references.
    squared_error: f64,
    uses: Vec<ReferenceUse>,
}

impl Controls<'_> {
    /// Finds the shared part, unless removing it would not lower the error, or it changes with n itself.
    pub(crate) fn find(&self) -> Controlled {
        let mut rest = self.nothing_removed();
        let raw = rest.squared_error;
        while let Some(next) = self.with_one_more(&rest, ReferenceStanding::NoGain) {
            rest = next;
        }
        let removed = combined(self.changes, &rest.rows, |change, rest| change - rest);
        let systematic = systematic(&rest.uses);
        if systematic > 0.0 && self.certain_change(&removed) <= DEVIATIONS * systematic {
            let uncertainty =
                ReferenceUncertainty { systematic, hidden: Some(self.flatness(&removed).end_to_end()) };
            let hidden = uncertainty.hidden_bound(&Student::new(2.0 * self.alpha), 1.0).exp_m1();
            let error = (rest.squared_error / raw).sqrt();
            let adjustment = Adjustment { error, hidden, controls: rest.uses };
            return Controlled { removed, uncertainty, adjustment };
        }
        let adjustment = Adjustment { error: 1.0, hidden: 0.0, controls: self.refused(rest) };
        Controlled { removed: Vec::new(), uncertainty: ReferenceUncertainty::default(), adjustment }
    }

    /// The series as it is. Every usable reference counts as one without gain.
    fn nothing_removed(&self) -> Rest {
        let standing = |rows: &Rows| match self.has_enough(rows) {
            false => ReferenceStanding::TooFew,
            true if self.certain_change(rows) > DEVIATIONS * PRIOR => ReferenceStanding::Changes,
            true => ReferenceStanding::NoGain,
        };
        let of = |rows: &Rows| ReferenceUse { standing: standing(rows), coefficient: 0.0 };
        let squared_error = self.squared_error(self.changes);
        Rest { rows: self.changes.clone(), squared_error, uses: self.controls.iter().map(of).collect() }
    }

    /// Takes up the reference that lowers the error most, if one does.
    fn with_one_more(&self, rest: &Rest, idle: ReferenceStanding) -> Option<Rest> {
        let candidates = self
            .controls
            .iter()
            .enumerate()
            .filter(|(place, _)| [idle, ReferenceStanding::Used].contains(&rest.uses[*place].standing));
        let best = candidates
            .filter_map(|(place, rows)| self.with(rest, place, rows))
            .min_by(|a, b| a.squared_error.total_cmp(&b.squared_error))?;
        let is_first = rest.uses.iter().all(|of| of.standing != ReferenceStanding::Used);
        let gain = if is_first { GAIN } else { FURTHER_GAIN };
        // Where there is no error, nothing lowers it.
        (best.squared_error < gain * rest.squared_error).then_some(best)
    }

    /// Takes up one reference, with the share of its coefficient that is best.
    fn with(&self, rest: &Rest, place: usize, rows: &Rows) -> Option<Rest> {
        let (common, coefficient) = in_common(&rest.rows, rows)?;
        let of_share = |share: f64| {
            let mut uses = rest.uses.clone();
            let coefficient = uses[place].coefficient + share * coefficient;
            uses[place] = ReferenceUse { standing: ReferenceStanding::Used, coefficient };
            let rows = combined(&rest.rows, &common, |rest, common| rest - share * common);
            let squared_error = self.squared_error(&rows) + systematic(&uses).powi(2);
            Rest { rows, squared_error, uses }
        };
        SHARES.map(of_share).into_iter().min_by(|a, b| a.squared_error.total_cmp(&b.squared_error))
    }

    /// The use of each reference where nothing is removed. A reference that changes with n, by itself or in
    /// the removed part, is refused only if it would help.
    fn refused(&self, rest: Rest) -> Vec<ReferenceUse> {
        let is_used = |of: &ReferenceUse| of.standing == ReferenceStanding::Used;
        let refused = |uses: &[ReferenceUse]| {
            let standing = |of: &ReferenceUse| match of.standing {
                ReferenceStanding::Used => ReferenceStanding::Changes,
                ReferenceStanding::Changes => ReferenceStanding::NoGain,
                other => other,
            };
            uses.iter().map(|of| ReferenceUse { standing: standing(of), coefficient: 0.0 }).collect()
        };
        if rest.uses.iter().any(is_used) {
            return refused(&rest.uses);
        }
        match self.with_one_more(&rest, ReferenceStanding::Changes) {
            Some(helped) => refused(&helped.uses),
            None => refused(&rest.uses),
        }
    }

    /// Whether most trials have a reference, and enough of them.
    fn has_enough(&self, rows: &Rows) -> bool {
        let measured = rows.iter().filter(|row| row.iter().any(|value| value.is_finite())).count();
        measured >= FEWEST && 2 * measured > rows.len()
    }

    /// By how much rows change with n for certain: somewhere, from end to end, or along all of the range.
    fn certain_change(&self, rows: &Rows) -> f64 {
        self.flatness(rows).certain()
    }

    fn flatness(&self, rows: &Rows) -> Flatness {
        Flatness::new(rows, &self.layout, REFUSAL, self.seed, ReferenceUncertainty::default())
    }

    fn squared_error(&self, rows: &Rows) -> f64 {
        let blocks = self.layout.baseline_blocks..self.layout.ranges.len();
        let errors = blocks.filter_map(|block| Centre::new(&column(rows, block))).map(|centre| centre.error);
        let squares: Vec<f64> = errors.filter(|error| error.is_finite()).map(|error| error * error).collect();
        squares.iter().sum::<f64>() / squares.len() as f64
    }
}

/// How far the removed part may lie from 0, if every reference errs the same way.
fn systematic(uses: &[ReferenceUse]) -> f64 {
    PRIOR * uses.iter().map(|of| of.coefficient.abs()).sum::<f64>()
}

fn combined(one: &Rows, other: &Rows, of: impl Fn(f64, f64) -> f64) -> Rows {
    let row = |(one, other): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
        one.iter().zip(other).map(|(one, other)| of(*one, *other)).collect()
    };
    one.iter().zip(other).map(row).collect()
}

/// The part that `rows` share with a reference: for each trial the change of the reference times a
/// coefficient from other trials. Also the coefficient from all. `None` where the reference never changes.
///
/// Products are of winsorised deviations, so that a disturbed trial counts no more than it does in the error
/// of a trimmed mean. All blocks share one coefficient.
fn in_common(rows: &Rows, control: &Rows) -> Option<(Rows, f64)> {
    let folds = rows.len().clamp(1, FOLDS);
    let mut sums = vec![[0.0; 2]; folds];
    for block in 0..rows.first().map_or(0, Vec::len) {
        let (theirs, own) = (influences(&column(rows, block)), influences(&column(control, block)));
        for (trial, (theirs, own)) in theirs.iter().zip(&own).enumerate() {
            let [products, squares] = &mut sums[trial % folds];
            *products += own * theirs;
            *squares += own * own;
        }
    }
    let [products, squares] = sums.iter().fold([0.0; 2], |all, sum| [all[0] + sum[0], all[1] + sum[1]]);
    let without = |sum: &[f64; 2]| (products - sum[0]) / (squares - sum[1]);
    let coefficients: Vec<f64> = sums.iter().map(without).collect();
    let all_finite = coefficients.iter().all(|coefficient| coefficient.is_finite());
    // A trial without a reference is not adjusted.
    let common = |coefficient: f64, change: f64| if change.is_finite() { coefficient * change } else { 0.0 };
    let row = |(trial, row): (usize, &Vec<f64>)| -> Vec<f64> {
        row.iter().map(|change| common(coefficients[trial % folds], *change)).collect()
    };
    all_finite.then(|| (control.iter().enumerate().map(row).collect(), products / squares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::centre::mean;
    use crate::simulate::normal;
    use fastrand::Rng;

    const TRIALS: usize = 12;
    const BLOCKS: usize = 20;
    const RANGES: [(u64, u64); BLOCKS] = {
        let mut ranges = [(0, 0); BLOCKS];
        let mut block = 0;
        while block < BLOCKS {
            ranges[block] = (100 * block as u64 + 1, 100 * (block as u64 + 1));
            block += 1;
        }
        ranges
    };

    /// Changes of `trials` trials, that spread by `spread`.
    fn noise(rng: &mut Rng, trials: usize, spread: f64) -> Rows {
        (0..trials).map(|_| (0..BLOCKS).map(|_| spread * normal(rng)).collect()).collect()
    }

    fn found(changes: &Rows, controls: &[Rows]) -> Controlled {
        let layout = Layout { ranges: &RANGES, baseline_blocks: 1 };
        Controls { changes, controls, layout, alpha: 0.05, seed: 1 }.find()
    }

    fn standings(controlled: &Controlled) -> Vec<ReferenceStanding> {
        controlled.adjustment.controls.iter().map(|of| of.standing).collect()
    }

    #[test]
    fn a_reference_that_is_the_noise_removes_it_whatever_its_sign() {
        let mut rng = Rng::with_seed(1);
        let (common, own) = (noise(&mut rng, TRIALS, 0.1), noise(&mut rng, TRIALS, 0.01));
        for factor in [1.0, 0.5, -0.5] {
            let changes = combined(&common, &own, |common, own| factor * common + own);
            let controlled = found(&changes, std::slice::from_ref(&common));
            let Adjustment { error, controls, .. } = &controlled.adjustment;
            assert_eq!(controls[0].standing, ReferenceStanding::Used);
            assert!((controls[0].coefficient - factor).abs() < 0.02, "{controls:?}");
            assert!(*error < 0.3, "{factor}: {error}");
            let left = combined(&changes, &controlled.removed, |change, removed| change - removed);
            let largest = left.iter().flatten().fold(0.0_f64, |most, left| most.max(left.abs()));
            assert!(largest < 0.06, "{factor}: {largest}");
            assert!(
                (controlled.uncertainty.systematic - PRIOR * controls[0].coefficient.abs()).abs() < 1e-12
            );
        }
    }

    /// The adjustments of runs in which no reference was refused by chance.
    fn unrefused(run: impl Fn(&mut Rng) -> Adjustment) -> Vec<Adjustment> {
        let changes = |of: &ReferenceUse| of.standing == ReferenceStanding::Changes;
        let runs = (0..20).map(|seed| run(&mut Rng::with_seed(seed)));
        let unrefused: Vec<Adjustment> = runs.filter(|of| !of.controls.iter().any(changes)).collect();
        assert!(unrefused.len() >= 10, "{unrefused:?}");
        unrefused
    }

    #[test]
    fn two_references_that_show_the_same_noise_are_better_than_one() {
        let adjustment = |rng: &mut Rng, count: usize| {
            let common = noise(rng, 30, 0.1);
            let mut seen = || combined(&common, &noise(rng, 30, 0.07), |common, own| common + own);
            let controls = [seen(), seen()];
            found(&common, &controls[..count]).adjustment
        };
        let [one, two] = [1, 2].map(|count| unrefused(|rng| adjustment(rng, count)));
        let error = |all: &[Adjustment]| mean(&all.iter().map(|of| of.error).collect::<Vec<f64>>());
        assert!(error(&two) < 0.9 * error(&one), "{} {}", error(&two), error(&one));
        let mut coefficients = two.iter().flat_map(|of| &of.controls).map(|of| of.coefficient);
        assert!(coefficients.all(|coefficient| coefficient > 0.1 && coefficient < 0.8), "{two:?}");
    }

    #[test]
    fn what_has_nothing_in_common_is_left_alone() {
        let mut used = 0;
        for seed in 0..200 {
            let mut rng = Rng::with_seed(seed);
            let (changes, other) = (noise(&mut rng, 10, 0.1), noise(&mut rng, 10, 0.1));
            let controlled = found(&changes, &[other]);
            let is_used = controlled.adjustment.is_used();
            assert!(is_used || controlled.removed.is_empty() && controlled.uncertainty.systematic == 0.0);
            used += u32::from(is_used);
        }
        assert!(used <= 10, "{used} of 200");
    }

    #[test]
    fn a_constant_reference_changes_nothing() {
        let changes = noise(&mut Rng::with_seed(3), TRIALS, 0.1);
        let constant = vec![vec![0.0; BLOCKS]; TRIALS];
        let controlled = found(&changes, &[constant]);
        assert_eq!(standings(&controlled), [ReferenceStanding::NoGain]);
        assert!(controlled.removed.is_empty());
    }

    #[test]
    fn a_reference_that_changes_with_n_is_refused() {
        let mut rng = Rng::with_seed(4);
        let common = noise(&mut rng, TRIALS, 0.05);
        let grown = |growth: f64| -> Rows {
            let row = |row: &Vec<f64>| {
                row.iter().enumerate().map(|(block, value)| value + growth * block as f64 / 19.0).collect()
            };
            common.iter().map(row).collect()
        };
        for growth in [0.2, -0.2] {
            let controlled = found(&common, &[grown(growth)]);
            assert_eq!(standings(&controlled), [ReferenceStanding::Changes]);
            assert!(controlled.removed.is_empty() && controlled.adjustment.is_refused());
        }
        // One that stays flat beside it is used.
        let both = found(&common, &[grown(0.2), common.clone()]);
        assert_eq!(standings(&both), [ReferenceStanding::Changes, ReferenceStanding::Used]);
        // A reference that would not be used need not be refused.
        let unrelated = noise(&mut rng, TRIALS, 0.05);
        assert_eq!(standings(&found(&unrelated, &[grown(0.2)])), [ReferenceStanding::NoGain]);
    }

    #[test]
    fn what_could_be_hidden_is_no_less_than_what_is_there() {
        let mut held = 0;
        for seed in 0..100 {
            let mut rng = Rng::with_seed(seed);
            let common = noise(&mut rng, TRIALS, 0.1);
            let row = |row: &Vec<f64>| {
                row.iter().enumerate().map(|(block, value)| value + 0.03 * block as f64 / 19.0).collect()
            };
            let growing: Rows = common.iter().map(row).collect();
            let Adjustment { hidden, controls, .. } = found(&common, &[growing]).adjustment;
            held += u32::from(hidden.ln_1p() >= 0.03 * controls[0].coefficient);
        }
        assert!(held >= 93, "{held} of 100");
    }

    #[test]
    fn one_disturbed_trial_does_not_decide() {
        let all = unrefused(|rng| {
            let (common, own) = (noise(rng, 20, 0.1), noise(rng, 20, 0.01));
            let mut changes = combined(&common, &own, |common, own| common + own);
            changes[7].iter_mut().for_each(|value| *value = 5.0);
            found(&changes, &[common]).adjustment
        });
        for Adjustment { controls, .. } in all {
            assert_eq!(controls[0].standing, ReferenceStanding::Used);
            assert!((controls[0].coefficient - 1.0).abs() < 0.25, "{controls:?}");
        }
    }

    #[test]
    fn few_trials_and_missing_references_are_left_alone() {
        let mut rng = Rng::with_seed(6);
        let mut common = noise(&mut rng, TRIALS, 0.1);
        let few = common[..5].to_vec();
        assert_eq!(standings(&found(&few, std::slice::from_ref(&few))), [ReferenceStanding::TooFew]);
        let changes = common.clone();
        common[..7].iter_mut().flatten().for_each(|value| *value = f64::NAN);
        assert_eq!(standings(&found(&changes, &[common.clone()])), [ReferenceStanding::TooFew]);
        // Fewer missing ones leave their trials as they are.
        common[3..].clone_from_slice(&changes[3..]);
        let controlled = found(&changes, &[common]);
        assert_eq!(standings(&controlled), [ReferenceStanding::Used]);
        assert!(controlled.removed[..3].iter().flatten().all(|removed| *removed == 0.0));
    }
}
