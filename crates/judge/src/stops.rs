//! How trials stopped short. A limit is a result; equal stops of many trials are reported once.

use record::{End, EndStatus, Outcome, Trial, Workload};

/// Trials that stopped short in the same way.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// Why.
    pub cause: Cause,
    /// Smallest and largest n at which it happened; `None` where n has no meaning.
    pub n: Option<(u64, u64)>,
    /// How many trials.
    pub trials: usize,
    /// How many trials there were.
    pub of: usize,
}

/// Why trials stopped short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The system refused an operation.
    Limit {
        /// The operation that was refused.
        operation: String,
        /// The symbolic name of the error.
        error: String,
        /// The meaning of the limit and how to raise it.
        advice: String,
    },
    /// The time for it was used up.
    Allowance,
    /// It cannot exist on this system.
    Unsupported {
        /// Why.
        reason: String,
    },
    /// A check failed, or it could not be set up.
    Failed {
        /// The attempt and its result.
        reason: String,
    },
    /// The process ended by itself or was killed.
    Crashed {
        /// The signal or exit status.
        reason: String,
    },
    /// The process did not end in time and was killed.
    TimedOut,
    /// Its trials only found the load for all rivals, and none was made at that load.
    NotOffered,
    /// There was no trial at all.
    NotMeasured {
        /// Whether the time of the run was used up before.
        out_of_time: bool,
    },
}

impl Stop {
    /// The operation that was refused.
    pub fn operation(&self) -> Option<&str> {
        match &self.cause {
            Cause::Limit { operation, .. } => Some(operation),
            _ => None,
        }
    }
}

/// The stop of a series that only trials at an offered load have, if there was none.
pub(crate) fn not_offered(workload: &Workload, trials: &[&Trial]) -> Option<Stop> {
    let found_out = |trial: &&Trial| {
        matches!(trial.outcome, Outcome::Complete | Outcome::Allowance { .. })
            && trial.order.offered.is_empty()
    };
    let is_so = workload.equal_offered_load && !trials.is_empty() && trials.iter().all(found_out);
    is_so.then_some(Stop { cause: Cause::NotOffered, n: None, trials: trials.len(), of: trials.len() })
}

/// The stops of some trials, the most frequent first; without a trial, that there was none before the end of
/// the run.
pub(crate) fn from_trials(trials: &[&Trial], end: Option<&End>) -> Vec<Stop> {
    if trials.is_empty() {
        let out_of_time = end.is_some_and(|end| end.status == EndStatus::Budget);
        return vec![Stop { cause: Cause::NotMeasured { out_of_time }, n: None, trials: 0, of: 0 }];
    }
    let mut stops: Vec<Stop> = Vec::new();
    for trial in trials {
        let Some((cause, n)) = cause(&trial.outcome) else { continue };
        match stops.iter_mut().find(|stop| stop.cause == cause) {
            Some(stop) => {
                stop.trials += 1;
                stop.n = stop.n.zip(n).map(|((low, high), n)| (low.min(n), high.max(n)));
            }
            None => stops.push(Stop { cause, n: n.map(|n| (n, n)), trials: 1, of: trials.len() }),
        }
    }
    stops.sort_by_key(|stop| std::cmp::Reverse(stop.trials));
    stops
}

fn cause(outcome: &Outcome) -> Option<(Cause, Option<u64>)> {
    Some(match outcome.clone() {
        Outcome::Complete => return None,
        Outcome::Limit { n, operation, error, advice } => {
            (Cause::Limit { operation, error, advice }, Some(n))
        }
        Outcome::Allowance { n } => (Cause::Allowance, Some(n)),
        Outcome::Unsupported { reason } => (Cause::Unsupported { reason }, None),
        Outcome::Failed { reason } => (Cause::Failed { reason }, None),
        Outcome::Crashed { n, reason } => (Cause::Crashed { reason }, Some(n)),
        Outcome::TimedOut { n } => (Cause::TimedOut, Some(n)),
    })
}
