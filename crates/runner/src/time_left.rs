//! How long a run will go on: what its progress says to a person that waits.

use std::time::Duration;

use crate::plan::RunPlan;
use crate::preset::Trials;

/// How long a run will go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLeft {
    /// The number of trials is fixed: as long as these take.
    About(Duration),
    /// Trials go on until all is decided: no longer than the budget.
    AtMost(Duration),
}

impl TimeLeft {
    /// The time of all trials that are planned by now; or all that the budget leaves, where looks may plan
    /// more, as the share that is done has it.
    pub(crate) fn new(plan: &RunPlan, remaining: Duration, planned_seconds: f64) -> TimeLeft {
        let planned = Duration::from_secs_f64(planned_seconds);
        match (&plan.trials, plan.budget) {
            (Trials::Looks(_), Some(_)) => TimeLeft::AtMost(remaining.max(planned)),
            _ => TimeLeft::About(planned),
        }
    }

    /// The time.
    pub fn time(self) -> Duration {
        match self {
            TimeLeft::About(time) | TimeLeft::AtMost(time) => time,
        }
    }
}
