//! The findings of a run as one JSON document (`docs/report.md`): numbers, never words with units; those that
//! do not exist are `null`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use record::{Direction, Expect};
use serde::{Serialize, Serializer};
use stats::{
    Block, Class, FittedLine, Interval, Lines, Modes, Period, ReferenceStanding, ReferenceUse, Repeated,
    Segment, Spikes, Step, Verdict,
};

use import::FileRead;

use crate::json_parts::{FindingEntry, SCHEMA, StopEntry, finite, limited, plain};
use crate::{compare, sentences};
use judge::verdict::{Detour, Trend, detour, is_passed, trend};
use judge::{Finding, Findings};

/// Writes the findings as a JSON document.
pub fn write(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Document::of(findings))?;
    writeln!(out)
}

/// Writes the findings of files from elsewhere as a JSON document, with what became of each file.
pub fn write_judged(findings: &Findings, files: &[FileRead], out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Document { files, ..Document::of(findings) })?;
    writeln!(out)
}

/// The whole document.
#[derive(Debug, Serialize)]
pub(crate) struct Document<'a> {
    schema: u32,
    tool: &'a record::Tool,
    started_at: Option<&'a str>,
    command: &'a [String],
    seed: u64,
    ended: Option<&'a str>,
    elapsed_seconds: Option<f64>,
    margin: f64,
    alpha: f64,
    looks: &'a [u32],
    systems: Vec<SystemEntry<'a>>,
    series: Vec<SeriesEntry<'a>>,
    comparisons: Vec<serde_json::Value>,
    findings: Vec<FindingEntry<'a>>,
    notes: Vec<String>,
    /// Files from elsewhere that were read; absent without any.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    files: &'a [FileRead],
}

#[derive(Debug, Serialize)]
struct SystemEntry<'a> {
    name: &'a str,
    environment: &'a BTreeMap<String, String>,
    warnings: &'a [String],
    /// What became of the loads beside its trials, trial by trial; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    background: Vec<&'a record::HeldBackground>,
}

#[derive(Debug, Serialize)]
struct SeriesEntry<'a> {
    series: &'a str,
    system: &'a str,
    workload: &'a str,
    variant: &'a str,
    name: &'a str,
    direction: Direction,
    unit: Option<&'static str>,
    expect: Expect,
    as_expected: Option<bool>,
    measurements: usize,
    trials: usize,
    #[serde(serialize_with = "class_name")]
    verdict: Class,
    #[serde(serialize_with = "class_names")]
    classes: Vec<Class>,
    words: Option<String>,
    bound_percent: Option<f64>,
    growth: Interval,
    steps: Vec<StepEntry>,
    lines: Vec<LineEntry>,
    modes: Vec<ModesEntry>,
    spikes: SpikesEntry,
    limit: Option<Interval>,
    limit_is_passed: Option<bool>,
    knee: Option<Interval>,
    bend: Option<BendEntry>,
    exponent: Option<Interval>,
    local_exponents: Vec<LocalExponentEntry>,
    turn: Option<TurnEntry>,
    trend: Option<Trend>,
    detour: Option<Detour>,
    segments: Vec<SegmentEntry>,
    warnings: Vec<String>,
    limited_by_generator: Option<serde_json::Value>,
    stops: Vec<StopEntry<'a>>,
    adjustment: Option<AdjustmentEntry<'a>>,
    evidence: Option<Evidence>,
}

#[derive(Debug, Serialize)]
struct AdjustmentEntry<'a> {
    error: Option<f64>,
    hidden: Option<f64>,
    references: Vec<ReferenceEntry<'a>>,
}

#[derive(Debug, Serialize)]
struct ReferenceEntry<'a> {
    name: &'a str,
    standing: &'static str,
    coefficient: Option<f64>,
}

#[derive(Debug, Serialize)]
struct StepEntry {
    n: u64,
    low: u64,
    high: u64,
    percent: Option<f64>,
    percent_low: Option<f64>,
    percent_high: Option<f64>,
    agreement: f64,
}

#[derive(Debug, Serialize)]
struct BendEntry {
    n: Interval,
    before: Option<f64>,
    after: Option<f64>,
}

#[derive(Debug, Serialize)]
struct LocalExponentEntry {
    n: Option<f64>,
    exponent: Interval,
}

#[derive(Debug, Serialize)]
struct TurnEntry {
    n: Option<f64>,
    before: Interval,
    after: Interval,
}

#[derive(Debug, Serialize)]
struct LineEntry {
    share: f64,
    #[serde(serialize_with = "class_name")]
    verdict: Class,
    bound_percent: Option<f64>,
    growth: Interval,
    marginal_cost: Interval,
    cost_low: Interval,
    cost_high: Interval,
    persistence: Option<f64>,
    distance: Option<f64>,
}

#[derive(Debug, Serialize)]
struct ModesEntry {
    n_low: u64,
    n_high: u64,
    lower: f64,
    upper: f64,
    upper_share: f64,
    separation: Option<f64>,
    persistence: Option<f64>,
}

