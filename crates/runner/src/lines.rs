//! The lines of the record that the runner writes itself: the head, the definitions, and trials that never
//! began; with the date in the form of the record.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use record::{Line, Outcome, Run, System, Tool, TrialParameters};

use crate::BUILD;
use crate::plan::{Item, RunPlan};
use crate::preset::Trials;

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
        started_at: rfc3339(date),
        command,
        preset: plan.preset.to_owned(),
        seed: plan.seed,
        budget_seconds: plan.budget.map(|budget| budget.as_secs_f64()),
        looks: match plan.trials {
            Trials::Looks(looks) => looks.to_vec(),
            Trials::Fixed(_) => Vec::new(),
        },
        pinned: !plan.unpinned && processors.all(|processors| processors.trial.is_some()),
        paired: plan.hosts().iter().any(|host| host.systems > 1),
    }
}

/// The definitions of all workloads of the plan, each with its variants.
pub fn definitions(plan: &RunPlan) -> impl Iterator<Item = record::Workload> + '_ {
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

/// The last second that RFC 3339 can write: 9999-12-31T23:59:59Z.
const LAST_SECOND: u64 = 253_402_300_799;

/// The date in UTC, to the second. A clock that is wrong must not end a run: a date before 1970 or after 9999
/// becomes the nearest one that can be written.
pub fn rfc3339(date: SystemTime) -> String {
    let since_1970 = date.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let second = since_1970.as_secs().min(LAST_SECOND);
    humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_date_can_be_written() {
        let epoch = SystemTime::UNIX_EPOCH;
        assert_eq!(rfc3339(epoch - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(epoch + Duration::from_secs(1_700_000_000)), "2023-11-14T22:13:20Z");
        let last = epoch + Duration::from_secs(LAST_SECOND);
        assert_eq!(rfc3339(last), "9999-12-31T23:59:59Z");
        assert_eq!(rfc3339(last + Duration::from_secs(1)), "9999-12-31T23:59:59Z");
    }
}
