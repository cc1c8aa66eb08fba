//! The reports of a run: while it goes on, with the time left, and at its end.

use std::path::PathBuf;
use std::time::Duration;

use judge::Findings;
use record::{EndStatus, Outcome, Recording, System};

use crate::Error;
use crate::plan::{Item, RunPlan};
use crate::preset::Trials;
use crate::scratch::Removal;

/// A report of a run while it goes on.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// The systems are known and measuring begins.
    Begun {
        /// The systems, also those that cannot be measured.
        systems: &'a [System],
    },
    /// A trial begins.
    Trial {
        /// The item that is measured.
        item: &'a Item,
        /// Name of the system.
        system: &'a str,
        /// Number of the trial.
        trial: u32,
        /// How many the item gets, as planned by now.
        of: u32,
        /// Share of the whole run that is done.
        done: f64,
        /// How long the run will go on, if that is known.
        left: Option<TimeLeft>,
    },
    /// Items were judged, and more trials would decide no more of them.
    Decided {
        /// The findings of their workload.
        findings: &'a Findings,
        /// The variants that are decided.
        variants: &'a [&'static str],
    },
    /// All items that stand at a planned number of trials were judged.
    Looked {
        /// The items that are not decided.
        open: &'a [&'a Item],
        /// Of so many items.
        of: usize,
    },
    /// All trials on a host of a fleet are over.
    HostEnded {
        /// Name of the host.
        host: &'a str,
        /// How its part of the run ended.
        status: &'a EndStatus,
        /// Why the rest of its trials are lost; `None` where they are not.
        lost: Option<&'a str>,
        /// Hosts that have ended.
        ended: usize,
        /// Of so many.
        of: usize,
    },
    /// A trial did not go well.
    Trouble {
        /// The item that was measured.
        item: &'a Item,
        /// Name of the system.
        system: &'a str,
        /// Number of the trial.
        trial: u32,
        /// How it ended.
        outcome: &'a Outcome,
    },
}

/// A run that is over.
#[derive(Debug)]
pub struct Ran {
    /// All of it, as the record has it.
    pub recording: Recording,
    /// The findings.
    pub findings: Findings,
    /// The number of judgements for that and at earlier looks, one per series and look.
    pub judgements: usize,
    /// The error that kept the record from being written to its end; the findings above are complete all the
    /// same.
    pub unwritten: Option<Error>,
    /// The user wanted it to stop.
    pub interrupted: bool,
    /// Where the noise floor is kept that an A/A run found; `None` where it found none.
    pub floor_kept: Option<Result<PathBuf, Error>>,
    /// The scratch folder on its way out; `None` where there was none.
    pub removal: Option<Removal>,
}

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
    /// more, in proportion to the share that is done.
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
