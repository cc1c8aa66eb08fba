//! The answer of `compare`, and of `run` for the variants of a workload: one form for both.

use judge::compare::{Comparison, LevelValue, Mean, Ranking, RankingEntry, Ratio, Reference};
use judge::gate::GateAnswer;
use judge::{Difference, LimitedLevels};
use record::{Direction, Unit};
use serde::Serialize;
use stats::{Answer, Crossing, Design, Interval, Rank};

use super::growth::{self, ScalingComparison};
use super::{lines, words};
use crate::answer::{SCHEMA, TrialStopAnswer, plain};

/// The answer of `compare`. Systems are compared with the first one over every n that both reached; variants
/// with the best one, at the largest level that both reached and over all levels that both reached.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonAnswer<'a> {
    /// Version of this answer.
    ///
    /// Absent in that of `run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<u32>,
    /// `first` for systems, `best` for variants.
    pub reference: Reference,
    /// The first system on the same engine, for each system.
    pub references: Vec<&'a str>,
    /// Workload whose variants are compared.
    ///
    /// `None` for systems.
    pub workload: Option<&'a str>,
    /// System that they were measured on.
    ///
    /// `None` for systems.
    pub system: Option<&'a str>,
    /// Systems or variants, in the order given.
    pub contenders: Vec<&'a str>,
    /// Smallest change that matters, a share.
    pub margin: f64,
    /// Error rate of each kind of claim.
    pub alpha: f64,
    /// Procedure for `alpha`.
    pub correction: &'static str,
    /// Ratios that were judged together.
    pub ratios: usize,
    /// Pairs that these are from.
    pub pairs: usize,
    /// Results over all n.
    pub judged: usize,
    /// Of how many results.
    pub of: usize,
    /// The noise floor of each contender. `None` where it was never measured.
    pub noise_floors: Vec<Option<NoiseFloorAnswer<'a>>>,
    /// Facts that differ, the most important first.
    pub differences: &'a [Difference],
    /// The series.
    pub series: Vec<RankingAnswer<'a>>,
    /// Operations that scale better on one system.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scalings: Vec<ScalingComparison<'a>>,
    /// For each system but the first.
    ///
    /// Where it has one.
    pub geometric_means: Vec<MeanAnswer<'a>>,
    /// Workloads that must not be compared, and why.
    ///
    /// Other versions, settings, backgrounds or clients.
    pub refused: Vec<String>,
    /// Decision on `--fail-on`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<&'a GateAnswer>,
    /// Remarks.
    ///
    /// Where variants stopped or were limited.
    pub notes: Vec<String>,
}

/// The noise floor of a system.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NoiseFloorAnswer<'a> {
    /// Smallest difference that it supports.
    pub share: f64,
    /// RFC 3339.
    pub measured_at: &'a str,
}

/// A geometric mean of ratios.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MeanAnswer<'a> {
    /// Name of the system.
    pub contender: &'a str,
    /// Cost over that of the first; `high` is `null` without pairs.
    pub ratio: Interval,
    /// Of how many series.
    pub of: usize,
}

/// One series of all contenders.
#[derive(Clone, Debug, Serialize)]
pub struct RankingAnswer<'a> {
    /// Its name for a reader.
    pub label: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The variant; empty where variants are compared.
    pub variant: &'a str,
    /// Whether n rises or falls.
    pub direction: Direction,
    /// As in a series of `run`.
    pub unit: Option<&'static str>,
    /// Whether `more` or `less` is better.
    pub better: Better,
    /// Things that n counts.
    pub grows: &'a str,
    /// Largest level that two variants reached.
    pub n: Option<u64>,
    /// The best variant there.
    pub best: Option<&'a str>,
    /// The result in words.
    pub words: Option<String>,
    /// Variants the best first.
    pub contenders: Vec<ContenderAnswer<'a>>,
}

/// Which values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Larger ones.
    More,
    /// Smaller ones.
    Less,
}

/// One contender in one series.
#[derive(Clone, Debug, Serialize)]
pub struct ContenderAnswer<'a> {
    /// Its name.
    pub contender: &'a str,
    /// `None` for variants.
    pub cost: Option<CostAnswer>,
    /// Places that it may have; `None` for two systems, or more than 32.
    pub rank: Option<Rank>,
    /// Cost over that of the best variant at the largest level of both.
    pub last: Option<RatioAnswer>,
    /// Cost over that of the reference, over all n or levels of both.
    pub overall: Option<RatioAnswer>,
    /// Why a comparison is short or missing.
    pub note: Option<String>,
    /// Levels at which something else was the limit.
    pub limited_by_generator: Option<&'a LimitedLevels>,
    /// Of a curve at 1, 2, 5, 10 and so on; of systems none.
    ///
    /// Because every n of their curves is compared.
    pub levels: &'a [LevelValue],
    /// Why trials stopped early.
    pub stops: Vec<TrialStopAnswer<'a>>,
}

