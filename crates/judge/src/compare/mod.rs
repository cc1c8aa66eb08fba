//! Contenders compared, series by series: the variants of a workload, or systems.
//!
//! A variant among variants and a system among systems are one thing. Both are set against a reference, which
//! is the first that was given or the best, over every n that two of them reached or level by level. A pair
//! that cannot be compared has a reason.

mod claim;
mod over_systems;
mod pairs;
mod ranking;
mod sample;
mod systems;

pub use claim::{Claim, ContenderGrowth, GrowthClaim, MeanClaim, Part, SeriesGrowth};
pub use over_systems::{MeanOfContender, MeanSeries, OverSystems, over_systems, trend};
pub(crate) use ranking::FigureKind;
pub use systems::Refusal;
pub(crate) use systems::{of_findings, of_variants, series_of};

use std::collections::BTreeMap;

use record::{Direction, Run, SeriesKey, Side, System, Unit};
use serde::Serialize;
use stats::{Answer, Interval, Rank, Scaling, Verdict};

use crate::bounds::LimitedLevels;
use crate::environment::Difference;
use crate::finding::looks;
use crate::stops::{Cause, Stop};

/// The smallest difference that matters, as a share.
pub const MARGIN: f64 = 0.03;

/// The reference of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reference {
    /// The contender that was given first, over every n that both reached.
    First,
    /// The best, at the largest level that both reached and over all of these.
    Best,
}

/// Contenders set against a reference, series by series.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The reference of the others.
    pub reference: Reference,
    /// The workload whose variants are compared; `None` where systems are.
    pub workload: Option<String>,
    /// The contenders, in the order given; a contender has its colour by its place here.
    pub contenders: Vec<Contender>,
    /// For each contender the place of its reference: for systems the first of their engine. Empty between
    /// variants.
    pub references: Vec<usize>,
    /// Facts in which the systems differ, the most important first; none between variants.
    pub differences: Vec<Difference>,
    /// Every series: between systems each that one of them was to measure, between variants each that two
    /// measured.
    pub rankings: Vec<Ranking>,
    /// Geometric mean of the ratios of each contender but the first; `None` where fewer than two series have
    /// one, or trials enough. Empty where the reference is the best.
    pub means: Vec<Option<Mean>>,
    /// Workloads that must not be compared.
    pub refused: Vec<Refused>,
    /// How many ratios were judged together.
    pub ratios: usize,
    /// Of how many pairs; the places come from these.
    pub pairs: usize,
    /// The smallest difference that matters, as a share.
    pub margin: f64,
    /// Share of false ones to expect among the claims of each kind, and error rate of each geometric mean.
    pub alpha: f64,
}

/// One of those that are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// Its name for a reader: that of the variant, or of the system, with its run where there are several.
    pub name: String,
    /// The system it was measured on.
    pub system: System,
    /// The run it is from.
    pub run: Run,
}

/// One series of all contenders.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// Its name for a reader, beside those of the other rankings.
    pub label: String,
    /// Name of the variant that systems are compared in; empty where variants are compared.
    pub variant: String,
    /// Name of the series: `throughput`, `p99`.
    pub name: String,
    /// Whether n rises or falls.
    pub direction: Direction,
    /// The objects that n counts.
    pub grows: String,
    /// The unit of its values. Ratios are of costs: for a rate, of the time that one takes.
    pub unit: Unit,
    /// Where they were measured.
    pub side: Side,
    /// Whether it only explains another series, and a run does not wait for its answer.
    pub is_companion: bool,
    /// Whether it is measured at levels, as a load is; a curve has a value for each n.
    pub levels: bool,
    /// Where the best is the best: the largest level that two of them reached. `None` where there is none,
    /// and where the reference is the first.
    pub n: Option<u64>,
    /// Every contender: in the order given, or the best first, then the others by their distance from it,
    /// then those without a ratio.
    pub standings: Vec<RankingEntry>,
}

