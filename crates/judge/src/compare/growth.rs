//! The trends of the times of each contender of a load over n: the server's processor time for a response,
//! and the latencies.

use record::{SeriesKey, Side, Unit};
use stats::{Class, Interval, Verdict};

use super::result::{Comparison, Ranking, RankingEntry};
use crate::bounds::LimitedLevels;
use crate::finding::Finding;
use crate::findings::Findings;
use crate::verdict::known_bound;

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
