//! The claim of a ratio, and its range of n; and the growth of the contenders of a ranking.

use record::{SeriesKey, Side, Unit};
use stats::{Answer, Class, Interval, SeriesComparison, Verdict};

use crate::bounds::LimitedLevels;
use crate::compare::{Comparison, Mean, More, Ranking, RankingEntry, Ratio};
use crate::finding::Finding;
use crate::findings::Findings;
use crate::verdict::known_bound;

/// Ratios of two ranges of n that are further apart than this are not one ratio.
const FAR: f64 = 1.2;

/// The claim about the cost of a contender relative to the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claim {
    /// For certain it is faster at some n and slower at others; the crossings are the places.
    DependsOnN,
    /// It differs at some n only: one ratio for all n would hide that.
    InPart {
        /// Whether it is slower there.
        is_slower: bool,
        /// The range of n.
        part: Part,
        /// Where it differs most.
        most: Interval,
    },
    /// It is faster, by more than the margin.
    Faster,
    /// It is slower, by more than the margin.
    Slower,
    /// Any difference is smaller than the margin.
    Equivalent {
        /// The share that a difference is certainly within.
        within: f64,
        /// Whether that is the noise floor of the machine.
        is_noise_floor: bool,
    },
    /// There is a difference, and it is smaller than the margin.
    DifferentButSmall,
    /// None of these.
    Unresolved {
        /// The trials or boots that may resolve it; `None` where more would not help.
        more: Option<More>,
    },
}

/// The n that a claim is restricted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Up to this n.
    To(u64),
    /// From this n on.
    From(u64),
    /// From the first to the last.
    Between(u64, u64),
}

/// The claim about a geometric mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeanClaim {
    /// It is below 1 for certain, and by more than the noise floor.
    Faster,
    /// It is above 1 for certain, and by more than the noise floor.
    Slower,
    /// It may be 1, or noise.
    Nothing,
    /// It is an estimate: unpaired trials support no claim.
    Estimate,
}

impl Ratio {
    /// The claim about it, with its range of n.
    pub fn claim(&self) -> Claim {
        match depends_on_n(&self.comparison) {
            true => Claim::DependsOnN,
            false => in_part(&self.comparison).unwrap_or_else(|| self.claim_overall()),
        }
    }

    /// The claim about it for all n together.
    pub fn claim_overall(&self) -> Claim {
        let comparison = &self.comparison;
        match comparison.answer {
            Answer::Faster => Claim::Faster,
            Answer::Slower => Claim::Slower,
            Answer::Equivalent => {
                let Interval { low, high, .. } = comparison.ratio;
                let reach = (high - 1.0).max(1.0 / low - 1.0).max(0.0);
                let is_noise_floor = comparison.floor > reach;
                Claim::Equivalent { within: reach.max(comparison.floor), is_noise_floor }
            }
            Answer::DifferentButSmall => Claim::DifferentButSmall,
            Answer::Unresolved => Claim::Unresolved { more: self.more() },
        }
    }

    /// Whether a difference may be claimed.
    pub(super) fn is_sure(&self) -> bool {
        matches!(self.comparison.answer, Answer::Faster | Answer::Slower | Answer::DifferentButSmall)
    }

    /// The trials or boots that may resolve it.
    pub(super) fn more(&self) -> Option<More> {
        let more = |needed: u32, (first, other): (usize, usize)| {
            (needed as usize).saturating_sub(first.max(other)).max(1)
        };
        let comparison = &self.comparison;
        match comparison.boots {
            Some(boots) => comparison.boots_needed.map(|needed| More::Boots(more(needed, boots))),
            None => comparison.trials_needed.map(|needed| More::Trials(more(needed, comparison.trials))),
        }
    }
}

impl Mean {
    /// The claim about it.
    pub fn claim(&self) -> MeanClaim {
        let sure = 1.0 + self.floor;
        match self.ratio {
            Interval { high, .. } if !high.is_finite() => MeanClaim::Estimate,
            Interval { low, .. } if low > sure => MeanClaim::Slower,
            Interval { high, .. } if high < 1.0 / sure => MeanClaim::Faster,
            _ => MeanClaim::Nothing,
        }
    }
}

/// Which of two is faster depends on n, each by more than the margin somewhere.
fn depends_on_n(comparison: &SeriesComparison) -> bool {
    let is_any =
        |is_slower| comparison.blocks.iter().any(|block| is_certain(comparison, is_slower, &block.2));
    !comparison.crossings.is_empty() && is_any(true) && is_any(false)
}

/// Whether a range of n differs by more than the margin for certain.
fn is_certain(comparison: &SeriesComparison, is_slower: bool, ratio: &Interval) -> bool {
    let beyond = 1.0 + comparison.margin;
    if is_slower { ratio.low > beyond } else { ratio.high < 1.0 / beyond }
}