/// One contender in one series.
#[derive(Clone, Debug, PartialEq)]
pub struct RankingEntry {
    /// Name of the contender.
    pub name: String,
    /// Its place among the contenders.
    pub place: usize,
    /// The place of its reference, its own if it is the reference; `None` where there is none.
    pub reference: Option<usize>,
    /// Its values, level by level, n rising; empty for a curve that is compared at every n.
    pub levels: Vec<LevelValue>,
    /// Its own verdict, where systems are compared.
    pub verdict: Option<Verdict>,
    /// How the throughput behind a slowdown scales, where systems are compared.
    pub scaling: Option<Scaling>,
    /// Its cost over that of the best at the largest level that both reached; `None` for the reference, and
    /// where there is none.
    pub last: Option<Ratio>,
    /// The same over all n, or levels, that both reached.
    pub overall: Option<Ratio>,
    /// The places that it may have; `None` where it is not ranked.
    pub rank: Option<Rank>,
    /// Where the generator was the limit.
    pub limited: Option<LimitedLevels>,
    /// How its trials stopped short.
    pub stops: Vec<Stop>,
    /// The cause that shortened its comparison with the reference, or the reason why there is none.
    pub note: Option<AnswerNote>,
}

/// The values of trials at one level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelValue {
    /// Its n.
    pub n: u64,
    /// Median over trials.
    pub value: f64,
    /// How many trials.
    pub trials: usize,
    /// Whether it had another limit, and is not compared.
    ///
    /// In one trial at least.
    pub limited: bool,
    /// Whether the load generator makes it a lower bound.
    ///
    /// A rate is then ranked as one.
    pub at_least: bool,
}

/// The cost of one over that of the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio with its interval, its answer and its range of n.
    pub comparison: stats::SeriesComparison,
    /// The same before an error rate was chosen, for a gate.
    pub evidence: stats::RatioEvidence,
    /// Over how many levels; 0 where every n counts.
    pub levels: usize,
    /// Whether the better of the two was measured with a saturated load generator: then the distance is at
    /// least this.
    pub at_least: bool,
}

/// The trials or boots that may resolve a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum More {
    /// So many more trials.
    Trials(usize),
    /// So many more boots of the systems, each with trials.
    Boots(usize),
}

/// The geometric mean of ratios that all weigh the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean with its interval.
    pub ratio: Interval,
    /// Of so many series.
    pub of: usize,
    /// The largest noise floor of the systems, as a share; 0 where none is known. No smaller mean is claimed.
    pub floor: f64,
}

/// A workload that must not be compared, because it is not the same on all systems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Name of the workload.
    pub workload: String,
    /// The kind of the difference.
    pub mismatch: Mismatch,
}

/// The differences between the workloads of several systems, by the names of the systems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// In the version of the definition.
    Versions(Vec<(String, u32)>),
    /// In the settings that the user chose, which may differ between the systems of one run, but not between
    /// runs; those left out have their defaults.
    Settings(Vec<(String, BTreeMap<String, String>)>),
    /// In the loads beside the trials, which may differ between the systems of one run, but not between runs.
    Background(Vec<(String, Vec<Vec<String>>)>),
    /// In the hosts that load the servers; none where the trials do.
    Clients(Vec<(String, Vec<String>)>),
}

/// A note beside an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerNote {
    /// How one of the two stopped short, or another reason for a shorter comparison.
    Shortened(Shortened),
    /// Why there is no answer.
    NoAnswer(NoAnswer),
}

/// The cause that shortened a comparison of two.
#[derive(Clone, Debug, PartialEq)]
pub struct Shortened {
    /// How the trials of the first and of the other stopped short.
    pub stops: [Vec<Stop>; 2],
    /// Where the generator was the limit, of the first and of the other.
    pub limited: [Option<LimitedLevels>; 2],
    /// Where the two were offered different loads.
    pub offered: Option<OfferedApart>,
    /// The contender that was measured only to this n although nothing stopped it.
    pub measured_to: Option<(String, u64)>,
    /// Where the comparison ends, when one of the two went on.
    pub compared_to: Option<u64>,
}

