//! The promised error rates, and which of them hold.
//!
//! A promise is missed when the rate over all its cells, or the rate of one cell, is beyond the target for
//! certain; the interval of a cell is corrected for the number of cells (Bonferroni). It is kept when the
//! rate over all cells is within the target. Otherwise it is open, and more replicates would decide.

use statrs::distribution::{ContinuousCDF, Normal};
use stats::Class;

use crate::cells::Asked;
use crate::noises;
use crate::replicate::Figure;
use crate::tally::Tally;
use crate::truths::{MARGIN, Shape, Term};

/// What a rate must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// So much or less.
    AtMost(f64),
    /// So much or more.
    AtLeast(f64),
    /// Between the two.
    Within(f64, f64),
}

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub count: usize,
    /// Of how many.
    pub of: usize,
}

/// One promise and what of it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What is counted.
    pub claim: &'static str,
    /// What is promised.
    pub target: Target,
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
    /// What can be said of the promise.
    pub standing: Standing,
}

/// What can be said of a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It holds.
    Kept,
    /// The rate is beyond the target, by less than chance may do.
    Open,
    /// It does not hold.
    Missed,
}

struct Promise {
    claim: &'static str,
    target: Target,
    /// What is counted of a cell; `None` where the promise does not speak of it.
    count: fn(&Tally) -> Option<Rate>,
}

const ERROR: f64 = 0.05;
const COVERAGE: Target = Target::Within(0.93, 0.97);
/// As few as can show anything at all.
const FEW: usize = 3;
/// Two or three trials may name an effect of this factor.
const GROSS: f64 = 2.0;
/// Effects of twice the margin and more are to be found.
const TWICE: f64 = 2.0 * MARGIN - 1e-9;

