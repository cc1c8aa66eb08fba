//! Does a cost of the operating system matter to anyone? Its share in the time that a user waits, for a
//! response and for a transfer; the gain of a system twice as fast; and the rate from which it matters for
//! capacity: Amdahl's law (AFIPS 1967), with the path as the part that no system makes faster.
//!
//! - `cost` has the costs, typed or measured by a run, `path` the way between server and user;
//! - `document` is the answer in words, tables and a picture of all paths.

mod cost;
mod document;
mod path;

use serde::Serialize;
use stats::Interval;

pub use cost::{Cost, PaidFor, UsedOperation, bytes, measured_costs};
use path::{KNOWN_PATHS, USUAL_PATH};
pub use path::{NetworkPath, PathPart};

/// How many times faster the hypothetical system is: the question of 1996.
const TIMES_FASTER: f64 = 2.0;

/// A question about costs.
#[derive(Clone, Debug)]
pub struct ImpactQuestion {
    /// The path between server and user.
    pub path: NetworkPath,
    /// Bytes of a transfer.
    pub bytes: f64,
    /// The rate that is offered, and the price of a core.
    pub demand: Demand,
}

/// The answer of `osdyno impact`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImpactAnswer {
    /// Version of this answer.
    pub schema: u32,
    /// Between server and user.
    pub path: PathAnswer,
    /// Transfer, in bytes.
    pub transfer_bytes: f64,
    /// How many times faster the faster system is.
    pub times_faster: f64,
    /// The effect of the costs on that path.
    #[serde(flatten)]
    pub impact: Impact,
    /// Effect of the main cost.
    ///
    /// All costs together, or the largest.
    pub other_paths: Vec<OtherPath>,
}

/// The path of an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathAnswer {
    /// From the server to the user.
    pub parts: Vec<PathPart>,
    /// Whether it is that of the user.
    ///
    /// Otherwise it is a typical one.
    pub is_typed: bool,
    /// Sum of the parts.
    pub delay_seconds: f64,
    /// The part with the lowest rate; `null` where no part limits the rate.
    pub bottleneck: Option<String>,
    /// Seconds of a transfer without the operating system; `None` where no part limits the rate.
    #[serde(skip)]
    pub transfer_seconds: Option<f64>,
}

/// The effect of the main cost on another path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OtherPath {
    /// The path.
    #[serde(rename = "path")]
    pub name: &'static str,
    /// Part in the time of a response.
    ///
    /// `null` where it is paid for bytes only.
    pub response: Option<UserShare>,
    /// Part in the time of a transfer.
    pub transfer: Option<UserShare>,
}

/// The effect of one cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostImpact {
    /// The cost; that of all together has no system.
    #[serde(flatten)]
    pub cost: Cost,
    /// Part in the time of a response.
    ///
    /// `null` where it is paid for bytes only.
    pub response: Option<UserShare>,
    /// Part in the time of a transfer.
    ///
    /// `null` where the path has no rate.
    pub transfer: Option<UserShare>,
    /// Effect on the number of processors.
    ///
    /// `null` where it contains waiting.
    pub capacity: Option<CapacityEffect>,
}

/// The gain of a user where one system replaces another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SystemExchange {
    /// Its name.
    pub name: String,
    /// The replaced system, and its replacement.
    pub from: String,
    /// See `from`.
    pub to: String,
    /// Share of the time of a response that is gained; `null` where the cost is paid for bytes only.
    #[serde(rename = "response_gain")]
    pub response: Option<Interval>,
    /// Share of the time of a transfer that is gained; `null` where the path has no rate.
    #[serde(rename = "transfer_gain")]
    pub transfer: Option<Interval>,
}

/// The effect of costs on one path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Impact {
    /// Each by itself, the largest part first.
    pub costs: Vec<CostImpact>,
    /// All of them, as parts of one response.
    pub together: Option<CostImpact>,
    /// Costs of several systems, from the first to each other.
    pub exchanges: Vec<SystemExchange>,
}

/// The part of a cost in the time that a user waits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UserShare {
    /// Time of the operating system.
    pub system_seconds: Interval,
    /// Time that a user waits.
    pub total_seconds: f64,
    /// Share of the operating system in that.
    pub share: Interval,
    /// Share that a system twice as fast would save at most.
    #[serde(rename = "gain_at_most")]
    pub gain: Interval,
}

impl UserShare {
    /// The effect of a cost on a path that takes so long without it.
    fn of(cost: Interval, path_seconds: f64) -> UserShare {
        let share = over(cost, |cost| cost / (cost + path_seconds));
        UserShare {
            system_seconds: cost,
            total_seconds: cost.value + path_seconds,
            share,
            gain: over(share, |share| share * (1.0 - 1.0 / TIMES_FASTER)),
        }
    }
}