/// A difference in one range of n, with none that matters elsewhere.
fn in_part(comparison: &SeriesComparison) -> Option<Claim> {
    let is_slower = match comparison.answer {
        Answer::Slower => true,
        Answer::Faster => false,
        _ => return None,
    };
    let distance = |ratio: &Interval| if is_slower { ratio.value } else { 1.0 / ratio.value };
    let certain = |block: &(u64, u64, Interval)| is_certain(comparison, is_slower, &block.2);
    let blocks = &comparison.blocks;
    let (_, _, most) = blocks.iter().max_by(|a, b| distance(&a.2).total_cmp(&distance(&b.2)))?;
    let least = blocks.iter().min_by(|a, b| distance(&a.2).total_cmp(&distance(&b.2)))?;
    let apart = if is_slower { most.low > least.2.high } else { most.high < least.2.low };
    if certain(least) || !apart || distance(most) < FAR * distance(&least.2) {
        return None;
    }
    let first = blocks.iter().position(certain)?;
    let last = blocks.iter().rposition(certain)?;
    let part = match (first, last + 1 == blocks.len()) {
        _ if !blocks[first..=last].iter().all(certain) => return None,
        (0, _) => Part::To(blocks[last].1),
        (_, true) => Part::From(blocks[first].0),
        _ => Part::Between(blocks[first].0, blocks[last].1),
    };
    Some(Claim::InPart { is_slower, part, most: *most })
}

/// The trends over n of the times of one contender.
#[derive(Clone, Debug, PartialEq)]
pub struct ContenderGrowth {
    /// Name of the contender.
    pub name: String,
    /// Its place among the contenders.
    pub place: usize,
    /// Each of its times that has a verdict or a reason for none, in the order of the workload.
    pub series: Vec<SeriesGrowth>,
}

/// The trend of one time over n.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesGrowth {
    /// Name of the series: `server cpu`, `p50`.
    pub name: String,
    /// Where it was measured.
    pub side: Side,
    /// The judged levels, from the first to the last.
    pub range: (u64, u64),
    /// The claim.
    pub growth: GrowthClaim,
}

/// The claim about a time over the levels of a load.
#[derive(Clone, Debug, PartialEq)]
pub enum GrowthClaim {
    /// It differs at no level by more than this share, for certain.
    Flat {
        /// The share.
        within: f64,
    },
    /// At the last level it is so many times that at the first: more, for certain.
    Grows(Interval),
    /// The same: less, for certain.
    Falls(Interval),
    /// It changes for certain, by this share where most, but not for certain from the first level to the
    /// last.
    Changes {
        /// The largest change; negative where it falls.
        most: f64,
    },
    /// Only an upper bound of the change is certain, if there are enough trials.
    Undecided {
        /// The share.
        at_most: Option<f64>,
    },
    /// The load generator was the limit: the time is one of the generator.
    Limited(LimitedLevels),
}

impl Findings {
    /// The trends of each contender over n, the best first; empty for workloads other than loads.
    pub fn growths(&self, compared: &Comparison) -> Vec<ContenderGrowth> {
        let is_time = |ranking: &&Ranking| ranking.levels && ranking.unit == Unit::Seconds;
        let times = || compared.rankings.iter().filter(is_time);
        let Some(first) = times().next() else { return Vec::new() };
        let of = |entry: &RankingEntry| {
            let series = times().filter_map(|ranking| {
                let finding = self.of_contender(compared, entry.place, &ranking.name)?;
                let verdict = finding.verdict.as_ref()?;
                Some(SeriesGrowth {
                    name: ranking.name.clone(),
                    side: ranking.side,
                    range: (verdict.n_low, verdict.n_high),
                    growth: growth(
                        verdict,
                        finding.limited.as_ref().filter(|_| ranking.side == Side::Client),
                    ),
                })
            });
            // At one level nothing grows.
            let says_something = |series: &SeriesGrowth| {
                series.range.0 < series.range.1 || !matches!(series.growth, GrowthClaim::Undecided { .. })
            };
            let series = series.filter(says_something).collect();
            ContenderGrowth { name: entry.name.clone(), place: entry.place, series }
        };
        first.standings.iter().map(of).filter(|contender| !contender.series.is_empty()).collect()
    }

    /// The series of that name of a variant that is compared with others.
    fn of_contender(&self, compared: &Comparison, place: usize, name: &str) -> Option<&Finding> {
        let contender = compared.contenders.get(place)?;
        let is_it = |key: &SeriesKey| {
            key.system == contender.system.name && key.variant == contender.name && key.name == name
        };
        let workload = compared.workload.as_deref();
        self.series.iter().find(|f| is_it(&f.key) && Some(f.key.workload.as_str()) == workload)
    }
}

fn growth(verdict: &Verdict, limited: Option<&LimitedLevels>) -> GrowthClaim {
    match verdict.class {
        _ if let Some(limited) = limited => GrowthClaim::Limited(limited.clone()),
        Class::Flat => GrowthClaim::Flat { within: verdict.bound },
        Class::Inconclusive | Class::Value => GrowthClaim::Undecided { at_most: known_bound(verdict) },
        _ if verdict.growth.low > 1.0 => GrowthClaim::Grows(verdict.growth),
        _ if verdict.growth.high < 1.0 => GrowthClaim::Falls(verdict.growth),
        _ => GrowthClaim::Changes { most: verdict.peak },
    }
}
