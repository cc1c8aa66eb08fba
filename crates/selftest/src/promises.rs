//! The promises of verdicts and comparisons: error rates, coverage of intervals, and power.

use stats::Class;

use crate::cells::{Asked, GROSS_RATIO, TruthCell};
use crate::counts::CellCounts;
use crate::counts::JudgedFigure;
use crate::noises::{self, BOOT_TRIALS};
use crate::rate::{Rate, RateTarget};
use crate::truths::{MARGIN, ONE, Term, TrueShape};

/// One promise.
pub(crate) struct Promise {
    /// The claim that is counted.
    pub(crate) claim: &'static str,
    /// The target of the rate.
    pub(crate) target: RateTarget,
    /// The count in a cell; `None` where the promise does not apply to it.
    pub(crate) count: fn(&CellCounts) -> Option<Rate>,
}

/// The common error rate.
pub(crate) const ERROR: f64 = 0.05;
const COVERAGE: RateTarget = RateTarget::Within(0.93, 0.97);
/// The fewest trials that can show an effect.
const FEW: usize = 3;
/// Two or three trials may name an effect of this factor.
const GROSS: f64 = 2.0;
/// A machine that keeps its state for so many trials is the same for both trials of a pair.
const STEADY: f64 = 200.0;
/// Effects of twice the margin and more are to be found.
const TWICE: f64 = 2.0 * MARGIN - 1e-9;

