//! The lines of the record that the runner writes itself: the head, the definitions, and trials that never
//! began.

use std::collections::BTreeMap;
use std::time::SystemTime;

use record::{Line, Outcome, Run, System, Tool, TrialParameters};

use crate::plan::{Item, RunPlan};
use crate::preset::Trials;
use crate::{BUILD, date};

/// A trial that this system cannot have.
pub(crate) fn unsupported(order: &TrialParameters, reason: &str) -> Line {
    not_begun(order, Outcome::Unsupported { reason: reason.to_owned() })
}

/// A trial that could not be started.
pub(crate) fn failed(order: &TrialParameters, reason: String) -> Line {
    not_begun(order, Outcome::Failed { reason })
}

/// A trial that did not begin, for any reason.
pub(crate) fn not_begun(order: &TrialParameters, outcome: Outcome) -> Line {
    Line::Trial(record::Trial {
        order: order.clone(),
        started_seconds: 0.0,
        elapsed_seconds: 0.0,
        clock: None,
        outcome,
        checks: Vec::new(),
        held_background: Vec::new(),
        activity: BTreeMap::new(),
        warnings: Vec::new(),
    })
}

/// The first line of the record.
pub(crate) fn head(plan: &RunPlan, command: Vec<String>, systems: &[System], date: SystemTime) -> Run {
    let mut processors = systems.iter().filter_map(|system| system.processors.as_ref());
    Run {
        schema: record::SCHEMA,
        tool: Tool {
            name: "osdyno".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            build: BUILD.to_owned(),
        },
        started_at: date::rfc3339(date),
        command,
        preset: plan.preset.to_owned(),
        seed: plan.seed,
        budget_seconds: plan.budget.map(|budget| budget.as_secs_f64()),
        looks: match plan.trials {
            Trials::Looks(looks) => looks.to_vec(),
            Trials::Fixed(_) => Vec::new(),
        },
        pinned: !plan.unpinned && processors.all(|processors| processors.trial.is_some()),
        paired: plan.targets.len() > 1,
    }
}

/// The definitions of all workloads of the plan, each with its variants.
pub(crate) fn workloads(plan: &RunPlan) -> impl Iterator<Item = record::Workload> + '_ {
    let items = &plan.items;
    let first = |&(place, item): &(usize, &Item)| {
        items[..place].iter().all(|other| other.workload.name != item.workload.name)
    };
    items.iter().enumerate().filter(first).map(|(_, item)| {
        let variants =
            items.iter().filter(|other| other.workload.name == item.workload.name).map(|item| item.variant);
        item.workload.recorded(variants, plan.is_named)
    })
}