/// The effect of a cost on the number of processors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CapacityEffect {
    /// Seconds that a processor works for one response or transfer.
    pub work_seconds: Interval,
    /// Responses per second that occupy one core.
    #[serde(rename = "per_core_per_second")]
    pub per_core: Interval,
    /// The same at which a system twice as fast saves a core.
    #[serde(rename = "saves_a_core_from_per_second")]
    pub matters_from: Interval,
    /// At the given rate.
    ///
    /// `null` without one.
    pub at_rate: Option<CoresAtRate>,
}

/// Cores that a cost occupies at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CoresAtRate {
    /// Responses per second.
    pub per_second: f64,
    /// Cores that work on it.
    pub cores: Interval,
    /// Cores that a system twice as fast would save.
    #[serde(rename = "cores_saved")]
    pub saved: Interval,
    /// The price of those; `null` without a price of a core.
    pub money_saved: Option<Interval>,
}

/// The rate that is offered to the servers, and the price of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Demand {
    /// Responses per second.
    pub per_second: Option<f64>,
    /// The price of one core, in any currency and for any time.
    pub core_price: Option<f64>,
}

impl CapacityEffect {
    fn of(work: Interval, demand: Demand) -> CapacityEffect {
        let saved_share = 1.0 - 1.0 / TIMES_FASTER;
        let inverse = |times: f64| {
            let Interval { value, low, high } = work;
            Interval { value: times / value, low: times / high, high: times / low }
        };
        let at_rate = |per_second: f64| {
            let cores = over(work, |seconds| seconds * per_second);
            let saved = over(cores, |cores| cores * saved_share);
            let money_saved = demand.core_price.map(|price| over(saved, |cores| cores * price));
            CoresAtRate { per_second, cores, saved, money_saved }
        };
        CapacityEffect {
            work_seconds: work,
            per_core: inverse(1.0),
            matters_from: inverse(1.0 / saved_share),
            at_rate: demand.per_second.map(at_rate),
        }
    }
}

impl ImpactAnswer {
    /// Answers for these costs on the path of the user, or on one that many have, and on other paths;
    /// `are_parts` says that one response has all costs.
    pub fn new(
        costs: &[Cost],
        are_parts: bool,
        path: Option<NetworkPath>,
        bytes: f64,
        demand: Demand,
    ) -> ImpactAnswer {
        let on = |path| {
            let question = ImpactQuestion { path, bytes, demand };
            (Impact::of(costs, are_parts, &question), question)
        };
        let other_paths = KNOWN_PATHS.iter().map(|known| {
            let (impact, _) = on(known.path());
            let main = impact.main();
            OtherPath {
                name: known.name,
                response: main.and_then(|main| main.response),
                transfer: main.and_then(|main| main.transfer),
            }
        });
        let other_paths = other_paths.collect();
        let is_typed = path.is_some();
        let (impact, question) = on(path.unwrap_or_else(|| USUAL_PATH.path()));
        let path = &question.path;
        ImpactAnswer {
            schema: 1,
            path: PathAnswer {
                parts: path.parts().to_vec(),
                is_typed,
                delay_seconds: path.delay_seconds(),
                bottleneck: path.bottleneck().map(|(part, _)| part.name.clone()),
                transfer_seconds: transfer_seconds(&question),
            },
            transfer_bytes: bytes,
            times_faster: TIMES_FASTER,
            impact,
            other_paths,
        }
    }
}

impl Impact {
    /// Answers for these costs; `are_parts` says that one response has all of them.
    pub fn of(costs: &[Cost], are_parts: bool, question: &ImpactQuestion) -> Impact {
        let mut each: Vec<CostImpact> = costs.iter().map(|cost| of_cost(cost, question)).collect();
        let weight = |one: &CostImpact| one.cost.of(question.bytes).value;
        each.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
        let is_one_system = costs.iter().all(|cost| cost.system.is_empty() || cost.system == costs[0].system);
        // Percentiles of one response time, and the work within it, are no sum.
        let is_sum = are_parts && is_one_system && costs.len() > 1 && costs.iter().all(|cost| cost.is_work);
        let together = is_sum.then(|| of_all(costs, question));
        Impact { costs: each, together, exchanges: exchanges(costs, question) }
    }

    /// The cost that the answer is about: all together, or the largest.
    pub fn main(&self) -> Option<&CostImpact> {
        self.together.as_ref().or(self.costs.first())
    }
}

/// The time of a transfer without the operating system: the slowest part carries all of it, and the first
/// byte needs the delay of the path.
fn transfer_seconds(question: &ImpactQuestion) -> Option<f64> {
    let (_, bits_per_second) = question.path.bottleneck()?;
    Some(question.bytes * 8.0 / bits_per_second + question.path.delay_seconds())
}

fn of_cost(cost: &Cost, question: &ImpactQuestion) -> CostImpact {
    let of_transfer = cost.of(question.bytes);
    let of_response = (cost.paid_for == PaidFor::Response).then_some(of_transfer);
    effects(cost.clone(), of_response, of_transfer, question)
}

