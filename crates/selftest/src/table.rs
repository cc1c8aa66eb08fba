//! The promised error rates, and which of them hold.
//!
//! A promise is missed when the rate over all its cells, or the rate of one cell, is beyond the target for
//! certain; the interval of a cell is corrected for the number of cells (Bonferroni). It is kept when the
//! rate over all cells is within the target. Otherwise it is open, and more replicates would decide.

use crate::counts::CellCounts;
use crate::promises::{ERROR, PROMISES, Promise};
use crate::rate::{Rate, RateTarget};

/// One promise and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct CellRow {
    /// The claim that is counted.
    pub claim: &'static str,
    /// The target.
    pub target: RateTarget,
    /// Over all cells.
    pub all: Rate,
    /// Wilson's 95 % interval of it.
    pub interval: (f64, f64),
    /// How many cells were counted.
    pub cells: usize,
    /// The cell that is farthest on the wrong side.
    pub worst: String,
    /// Its rate.
    pub worst_rate: Rate,
    /// Its interval; of all cells together 95 %.
    pub worst_interval: (f64, f64),
    /// The standing of the promise.
    pub standing: Standing,
}

/// The standing of a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It holds.
    Kept,
    /// The rate is beyond the target, but chance may explain it.
    Open,
    /// It does not hold.
    Missed,
}

/// The promises to which `all_counts` contribute.
pub fn table(all_counts: &[CellCounts]) -> Vec<CellRow> {
    PROMISES.iter().filter_map(|promise| promise.row(all_counts)).collect()
}

impl Promise {
    fn row(&self, all_counts: &[CellCounts]) -> Option<CellRow> {
        let rates = all_counts.iter().filter_map(|counts| Some((counts.cell.name(), (self.count)(counts)?)));
        row(self.claim, self.target, rates.filter(|(_, rate)| rate.of > 0).collect())
    }
}

/// A promise and its rate in each cell; `None` without a cell.
pub(crate) fn row(claim: &'static str, target: RateTarget, rates: Vec<(String, Rate)>) -> Option<CellRow> {
    let excess = |rate: &Rate| target.excess(rate.value());
    let (worst, worst_rate) = rates.iter().max_by(|a, b| excess(&a.1).total_cmp(&excess(&b.1)))?.clone();
    let all: Rate = rates.iter().map(|(_, rate)| *rate).sum();
    let together = |rate: &Rate| rate.interval(ERROR / rates.len() as f64);
    let beyond = |(_, rate): &(String, Rate)| !target.touches(together(rate));
    Some(CellRow {
        claim,
        target,
        all,
        interval: all.interval(ERROR),
        cells: rates.len(),
        worst,
        worst_rate,
        worst_interval: together(&worst_rate),
        standing: match rates.iter().any(beyond) {
            true => Standing::Missed,
            false => of_rate(target, all, all.interval(ERROR)),
        },
    })
}

/// The standing of one rate.
pub(crate) fn of_rate(target: RateTarget, rate: Rate, interval: (f64, f64)) -> Standing {
    match target {
        target if target.excess(rate.value()) <= 0.0 => Standing::Kept,
        target if target.touches(interval) => Standing::Open,
        _ => Standing::Missed,
    }
}

#[cfg(test)]
mod tests {
    use stats::{Answer, Class};

    use super::*;
    use crate::cells::{TruthCell, all};
    use crate::counts::CLASSES;
    use crate::counts::{Answered, FIGURES, ReplicateOutcome};

    const REPLICATES: usize = 300;

    fn named(name: &str) -> TruthCell {
        all().into_iter().find(|cell| cell.name() == name).expect("a cell of this name")
    }

    /// The table of a judge that answers so in the first `count` replicates, and `otherwise` in the rest.
    fn counts(name: &str, count: usize, answer: Answered, otherwise: Answered) -> CellCounts {
        let mut counts = CellCounts::new(&named(name));
        for replicate in 0..REPLICATES {
            let answer = if replicate < count { answer } else { otherwise };
            counts.count(&ReplicateOutcome::answered(answer));
        }
        counts
    }

    fn class(name: &str, count: usize, word: Class) -> CellCounts {
        counts(name, count, Answered::Class(word), Answered::Class(Class::Inconclusive))
    }

    fn row(counts: &CellCounts, claim: &str) -> CellRow {
        let rows = table(std::slice::from_ref(counts));
        rows.into_iter().find(|row| row.claim.starts_with(claim)).expect("a row of this claim")
    }