/// Cost at both ends of n.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CostAnswer {
    /// Smallest n.
    pub n_low: u64,
    /// Largest n.
    pub n_high: u64,
    /// Cost at the smallest and at the largest n.
    pub low: Interval,
    /// See `low`.
    pub high: Interval,
}

/// The cost of a contender divided by that of its reference.
#[derive(Clone, Debug, Serialize)]
pub struct RatioAnswer {
    /// Claim about the contender; `less` and `more` stand for bytes.
    pub answer: RatioOutcome,
    /// The claim in words.
    pub words: String,
    /// Of a rate, that of the time for one.
    pub ratio: Interval,
    /// Error rate of its interval alone.
    pub level: f64,
    /// At least the noise floor.
    pub margin: f64,
    /// The noise floor of this series, a share; 0 where it is unknown.
    pub noise_floor: f64,
    /// Whether trials were compared in pairs.
    pub paired: bool,
    /// Smallest n.
    pub n_low: u64,
    /// Largest n.
    pub n_high: u64,
    /// `None` where every n counts.
    pub levels: Option<usize>,
    /// Largest n of the two.
    ///
    /// Of the reference and of the contender.
    pub ends: [u64; 2],
    /// Trials of the two, or pairs.
    pub trials: [usize; 2],
    /// Trials after which the result may be definite.
    pub trials_needed: Option<u32>,
    /// Boots of the two, where each boot is one observation.
    pub boots: Option<[usize; 2]>,
    /// Boots after which the result may be definite.
    pub boots_needed: Option<u32>,
    /// Whether the better of the two is a lower bound.
    ///
    /// Than was measured.
    pub at_least: bool,
    /// Where the faster becomes the slower.
    pub crossings: Vec<CrossingAnswer>,
    /// By range of n; all intervals hold together.
    pub blocks: Vec<RatioBlock>,
}

/// A claim about a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RatioOutcome {
    /// It takes less time, by more than the margin.
    Faster,
    /// It takes more time, by more than the margin.
    Slower,
    /// It takes fewer bytes, by more than the margin.
    Less,
    /// It takes more bytes, by more than the margin.
    More,
    /// Any difference is smaller than the margin.
    Equivalent,
    /// There is a difference, and it is smaller than the margin.
    DifferentButSmall,
    /// The data support no claim.
    Unresolved,
}

/// Where the faster of two becomes the slower.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CrossingAnswer {
    /// Its n.
    pub n: f64,
    /// `below` is certain up to here.
    pub low: f64,
    /// The opposite is certain from here on.
    pub high: f64,
    /// Claim about the contender below.
    pub below: RatioOutcome,
}

/// The ratio in a range of n.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RatioBlock {
    /// Smallest n.
    pub n_low: u64,
    /// Largest n.
    pub n_high: u64,
    /// The ratio.
    pub ratio: Interval,
}

impl<'a> ComparisonAnswer<'a> {
    /// An answer by itself.
    pub fn new(compared: &'a Comparison) -> Self {
        ComparisonAnswer { schema: Some(SCHEMA), ..ComparisonAnswer::in_run(compared) }
    }

    /// A part of the answer about a run.
    pub(crate) fn in_run(compared: &'a Comparison) -> Self {
        let (judged, of) = compared.judged();
        let is_of_variants = compared.reference == Reference::Best;
        let contenders = &compared.contenders;
        let system = contenders.first().map(|contender| contender.system.name.as_str());
        let mean = |(name, mean): (&'a str, &Option<Mean>)| {
            let Mean { ratio, of, .. } = (*mean)?;
            Some(MeanAnswer { contender: name, ratio, of })
        };
        let names = || contenders.iter().map(|contender| contender.name.as_str());
        let floors = contenders.iter().map(|contender| contender.system.noise_floor.as_ref());
        let floor = |floor: &'a record::NoiseFloor| NoiseFloorAnswer {
            share: floor.share,
            measured_at: &floor.measured_at,
        };
        ComparisonAnswer {
            schema: None,
            reference: compared.reference,
            references: compared.references.iter().map(|&place| contenders[place].name.as_str()).collect(),
            workload: compared.workload.as_deref(),
            system: system.filter(|_| is_of_variants),
            contenders: names().collect(),
            margin: compared.margin,
            alpha: compared.alpha,
            correction: "false discovery rate: Benjamini-Hochberg over series, Holm over the pairs of one",
            ratios: compared.ratios,
            pairs: compared.pairs,
            judged,
            of,
            noise_floors: floors.map(|known| known.map(floor)).collect(),
            differences: &compared.differences,
            series: compared.rankings.iter().map(RankingAnswer::new).collect(),
            scalings: growth::scalings(compared),
            geometric_means: names().skip(1).zip(&compared.means).filter_map(mean).collect(),
            refused: compared.refused.iter().map(lines::refused).collect(),
            gate: None,
            notes: if is_of_variants { notes(compared) } else { Vec::new() },
        }
    }
}