const PROMISES: &[Promise] = &[
    Promise {
        claim: "called flat, where growth is exactly the margin",
        target: Target::AtMost(ERROR),
        count: |tally| {
            let exact = match tally.cell.truth.shape {
                Shape::Margin(_) => true,
                Shape::Step(ratio, _) => (ratio - 1.0 - MARGIN).abs() < 1e-9,
                _ => false,
            };
            (exact && many(tally)).then(|| tally.rate(flat(tally)))
        },
    },
    Promise {
        claim: "called flat, a line of exactly the margin, 40 trials",
        target: Target::AtMost(ERROR),
        count: |tally| {
            let asked = tally.cell.truth.shape == Shape::Margin(Term::Line) && tally.cell.trials == 40;
            asked.then(|| tally.rate(flat(tally)))
        },
    },
    Promise {
        claim: "called flat, a line of 12 %, 40 trials",
        target: Target::AtMost(ERROR),
        count: |tally| {
            let asked = tally.cell.truth.shape == Shape::Grows(Term::Line, 1.12);
            asked.then(|| tally.rate(flat(tally)))
        },
    },
    Promise {
        claim: "called flat within less than the true change",
        target: Target::AtMost(ERROR),
        count: |tally| {
            let change = change(tally);
            let near = change > 0.0 && change <= TWICE && tally.cell.truth.has_one_cost();
            (near && many(tally)).then(|| tally.rate(tally.flat_within_less))
        },
    },
    Promise {
        claim: "wrong family, noise independent or AR(1) to 0.6",
        target: Target::AtMost(0.01),
        count: |tally| {
            let noises = [noises::LOW, noises::HIGH, noises::AR3, noises::AR6, noises::AR6_HIGH];
            (tally.is_verdict() && noises.contains(&tally.cell.noise)).then(|| tally.rate(tally.wrong()))
        },
    },
    Promise {
        claim: "wrong family, any noise",
        target: Target::AtMost(ERROR),
        count: |tally| tally.is_verdict().then(|| tally.rate(tally.wrong())),
    },
    Promise {
        claim: "false steps a curve",
        target: Target::AtMost(0.05),
        count: |tally| {
            let none = tally.is_verdict() && tally.cell.truth.steps(tally.cell.design.range()).is_empty();
            none.then(|| tally.rate(tally.steps))
        },
    },
    Promise {
        claim: "false two lines",
        target: Target::AtMost(0.02),
        count: |tally| {
            let one = tally.is_verdict() && !matches!(tally.cell.truth.shape, Shape::TwoLines(..));
            one.then(|| tally.rate(tally.lines))
        },
    },
    Promise { claim: "growth covered", target: COVERAGE, count: |tally| covered(tally, Figure::Growth) },
    Promise {
        claim: "marginal cost covered, lines",
        target: COVERAGE,
        count: |tally| covered(tally, Figure::MarginalCost),
    },
    Promise {
        claim: "doubling size covered, lines",
        target: COVERAGE,
        count: |tally| covered(tally, Figure::DoublingSize),
    },
    Promise {
        claim: "place of a step covered",
        target: Target::AtLeast(0.93),
        count: |tally| covered(tally, Figure::StepPlace),
    },
    Promise {
        claim: "height of a step covered",
        target: COVERAGE,
        count: |tally| covered(tally, Figure::StepHeight),
    },
    Promise {
        claim: "all blocks covered together",
        target: Target::AtLeast(0.93),
        count: |tally| covered(tally, Figure::Blocks),
    },
    Promise {
        claim: "twice the margin found, 10 trials, low noise",
        target: Target::AtLeast(0.90),
        count: |tally| {
            let twice = match tally.cell.truth.shape {
                Shape::Grows(_, growth) => growth < 1.0 + 1.5 * TWICE && growth > 1.0 + TWICE,
                Shape::Step(ratio, _) => (ratio - 1.2).abs() < 1e-9 || (ratio - 0.8).abs() < 1e-9,
                Shape::Falls(to) => (to - 0.8).abs() < 1e-9,
                _ => false,
            };
            (twice && ten_calm(tally)).then(|| tally.rate(tally.found()))
        },
    },
    Promise {
        claim: "step found within one block, 10 trials, low noise",
        target: Target::AtLeast(0.90),
        count: |tally| {
            let large =
                matches!(tally.cell.truth.shape, Shape::Step(ratio, _) if (ratio - 1.0).abs() > TWICE);
            (large && ten_calm(tally)).then(|| tally.rate(tally.steps_in_place))
        },
    },
    Promise {
        claim: "a system differs from itself",
        target: Target::AtMost(ERROR),
        count: |tally| (tally.cell.asked == Asked::Comparison(1.0)).then(|| tally.rate(tally.different())),
    },
    Promise {
        claim: "a system differs from itself, in pairs",
        target: Target::AtMost(ERROR),
        count: |tally| (tally.cell.asked == Asked::Pairs(1.0)).then(|| tally.rate(tally.different())),
    },
    Promise {
        claim: "three trials say what is not gross",
        target: Target::AtMost(0.0),
        count: |tally| {
            let small = tally.cell.truth.has_one_cost() && change(tally) < GROSS - 1.0;
            let asked = tally.is_verdict() && tally.cell.trials <= FEW && small;
            asked.then(|| tally.rate(tally.said(|class| class != Class::Inconclusive)))
        },
    },
];

/// The promises that `tallies` speak of.
pub fn table(tallies: &[Tally]) -> Vec<Row> {
    PROMISES.iter().filter_map(|promise| promise.row(tallies)).collect()
}

impl Promise {
    fn row(&self, tallies: &[Tally]) -> Option<Row> {
        let rates: Vec<(&Tally, Rate)> = tallies
            .iter()
            .filter_map(|tally| Some((tally, (self.count)(tally)?)))
            .filter(|(_, rate)| rate.of > 0)
            .collect();
        let (worst, worst_rate) = *rates
            .iter()
            .max_by(|a, b| self.target.excess(a.1.value()).total_cmp(&self.target.excess(b.1.value())))?;
        let all = rates.iter().fold(Rate::default(), |sum, (_, rate)| Rate {
            count: sum.count + rate.count,
            of: sum.of + rate.of,
        });
        let together = |rate: &Rate| rate.interval(ERROR / rates.len() as f64);
        let beyond = |(_, rate): &(&Tally, Rate)| !self.target.touches(together(rate));
        Some(Row {
            claim: self.claim,
            target: self.target,
            all,
            interval: all.interval(ERROR),
            cells: rates.len(),
            worst: worst.cell.name(),
            worst_rate,
            worst_interval: together(&worst_rate),
            standing: if rates.iter().any(beyond) || !self.target.touches(all.interval(ERROR)) {
                Standing::Missed
            } else if self.target.excess(all.value()) > 0.0 {
                Standing::Open
            } else {
                Standing::Kept
            },
        })
    }
}

