//! Designs of simulated sweeps: which n, and how many values at each.

use stats::Sweep;

/// The n of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepDesign {
    /// Names a cell together with truth, noise and trials.
    pub name: &'static str,
    spacing: Spacing,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Spacing {
    /// So many sizes a decade over so many decades, so many values of each.
    Log { per_decade: u32, decades: u32, each: usize },
    /// Every tenth n.
    Every { count: u64 },
}

/// Every tenth n to 10,000: as long as real sweeps, and ten times as fast to make.
pub(crate) const DENSE: SweepDesign = SweepDesign { name: "dense", spacing: Spacing::Every { count: 1_000 } };
/// One n, and one value of it: what a job gives that is timed as a whole.
pub(crate) const ONE: SweepDesign =
    SweepDesign { name: "one", spacing: Spacing::Log { per_decade: 1, decades: 0, each: 1 } };
/// The smallest recommended plan: eight sizes per decade over two decades, ten values of each.
pub(crate) const LOG8: SweepDesign =
    SweepDesign { name: "log8", spacing: Spacing::Log { per_decade: 8, decades: 2, each: 10 } };
/// Twelve sizes a decade over four decades, five values of each.
pub(crate) const LOG12: SweepDesign =
    SweepDesign { name: "log12", spacing: Spacing::Log { per_decade: 12, decades: 4, each: 5 } };
/// Twenty sizes a decade over three decades, five values of each.
pub(crate) const LOG20: SweepDesign =
    SweepDesign { name: "log20", spacing: Spacing::Log { per_decade: 20, decades: 3, each: 5 } };

/// Twenty-seven sizes a decade over three decades, one value of each: a table of a benchmark.
pub(crate) const LOG27: SweepDesign =
    SweepDesign { name: "log27", spacing: Spacing::Log { per_decade: 27, decades: 3, each: 1 } };

/// The first judged n: below it caches are cold.
const LOW: u64 = 100;
/// Distance of the n of a dense sweep.
const SPACING: u64 = 10;
/// The least that a block of a verdict holds: this share of the values, 25 at most.
const SHARE_OF_BLOCK: usize = 60;
const MOST_OF_BLOCK: usize = 25;
/// The baseline of a verdict is the first blocks that hold so many times the least.
const REFERENCE: usize = 4;

impl SweepDesign {
    /// The n of each value, rising; equal ones follow each other.
    pub fn sizes(&self) -> Vec<u64> {
        match self.spacing {
            Spacing::Every { count } => (1..=count).map(|place| SPACING * place).collect(),
            Spacing::Log { per_decade, decades, each } => (0..=per_decade * decades)
                .map(|place| {
                    (LOW as f64 * 10f64.powf(f64::from(place) / f64::from(per_decade))).round() as u64
                })
                .flat_map(|n| std::iter::repeat_n(n, each))
                .collect(),
        }
    }

    /// Smallest and largest n that are judged.
    pub fn range(&self) -> (f64, f64) {
        let high = match self.spacing {
            Spacing::Every { count } => (SPACING * count) as f64,
            Spacing::Log { decades, .. } => LOW as f64 * f64::from(10u32.pow(decades)),
        };
        (LOW as f64, high)
    }

    /// The measurements of a trial; a trial that ended early has fewer.
    pub fn sweep<'a>(&self, sizes: &'a [u64], values: &'a [f64]) -> Sweep<'a> {
        match self.spacing {
            Spacing::Every { .. } => Sweep::even(SPACING, SPACING as i64, values),
            Spacing::Log { .. } => Sweep::listed(sizes, values),
        }
    }

    /// Whether n rises by the same step.
    pub(crate) fn is_even(&self) -> bool {
        matches!(self.spacing, Spacing::Every { .. })
    }

    /// How many values a block holds at least.
    pub fn least(&self) -> usize {
        let judged = self.sizes().iter().filter(|n| **n >= LOW).count();
        (judged / SHARE_OF_BLOCK).clamp(1, MOST_OF_BLOCK)
    }

    /// The least number of values in the baseline of a verdict.
    pub fn reference(&self) -> usize {
        REFERENCE * self.least()
    }
}