    /// Whether the claim holds; it must not be open.
    fn kept(counts: &CellCounts, claim: &str) -> bool {
        let standing = row(counts, claim).standing;
        assert_ne!(standing, Standing::Open, "{claim}");
        standing == Standing::Kept
    }

    #[test]
    fn a_judge_that_calls_everything_flat_is_caught() {
        let name = "line-margin/low/dense/40";
        assert!(kept(&class(name, 12, Class::Flat), "called flat, where"));
        for claim in ["called flat, where", "called flat, a line of exactly"] {
            let row = row(&class(name, 40, Class::Flat), claim);
            assert_eq!(row.standing, Standing::Missed);
            assert_eq!((row.all, row.worst.as_str()), (Rate { count: 40, of: REPLICATES }, name));
        }
        assert!(!kept(&class("line-1.12/low/dense/40", 40, Class::Flat), "called flat, a line of 12"));
        assert!(!kept(&class("line-1.21/low/log20/10", 40, Class::Flat), "twice the margin"));
    }

    #[test]
    fn a_judge_that_names_a_family_too_many_is_caught() {
        let name = "constant/low/log20/10";
        for wrong in CLASSES.into_iter().filter(|class| crate::counts::is_definite(*class)) {
            assert!(kept(&class(name, 1, wrong), "wrong family, noise"), "{wrong:?}");
            assert!(!kept(&class(name, 20, wrong), "wrong family, noise"), "{wrong:?}");
            assert!(!kept(&class(name, 40, wrong), "wrong family, any"), "{wrong:?}");
        }
        for right in [Class::Flat, Class::Ambiguous, Class::Uneven, Class::SmallGrowth, Class::Inconclusive] {
            assert!(kept(&class(name, REPLICATES, right), "wrong family, any"));
        }
        let step = "step+60-0.6/low/log20/10";
        assert!(kept(&class(step, REPLICATES, Class::Stepped), "wrong family"));
        assert!(!kept(&class(step, REPLICATES, Class::LinearLike), "wrong family"));
    }

    #[test]
    fn one_bad_cell_among_many_good_ones_is_caught() {
        let mut all_counts: Vec<CellCounts> =
            ["low", "high", "ar3", "ar6", "offsets", "t3", "gamma", "pareto"]
                .map(|noise| class(&format!("constant/{noise}/log20/10"), 0, Class::Flat))
                .to_vec();
        assert!(
            table(&all_counts)
                .iter()
                .filter(|row| row.claim.starts_with("wrong"))
                .all(|row| row.standing == Standing::Kept)
        );
        all_counts.push(class("constant/ar9/log20/10", 36, Class::Stepped));
        let rows = table(&all_counts);
        let row = rows.iter().find(|row| row.claim.starts_with("wrong family, any")).expect("a row");
        assert!(row.all.value() < 0.05 && row.standing == Standing::Missed);
        assert_eq!(row.worst, "constant/ar9/log20/10");
    }

    #[test]
    fn what_chance_may_do_is_open() {
        let row = row(&class("line-margin/low/dense/40", 18, Class::Flat), "called flat, where");
        assert_eq!(row.standing, Standing::Open);
    }

    #[test]
    fn references_that_cancel_a_growth_are_caught() {
        let name = "line-margin/ref-slowing/dense/40";
        assert!(kept(&class(name, 8, Class::Flat), "called flat, where all references"));
        assert!(!kept(&class(name, 30, Class::Flat), "called flat, where all references"));
        let hidden = |count: usize| {
            let mut counts = class("log-margin/ref-slowing3/dense/40", 0, Class::Flat);
            let flat = ReplicateOutcome::answered(Answered::Class(Class::Flat));
            let beyond = ReplicateOutcome { flat_beyond_hidden: true, ..flat };
            (0..count).for_each(|_| counts.count(&beyond));
            kept(&counts, "called flat, beyond")
        };
        assert!(hidden(8) && !hidden(40));
    }

    #[test]
    fn references_that_do_harm_or_nothing_are_caught() {
        let with = |name: &str, bound: f64| {
            let mut counts = CellCounts::new(&named(name));
            let flat = ReplicateOutcome::answered(Answered::Class(Class::Flat));
            let outcome = ReplicateOutcome { bound, bound_without: Some(0.1), ..flat };
            (0..REPLICATES).for_each(|_| counts.count(&outcome));
            counts
        };
        let calm = "constant/ref-calm/dense/10";
        assert!(kept(&with(calm, 0.105), "bound more than a tenth"));
        assert!(!kept(&with(calm, 0.12), "bound more than a tenth"));
        let common = "constant/ref-common/dense/40";
        assert!(kept(&with(common, 0.06), "bound at most 0.7"));
        assert!(!kept(&with(common, 0.1), "bound at most 0.7"));
        assert!(!kept(&class(common, 60, Class::Flat), "constant called flat, common noise"));
        assert!(kept(&class(common, 280, Class::Flat), "constant called flat, common noise"));
    }