/// All promises, in the order of the table.
pub(crate) const PROMISES: &[Promise] = &[
    Promise {
        claim: "called flat, where growth is exactly the margin",
        target: RateTarget::AtMost(ERROR),
        count: |counts| {
            let exact = match counts.cell.truth.shape {
                TrueShape::Margin(_) => true,
                TrueShape::Step(ratio, _) => (ratio - 1.0 - MARGIN).abs() < 1e-9,
                _ => false,
            };
            (exact && many(counts) && !grows_unnoticed(counts)).then(|| counts.rate(flat(counts)))
        },
    },
    Promise {
        claim: "called flat, a line of exactly the margin, 40 trials",
        target: RateTarget::AtMost(ERROR),
        count: |counts| {
            let asked = counts.cell.truth.shape == TrueShape::Margin(Term::Line) && counts.cell.trials == 40;
            (asked && !grows_unnoticed(counts)).then(|| counts.rate(flat(counts)))
        },
    },
    Promise {
        claim: "called flat, a line of 12 %, 40 trials",
        target: RateTarget::AtMost(ERROR),
        count: |counts| {
            let asked = counts.cell.truth.shape == TrueShape::Grows(Term::Line, 1.12);
            asked.then(|| counts.rate(flat(counts)))
        },
    },
    Promise {
        claim: "called flat within less than the true change",
        target: RateTarget::AtMost(ERROR),
        count: |counts| {
            let change = change(counts);
            let near = change > 0.0 && change <= TWICE && counts.cell.truth.has_one_cost();
            (near && many(counts) && !grows_unnoticed(counts)).then(|| counts.rate(counts.flat_within_less))
        },
    },
    Promise {
        claim: "called flat, where all references grow by the margin too",
        target: RateTarget::AtMost(ERROR),
        count: |counts| {
            let margin = matches!(counts.cell.truth.shape, TrueShape::Margin(_));
            let asked = margin && counts.cell.noise == noises::SLOWING;
            asked.then(|| counts.rate(flat(counts)))
        },
    },
    Promise {
        claim: "called flat, beyond the growth that references can hide",
        target: RateTarget::AtMost(ERROR),
        count: |counts| {
            let asked = counts.is_verdict() && counts.cell.noise.references.is_some();
            (asked && change(counts) > 0.0).then(|| counts.rate(counts.flat_beyond_hidden))
        },
    },
    Promise {
        claim: "bound more than a tenth above that without references",
        target: RateTarget::AtMost(ERROR),
        count: |counts| {
            let (within, of) = counts.bound_within(1.1);
            (of > 0 && with_flat_references(counts)).then_some(Rate { count: of - within, of })
        },
    },
    Promise {
        claim: "bound at most 0.7 of that without, common noise, 10 trials or more",
        target: RateTarget::AtLeast(0.75),
        count: |counts| {
            let (count, of) = counts.bound_within(0.7);
            let constant = counts.cell.truth.shape == TrueShape::Constant;
            let asked = constant && counts.cell.noise == noises::COMMON && counts.cell.trials >= 10;
            asked.then_some(Rate { count, of })
        },
    },
    Promise {
        claim: "constant called flat, common noise, 40 trials",
        target: RateTarget::AtLeast(0.80),
        count: |counts| {
            let TruthCell { noise, trials, .. } = counts.cell;
            let constant = counts.cell.truth.shape == TrueShape::Constant;
            (constant && noise == noises::COMMON && trials == 40).then(|| counts.rate(flat(counts)))
        },
    },
    Promise {
        claim: "wrong family, noise independent or AR(1) to 0.6",
        target: RateTarget::AtMost(0.01),
        count: |counts| {
            let noises = [noises::LOW, noises::HIGH, noises::AR3, noises::AR6, noises::AR6_HIGH];
            (counts.is_verdict() && noises.contains(&counts.cell.noise)).then(|| counts.rate(counts.wrong()))
        },
    },
    Promise {
        claim: "wrong family, any noise",
        target: RateTarget::AtMost(ERROR),
        count: |counts| inside(counts).then(|| counts.rate(counts.wrong())),
    },
    Promise {
        claim: "false limit, step, shape or direction, outside the families",
        target: RateTarget::AtMost(0.01),
        count: |counts| outside(counts).then(|| counts.rate(counts.false_verdicts)),
    },
    Promise {
        claim: "direction stated with bounds, outside the families, quiet",
        target: RateTarget::AtLeast(0.80),
        count: |counts| {
            let quiet = counts.cell.noise == noises::POINTS;
            (outside(counts) && quiet).then(|| counts.rate(counts.directions))
        },
    },
    Promise {
        claim: "false steps per curve",
        target: RateTarget::AtMost(0.05),
        count: |counts| {
            let none = inside(counts) && counts.cell.truth.steps(counts.cell.design.range()).is_empty();
            none.then(|| counts.rate(counts.steps))
        },
    },
    Promise {
        claim: "false two lines",
        target: RateTarget::AtMost(0.02),
        count: |counts| {
            let one = inside(counts) && !matches!(counts.cell.truth.shape, TrueShape::TwoLines(..));
            one.then(|| counts.rate(counts.lines))
        },
    },
    Promise {
        claim: "growth covered",
        target: COVERAGE,
        count: |counts| covered(counts, JudgedFigure::Growth),
    },
    Promise {
        claim: "growth covered, a cost that rises most near the largest n",
        target: RateTarget::AtLeast(0.93),
        count: |counts| {
            let (count, of) = counts.coverage(JudgedFigure::SteepEnd);
            (of > 0).then_some(Rate { count, of })
        },
    },
    Promise {
        claim: "marginal cost covered, lines",
        target: COVERAGE,
        count: |counts| covered(counts, JudgedFigure::MarginalCost),
    },
    Promise {
        claim: "doubling size covered, lines",
        target: COVERAGE,
        count: |counts| covered(counts, JudgedFigure::DoublingSize),
    },
    Promise {
        claim: "place of a step covered",
        target: RateTarget::AtLeast(0.93),
        count: |counts| covered(counts, JudgedFigure::StepPlace),
    },
    Promise {
        claim: "height of a step covered",
        target: COVERAGE,
        count: |counts| covered(counts, JudgedFigure::StepHeight),
    },
    Promise {
        claim: "all blocks covered together",
        target: RateTarget::AtLeast(0.93),
        count: |counts| covered(counts, JudgedFigure::Blocks),
    },
    Promise {
        claim: "twice the margin found, 10 trials, low noise",
        target: RateTarget::AtLeast(0.90),
        count: |counts| {
            let twice = match counts.cell.truth.shape {
                TrueShape::Grows(_, growth) => growth < 1.0 + 1.5 * TWICE && growth > 1.0 + TWICE,
                TrueShape::Step(ratio, _) => (ratio - 1.2).abs() < 1e-9 || (ratio - 0.8).abs() < 1e-9,
                TrueShape::Falls(to) => (to - 0.8).abs() < 1e-9,
                _ => false,
            };
            (twice && ten_calm(counts)).then(|| counts.rate(counts.found()))
        },
    },
    Promise {
        claim: "step found within one block, 10 trials, low noise",
        target: RateTarget::AtLeast(0.90),
        count: |counts| {
            let large =
                matches!(counts.cell.truth.shape, TrueShape::Step(ratio, _) if (ratio - 1.0).abs() > TWICE);
            (large && ten_calm(counts)).then(|| counts.rate(counts.steps_in_place))
        },
    },
    Promise {
        claim: "line of half or more named, 10 trials, high noise",
        target: RateTarget::AtLeast(0.90),
        count: |counts| {
            let line =
                matches!(counts.cell.truth.shape, TrueShape::Grows(Term::Line, growth) if growth >= 1.5);
            let noisy = counts.cell.noise == noises::HIGH && counts.cell.trials == 10;
            (line && noisy && counts.is_verdict()).then(|| counts.rate(counts.right()))
        },
    },
    Promise {
        claim: "a system called different from itself",
        target: RateTarget::AtMost(ERROR),
        count: |counts| {
            (counts.cell.asked == Asked::Comparison(1.0)).then(|| counts.rate(counts.different()))
        },
    },
    Promise {
        claim: "a system called different from itself, in pairs",
        target: RateTarget::AtMost(ERROR),
        count: |counts| (counts.cell.asked == Asked::Pairs(1.0)).then(|| counts.rate(counts.different())),
    },
    Promise {
        claim: "a system called different from itself, over boots",
        target: RateTarget::AtMost(ERROR),
        count: |counts| {
            let same = matches!(counts.cell.asked, Asked::Boots { ratio: 1.0, .. });
            same.then(|| counts.rate(counts.different()))
        },
    },
    Promise {
        claim: "three boots called different or equivalent",
        target: RateTarget::AtMost(0.0),
        count: |counts| {
            let few = counts.cell.trials == 3 * BOOT_TRIALS;
            let same = matches!(counts.cell.asked, Asked::Boots { ratio: 1.0, .. });
            (few && same).then(|| counts.rate(counts.resolved()))
        },
    },
    Promise {
        claim: "mean over runs of one system differs from 1, shared noise",
        target: RateTarget::AtMost(ERROR),
        count: |counts| mean_of(counts, false).then(|| counts.rate(counts.different())),
    },
    Promise {
        claim: "mean over pairs of one system differs from 1, shared noise",
        target: RateTarget::AtMost(ERROR),
        count: |counts| mean_of(counts, true).then(|| counts.rate(counts.different())),
    },
    Promise {
        claim: "a race of equals with a difference, 2 to 10 trials",
        target: RateTarget::AtMost(ERROR),
        count: |counts| {
            let same = matches!(counts.cell.asked, Asked::Race { ratio: 1.0, .. });
            same.then(|| counts.rate(counts.different()))
        },
    },
    Promise {
        claim: "28 times the cost found in all series of a race, 2 or 3 trials",
        target: RateTarget::AtLeast(0.90),
        count: |counts| {
            let far = matches!(counts.cell.asked, Asked::Race { ratio: GROSS_RATIO, .. });
            far.then(|| counts.rate(counts.different()))
        },
    },
    Promise {
        claim: "a build without a change fails, 28 series",
        target: RateTarget::AtMost(0.005),
        count: |counts| {
            let same = matches!(counts.cell.asked, Asked::Build { ratio: 1.0, .. });
            same.then(|| counts.rate(counts.builds.is_false))
        },
    },
    Promise {
        claim: "5 % in one of 28 series found in 10 pairs",
        target: RateTarget::AtLeast(0.95),
        count: |counts| {
            let Asked::Build { ratio, in_pairs: true, machine } = counts.cell.asked else { return None };
            let steady = machine.lasting >= STEADY || machine.spread == 0.0;
            (ratio > 1.0 && steady).then(|| counts.rate(counts.builds.found))
        },
    },
    Promise {
        claim: "a build with a change of 5 % passes",
        target: RateTarget::AtMost(ERROR),
        count: |counts| {
            let changed = matches!(counts.cell.asked, Asked::Build { ratio, .. } if ratio > 1.0);
            changed.then(|| counts.rate(counts.builds.passed))
        },
    },
    Promise {
        claim: "cost at one n covered",
        target: RateTarget::AtLeast(0.93),
        count: |cell| {
            let (count, of) = cell.coverage(JudgedFigure::Value);
            (of > 0).then_some(Rate { count, of })
        },
    },
    Promise {
        claim: "cost at one n known to 5 %, 20 trials, low noise",
        target: RateTarget::AtLeast(0.90),
        count: |counts| {
            let TruthCell { design, noise, trials, .. } = counts.cell;
            let asked = design == ONE && noise == noises::LOW && trials == 20;
            asked.then(|| counts.rate(counts.said(|class| class == Class::Value)))
        },
    },
    Promise {
        claim: "verdict on less than a gross change, 2 or 3 trials",
        target: RateTarget::AtMost(0.0),
        count: |counts| {
            let small = counts.cell.truth.has_one_cost() && change(counts) < GROSS - 1.0;
            let asked = counts.is_verdict() && counts.cell.trials <= FEW && small;
            asked.then(|| counts.rate(counts.said(|class| class != Class::Inconclusive)))
        },
    },
];