#[derive(Debug, Default, Serialize)]
struct SpikesEntry {
    count: usize,
    of: usize,
    worst: Option<f64>,
    time_share: Option<f64>,
    repeated: Vec<RepeatedEntry>,
    period_n: Option<f64>,
    period_time: Option<f64>,
}

#[derive(Debug, Serialize)]
struct RepeatedEntry {
    n: u64,
    trials: usize,
    ratio: Option<f64>,
}

/// The rest of a verdict.
#[derive(Debug, Serialize)]
struct Evidence {
    n_low: u64,
    n_high: u64,
    trials: usize,
    trials_needed: Option<u32>,
    share: f64,
    bound: Option<f64>,
    certain: Option<f64>,
    peak: Option<f64>,
    marginal_cost: Interval,
    doubling_size: Option<Interval>,
    top_decade_slope: Interval,
    cost_low: Interval,
    cost_high: Interval,
    blocks: Vec<BlockEntry>,
}

#[derive(Debug, Serialize)]
struct SegmentEntry {
    n_low: u64,
    n_high: u64,
    #[serde(serialize_with = "class_name")]
    verdict: Class,
    growth: Interval,
}

#[derive(Debug, Serialize)]
struct BlockEntry {
    n_low: u64,
    n_high: u64,
    cost: Interval,
    relative: Interval,
}

impl<'a> Document<'a> {
    pub(crate) fn of(findings: &'a Findings) -> Self {
        let system = |s: &'a record::System| SystemEntry {
            name: &s.name,
            environment: &s.environment,
            warnings: &s.warnings,
            background: {
                let own = findings.backgrounds.iter().filter(|load| load.system == s.name);
                own.flat_map(|load| &load.trials).collect()
            },
        };
        Document {
            schema: SCHEMA,
            tool: &findings.run.tool,
            // Nobody knows when numbers from elsewhere were measured, nor how long that took.
            started_at: (!findings.run.started_at.is_empty()).then_some(&*findings.run.started_at),
            command: &findings.run.command,
            seed: findings.run.seed,
            ended: findings.end.as_ref().map(|end| end.status.as_str()),
            elapsed_seconds: findings.end.as_ref().map(|end| end.elapsed_seconds),
            margin: findings.margin,
            alpha: findings.alpha,
            looks: &findings.run.looks,
            systems: findings.systems.iter().map(system).collect(),
            findings: judge::highlights(findings)
                .iter()
                .map(|one| FindingEntry::new(findings, one))
                .collect(),
            series: findings.series.iter().map(|finding| SeriesEntry::of(findings, finding)).collect(),
            comparisons: findings.comparisons.iter().map(compare::entry).collect(),
            notes: sentences::notes(findings),
            files: &[],
        }
    }
}

impl<'a> SeriesEntry<'a> {
    fn of(findings: &Findings, finding: &'a Finding) -> Self {
        let v = finding.verdict.as_ref();
        let unknown = Interval { value: f64::NAN, low: f64::NAN, high: f64::NAN };
        SeriesEntry {
            series: &finding.label,
            system: &finding.key.system,
            workload: &finding.key.workload,
            variant: &finding.key.variant,
            name: &finding.key.name,
            direction: finding.key.direction,
            unit: Some(finding.unit.name()).filter(|name| !name.is_empty()),
            expect: finding.expect,
            as_expected: findings.as_expected(finding),
            measurements: finding.measurements,
            trials: finding.trials,
            verdict: v.map_or(Class::Inconclusive, |v| v.class),
            classes: v.map(|v| v.classes.clone()).unwrap_or_default(),
            words: v.map(|v| plain(&sentences::verdict_with_growth(v, finding.unit))),
            bound_percent: v.and_then(|v| finite(100.0 * v.bound)),
            growth: v.map_or(unknown, |v| v.growth),
            steps: v.map(|v| v.steps.iter().map(StepEntry::of).collect()).unwrap_or_default(),
            lines: v.and_then(|v| v.lines.as_ref()).map(LineEntry::both).unwrap_or_default(),
            modes: v.map(|v| v.modes.iter().map(ModesEntry::of).collect()).unwrap_or_default(),
            spikes: v.map(|v| SpikesEntry::of(&v.spikes)).unwrap_or_default(),
            limit: v.and_then(|v| v.limit).map(|limit| limit.n),
            limit_is_passed: v.and_then(|v| Some(is_passed(v.limit?, v))),
            trend: v.map(trend),
            detour: v.and_then(|v| detour(&v.steps)),
            knee: v.and_then(|v| v.bend).filter(|bend| bend.before == 0.0).map(|bend| bend.n),
            bend: v.and_then(|v| v.bend).map(|bend| BendEntry {
                n: bend.n,
                before: finite(bend.before),
                after: finite(bend.after),
            }),
            exponent: v.and_then(|v| v.exponent),
            local_exponents: v
                .and_then(|v| v.local_exponents)
                .into_iter()
                .flatten()
                .map(|local| LocalExponentEntry { n: finite(local.n), exponent: local.exponent })
                .collect(),
            turn: v.and_then(|v| v.turn).map(|turn| TurnEntry {
                n: finite(turn.n),
                before: turn.before,
                after: turn.after,
            }),
            segments: v.map(|v| v.segments.iter().map(SegmentEntry::of).collect()).unwrap_or_default(),
            warnings: sentences::remarks(finding),
            limited_by_generator: finding.limited.as_ref().map(limited),
            stops: finding.stops.iter().map(StopEntry::of).collect(),
            adjustment: AdjustmentEntry::of(finding),
            evidence: v.map(Evidence::of),
        }
    }
}