/// The effects of a cost that takes so long in a response, and in a transfer.
fn effects(
    cost: Cost,
    of_response: Option<Interval>,
    of_transfer: Interval,
    question: &ImpactQuestion,
) -> CostImpact {
    CostImpact {
        response: of_response.map(|cost| UserShare::of(cost, question.path.delay_seconds())),
        transfer: transfer_seconds(question).map(|seconds| UserShare::of(of_transfer, seconds)),
        capacity: cost.is_work.then(|| CapacityEffect::of(of_transfer, question.demand)),
        cost,
    }
}

/// The sum of all costs. Its interval is that of costs which are all low or all high, so it is wider than
/// 95 %.
fn of_all(costs: &[Cost], question: &ImpactQuestion) -> CostImpact {
    let sum = |costs: &mut dyn Iterator<Item = &Cost>| {
        costs.map(|cost| cost.of(question.bytes)).reduce(|one, other| Interval {
            value: one.value + other.value,
            low: one.low + other.low,
            high: one.high + other.high,
        })
    };
    let of_response = sum(&mut costs.iter().filter(|cost| cost.paid_for == PaidFor::Response));
    let of_transfer = sum(&mut costs.iter()).unwrap_or(Interval { value: 0.0, low: 0.0, high: 0.0 });
    let cost = Cost {
        name: "together".to_owned(),
        system: String::new(),
        n: None,
        seconds: of_transfer,
        paid_for: PaidFor::Response,
        times: 1.0,
        is_work: true,
    };
    effects(cost, of_response, of_transfer, question)
}

fn exchanges(costs: &[Cost], question: &ImpactQuestion) -> Vec<SystemExchange> {
    let Some(first) = costs.iter().find(|cost| !cost.system.is_empty()) else { return Vec::new() };
    let others = costs.iter().filter(|cost| !cost.system.is_empty() && cost.system != first.system);
    let exchange = |to: &Cost| {
        let from = costs.iter().find(|from| from.system == first.system && from.name == to.name)?;
        let (before, after) = (from.of(question.bytes), to.of(question.bytes));
        let gain = |seconds: f64| exchange_gain(before, after, seconds);
        let response = (to.paid_for == PaidFor::Response).then(|| gain(question.path.delay_seconds()));
        Some(SystemExchange {
            name: to.name.clone(),
            from: from.system.clone(),
            to: to.system.clone(),
            response,
            transfer: transfer_seconds(question).map(gain),
        })
    };
    others.filter_map(exchange).collect()
}

/// A function that rises, of an estimate and of both of its ends.
fn over(of: Interval, rising: impl Fn(f64) -> f64) -> Interval {
    Interval { value: rising(of.value), low: rising(of.low), high: rising(of.high) }
}

/// The gain of going from one system to another, as a share of the time that a user waits on the first;
/// negative where the other is slower. The ends of the interval are those of the two costs at their worst, so
/// it is wider than 95 %.
fn exchange_gain(from: Interval, to: Interval, path_seconds: f64) -> Interval {
    let gain = |from: f64, to: f64| (from - to) / (from + path_seconds);
    Interval {
        value: gain(from.value, to.value),
        low: gain(from.low, to.high),
        high: gain(from.high, to.low),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exactly(value: f64) -> Interval {
        Interval { value, low: value, high: value }
    }

    #[test]
    fn half_of_the_share_is_the_most_that_can_be_gained() {
        let effect = UserShare::of(Interval { value: 1.0, low: 0.5, high: 2.0 }, 3.0);
        assert_eq!((effect.share.value, effect.gain.value, effect.total_seconds), (0.25, 0.125, 4.0));
        assert_eq!((effect.share.low, effect.share.high), (0.5 / 3.5, 0.4));
        assert_eq!(UserShare::of(exactly(1.0), 0.0).gain.value, 0.5);
    }

    #[test]
    fn a_core_is_saved_where_two_are_busy() {
        let demand = Demand { per_second: Some(4e6), core_price: Some(30.0) };
        let effect = CapacityEffect::of(exactly(1e-6), demand);
        let at_rate = effect.at_rate.unwrap();
        assert!((effect.per_core.value - 1e6).abs() < 1.0 && (effect.matters_from.value - 2e6).abs() < 1.0);
        assert!((at_rate.cores.value - 4.0).abs() < 1e-9 && (at_rate.saved.value - 2.0).abs() < 1e-9);
        assert!((at_rate.money_saved.unwrap().value - 60.0).abs() < 1e-9);
    }

    #[test]
    fn going_to_a_faster_system_gains_what_differs() {
        let gain = exchange_gain(Interval { value: 2.0, low: 1.5, high: 2.5 }, exactly(1.0), 8.0);
        assert!((gain.value - 0.1).abs() < 1e-12 && gain.low < gain.value && gain.value < gain.high);
        assert!(exchange_gain(exactly(1.0), exactly(2.0), 8.0).value < 0.0);
    }
}