impl Target {
    /// How far a rate is on the wrong side; 0 or less where it is not.
    fn excess(self, rate: f64) -> f64 {
        match self {
            Target::AtMost(most) => rate - most,
            Target::AtLeast(least) => least - rate,
            Target::Within(least, most) => (least - rate).max(rate - most),
        }
    }

    /// Whether an interval holds a rate that would do.
    fn touches(self, (low, high): (f64, f64)) -> bool {
        match self {
            Target::AtMost(most) => low <= most,
            Target::AtLeast(least) => high >= least,
            Target::Within(least, most) => low <= most && high >= least,
        }
    }
}

impl Rate {
    /// As a share.
    pub fn value(self) -> f64 {
        self.count as f64 / self.of.max(1) as f64
    }

    /// Its interval with this error rate (Wilson, JASA 22, 1927). Where things can happen more than once it
    /// is cut at one a replicate.
    pub fn interval(self, alpha: f64) -> (f64, f64) {
        let z = Normal::standard().inverse_cdf(1.0 - alpha / 2.0);
        let (share, of) = (self.value().min(1.0), self.of.max(1) as f64);
        let middle = share + z * z / (2.0 * of);
        let reach = z * (share * (1.0 - share) / of + z * z / (4.0 * of * of)).sqrt();
        let scale = 1.0 + z * z / of;
        // At 0 and 1 the ends are exact, and rounding must not move them.
        let low = if self.count == 0 { 0.0 } else { (middle - reach) / scale };
        let high = if share >= 1.0 { 1.0 } else { (middle + reach) / scale };
        (low, high)
    }
}

impl Tally {
    fn rate(&self, count: usize) -> Rate {
        Rate { count, of: self.replicates }
    }
}

fn flat(tally: &Tally) -> usize {
    tally.said(|class| class == Class::Flat)
}

fn many(tally: &Tally) -> bool {
    tally.is_verdict() && tally.cell.trials > FEW
}

fn ten_calm(tally: &Tally) -> bool {
    tally.is_verdict() && tally.cell.trials == 10 && tally.cell.noise == noises::LOW
}

/// The largest true change against the smallest n, as a share.
fn change(tally: &Tally) -> f64 {
    let (design, truth) = (tally.cell.design, &tally.cell.truth);
    let range = design.range();
    let sizes = design.sizes();
    sizes.iter().map(|n| truth.cost(*n as f64, range).ln().abs()).fold(0.0, f64::max).exp_m1()
}

/// Intervals are held to their promise where ten trials or more carry them, and where the truth has them: on
/// constants and lines of moderate growth, and at large steps.
fn covered(tally: &Tally, figure: Figure) -> Option<Rate> {
    let fit = match tally.cell.truth.shape {
        Shape::Constant => true,
        Shape::Grows(Term::Line, growth) => (1.4..=2.1).contains(&growth),
        Shape::Step(ratio, _) => (ratio - 1.0).abs() > TWICE,
        _ => false,
    };
    let (count, of) = tally.coverage(figure);
    // Ticks are wider than noise there, and bounds are no finer than a tick.
    let fine = tally.cell.noise.ticks >= noises::FINE;
    (fit && fine && tally.is_verdict() && tally.cell.trials >= 10).then_some(Rate { count, of })
}

#[cfg(test)]
mod tests {
    use stats::Answer;

    use super::*;
    use crate::cells::{Cell, all};
    use crate::replicate::{Answered, Outcome};
    use crate::tally::CLASSES;

    const REPLICATES: usize = 300;

    fn named(name: &str) -> Cell {
        all().into_iter().find(|cell| cell.name() == name).expect("a cell of this name")
    }

    /// What a judge comes to that answers so in the first `count` replicates, and `otherwise` in the rest.
    fn tally(name: &str, count: usize, answer: Answered, otherwise: Answered) -> Tally {
        let mut tally = Tally::of(&named(name));
        for replicate in 0..REPLICATES {
            let answer = if replicate < count { answer } else { otherwise };
            tally.count(&Outcome::answered(answer));
        }
        tally
    }

