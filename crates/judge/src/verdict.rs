//! The statements that a verdict supports beside its class.

use record::Unit;
use serde::Serialize;
use stats::{Asymptote, Block, Class, Interval, LocalExponent, Segment, Step, Verdict};

/// A growth from here on is described by its largest jump, where no step is shown.
const GROSS: f64 = 10.0;
/// The ends of a range of n that is reported as one place are at most this factor apart.
const NARROW: f64 = 1.1;
/// Exponents of n between which a cost is called linear.
pub const LINEAR: [f64; 2] = [0.9, 1.1];
/// A bound from fewer trials means nothing: only inconclusive needs fewer ([`stats::judge`]).
const TRIALS_BOUND: usize = 4;
/// The persistence of neighbours on one line: below the first value it is chance, from the second on a trial
/// keeps to its line.
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

/// How measurements choose, from the persistence of neighbours.
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

/// The direction of a cost whose largest change and whose end agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trend {
    /// It ends higher than it begins.
    Grows,
    /// It ends lower than it begins.
    Falls,
    /// Its end and its largest change disagree.
    Changes,
}

/// The direction of a cost.
pub fn trend(verdict: &Verdict) -> Trend {
    match (verdict.peak < 0.0, verdict.growth.value < 1.0) {
        (true, true) => Trend::Falls,
        (false, false) => Trend::Grows,
        _ => Trend::Changes,
    }
}

/// A change that the next step reverses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Detour {
    /// The cost falls and comes back.
    Dent,
    /// The cost rises and comes back.
    Hump,
}

/// Two steps, each in logarithms; the second reverses most of the first.
pub fn detour(steps: &[Step]) -> Option<Detour> {
    let [one, two] = steps else { return None };
    let (one, two) = (one.ratio.value.ln(), two.ratio.value.ln());
    let is_undone = one * two < 0.0 && (one + two).abs() <= one.abs().min(two.abs()) / 3.0;
    is_undone.then_some(if one < 0.0 { Detour::Dent } else { Detour::Hump })
}

/// Whether there are measurements beyond the place of a limit: then there is no limit, and the cost only rose
/// as if towards one.
pub fn is_passed(limit: Asymptote, verdict: &Verdict) -> bool {
    limit.n.value < verdict.n_high as f64
}

/// Whether the exponent agrees with a line: it may be 1, or is practically 1.
pub fn is_line(verdict: &Verdict) -> bool {
    verdict.exponent.is_none_or(|Interval { low, high, .. }| {
        low <= 1.0 && high >= 1.0 || low >= LINEAR[0] && high <= LINEAR[1]
    })
}

/// An exponent whose interval is wider than this describes no curve.
const EXPONENT_WIDEST: f64 = 1.0;

/// The exponent of one power of n, where that describes the cost and adds to its class.
pub fn known_exponent(verdict: &Verdict) -> Option<Interval> {
    verdict.exponent.filter(|exponent| exponent.low > 0.0 && exponent.high - exponent.low < EXPONENT_WIDEST)
}

/// The slopes near both ends of a cost without a shape, where both are known.
pub fn known_local_exponents(verdict: &Verdict) -> Option<[LocalExponent; 2]> {
    let is_known = |local: &LocalExponent| local.exponent.high - local.exponent.low < EXPONENT_WIDEST;
    verdict.local_exponents.filter(|both| both.iter().all(is_known))
}

/// Whether a stretch between steps has a shape worth reporting.
pub fn has_shape(segment: &Segment) -> bool {
    !matches!(segment.class, Class::Flat | Class::Inconclusive | Class::Ambiguous | Class::Uneven)
}

/// The range of n where a series differs most from its smallest n, for a rate the highest; `None` where that
/// is its end.
pub fn furthest(verdict: &Verdict, unit: Unit) -> Option<&Block> {
    let size = |block: &&Block| match unit.more_is_better() {
        true => block.cost.value,
        false => block.relative.value.ln().abs(),
    };
    let furthest = verdict.blocks.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
    furthest.filter(|block| block.n_high < verdict.n_high)
}

/// The number of objects for which a slope is given: no more than were measured. `None` where a slope has no
/// meaning: for a rate, two n, a falling cost, and a cost whose growth is mostly one jump.
pub fn slope_each(verdict: &Verdict, unit: Unit) -> Option<u64> {
    let is_line = verdict.blocks.len() > 2 && verdict.growth.value > 1.0 && gross_jump(verdict).is_none();
    let most = 10_u64.pow((verdict.n_high - verdict.n_low).max(1).ilog10()).min(1_000);
    (is_line && !unit.more_is_better()).then_some(most)
}

/// Whether the line through a curve has the direction of its ends, so that its slope may be reported.
pub fn has_slope(verdict: &Verdict) -> bool {
    (verdict.growth.value - 1.0) * verdict.marginal_cost.value > 0.0
}
