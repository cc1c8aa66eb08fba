//! The outcome of one replicate of a cell, and the counts of all.

use stats::{Answer, Class};

use crate::cells::{Asked, TruthCell};
use crate::outside::FalseClaims;
use crate::rivals::{Complexity, Rivals};
use crate::suites::BuildOutcome;
use crate::truths::{Term, TrueShape};

/// The answer, compared with the truth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplicateOutcome {
    /// The answer; `None` when there was nothing to judge.
    pub answer: Option<Answered>,
    /// The upper bound of the change.
    pub bound: f64,
    /// The same without the references; `None` where there are none.
    pub bound_without: Option<f64>,
    /// Whether it is called flat within less than the true change.
    pub flat_within_less: bool,
    /// The same, although the change exceeds the bound by more than the references could hide.
    pub flat_beyond_hidden: bool,
    /// Steps found.
    pub steps: usize,
    /// Whether two lines were found.
    pub lines: bool,
    /// Whether every true step was found within one block; `None` where there is none.
    pub steps_in_place: Option<bool>,
    /// Whether each interval of [`JudgedFigure`] holds the truth; `None` where there is no truth.
    pub covered: [Option<bool>; FIGURES],
    /// The false claims about a curve outside the families; `None` for others.
    pub claims: Option<FalseClaims>,
    /// Whether the direction of such a curve was stated.
    pub states_direction: bool,
    /// The results of other rules on the same measurements.
    pub rivals: Option<Rivals>,
    /// The outcome of gates for a build; `None` for everything else.
    pub build: Option<BuildOutcome>,
}

/// The word of a verdict or of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// Of one series.
    Class(Class),
    /// Of two systems.
    Answer(Answer),
}

/// A figure with an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgedFigure {
    /// [`stats::Verdict::growth`]
    Growth,
    /// [`stats::Verdict::marginal_cost`]
    MarginalCost,
    /// [`stats::Verdict::doubling_size`]
    DoublingSize,
    /// [`stats::Step::n_low`] to [`stats::Step::n_high`]
    StepPlace,
    /// [`stats::Block::relative`], all together
    Blocks,
    /// [`stats::SeriesComparison::ratio`]
    Ratio,
    /// [`stats::Step::ratio`]
    StepHeight,
    /// [`stats::Verdict::cost_low`], where there is one n only
    Value,
    /// [`stats::Verdict::growth`] of a cost that rises most near the largest n.
    SteepEnd,
}

/// How many there are.
pub(crate) const FIGURES: usize = JudgedFigure::SteepEnd as usize + 1;

/// One figure, and whether its interval holds the truth.
pub(crate) fn only(figure: JudgedFigure, holds: Option<bool>) -> [Option<bool>; FIGURES] {
    let mut covered = [None; FIGURES];
    covered[figure as usize] = holds;
    covered
}

impl ReplicateOutcome {
    /// This answer, and nothing else found.
    pub fn answered(answer: Answered) -> ReplicateOutcome {
        ReplicateOutcome::new(Some(answer))
    }

    pub(crate) fn new(answer: Option<Answered>) -> ReplicateOutcome {
        ReplicateOutcome { answer, bound: f64::NAN, ..ReplicateOutcome::default() }
    }
}

/// Counts over the replicates of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct CellCounts {
    /// The cell.
    pub cell: TruthCell,
    /// How often.
    pub replicates: usize,
    /// How often each word was said, in the order of [`CLASSES`].
    pub classes: [usize; CLASSES.len()],
    /// How often each answer was given, in the order of `ANSWERS`.
    pub answers: [usize; 5],
    /// The upper bounds of the change.
    pub bounds: Vec<f64>,
    /// The same without the references; empty where there are none.
    pub bounds_without: Vec<f64>,
    /// How often flat was said with a bound below the true change.
    pub flat_within_less: usize,
    /// How often the change exceeded that by more than references could hide.
    pub flat_beyond_hidden: usize,
    /// Steps found in all.
    pub steps: usize,
    /// How often two lines were found.
    pub lines: usize,
    /// How often every true step was found within a block.
    pub steps_in_place: usize,
    /// How often each interval held the truth, of how many; in the order of [`JudgedFigure`].
    pub covered: [(usize, usize); FIGURES],
    /// How many verdicts on curves outside the families claim a false limit, step, shape and direction.
    pub false_claims: [usize; 4],
    /// How many of these verdicts claim anything false.
    pub false_verdicts: usize,
    /// How many state the direction with bounds.
    pub directions: usize,
    /// The results of other rules.
    pub rivals: RivalCounts,
    /// The outcomes of gates for builds.
    pub builds: BuildCounts,
}

