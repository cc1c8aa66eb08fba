//! What may be said of the same series on two systems.

use crate::{Interval, Settings, Sweep};

/// The five answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The second takes less time, by more than the margin.
    Faster,
    /// The second takes more time, by more than the margin.
    Slower,
    /// Any difference is smaller than the margin.
    Equivalent,
    /// There is a difference, and it is smaller than the margin.
    DifferentButSmall,
    /// The data carry none of the above.
    Unresolved,
}

/// The second system against the first, over the n that both reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The answer.
    pub answer: Answer,
    /// Cost of the second over cost of the first.
    pub ratio: Interval,
    /// Smallest n compared.
    pub n_low: u64,
    /// Largest n compared.
    pub n_high: u64,
    /// Trials of the first and of the second.
    pub trials: (usize, usize),
    /// Trials of each after which the answer may be definite, when more would help.
    pub trials_needed: Option<u32>,
    /// Ratio by range of n: (n_low, n_high, ratio).
    pub blocks: Vec<(u64, u64, Interval)>,
}

/// Compares `second` with `first`, unpaired; `judged` is how many series the reader is shown, which
/// the error rate is divided by. `None` when no n is common.
pub fn compare(
    _first: &[Sweep<'_>],
    _second: &[Sweep<'_>],
    _judged: usize,
    _settings: &Settings,
) -> Option<Comparison> {
    None
}