impl<'a> AdjustmentEntry<'a> {
    fn of(finding: &'a Finding) -> Option<Self> {
        let adjustment = finding.verdict.as_ref()?.adjustment.as_ref()?;
        let references = finding.references.iter().zip(&adjustment.controls);
        let entry = |(name, of): (&'a String, &ReferenceUse)| ReferenceEntry {
            name,
            standing: match of.standing {
                ReferenceStanding::Used => "used",
                ReferenceStanding::Changes => "changes",
                ReferenceStanding::NoGain => "no-gain",
                ReferenceStanding::TooFew => "too-few",
            },
            coefficient: finite(of.coefficient),
        };
        Some(AdjustmentEntry {
            error: finite(adjustment.error),
            hidden: finite(adjustment.hidden),
            references: references.map(entry).collect(),
        })
    }
}

impl StepEntry {
    fn of(step: &Step) -> Self {
        let percent = |ratio: f64| finite(100.0 * (ratio - 1.0));
        StepEntry {
            n: step.n,
            low: step.n_low,
            high: step.n_high,
            percent: percent(step.ratio.value),
            percent_low: percent(step.ratio.low),
            percent_high: percent(step.ratio.high),
            agreement: step.agreement,
        }
    }
}

impl LineEntry {
    /// The cheaper one first.
    fn both(lines: &Lines) -> Vec<Self> {
        let entry = |line: &FittedLine| LineEntry {
            share: line.share,
            verdict: line.class,
            bound_percent: finite(100.0 * line.bound),
            growth: line.growth,
            marginal_cost: line.marginal_cost,
            cost_low: line.cost_low,
            cost_high: line.cost_high,
            persistence: finite(lines.persistence),
            distance: finite(lines.distance),
        };
        vec![entry(&lines.lower), entry(&lines.upper)]
    }
}

impl ModesEntry {
    fn of(modes: &Modes) -> Self {
        let Modes { n_low, n_high, lower, upper, upper_share, separation, persistence } = *modes;
        let (separation, persistence) = (finite(separation), finite(persistence));
        ModesEntry { n_low, n_high, lower, upper, upper_share, separation, persistence }
    }
}

impl SpikesEntry {
    fn of(spikes: &Spikes) -> Self {
        let repeated =
            |place: &Repeated| RepeatedEntry { n: place.n, trials: place.trials, ratio: finite(place.ratio) };
        let (period_n, period_time) = match spikes.period {
            Some(Period::Sizes(n)) => (finite(n), None),
            Some(Period::Seconds(time)) => (None, finite(time)),
            None => (None, None),
        };
        SpikesEntry {
            count: spikes.count,
            of: spikes.of,
            worst: finite(spikes.worst),
            time_share: finite(spikes.time_share),
            repeated: spikes.repeated.iter().map(repeated).collect(),
            period_n,
            period_time,
        }
    }
}

impl SegmentEntry {
    fn of(segment: &Segment) -> Self {
        SegmentEntry {
            n_low: segment.n_low,
            n_high: segment.n_high,
            verdict: segment.class,
            growth: segment.growth,
        }
    }
}

impl Evidence {
    fn of(v: &Verdict) -> Self {
        let block =
            |b: &Block| BlockEntry { n_low: b.n_low, n_high: b.n_high, cost: b.cost, relative: b.relative };
        Evidence {
            n_low: v.n_low,
            n_high: v.n_high,
            trials: v.trials,
            trials_needed: v.trials_needed,
            share: v.share,
            bound: finite(v.bound),
            certain: finite(v.certain),
            peak: finite(v.peak),
            marginal_cost: v.marginal_cost,
            doubling_size: v.doubling_size,
            top_decade_slope: v.top_decade_slope,
            cost_low: v.cost_low,
            cost_high: v.cost_high,
            blocks: v.blocks.iter().map(block).collect(),
        }
    }
}

fn class_name<S: Serializer>(class: &Class, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name_of(*class))
}

fn class_names<S: Serializer>(classes: &[Class], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(classes.iter().map(|class| name_of(*class)))
}

fn name_of(class: Class) -> &'static str {
    match class {
        Class::Value => "value",
        Class::Flat => "flat",
        Class::SmallGrowth => "small-growth",
        Class::Sublinear => "sublinear",
        Class::LinearLike => "linear-like",
        Class::Superlinear => "superlinear",
        Class::ApproachingLimit => "approaching-limit",
        Class::Stepped => "stepped",
        Class::TwoLines => "two-lines",
        Class::Decreasing => "decreasing",
        Class::Composite => "composite",
        Class::Ambiguous => "ambiguous",
        Class::Uneven => "uneven",
        Class::Inconclusive => "inconclusive",
    }
}
