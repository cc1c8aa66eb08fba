//! Parts that the documents for programs have in common.

use judge::hints::{Landmark, LandmarkRemedy};
use judge::{Cause, Findings, Growth, GrowthEnd, Highlight, LimitedLevels, Stop};
use serde::Serialize;
use stats::Interval;

use crate::words::GAP;
use crate::{overview, sentences};

/// Version of the document; it rises when a field changes its meaning or is lost.
pub(crate) const SCHEMA: u32 = 3;

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

/// A growth that costs a user most, with the series that grow alike.
#[derive(Debug, Serialize)]
pub(crate) struct FindingEntry<'a> {
    /// The series that costs most.
    series: &'a str,
    /// Its system.
    system: &'a str,
    /// The series that grow alike.
    likewise: Vec<&'a str>,
    /// The cost at small n.
    from: Option<GrowthEnd>,
    /// The cost at its highest.
    to: Option<GrowthEnd>,
    /// The second divided by the first.
    growth: Option<Interval>,
    /// The n from which it grows; `null` where it grows everywhere alike.
    place: Option<Interval>,
    /// The limit or setting that lies there, in words.
    near: Option<String>,
    /// What to do about that.
    remedy: Option<LandmarkRemedy>,
    /// Variants that do the same and stay flat.
    flat_variants: Vec<&'a str>,
    /// Whether the documented expectation holds; `null` if that cannot be decided.
    as_expected: Option<bool>,
    /// All of it in a sentence.
    words: String,
}

impl<'a> FindingEntry<'a> {
    pub(crate) fn new(findings: &Findings, highlight: &Highlight<'a>) -> Self {
        let first = highlight.first();
        let growth = first.verdict.as_ref().and_then(Growth::from_verdict);
        let near = highlight.place.as_ref().and_then(|place| place.near.first());
        FindingEntry {
            series: &first.label,
            system: &first.key.system,
            likewise: highlight.series.iter().skip(1).map(|finding| finding.label.as_str()).collect(),
            from: growth.map(|growth| growth.from),
            to: growth.map(|growth| growth.to),
            growth: growth.map(|growth| growth.ratio),
            place: highlight.place.as_ref().map(|place| place.n),
            near: near.map(|near| plain(&sentences::landmark(near))),
            remedy: near.and_then(Landmark::remedy),
            flat_variants: highlight.flat_variants.clone(),
            as_expected: findings.as_expected(first),
            words: plain(&overview::sentence(findings, highlight)),
        }
    }
}