/// Counts of builds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuildCounts {
    /// The changed series failed.
    pub found: usize,
    /// Another series failed.
    pub is_false: usize,
    /// All series passed.
    pub passed: usize,
    /// The t-test, the threshold and benchstat's rule failed the build.
    pub others: [usize; 3],
}

/// Counts of the results of other rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RivalCounts {
    /// google/benchmark: not O(1).
    pub complexity_grows: usize,
    /// google/benchmark: the true complexity, where it has one.
    pub complexity_right: usize,
    /// Log-log slope: not 0.
    pub slope_differs: usize,
    /// t-test: a difference.
    pub t_test_differs: usize,
}

/// Every word of a verdict.
pub const CLASSES: [Class; 14] = [
    Class::Value,
    Class::Flat,
    Class::SmallGrowth,
    Class::Sublinear,
    Class::LinearLike,
    Class::Superlinear,
    Class::ApproachingLimit,
    Class::Stepped,
    Class::TwoLines,
    Class::Decreasing,
    Class::Composite,
    Class::Ambiguous,
    Class::Uneven,
    Class::Inconclusive,
];

/// Every answer of a comparison.
const ANSWERS: [Answer; 5] =
    [Answer::Faster, Answer::Slower, Answer::DifferentButSmall, Answer::Equivalent, Answer::Unresolved];

/// Whether a word names one family: it can be wrong.
pub(crate) fn is_definite(class: Class) -> bool {
    use Class::{Ambiguous, Composite, Flat, Inconclusive, SmallGrowth, Uneven, Value};
    !matches!(class, Value | Flat | SmallGrowth | Composite | Ambiguous | Uneven | Inconclusive)
}

impl CellCounts {
    /// Nothing counted yet.
    pub fn new(cell: &TruthCell) -> CellCounts {
        CellCounts {
            cell: cell.clone(),
            replicates: 0,
            classes: [0; CLASSES.len()],
            answers: [0; 5],
            bounds: Vec::new(),
            bounds_without: Vec::new(),
            flat_within_less: 0,
            flat_beyond_hidden: 0,
            steps: 0,
            lines: 0,
            steps_in_place: 0,
            covered: [(0, 0); FIGURES],
            false_claims: [0; 4],
            false_verdicts: 0,
            directions: 0,
            rivals: RivalCounts::default(),
            builds: BuildCounts::default(),
        }
    }

