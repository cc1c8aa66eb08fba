//! The n at which a workload is measured: every n, or levels where every n would take too long.

/// The n at which a workload is measured.
#[derive(Clone, Copy, Debug)]
pub enum Sizes {
    /// 0, 1, 2 and so on: the cost of each next one.
    Every,
    /// At some n only, each held for a while. The function gives them for the largest: rising, none of them
    /// 0 or above it, one at least where that is not 0.
    Levels(fn(u64) -> Vec<u64>),
    /// At these levels, which somebody chose: rising, none of them 0.
    Chosen(&'static [u64]),
}

impl Sizes {
    /// How many n there are up to `top`.
    pub fn count(self, top: u64) -> usize {
        self.levels(top).map_or(top as usize, |levels| levels.len())
    }

    /// Each n up to `top`, rising.
    pub fn list(self, top: u64) -> Vec<u64> {
        self.levels(top).unwrap_or_else(|| (0..top).collect())
    }

    /// The levels up to `top`, rising; `None` where every n is measured.
    pub fn levels(self, top: u64) -> Option<Vec<u64>> {
        match self {
            Sizes::Every => None,
            Sizes::Levels(levels) => Some(levels(top)),
            Sizes::Chosen(levels) => Some(levels.iter().copied().filter(|&level| level <= top).collect()),
        }
    }

    /// The levels that somebody chose; empty where nobody did.
    pub fn chosen(self) -> &'static [u64] {
        match self {
            Sizes::Chosen(levels) => levels,
            Sizes::Every | Sizes::Levels(_) => &[],
        }
    }

    /// Whether only some n are measured.
    pub fn are_levels(self) -> bool {
        !matches!(self, Sizes::Every)
    }
}

/// 1, 2, 5, 10, 20, 50 and so on below `top`, and `top` itself last. Even spaces on a logarithmic scale, at
/// numbers that people know. Empty for 0.
pub fn one_two_five(top: u64) -> Vec<u64> {
    let decades = std::iter::successors(Some(1_u64), |decade| decade.checked_mul(10));
    let levels = decades.flat_map(|decade| [1, 2, 5].map(|digit| decade.saturating_mul(digit)));
    let below = levels.take_while(|&level| level < top);
    below.chain((top > 0).then_some(top)).collect()
}

/// `top` alone: of a job, all of its work. Empty for 0.
pub(crate) fn top_only(top: u64) -> Vec<u64> {
    (top > 0).then_some(top).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::{one_two_five, top_only};

    #[test]
    fn a_job_has_one_level() {
        assert!(top_only(0).is_empty());
        assert_eq!(top_only(7), [7]);
    }

    #[test]
    fn levels_rise_to_the_top_and_end_there() {
        assert!(one_two_five(0).is_empty());
        assert_eq!(one_two_five(1), [1]);
        assert_eq!(one_two_five(8), [1, 2, 5, 8]);
        assert_eq!(one_two_five(50), [1, 2, 5, 10, 20, 50]);
        assert_eq!(one_two_five(1024).last_chunk(), Some(&[500, 1000, 1024]));
        assert!(one_two_five(u64::MAX).is_sorted_by(|a, b| a < b));
    }
}
