//! Does it matter to anyone? The share of the operating system in what a user waits for, for a response and
//! for a transfer; what a system twice as fast would gain; and the rate from which it matters for capacity.
//!
//! - `amount` reads times, rates and sizes, `path` what lies between server and user, `cost` what is typed;
//! - `cost` finds what a run measured;
//! - `effect` computes the shares, `paths` has ways that stand beside a user's own.

mod amount;
mod cost;
mod effect;
mod path;
mod paths;

use judge::Findings;
use stats::Interval;

pub use amount::bytes;
pub use cost::{Cost, PaidFor, UsedOperation};
pub use effect::{CapacityEffect, CoresAtRate, Demand, TIMES_FASTER, UserShare};
pub use path::{NetworkPath, PathPart};
pub use paths::{KNOWN_PATHS, KnownPath};

/// What is asked.
#[derive(Clone, Debug)]
pub struct ImpactQuestion {
    /// What lies between server and user.
    pub path: NetworkPath,
    /// How much is transferred.
    pub bytes: f64,
    /// What is offered, and what a core costs.
    pub demand: Demand,
}

/// What one cost means.
#[derive(Clone, Debug, PartialEq)]
pub struct CostImpact {
    /// The cost; that of all together has no system.
    pub cost: Cost,
    /// Its part in the time of a response; `None` where it is paid for bytes only.
    pub response: Option<UserShare>,
    /// Its part in the time of a transfer; `None` where the path has no rate.
    pub transfer: Option<UserShare>,
    /// What it means for the number of processors; `None` where it contains waiting.
    pub capacity: Option<CapacityEffect>,
}

/// What a user gains where one system replaces another.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemExchange {
    /// The cost.
    pub name: String,
    /// The system that is replaced.
    pub from: String,
    /// The one that replaces it.
    pub to: String,
    /// Share of the time of a response that is gained.
    pub response: Option<Interval>,
    /// Share of the time of a transfer that is gained.
    pub transfer: Option<Interval>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Impact {
    /// Each cost by itself, those with the largest part first.
    pub costs: Vec<CostImpact>,
    /// All of them together, where they are parts of one response.
    pub together: Option<CostImpact>,
    /// Each cost that was measured on several systems, from the first to each other.
    pub exchanges: Vec<SystemExchange>,
}

/// The costs that a run measured, each at its largest n: those that are used, or all that it was made for.
pub fn measured_costs(findings: &Findings, used: &[UsedOperation]) -> Vec<Cost> {
    cost::measured(findings, used)
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

/// What a transfer takes without the operating system: the slowest part carries all of it, and the first byte
/// needs the delay of the path.
fn transfer_seconds(question: &ImpactQuestion) -> Option<f64> {
    let (_, bits_per_second) = question.path.bottleneck()?;
    Some(question.bytes * 8.0 / bits_per_second + question.path.delay_seconds())
}

fn of_cost(cost: &Cost, question: &ImpactQuestion) -> CostImpact {
    let of_transfer = cost.of(question.bytes);
    let response = (cost.paid_for == PaidFor::Response)
        .then(|| UserShare::of(of_transfer, question.path.delay_seconds()));
    CostImpact {
        cost: cost.clone(),
        response,
        transfer: transfer_seconds(question).map(|seconds| UserShare::of(of_transfer, seconds)),
        capacity: cost.is_work.then(|| CapacityEffect::of(of_transfer, question.demand)),
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
    CostImpact {
        cost: Cost {
            name: "together".to_owned(),
            system: String::new(),
            n: None,
            seconds: of_transfer,
            paid_for: PaidFor::Response,
            times: 1.0,
            is_work: true,
        },
        response: of_response.map(|cost| UserShare::of(cost, question.path.delay_seconds())),
        transfer: transfer_seconds(question).map(|seconds| UserShare::of(of_transfer, seconds)),
        capacity: Some(CapacityEffect::of(of_transfer, question.demand)),
    }
}

fn exchanges(costs: &[Cost], question: &ImpactQuestion) -> Vec<SystemExchange> {
    let Some(first) = costs.iter().find(|cost| !cost.system.is_empty()) else { return Vec::new() };
    let others = costs.iter().filter(|cost| !cost.system.is_empty() && cost.system != first.system);
    let exchange = |to: &Cost| {
        let from = costs.iter().find(|from| from.system == first.system && from.name == to.name)?;
        let (before, after) = (from.of(question.bytes), to.of(question.bytes));
        let gain = |seconds: f64| effect::exchange(before, after, seconds);
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