    /// Counts one replicate.
    pub fn count(&mut self, outcome: &ReplicateOutcome) {
        self.replicates += 1;
        match outcome.answer {
            Some(Answered::Class(class)) => {
                for (count, word) in self.classes.iter_mut().zip(CLASSES) {
                    *count += usize::from(word == class);
                }
                self.bounds.push(outcome.bound);
                self.bounds_without.extend(outcome.bound_without);
            }
            Some(Answered::Answer(answer)) => {
                for (count, word) in self.answers.iter_mut().zip(ANSWERS) {
                    *count += usize::from(word == answer);
                }
            }
            None => {}
        }
        self.flat_within_less += usize::from(outcome.flat_within_less);
        self.flat_beyond_hidden += usize::from(outcome.flat_beyond_hidden);
        self.steps += outcome.steps;
        self.lines += usize::from(outcome.lines);
        self.steps_in_place += usize::from(outcome.steps_in_place == Some(true));
        for ((held, of), covered) in self.covered.iter_mut().zip(outcome.covered) {
            *held += usize::from(covered == Some(true));
            *of += usize::from(covered.is_some());
        }
        if let Some(claims) = outcome.claims {
            let FalseClaims { limit, step, shape, direction } = claims;
            for (count, claim) in self.false_claims.iter_mut().zip([limit, step, shape, direction]) {
                *count += usize::from(claim);
            }
            self.false_verdicts += usize::from(claims.any());
            self.directions += usize::from(outcome.states_direction);
        }
        if let Some(build) = outcome.build {
            self.builds.found += usize::from(build.is_found);
            self.builds.is_false += usize::from(build.is_false);
            self.builds.passed += usize::from(build.is_passed);
            let others = self.builds.others.iter_mut().zip(build.others);
            others.for_each(|(count, fails)| *count += usize::from(fails));
        }
        if let Some(rivals) = outcome.rivals {
            let grows = rivals.complexity.is_some_and(|complexity| complexity != Complexity::Constant);
            let right = rivals.complexity.is_some() && rivals.complexity == complexity(self.cell.truth.shape);
            self.rivals.complexity_grows += usize::from(grows);
            self.rivals.complexity_right += usize::from(right);
            self.rivals.slope_differs += usize::from(rivals.slope == Some(true));
            self.rivals.t_test_differs += usize::from(rivals.t_test);
        }
    }

    /// The middle one of the bounds; with two or three trials a mean would be that of the largest.
    pub fn bound(&self) -> f64 {
        middle(&self.bounds)
    }

    /// The same without the references; NaN where there are none.
    pub(crate) fn bound_without(&self) -> f64 {
        middle(&self.bounds_without)
    }

    /// How often the bound was at most so many times that without references, of how many.
    pub(crate) fn bound_within(&self, times: f64) -> (usize, usize) {
        let pairs = self.bounds.iter().zip(&self.bounds_without);
        let within = pairs.clone().filter(|(with, without)| **with <= times * **without).count();
        (within, pairs.count())
    }

    /// How often one of these words was said.
    pub fn said(&self, wanted: impl Fn(Class) -> bool) -> usize {
        self.classes.iter().zip(CLASSES).filter(|(_, class)| wanted(*class)).map(|(count, _)| count).sum()
    }

    /// How often a family was named that is not the truth.
    pub fn wrong(&self) -> usize {
        if self.cell.truth.is_outside() {
            return self.false_verdicts;
        }
        self.said(|class| is_definite(class) && !self.cell.truth.right.contains(&class))
    }

    /// How often a right word was said.
    pub fn right(&self) -> usize {
        self.said(|class| self.cell.truth.right.contains(&class))
    }

    /// How often a change was found: neither flat nor inconclusive.
    pub fn found(&self) -> usize {
        self.said(|class| !matches!(class, Class::Flat | Class::Inconclusive))
    }

    /// How often two systems were called different.
    pub fn different(&self) -> usize {
        self.answers[..3].iter().sum()
    }

    /// How often there was a verdict on the difference of two systems.
    pub(crate) fn resolved(&self) -> usize {
        self.answers[..4].iter().sum()
    }

    /// How often an interval held the truth, of how many.
    pub(crate) fn coverage(&self, figure: JudgedFigure) -> (usize, usize) {
        self.covered[figure as usize]
    }

    /// Whether a verdict was wanted.
    pub(crate) fn is_verdict(&self) -> bool {
        self.cell.asked == Asked::Verdict
    }
}

fn middle(bounds: &[f64]) -> f64 {
    let mut bounds = bounds.to_vec();
    bounds.sort_unstable_by(f64::total_cmp);
    bounds.get(bounds.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The right result of google/benchmark.
fn complexity(shape: TrueShape) -> Option<Complexity> {
    match shape {
        TrueShape::Grows(Term::Log, _) => Some(Complexity::Log),
        TrueShape::Grows(Term::Line, _) => Some(Complexity::Line),
        TrueShape::Grows(Term::LineLog, _) => Some(Complexity::LineLog),
        TrueShape::Grows(Term::Square, _) => Some(Complexity::Square),
        TrueShape::Constant => Some(Complexity::Constant),
        _ => None,
    }
}
