//! Variants of a workload that are rivals: what each reached at every level of n, how far it is from the
//! best at the largest level and in the mean, and which place it may have. What the generator limited is
//! shown and never ranked, and where a variant stopped is a result.

mod levels;
mod weigh;

use record::{Direction, Recording, SeriesKey, Unit};
use stats::{Answer, Interval, Rank};

use crate::generator::Limited;
use crate::stops::Stop;

/// A difference below this share is not worth a word.
pub const MARGIN: f64 = crate::compare::MARGIN;

/// The variants of one workload on one system.
#[derive(Clone, Debug, PartialEq)]
pub struct Rivals {
    /// Name of the workload.
    pub workload: String,
    /// Name of the system.
    pub system: String,
    /// What n counts, in words.
    pub grows: String,
    /// All variants, in the order of the workload; one has its colour by its place here.
    pub variants: Vec<String>,
    /// One for each series that two of them measured, in the order of the workload.
    pub contests: Vec<Contest>,
    /// How many ratios were judged together: all pairs, because the best is selected by the same numbers.
    pub ratios: usize,
    /// Of how many pairs; the places come from these.
    pub pairs: usize,
    /// Share of false ones to expect among the differences.
    pub alpha: f64,
}

/// One series in all variants.
#[derive(Clone, Debug, PartialEq)]
pub struct Contest {
    /// Name of the operation: `throughput`, `p99`.
    pub name: String,
    /// Whether n rises or falls.
    pub direction: Direction,
    /// What its values are in; of a rate more is better, of all else less.
    pub unit: Unit,
    /// Whether it is measured at levels, as a load is; a curve has a value for each n.
    pub levels: bool,
    /// The largest level that two of them reached, where the best is the best; `None` where there is none.
    pub n: Option<u64>,
    /// The variants: the best first, then the others by their distance from it, then those without a ratio.
    pub rivals: Vec<Rival>,
}

/// One variant in one series.
#[derive(Clone, Debug, PartialEq)]
pub struct Rival {
    /// Name of the variant.
    pub variant: String,
    /// Its place among the variants of the workload.
    pub place: usize,
    /// What it reached, level by level, n rising.
    pub levels: Vec<Level>,
    /// Its value over that of the best at the largest level that both reached; `None` for the best itself,
    /// and where there is none.
    pub last: Option<Ratio>,
    /// The same as the geometric mean of the ratios at all levels that both reached.
    pub mean: Option<Ratio>,
    /// The places that it may have; `None` where it is not ranked.
    pub rank: Option<Rank>,
    /// Where the generator was the limit.
    pub limited: Option<Limited>,
    /// How its trials stopped short.
    pub stops: Vec<Stop>,
}

/// What trials measured at one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The level.
    pub n: u64,
    /// Median over trials.
    pub value: f64,
    /// How many trials.
    pub trials: usize,
    /// Whether the generator was the limit: then it says nothing of the variant but that it reached this.
    pub limited: bool,
}

/// The value of one over that of the best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio with its interval.
    pub ratio: Interval,
    /// Error rate of the interval, by itself: all were judged together.
    pub level: f64,
    /// What may be said of the value: one that is larger is `Slower`.
    pub answer: Answer,
    /// Smallest and largest level.
    pub n: (u64, u64),
    /// How many levels.
    pub levels: usize,
    /// Trials of the best and of this one, or pairs of them.
    pub trials: (usize, usize),
    /// Whether trials of one round were compared with each other.
    pub paired: bool,
    /// Trials of each after which the answer may be definite, when more would help.
    pub trials_needed: Option<u32>,
}

impl Rivals {
    /// Whether they are those of a workload on a system.
    pub fn is_of(&self, system: &str, workload: &str) -> bool {
        self.system == system && self.workload == workload
    }

    /// Whether a series of a load is answered by its rivals: then who is how far from the best says more than
    /// the growth of each by itself.
    pub fn answer(&self, key: &SeriesKey) -> bool {
        let is_of = |contest: &&Contest| contest.name == key.name && contest.direction == key.direction;
        let answers = |contest: &Contest| contest.levels && contest.n.is_some();
        self.is_of(&key.system, &key.workload) && self.contests.iter().find(is_of).is_some_and(answers)
    }
}

impl Ratio {
    /// Whether a difference may be said.
    pub fn is_sure(&self) -> bool {
        matches!(self.answer, Answer::Faster | Answer::Slower | Answer::DifferentButSmall)
    }

    /// The answer in terms of cost: a smaller rate is slower.
    pub fn cost_answer(&self, unit: Unit) -> Answer {
        match self.answer {
            Answer::Faster if unit.more_is_better() => Answer::Slower,
            Answer::Slower if unit.more_is_better() => Answer::Faster,
            answer => answer,
        }
    }
}

impl Contest {
    /// The best at [`Contest::n`].
    pub fn best(&self) -> Option<&Rival> {
        self.n.and(self.rivals.first())
    }

    /// Whether any two differ for certain.
    pub fn is_told(&self) -> bool {
        let ratios = self.rivals.iter().flat_map(|rival| [&rival.last, &rival.mean]).flatten();
        let placed = |rank: Rank| (rank.best, rank.worst) != (1, rank.of);
        ratios.into_iter().any(Ratio::is_sure)
            || self.rivals.iter().filter_map(|rival| rival.rank).any(placed)
    }
}

impl Rival {
    /// What it reached at a level that says something of it.
    pub fn at(&self, n: u64) -> Option<f64> {
        self.levels.iter().find(|level| level.n == n && !level.limited).map(|level| level.value)
    }

    /// Whether nothing of it can be ranked because of the generator.
    pub fn is_limited(&self) -> bool {
        !self.levels.is_empty() && self.levels.iter().all(|level| level.limited)
    }
}

/// All rivals of a recording, by system and workload.
pub(crate) fn of(recording: &Recording) -> Vec<Rivals> {
    let mut all = Vec::new();
    for system in &recording.systems {
        for workload in recording.workloads.iter().filter(|workload| workload.rivals) {
            let fields = levels::of(recording, system, workload);
            all.extend(weigh::all(recording, system, workload, fields));
        }
    }
    all
}
