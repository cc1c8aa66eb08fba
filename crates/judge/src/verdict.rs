//! What a verdict supports beside its class.

use stats::{Block, Verdict};

/// A growth from here on is described by its largest jump, where no step is shown.
const GROSS: f64 = 10.0;
/// A bound from fewer trials says nothing: no class but inconclusive needs fewer ([`stats::judge`]).
const TRIALS_BOUND: usize = 4;
/// Neighbours lie on the same line so often: below the first it is chance, from the second on a trial keeps
/// to its line.
const BY_CHANCE: f64 = 0.6;
const KEPT: f64 = 0.95;

/// How measurements choose between two lines or modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alternation {
    /// At random, call by call.
    CallByCall,
    /// They stay with one for a while.
    ForAWhile,
    /// Each trial keeps to one.
    KeptByTrial,
}

/// How measurements choose, of which neighbours make the same choice so often.
pub fn alternation(persistence: f64) -> Alternation {
    match persistence {
        p if p >= KEPT => Alternation::KeptByTrial,
        p if p > BY_CHANCE => Alternation::ForAWhile,
        _ => Alternation::CallByCall,
    }
}

/// The bound of the change, where there are trials enough to know how they differ.
pub fn known_bound(verdict: &Verdict) -> Option<f64> {
    (verdict.trials >= TRIALS_BOUND && verdict.bound.is_finite()).then_some(verdict.bound)
}

/// The ranges of n before and after the largest jump within three neighbours, when it is most of a gross
/// growth and no step is shown. Three, because a cliff may lie inside the middle one.
pub fn gross_jump(verdict: &Verdict) -> Option<[&Block; 2]> {
    if !verdict.steps.is_empty() || verdict.growth.value.is_nan() || verdict.growth.value < GROSS {
        return None;
    }
    let step = |blocks: &[Block]| (blocks[2].cost.value / blocks[0].cost.value).ln();
    let three = verdict.blocks.windows(3).max_by(|a, b| step(a).total_cmp(&step(b)))?;
    let [before, _, after] = three else { return None };
    (step(three) >= verdict.growth.value.ln() / 2.0).then_some([before, after])
}