/// Why two have no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum NoAnswer {
    /// These have no number.
    WithoutNumber(Vec<WithoutNumber>),
    /// The generator was the limit of these, by their names, at every level that both have.
    Limited(Vec<(String, LimitedLevels)>),
    /// They were offered different loads at every level that both have.
    OfferedApart(OfferedApart),
    /// They have no n in common.
    NothingCommon,
    /// The first and this one run on different engines, each with its name: only systems on the same
    /// engine are compared.
    OtherEngine([(String, String); 2]),
}

/// A load that all rivals of a run were offered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfferedLoad {
    /// Requests that were meant to start, per second.
    pub per_second: f64,
    /// From the start of a request to that of the next one in its burst.
    pub spacing_seconds: f64,
}

/// Two contenders that were offered different loads at some levels.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferedApart {
    /// The levels, rising.
    pub levels: Vec<u64>,
    /// The names of the two, each with the load that it was offered at the last of these levels.
    pub last: [(String, OfferedLoad); 2],
}

/// A contender without a value in a series, or in any.
#[derive(Clone, Debug, PartialEq)]
pub struct WithoutNumber {
    /// Name of the contender.
    pub contender: String,
    /// How its trials stopped short; `None` where nothing did.
    pub stop: Option<Stop>,
    /// Whether the run was to measure it.
    pub is_planned: bool,
}

impl AnswerNote {
    /// Where the two were offered different loads, if they were.
    pub fn offered(&self) -> Option<&OfferedApart> {
        match self {
            AnswerNote::Shortened(shortened) => shortened.offered.as_ref(),
            AnswerNote::NoAnswer(NoAnswer::OfferedApart(apart)) => Some(apart),
            AnswerNote::NoAnswer(_) => None,
        }
    }
}

impl Comparison {
    /// Whether other programs measured all of it: their files say nothing of a machine, or of the order of
    /// trials.
    pub fn is_of_other_programs(&self) -> bool {
        self.reference == Reference::First
            && self.contenders.iter().all(|contender| contender.system.environment.is_empty())
    }

    /// Whether it is the ranking of the variants of a workload on a system.
    pub fn is_of(&self, system: &str, workload: &str) -> bool {
        let on = self.contenders.first().is_some_and(|contender| contender.system.name == system);
        on && self.workload.as_deref() == Some(workload)
    }

    /// Whether a series of a load is ranked here: then the distance of each variant from the best is more
    /// informative than its growth.
    pub fn answers(&self, key: &SeriesKey) -> bool {
        let is_of = |ranking: &&Ranking| ranking.name == key.name && ranking.direction == key.direction;
        let answers = |ranking: &Ranking| ranking.levels && ranking.n.is_some();
        self.is_of(&key.system, &key.workload) && self.rankings.iter().find(is_of).is_some_and(answers)
    }

    /// Answers that were given, and answers that were wanted: none is where only one side was to measure.
    pub fn judged(&self) -> (usize, usize) {
        let answers = || self.rankings.iter().flat_map(Ranking::others).filter(|entry| !entry.is_one_sided());
        (answers().filter(|standing| standing.overall.is_some()).count(), answers().count())
    }

    /// How often the data were looked at before the run ended.
    pub(crate) fn looks(&self) -> u32 {
        self.contenders.iter().map(|contender| looks(&contender.run)).max().unwrap_or(1)
    }

    /// Cost of the second system over that of the first in a series, as a confirming measurement of a
    /// history: its interval has the error rate [`stats::CONFIRM_ALPHA`] over all looks.
    pub fn confirmation(&self, label: &str) -> Option<Interval> {
        let ranking = self.rankings.iter().find(|ranking| ranking.label == label)?;
        let ratio = ranking.others().next()?.overall.as_ref()?;
        ratio.evidence.interval(stats::CONFIRM_ALPHA / f64::from(self.looks()))
    }
}

impl Ranking {
    /// The best at [`Ranking::n`].
    pub fn best(&self) -> Option<&RankingEntry> {
        self.n.and(self.standings.first())
    }

    /// Those whose reference is the first contender, or the first of their engine.
    pub fn others(&self) -> impl Iterator<Item = &RankingEntry> {
        self.standings.iter().skip(1).filter(|entry| !entry.is_apart())
    }