/// The notes about all contenders, alike ones once.
fn notes(compared: &Comparison) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for row in &compared.rankings {
        let notes = row.standings.iter().filter_map(|entry| lines::note_of(row, entry));
        for note in notes.map(|note| plain(&note)) {
            if !all.contains(&note) {
                all.push(note);
            }
        }
    }
    all
}

impl<'a> RankingAnswer<'a> {
    fn new(row: &'a Ranking) -> Self {
        RankingAnswer {
            label: &row.label,
            name: &row.name,
            variant: &row.variant,
            direction: row.direction,
            unit: Some(row.unit.name()).filter(|name| !name.is_empty()),
            better: if row.unit.more_is_better() { Better::More } else { Better::Less },
            grows: &row.grows,
            n: row.n,
            best: row.best().map(|best| best.name.as_str()),
            words: words::sentence(row).map(|words| plain(&words)),
            contenders: row.standings.iter().map(|entry| ContenderAnswer::new(row, entry)).collect(),
        }
    }
}

impl<'a> ContenderAnswer<'a> {
    fn new(row: &Ranking, entry: &'a RankingEntry) -> Self {
        let cost = |verdict: &stats::Verdict| CostAnswer {
            n_low: verdict.n_low,
            n_high: verdict.n_high,
            low: verdict.cost_low,
            high: verdict.cost_high,
        };
        ContenderAnswer {
            contender: &entry.name,
            cost: entry.verdict.as_ref().map(cost),
            rank: entry.rank,
            last: entry.last.as_ref().map(|last| RatioAnswer::new(last, row.unit)),
            overall: entry.overall.as_ref().map(|overall| RatioAnswer::new(overall, row.unit)),
            note: lines::note_of(row, entry).map(|note| plain(&note)),
            limited_by_generator: entry.limited.as_ref(),
            levels: &entry.levels,
            stops: entry.stops.iter().map(TrialStopAnswer::new).collect(),
        }
    }
}

impl RatioAnswer {
    fn new(ratio: &Ratio, unit: Unit) -> Self {
        let compared = &ratio.comparison;
        let words = match ratio.levels {
            0 => words::answer(ratio, unit),
            _ => words::answer_overall(ratio, unit, ""),
        };
        let block = |&(n_low, n_high, ratio): &(u64, u64, Interval)| RatioBlock { n_low, n_high, ratio };
        let crossing = |crossing: &Crossing| CrossingAnswer {
            n: crossing.n,
            low: crossing.n_low,
            high: crossing.n_high,
            below: RatioOutcome::of_side(!crossing.faster_below, unit),
        };
        RatioAnswer {
            answer: RatioOutcome::new(compared.answer, unit),
            words: plain(&words),
            ratio: compared.ratio,
            level: compared.level,
            margin: compared.margin,
            noise_floor: compared.floor,
            paired: compared.design == Design::Paired,
            n_low: compared.n_low,
            n_high: compared.n_high,
            levels: Some(ratio.levels).filter(|levels| *levels > 0),
            ends: compared.ends.into(),
            trials: compared.trials.into(),
            trials_needed: compared.trials_needed,
            boots: compared.boots.map(Into::into),
            boots_needed: compared.boots_needed,
            at_least: ratio.at_least,
            crossings: compared.crossings.iter().map(crossing).collect(),
            blocks: compared.blocks.iter().map(block).collect(),
        }
    }
}

impl RatioOutcome {
    fn new(answer: Answer, unit: Unit) -> Self {
        match answer {
            Answer::Faster => RatioOutcome::of_side(false, unit),
            Answer::Slower => RatioOutcome::of_side(true, unit),
            Answer::Equivalent => RatioOutcome::Equivalent,
            Answer::DifferentButSmall => RatioOutcome::DifferentButSmall,
            Answer::Unresolved => RatioOutcome::Unresolved,
        }
    }

    fn of_side(is_higher_cost: bool, unit: Unit) -> Self {
        match (is_higher_cost, unit == Unit::Bytes) {
            (true, false) => RatioOutcome::Slower,
            (false, false) => RatioOutcome::Faster,
            (true, true) => RatioOutcome::More,
            (false, true) => RatioOutcome::Less,
        }
    }
}