    #[test]
    fn steps_and_lines_that_are_not_there_are_caught() {
        let with = |found: ReplicateOutcome| {
            let mut counts = class("line-2.00/low/log20/10", 0, Class::Flat);
            (0..30).for_each(|_| counts.count(&found));
            counts
        };
        let plain = ReplicateOutcome::answered(Answered::Class(Class::Inconclusive));
        assert!(!kept(&with(ReplicateOutcome { steps: 1, ..plain.clone() }), "false steps"));
        assert!(!kept(&with(ReplicateOutcome { lines: true, ..plain.clone() }), "false two lines"));
        assert!(kept(&with(plain.clone()), "false steps"));
        assert!(kept(&with(plain), "false two lines"));
    }

    #[test]
    fn steps_that_are_not_found_are_caught() {
        let plain = ReplicateOutcome::answered(Answered::Class(Class::Stepped));
        let with = |count: usize| {
            let mut counts = CellCounts::new(&named("step+30-0.6/low/log20/10"));
            for replicate in 0..REPLICATES {
                counts.count(&ReplicateOutcome { steps_in_place: Some(replicate < count), ..plain.clone() });
            }
            kept(&counts, "step found")
        };
        assert!(with(280));
        assert!(!with(240));
    }

    #[test]
    fn intervals_that_are_too_narrow_or_too_wide_are_caught() {
        let with = |held: usize| {
            let mut counts = CellCounts::new(&named("line-2.00/low/dense/40"));
            for replicate in 0..REPLICATES {
                let covered = [Some(replicate < held); FIGURES];
                counts.count(&ReplicateOutcome {
                    covered,
                    ..ReplicateOutcome::answered(Answered::Class(Class::LinearLike))
                });
            }
            counts
        };
        for claim in ["growth", "marginal", "doubling"] {
            assert!(kept(&with(285), claim));
            assert!(!kept(&with(260), claim));
            assert!(!kept(&with(300), claim));
        }
        assert!(kept(&with(300), "all blocks"));
        assert!(!kept(&with(260), "all blocks"));
    }

    #[test]
    fn systems_that_differ_from_themselves_are_caught() {
        for name in ["compare-1.00/low/log8/10", "pairs-1.00/low/log8/10"] {
            for answer in [Answer::Faster, Answer::Slower, Answer::DifferentButSmall] {
                let with = |count| {
                    counts(name, count, Answered::Answer(answer), Answered::Answer(Answer::Equivalent))
                };
                assert!(kept(&with(10), "a system called different"));
                assert!(!kept(&with(40), "a system called different"));
            }
        }
    }

    #[test]
    fn three_trials_that_say_anything_are_caught() {
        assert!(kept(&class("constant/low/log20/3", 0, Class::Flat), "verdict on less"));
        assert!(!kept(&class("constant/low/log20/3", 1, Class::Flat), "verdict on less"));
        let gross = table(&[class("line-5.00/low/log20/3", 300, Class::LinearLike)]);
        assert!(gross.iter().all(|row| !row.claim.starts_with("verdict on less")));
    }

    /// Newcombe, Statistics in Medicine 17, 1998, table I.
    #[test]
    fn intervals_are_wilsons() {
        for (count, of, low, high) in
            [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)]
        {
            let interval = Rate { count, of }.interval(0.05);
            assert!((interval.0 - low).abs() < 5e-5 && (interval.1 - high).abs() < 5e-5, "{interval:?}");
        }
    }

    #[test]
    fn every_promise_is_put_to_the_test() {
        let all_counts: Vec<CellCounts> = all()
            .iter()
            .map(|cell| {
                let mut counts = CellCounts::new(cell);
                let covered = [Some(true); FIGURES];
                counts.count(&ReplicateOutcome {
                    covered,
                    bound_without: cell.noise.references.map(|_| 0.1),
                    ..ReplicateOutcome::answered(Answered::Class(Class::Flat))
                });
                counts
            })
            .collect();
        let claims: Vec<&str> = table(&all_counts).iter().map(|row| row.claim).collect();
        assert_eq!(claims.len(), PROMISES.len(), "{claims:?}");
    }
}
