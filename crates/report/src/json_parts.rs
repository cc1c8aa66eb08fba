//! Parts that the documents for programs have in common.

use judge::{Cause, LimitedLevels, Stop};
use serde::Serialize;
use stats::Interval;

use crate::sentences;
use crate::words::GAP;

/// Version of the document; it rises when a field changes its meaning or is lost.
pub(crate) const SCHEMA: u32 = 3;

/// A range of n or an estimate with its interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Estimate {
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl From<Interval> for Estimate {
    fn from(interval: Interval) -> Self {
        Estimate { value: finite(interval.value), low: finite(interval.low), high: finite(interval.high) }
    }
}

/// A number, if it is one.
pub(crate) fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

#[derive(Debug, Serialize)]
pub(crate) struct StopEntry<'a> {
    cause: &'static str,
    n_low: Option<u64>,
    n_high: Option<u64>,
    trials: usize,
    of: usize,
    operation: Option<&'a str>,
    reason: Option<&'a str>,
    advice: Option<&'a str>,
    words: String,
}

impl<'a> StopEntry<'a> {
    pub(crate) fn of(stop: &'a Stop) -> Self {
        let (cause, reason) = match &stop.cause {
            Cause::Limit { error, .. } => ("limit", Some(error.as_str())),
            Cause::Allowance => ("allowance", None),
            Cause::Unsupported { reason } => ("unsupported", Some(reason.as_str())),
            Cause::Failed { reason } => ("failed", Some(reason.as_str())),
            Cause::Crashed { reason } => ("crashed", Some(reason.as_str())),
            Cause::TimedOut => ("timed-out", None),
            Cause::NotOffered => ("not-offered", None),
            Cause::NotMeasured { .. } => ("not-measured", None),
        };
        StopEntry {
            cause,
            n_low: stop.n.map(|n| n.0),
            n_high: stop.n.map(|n| n.1),
            trials: stop.trials,
            of: stop.of,
            operation: stop.operation(),
            reason,
            advice: sentences::advice(stop),
            words: plain(&sentences::stop(stop)),
        }
    }
}

/// Where something other than the system was the limit.
pub(crate) fn limited(limited: &LimitedLevels) -> serde_json::Value {
    serde_json::json!({ "by": limited.by, "n": limited.levels, "trials": limited.trials, "of": limited.of })
}

/// Words for a program: ordinary spaces, which can be searched for.
pub(crate) fn plain(words: &str) -> String {
    words.replace(GAP, " ")
}
