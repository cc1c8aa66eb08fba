//! The outcome of one replicate of a cell.

use stats::{Answer, Class};

use crate::builds::BuildOutcome;
use crate::claims::FalseClaims;
use crate::rivals::Rivals;

/// The answer, compared with the truth.
#[derive(Clone, Debug, PartialEq)]
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
    /// What gates make of a build; `None` of everything else.
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
        ReplicateOutcome {
            answer,
            bound: f64::NAN,
            bound_without: None,
            flat_within_less: false,
            flat_beyond_hidden: false,
            steps: 0,
            lines: false,
            steps_in_place: None,
            covered: [None; FIGURES],
            claims: None,
            states_direction: false,
            rivals: None,
            build: None,
        }
    }
}