impl CellCounts {
    fn rate(&self, count: usize) -> Rate {
        Rate { count, of: self.replicates }
    }
}

fn flat(counts: &CellCounts) -> usize {
    counts.said(|class| class == Class::Flat)
}

/// Whether the cell is a verdict on a cost that belongs to a family.
fn inside(counts: &CellCounts) -> bool {
    counts.is_verdict() && !counts.cell.truth.is_outside()
}

fn outside(counts: &CellCounts) -> bool {
    counts.cell.truth.is_outside()
}

fn many(counts: &CellCounts) -> bool {
    counts.is_verdict() && counts.cell.trials > FEW
}

/// Whether no reference depends on n. One that does changes the verdict, and has its own promises.
fn with_flat_references(counts: &CellCounts) -> bool {
    counts.cell.noise.references.is_none_or(|references| references.are_flat())
}

/// Whether references grow by so little that the trials rarely show it.
fn grows_unnoticed(counts: &CellCounts) -> bool {
    counts.cell.noise == noises::SLOWING_LITTLE
}

fn mean_of(counts: &CellCounts, pairs: bool) -> bool {
    matches!(counts.cell.asked, Asked::Mean { in_pairs, .. } if in_pairs == pairs)
}

fn ten_calm(counts: &CellCounts) -> bool {
    counts.is_verdict() && counts.cell.trials == 10 && counts.cell.noise == noises::LOW
}

/// The largest true change against the smallest n, as a share.
fn change(counts: &CellCounts) -> f64 {
    let (design, truth) = (counts.cell.design, &counts.cell.truth);
    let range = design.range();
    let sizes = design.sizes();
    sizes.iter().map(|n| truth.cost(*n as f64, range).ln().abs()).fold(0.0, f64::max).exp_m1()
}

/// Intervals are checked with ten trials or more, and where the truth has the figure: on constants and lines
/// of moderate growth, and at large steps.
fn covered(counts: &CellCounts, figure: JudgedFigure) -> Option<Rate> {
    let fit = match counts.cell.truth.shape {
        TrueShape::Constant => true,
        TrueShape::Grows(Term::Line, growth) => (1.4..=2.1).contains(&growth),
        TrueShape::Step(ratio, _) => (ratio - 1.0).abs() > TWICE,
        _ => false,
    };
    let (count, of) = counts.coverage(figure);
    // Ticks are wider than noise there, and bounds are no finer than a tick.
    let fine = counts.cell.noise.ticks >= noises::FINE;
    (fit && fine && with_flat_references(counts) && counts.is_verdict() && counts.cell.trials >= 10)
        .then_some(Rate { count, of })
}
