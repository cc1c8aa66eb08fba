//! The findings of a run as one JSON document (`docs/report.md`). Seconds and shares, never words with
//! units; numbers that do not exist are `null`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use record::{Direction, Expect};
use serde::{Serialize, Serializer};
use stats::{Answer, Class, Interval, Verdict};

use crate::findings::{Finding, Findings};
use crate::sentences;
use crate::stops::{Cause, Stop};
use crate::words::GAP;

/// Version of the document; it rises when a field changes its meaning or is lost.
pub const SCHEMA: u32 = 1;

/// Writes the findings as a JSON document.
pub fn write(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Document::of(findings))?;
    writeln!(out)
}

/// A range of n or an estimate with its interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Estimate {
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl From<Interval> for Estimate {
    fn from(interval: Interval) -> Self {
        let finite = |x: f64| x.is_finite().then_some(x);
        Estimate { value: finite(interval.value), low: finite(interval.low), high: finite(interval.high) }
    }
}

/// The whole document.
#[derive(Debug, Serialize)]
pub(crate) struct Document<'a> {
    schema: u32,
    tool: &'a record::Tool,
    started_at: &'a str,
    command: &'a [String],
    seed: u64,
    ended: Option<&'a str>,
    elapsed_seconds: Option<f64>,
    margin: f64,
    alpha: f64,
    looks: &'a [u32],
    systems: Vec<SystemEntry<'a>>,
    series: Vec<SeriesEntry<'a>>,
    notes: &'a [String],
}

#[derive(Debug, Serialize)]
struct SystemEntry<'a> {
    name: &'a str,
    environment: &'a BTreeMap<String, String>,
    warnings: &'a [String],
}

#[derive(Debug, Serialize)]
struct SeriesEntry<'a> {
    system: &'a str,
    workload: &'a str,
    variant: &'a str,
    name: &'a str,
    direction: Direction,
    label: &'a str,
    expect: Expect,
    as_expected: Option<bool>,
    measurements: usize,
    trials: usize,
    words: Option<String>,
    verdict: Option<VerdictEntry>,
    stops: Vec<StopEntry<'a>>,
    remarks: Vec<String>,
}

#[derive(Debug, Serialize)]
struct VerdictEntry {
    #[serde(serialize_with = "class_name")]
    class: Class,
    n_low: u64,
    n_high: u64,
    trials: usize,
    trials_needed: Option<u32>,
    bound: f64,
    certain: f64,
    peak: f64,
    growth: Estimate,
    marginal_cost_seconds: Estimate,
    doubling_size: Option<Estimate>,
    top_decade_slope: Estimate,
    cost_low_seconds: Estimate,
    cost_high_seconds: Estimate,
    blocks: Vec<BlockEntry>,
}

#[derive(Debug, Serialize)]
struct BlockEntry {
    n_low: u64,
    n_high: u64,
    cost_seconds: Estimate,
    relative: Estimate,
}

#[derive(Debug, Serialize)]
struct StopEntry<'a> {
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

impl<'a> Document<'a> {
    pub(crate) fn of(findings: &'a Findings) -> Self {
        let system = |s: &'a record::System| SystemEntry {
            name: &s.name,
            environment: &s.environment,
            warnings: &s.warnings,
        };
        Document {
            schema: SCHEMA,
            tool: &findings.run.tool,
            started_at: &findings.run.started_at,
            command: &findings.run.command,
            seed: findings.run.seed,
            ended: findings.end.as_ref().map(|end| end.status.as_str()),
            elapsed_seconds: findings.end.as_ref().map(|end| end.elapsed_seconds),
            margin: findings.margin,
            alpha: findings.alpha,
            looks: &findings.run.looks,
            systems: findings.systems.iter().map(system).collect(),
            series: findings.series.iter().map(SeriesEntry::of).collect(),
            notes: &findings.notes,
        }
    }
}

impl<'a> SeriesEntry<'a> {
    fn of(finding: &'a Finding) -> Self {
        SeriesEntry {
            system: &finding.key.system,
            workload: &finding.key.workload,
            variant: &finding.key.variant,
            name: &finding.key.name,
            direction: finding.key.direction,
            label: &finding.label,
            expect: finding.expect,
            as_expected: finding.as_expected(),
            measurements: finding.measurements,
            trials: finding.trials,
            words: finding.verdict.as_ref().map(|v| plain(&sentences::verdict_with_growth(v, finding.unit))),
            verdict: finding.verdict.as_ref().map(VerdictEntry::of),
            stops: finding.stops.iter().map(StopEntry::of).collect(),
            remarks: sentences::remarks(finding),
        }
    }
}

impl VerdictEntry {
    fn of(verdict: &Verdict) -> Self {
        VerdictEntry {
            class: verdict.class,
            n_low: verdict.n_low,
            n_high: verdict.n_high,
            trials: verdict.trials,
            trials_needed: verdict.trials_needed,
            bound: verdict.bound,
            certain: verdict.certain,
            peak: verdict.peak,
            growth: verdict.growth.into(),
            marginal_cost_seconds: verdict.marginal_cost.into(),
            doubling_size: verdict.doubling_size.map(Into::into),
            top_decade_slope: verdict.top_decade_slope.into(),
            cost_low_seconds: verdict.cost_low.into(),
            cost_high_seconds: verdict.cost_high.into(),
            blocks: verdict
                .blocks
                .iter()
                .map(|b| BlockEntry {
                    n_low: b.n_low,
                    n_high: b.n_high,
                    cost_seconds: b.cost.into(),
                    relative: b.relative.into(),
                })
                .collect(),
        }
    }
}

impl<'a> StopEntry<'a> {
    fn of(stop: &'a Stop) -> Self {
        let (cause, reason) = match &stop.cause {
            Cause::Limit { error, .. } => ("limit", Some(error.as_str())),
            Cause::Allowance => ("allowance", None),
            Cause::Unsupported { reason } => ("unsupported", Some(reason.as_str())),
            Cause::Failed { reason } => ("failed", Some(reason.as_str())),
            Cause::Crashed { reason } => ("crashed", Some(reason.as_str())),
            Cause::TimedOut => ("timed-out", None),
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

/// Words for a program: ordinary spaces, which can be searched for.
pub(crate) fn plain(words: &str) -> String {
    words.replace(GAP, " ")
}

fn class_name<S: Serializer>(class: &Class, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match class {
        Class::Flat => "flat",
        Class::SmallGrowth => "small-growth",
        Class::Sublinear => "sublinear",
        Class::LinearLike => "linear-like",
        Class::Superlinear => "superlinear",
        Class::ApproachingLimit => "approaching-limit",
        Class::Stepped => "stepped",
        Class::TwoLines => "two-lines",
        Class::Decreasing => "decreasing",
        Class::Mixed => "mixed",
        Class::Inconclusive => "inconclusive",
    })
}

/// An answer as one word.
pub(crate) fn answer_name(answer: Answer) -> &'static str {
    match answer {
        Answer::Faster => "faster",
        Answer::Slower => "slower",
        Answer::Equivalent => "equivalent",
        Answer::DifferentButSmall => "different-but-small",
        Answer::Unresolved => "unresolved",
    }
}