    fn class(name: &str, count: usize, word: Class) -> Tally {
        tally(name, count, Answered::Class(word), Answered::Class(Class::Inconclusive))
    }

    fn row(tally: &Tally, claim: &str) -> Row {
        let rows = table(std::slice::from_ref(tally));
        rows.into_iter().find(|row| row.claim.starts_with(claim)).expect("a row of this claim")
    }

    /// Whether the claim holds; what is open must not be asked here.
    fn kept(tally: &Tally, claim: &str) -> bool {
        let standing = row(tally, claim).standing;
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
        for wrong in CLASSES.into_iter().filter(|class| crate::tally::is_definite(*class)) {
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
        let mut tallies: Vec<Tally> = ["low", "high", "ar3", "ar6", "offsets", "t3", "gamma", "pareto"]
            .map(|noise| class(&format!("constant/{noise}/log20/10"), 0, Class::Flat))
            .to_vec();
        assert!(
            table(&tallies)
                .iter()
                .filter(|row| row.claim.starts_with("wrong"))
                .all(|row| row.standing == Standing::Kept)
        );
        tallies.push(class("constant/ar9/log20/10", 36, Class::Stepped));
        let rows = table(&tallies);
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
    fn steps_and_lines_that_are_not_there_are_caught() {
        let with = |found: Outcome| {
            let mut tally = class("line-2.00/low/log20/10", 0, Class::Flat);
            (0..30).for_each(|_| tally.count(&found));
            tally
        };
        let plain = Outcome::answered(Answered::Class(Class::Inconclusive));
        assert!(!kept(&with(Outcome { steps: 1, ..plain.clone() }), "false steps"));
        assert!(!kept(&with(Outcome { lines: true, ..plain.clone() }), "false two lines"));
        assert!(kept(&with(plain.clone()), "false steps"));
        assert!(kept(&with(plain), "false two lines"));
    }

    #[test]
    fn steps_that_are_not_found_are_caught() {
        let plain = Outcome::answered(Answered::Class(Class::Stepped));
        let with = |count: usize| {
            let mut tally = Tally::of(&named("step+30-0.6/low/log20/10"));
            for replicate in 0..REPLICATES {
                tally.count(&Outcome { steps_in_place: Some(replicate < count), ..plain.clone() });
            }
            kept(&tally, "step found")
        };
        assert!(with(280));
        assert!(!with(240));
    }

    #[test]
    fn intervals_that_are_too_narrow_or_too_wide_are_caught() {
        let with = |held: usize| {
            let mut tally = Tally::of(&named("line-2.00/low/dense/40"));
            for replicate in 0..REPLICATES {
                let covered = [Some(replicate < held); 7];
                tally.count(&Outcome { covered, ..Outcome::answered(Answered::Class(Class::LinearLike)) });
            }
            tally
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
                    tally(name, count, Answered::Answer(answer), Answered::Answer(Answer::Equivalent))
                };
                assert!(kept(&with(10), "a system differs"));
                assert!(!kept(&with(40), "a system differs"));
            }
        }
    }

    #[test]
    fn three_trials_that_say_anything_are_caught() {
        assert!(kept(&class("constant/low/log20/3", 0, Class::Flat), "three"));
        assert!(!kept(&class("constant/low/log20/3", 1, Class::Flat), "three"));
        let gross = table(&[class("line-5.00/low/log20/3", 300, Class::LinearLike)]);
        assert!(gross.iter().all(|row| !row.claim.starts_with("three")));
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
        let tallies: Vec<Tally> = all()
            .iter()
            .map(|cell| {
                let mut tally = Tally::of(cell);
                let covered = [Some(true); 7];
                tally.count(&Outcome { covered, ..Outcome::answered(Answered::Class(Class::Flat)) });
                tally
            })
            .collect();
        let claims: Vec<&str> = table(&tallies).iter().map(|row| row.claim).collect();
        assert_eq!(claims.len(), PROMISES.len(), "{claims:?}");
    }
}
