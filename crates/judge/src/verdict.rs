//! What a verdict supports beside its class.

use stats::{Block, Verdict};

/// A growth from here on is described by its largest jump, where no step is shown.
const GROSS: f64 = 10.0;
/// The ends of a range of n that is reported as one place are at most this factor apart.
const NARROW: f64 = 1.1;
/// Exponents of n between which a cost is called linear.
pub const LINEAR: [f64; 2] = [0.9, 1.1];
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

/// The ranges of n before and after the largest jump, when it is most of a gross growth and no step is
/// shown. It lies within three neighbours, because a cliff may lie inside the middle one, or in a narrow
/// range of n: where a cost is steep its ranges are many and narrow.
pub fn gross_jump(verdict: &Verdict) -> Option<[&Block; 2]> {
    if !verdict.steps.is_empty() || verdict.growth.value.is_nan() || verdict.growth.value < GROSS {
        return None;
    }
    let rise = |[before, after]: [&Block; 2]| (after.cost.value / before.cost.value).ln();
    let is_most = |pair: &[&Block; 2]| rise(*pair) >= verdict.growth.value.ln() / 2.0;
    let width = |[before, after]: [&Block; 2]| after.n_low as f64 / before.n_high as f64;
    let blocks = &verdict.blocks;
    let neighbours = blocks.windows(3).map(|three| [&three[0], &three[2]]);
    let neighbours = neighbours.max_by(|a, b| rise(*a).total_cmp(&rise(*b))).filter(is_most);
    let narrow = || {
        let pairs = (0..blocks.len())
            .flat_map(|place| blocks[place..].iter().map(move |after| [&blocks[place], after]));
        let pairs = pairs.filter(|pair| width(*pair) > 1.0 && width(*pair) <= NARROW && is_most(pair));
        pairs.min_by(|a, b| width(*a).total_cmp(&width(*b)))
    };
    neighbours.or_else(narrow)
}