    /// Those that are worse than the best for certain, at the largest level that both reached, the furthest
    /// first.
    pub fn behind(&self) -> impl Iterator<Item = (&RankingEntry, &Ratio)> {
        let standings = self.standings.iter().filter(|_| self.n.is_some()).rev();
        standings
            .filter_map(|standing| Some((standing, standing.last.as_ref().filter(|last| last.is_sure())?)))
    }

    /// The fewest trials or boots that may show a difference, over all ratios.
    pub fn more(&self) -> Option<More> {
        self.standings.iter().flat_map(RankingEntry::ratios).filter_map(Ratio::more).min()
    }

    /// The number of levels that most means cover.
    pub fn most_levels(&self) -> usize {
        let of = |standing: &RankingEntry| standing.overall.as_ref().map(|overall| overall.levels);
        self.standings.iter().filter_map(of).max().unwrap_or(0)
    }

    /// Whether any contender has a number.
    pub fn is_measured(&self) -> bool {
        let has_number = |entry: &RankingEntry| {
            entry.ratio().is_some() || entry.verdict.is_some() || !entry.levels.is_empty()
        };
        self.standings.iter().any(has_number)
    }

    /// Whether any two differ for certain.
    pub fn has_difference(&self) -> bool {
        let placed = |rank: Rank| (rank.best, rank.worst) != (1, rank.of);
        self.standings.iter().flat_map(RankingEntry::ratios).any(Ratio::is_sure)
            || self.standings.iter().filter_map(|standing| standing.rank).any(placed)
    }
}

impl RankingEntry {
    /// Whether one of the two was not to measure the series.
    pub fn is_one_sided(&self) -> bool {
        match &self.note {
            Some(AnswerNote::NoAnswer(NoAnswer::WithoutNumber(all))) => all.iter().any(|one| !one.is_planned),
            _ => false,
        }
    }

    /// Whether it is the first of an engine other than that of the first contender.
    pub fn is_apart(&self) -> bool {
        matches!(&self.note, Some(AnswerNote::NoAnswer(NoAnswer::OtherEngine(_))))
    }

    /// Its ratios to the reference.
    pub fn ratios(&self) -> impl Iterator<Item = &Ratio> {
        [&self.last, &self.overall].into_iter().flatten()
    }

    /// The ratio by which it has its place: at the largest level, or over all n.
    pub fn ratio(&self) -> Option<&Ratio> {
        self.last.as_ref().or(self.overall.as_ref())
    }

    /// Whether its trials ended before the last n, and not because their time was up.
    pub fn ends_early(&self) -> bool {
        self.stops.iter().any(|stop| stop.cause != Cause::Allowance && stop.n.is_some())
    }

    /// Its answer over all n.
    pub fn answer(&self) -> Option<&stats::SeriesComparison> {
        self.overall.as_ref().map(|ratio| &ratio.comparison)
    }

    /// Its value at a level that was not limited.
    pub fn at(&self, n: u64) -> Option<f64> {
        self.levels.iter().find(|level| level.n == n && !level.limited).map(|level| level.value)
    }

    /// The lower bound of its value at a level where the load generator was the limit.
    pub fn at_least(&self, n: u64) -> Option<f64> {
        self.levels.iter().find(|level| level.n == n && level.at_least).map(|level| level.value)
    }

    /// Whether nothing of it can be ranked because of the generator.
    pub fn is_limited(&self) -> bool {
        !self.levels.is_empty() && self.levels.iter().all(|level| level.limited)
    }

    /// Whether more trials may resolve its ratio to the reference.
    pub(crate) fn is_open(&self) -> bool {
        let is_open = |answer: &stats::SeriesComparison| {
            answer.answer == Answer::Unresolved && answer.trials_needed.or(answer.boots_needed).is_some()
        };
        self.ratios().any(|ratio| is_open(&ratio.comparison))
    }
}

impl Ratio {
    /// The ratio of the values: for a rate, where more is better, the inverse of that of its costs.
    pub fn of_values(&self, unit: Unit) -> Interval {
        let ratio = self.comparison.ratio;
        if unit.more_is_better() { ratio.reciprocal() } else { ratio }
    }
}
