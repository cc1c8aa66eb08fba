//! Compares the same series on two systems.

use serde::Serialize;

use crate::centre::Interval;
use crate::contrast::Contrast;
use crate::judge::JudgeSettings;
use crate::sweep::Sweep;

/// The five answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The second takes less time, by more than the margin.
    Faster,
    /// The second takes more time, by more than the margin.
    Slower,
    /// Any difference is smaller than the margin, and none is certain that exceeds the noise floor.
    Equivalent,
    /// There is a difference above the noise floor, and it is smaller than the margin.
    DifferentButSmall,
    /// The data carry none of the above.
    Unresolved,
}

/// How the trials of two systems belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// The trials of the two are independent.
    Independent,
    /// The k-th trial of one and the k-th of the other were made back to back, in random order. A drift or
    /// disturbance that lasts longer than a pair affects both, and cancels.
    Paired,
}

/// One number for each kind of claim: the chance of an observation where the claim is false, or the error
/// rate at which the claim may be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerClaim {
    /// The difference is larger than the margin.
    pub beyond: f64,
    /// The difference is smaller than the margin.
    pub within: f64,
    /// There is a difference, and it is larger than the noise floor.
    pub differs: f64,
}

impl PerClaim {
    /// The same number for all.
    pub fn all(number: f64) -> PerClaim {
        PerClaim { beyond: number, within: number, differs: number }
    }

    /// The answer of a ratio, from its logarithm, the logarithm of the margin and these chances, where each
    /// kind of claim has its own error rate; and the rate of the claim that was made or tried.
    pub(crate) fn answer(&self, log_ratio: f64, log_margin: f64, levels: &PerClaim) -> (Answer, f64) {
        // A small difference must be more certain to be reported: of equal systems fewer than one in twenty
        // differ.
        let both = levels.within.min(levels.differs / 2.0);
        if log_ratio.abs() > log_margin {
            let answer = match self.beyond <= levels.beyond {
                true if log_ratio < 0.0 => Answer::Faster,
                true => Answer::Slower,
                false => Answer::Unresolved,
            };
            (answer, levels.beyond)
        } else if self.within <= both && self.differs <= both {
            (Answer::DifferentButSmall, both)
        } else if self.within <= levels.within {
            (Answer::Equivalent, levels.within)
        } else {
            (Answer::Unresolved, levels.within)
        }
    }
}

/// The second system against the first, over the n that both reached.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesComparison {
    /// The answer.
    pub answer: Answer,
    /// Cost of the second over cost of the first.
    pub ratio: Interval,
    /// Error rate of `ratio`, and of the `blocks` together.
    pub level: f64,
    /// The margin of the answer, as a share: the given one, or the noise floor if larger.
    pub margin: f64,
    /// The noise floor, as a share; 0 where none is known. No smaller difference is claimed.
    pub floor: f64,
    /// Smallest n compared.
    pub n_low: u64,
    /// Largest n compared.
    pub n_high: u64,
    /// Largest n that the first and the second reached; where one is below the other, the comparison is
    /// censored there.
    pub ends: (u64, u64),
    /// Trials of the first and of the second, or pairs of them.
    pub trials: (usize, usize),
    /// Boots of the first and of the second, where one of them has several: each is then one observation.
    pub boots: Option<(usize, usize)>,
    /// Whether trials were compared pair by pair.
    pub design: Design,
    /// Trials of each after which the answer may be definite, when more would help.
    pub trials_needed: Option<u32>,
    /// Boots of each after which it may, where boots are the observations.
    pub boots_needed: Option<u32>,
    /// Ratio by range of n: (n_low, n_high, ratio).
    pub blocks: Vec<(u64, u64, Interval)>,
    /// Where the two curves cross for certain, by n.
    pub crossings: Vec<Crossing>,
}

/// Compares `second` with `first`, unpaired; the error rate is divided by `judged`, the number of series in
/// the report. `None` when no n is common.
///
/// The comparison of one pair of systems by [`Contrast`], with every claim at α/`judged` (Bonferroni), and
/// the ratios by range of n divided by the looks too.
pub fn compare(
    first: &[Sweep<'_>],
    second: &[Sweep<'_>],
    judged: usize,
    settings: &JudgeSettings,
) -> Option<SeriesComparison> {
    let level = settings.error_rate() / judged.max(1) as f64;
    // The rate is divided by the looks already.
    let once = JudgeSettings { looks: 1, ..settings.clone() };
    let contrast = Contrast::new(first, second, Design::Independent, 0.0, &once)?;
    Some(contrast.at(&PerClaim::all(level)))
}

/// Where the faster of two becomes the slower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Where the ratio is 1, by a line through the logarithms of the ranges of n beside it.
    pub n: f64,
    /// One is faster for certain up to here.
    pub n_low: f64,
    /// And the other from here on.
    pub n_high: f64,
    /// Whether the second is the faster one below and the slower one above.
    pub faster_below: bool,
}

/// Where the ratio lies on one side of 1 for certain, and then on the other; a certain ratio exceeds `floor`.
/// All ranges of n hold together, so all crossings do.
///
/// In a range of n whose typical ratio is below 1 the curve may already have crossed at its end, but not yet
/// in its middle: so a crossing lies between the middles of the last certain range before it and the first
/// behind it.
pub(crate) fn crossings(logs: &[(u64, u64, Interval)], floor: f64) -> Vec<Crossing> {
    let side = |(_, _, ratio): &(u64, u64, Interval)| {
        if ratio.low > floor {
            1
        } else if ratio.high < -floor {
            -1
        } else {
            0
        }
    };
    let certain: Vec<usize> = (0..logs.len()).filter(|place| side(&logs[*place]) != 0).collect();
    let turns = certain.windows(2).filter(|pair| side(&logs[pair[0]]) != side(&logs[pair[1]]));
    turns.map(|pair| crossing(&logs[pair[0]..=pair[1]])).collect()
}

/// The crossing within ranges of n; the first and the last are certain.
fn crossing(logs: &[(u64, u64, Interval)]) -> Crossing {
    let middle =
        |(low, high, _): &(u64, u64, Interval)| (*low as f64).midpoint(*high as f64).max(f64::MIN_POSITIVE);
    let value = |place: usize| logs[place].2.value;
    // Where noise makes several, the one in the middle.
    let turns: Vec<usize> =
        (1..logs.len()).filter(|place| (value(*place - 1) < 0.0) != (value(*place) < 0.0)).collect();
    let place = turns.get(turns.len() / 2).copied().unwrap_or(logs.len() - 1);
    let (before, after) = (value(place - 1), value(place));
    let share = if before == after { 0.5 } else { (before / (before - after)).clamp(0.0, 1.0) };
    let (from, to) = (middle(&logs[place - 1]).ln(), middle(&logs[place]).ln());
    Crossing {
        n: (from + share * (to - from)).exp(),
        n_low: middle(&logs[0]),
        n_high: middle(&logs[logs.len() - 1]),
        faster_below: value(0) < 0.0,
    }
}
