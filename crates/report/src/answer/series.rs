//! A series in the answer of a run: its verdict and the figures behind it.

use judge::verdict::{Detour, Trend, detour, is_passed, trend};
use judge::{Finding, Findings, LimitedLevels};
use record::{Direction, Expect};
use serde::Serialize;
use stats::{
    Bend, Block, Class, Interval, Lines, LocalExponent, Modes, Period, ReferenceStanding, Repeated, Scaling,
    Segment, Spikes, Step, Turn, Verdict,
};

use super::{TrialStopAnswer, plain};
use crate::sentences;

/// One series and its verdict. Without a number the verdict is `inconclusive`, and `words` and `evidence` are
/// `None`.
#[derive(Clone, Debug, Serialize)]
pub struct SeriesAnswer<'a> {
    /// Name of the series.
    pub series: &'a str,
    /// Its system.
    pub system: &'a str,
    /// Its workload.
    pub workload: &'a str,
    /// Its variant; may be empty.
    pub variant: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Whether n rises or falls.
    pub direction: Direction,
    /// `s`, `B`, `1/s` and `B/s` (more is better). `None` for bare numbers.
    pub unit: Option<&'static str>,
    /// The documented expectation.
    pub expect: Expect,
    /// Whether the documented expectation holds.
    ///
    /// `false` if the data exclude it, `None` if that cannot be decided.
    pub as_expected: Option<bool>,
    /// Measurements that were judged.
    pub measurements: usize,
    /// How many trials.
    pub trials: usize,
    /// How throughput follows the number of workers.
    pub scaling: Option<&'a Scaling>,
    /// Its class.
    pub verdict: Class,
    /// Those that are not excluded; of `composite` its parts, of `ambiguous` the candidates.
    pub classes: &'a [Class],
    /// The verdict in words.
    pub words: Option<String>,
    /// Upper bound of the change.
    ///
    /// In percent, for all n at once.
    pub bound_percent: f64,
    /// Cost at the largest n divided by that at the smallest.
    pub growth: Interval,
    /// Jumps, by n.
    pub steps: Vec<JumpAnswer>,
    /// Of `two-lines`, the cheaper first.
    pub lines: Vec<LineAnswer>,
    /// Ranges of n with two values.
    pub modes: &'a [Modes],
    /// Single measurements far above their neighbours.
    pub spikes: SpikesAnswer<'a>,
    /// Where the cost has no bound.
    pub limit: Option<Interval>,
    /// Whether larger n were measured.
    ///
    /// `false` is an extrapolation.
    pub limit_is_passed: Option<bool>,
    /// Where a constant cost begins to rise.
    pub knee: Option<Interval>,
    /// Where a line bends.
    ///
    /// A knee has `before` 0.
    pub bend: Option<Bend>,
    /// p in a + b·nᵖ.
    pub exponent: Option<Interval>,
    /// Slope of log cost on log n at both ends.
    pub local_exponents: Vec<LocalExponent>,
    /// Where a cost turns that rises and falls.
    pub turn: Option<Turn>,
    /// `changes` where the end and the largest change disagree.
    pub trend: Option<Trend>,
    /// Where a second step undoes the first.
    pub detour: Option<Detour>,
    /// Between steps.
    pub segments: &'a [Segment],
    /// Remarks about the series.
    pub warnings: Vec<String>,
    /// Levels at which something else was the limit.
    pub limited_by_generator: Option<&'a LimitedLevels>,
    /// Why trials stopped early.
    pub stops: Vec<TrialStopAnswer<'a>>,
    /// Effect of references.
    ///
    /// `None` without references.
    pub adjustment: Option<AdjustmentAnswer<'a>>,
    /// Other figures of the verdict.
    pub evidence: Option<EvidenceAnswer<'a>>,
}

/// A jump of the cost.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct JumpAnswer {
    /// First n after the jump.
    pub n: u64,
    /// Interval of n.
    pub low: u64,
    /// See `low`.
    pub high: u64,
    /// Size of the jump.
    pub percent: f64,
    /// Ends of its interval.
    pub percent_low: f64,
    /// See `percent_low`.
    pub percent_high: f64,
    /// Share of the trials that jump the same way.
    pub agreement: f64,
}

/// One of two lines on which measurements lie.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LineAnswer {
    /// Share of the measurements.
    pub share: f64,
    /// Its class.
    pub verdict: Class,
    /// Upper bound of the change.
    ///
    /// Along the line.
    pub bound_percent: f64,
    /// Cost at the largest n divided by that at the smallest.
    pub growth: Interval,
    /// Cost of each additional n.
    pub marginal_cost: Interval,
    /// Cost at the smallest n.
    pub cost_low: Interval,
    /// Cost at the largest n.
    pub cost_high: Interval,
    /// How measurements choose a line: 0.5 call by call, 1 trial by trial.
    pub persistence: f64,
    /// Ratio of both lines at the largest n.
    pub distance: f64,
}

/// Single measurements far above their neighbours.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SpikesAnswer<'a> {
    /// How many.
    pub count: usize,
    /// Of how many.
    pub of: usize,
    /// The worst divided by the median at its n.
    pub worst: Option<f64>,
    /// Excess over the medians, a share of all time.
    pub time_share: Option<f64>,
    /// The n at which more trials have a spike than by chance.
    pub repeated: &'a [Repeated],
    /// Distance in n or in seconds, if regular.
    pub period_n: Option<f64>,
    /// See `period_n`.
    pub period_time: Option<f64>,
}

/// The work of references.
#[derive(Clone, Debug, Serialize)]
pub struct AdjustmentAnswer<'a> {
    /// Standard error, relative to that without references.
    ///
    /// 1 where nothing was removed.
    pub error: f64,
    /// Largest common change that may be hidden.
    pub hidden: f64,
    /// The references.
    pub references: Vec<ReferenceAnswer<'a>>,
}

/// One reference.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ReferenceAnswer<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it was used; `changes`: it depends on n.
    pub standing: ReferenceStanding,
    /// Percent of change removed per percent of its own.
    pub coefficient: f64,
}

/// The other figures of a verdict.
#[derive(Clone, Debug, Serialize)]
pub struct EvidenceAnswer<'a> {
    /// Smallest n.
    pub n_low: u64,
    /// Largest n.
    pub n_high: u64,
    /// How many trials.
    ///
    /// Those that cover the judged range.
    pub trials: usize,
    /// Trials after which the result may be definite.
    pub trials_needed: Option<u32>,
    /// Share of resampled runs that choose this shape.
    pub share: f64,
    /// Upper bound of the change.
    ///
    /// A share, as are the next two.
    pub bound: f64,
    /// Lower bound of the largest change.
    pub certain: f64,
    /// Estimate of the largest change.
    pub peak: f64,
    /// Cost of each additional n.
    pub marginal_cost: Interval,
    /// Additional n that double the cost.
    pub doubling_size: Option<Interval>,
    /// Slope of log cost on log n in the last decade.
    ///
    /// 0 is flat, 1 is linear.
    pub top_decade_slope: Interval,
    /// Cost at the smallest n.
    pub cost_low: Interval,
    /// Cost at the largest n.
    pub cost_high: Interval,
    /// Ranges of n; all intervals hold together.
    pub blocks: &'a [Block],
}

impl<'a> SeriesAnswer<'a> {
    pub(super) fn new(findings: &Findings, finding: &'a Finding) -> Self {
        let v = finding.verdict.as_ref();
        let unknown = Interval { value: f64::NAN, low: f64::NAN, high: f64::NAN };
        let bend = v.and_then(|v| v.bend);
        SeriesAnswer {
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
            scaling: finding.scaling.as_ref(),
            verdict: v.map_or(Class::Inconclusive, |v| v.class),
            classes: v.map_or(&[], |v| &v.classes),
            words: v.map(|v| plain(&sentences::verdict_with_growth(v, finding.unit))),
            bound_percent: v.map_or(f64::NAN, |v| 100.0 * v.bound),
            growth: v.map_or(unknown, |v| v.growth),
            steps: v.map(|v| v.steps.iter().map(JumpAnswer::new).collect()).unwrap_or_default(),
            lines: v.and_then(|v| v.lines.as_ref()).map(LineAnswer::both).unwrap_or_default(),
            modes: v.map_or(&[], |v| &v.modes),
            spikes: v.map(|v| SpikesAnswer::new(&v.spikes)).unwrap_or_default(),
            limit: v.and_then(|v| v.limit).map(|limit| limit.n),
            limit_is_passed: v.and_then(|v| Some(is_passed(v.limit?, v))),
            knee: bend.filter(|bend| bend.before == 0.0).map(|bend| bend.n),
            bend,
            exponent: v.and_then(|v| v.exponent),
            local_exponents: v.and_then(|v| v.local_exponents).into_iter().flatten().collect(),
            turn: v.and_then(|v| v.turn),
            trend: v.map(trend),
            detour: v.and_then(|v| detour(&v.steps)),
            segments: v.map_or(&[], |v| &v.segments),
            warnings: sentences::remarks(finding),
            limited_by_generator: finding.limited.as_ref(),
            stops: finding.stops.iter().map(TrialStopAnswer::new).collect(),
            adjustment: AdjustmentAnswer::new(finding),
            evidence: v.map(EvidenceAnswer::new),
        }
    }
}

impl<'a> AdjustmentAnswer<'a> {
    fn new(finding: &'a Finding) -> Option<Self> {
        let adjustment = finding.verdict.as_ref()?.adjustment.as_ref()?;
        let references = finding.references.iter().zip(&adjustment.controls);
        let references = references.map(|(name, used)| ReferenceAnswer {
            name,
            standing: used.standing,
            coefficient: used.coefficient,
        });
        let references = references.collect();
        Some(AdjustmentAnswer { error: adjustment.error, hidden: adjustment.hidden, references })
    }
}

impl JumpAnswer {
    fn new(step: &Step) -> Self {
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        JumpAnswer {
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

impl LineAnswer {
    /// The cheaper one first.
    fn both(lines: &Lines) -> Vec<Self> {
        let both = [&lines.lower, &lines.upper];
        let answer = both.map(|line| LineAnswer {
            share: line.share,
            verdict: line.class,
            bound_percent: 100.0 * line.bound,
            growth: line.growth,
            marginal_cost: line.marginal_cost,
            cost_low: line.cost_low,
            cost_high: line.cost_high,
            persistence: lines.persistence,
            distance: lines.distance,
        });
        answer.into()
    }
}

impl<'a> SpikesAnswer<'a> {
    fn new(spikes: &'a Spikes) -> Self {
        let (period_n, period_time) = match spikes.period {
            Some(Period::Sizes(n)) => (Some(n), None),
            Some(Period::Seconds(time)) => (None, Some(time)),
            None => (None, None),
        };
        SpikesAnswer {
            count: spikes.count,
            of: spikes.of,
            worst: Some(spikes.worst),
            time_share: Some(spikes.time_share),
            repeated: &spikes.repeated,
            period_n,
            period_time,
        }
    }
}

impl<'a> EvidenceAnswer<'a> {
    fn new(v: &'a Verdict) -> Self {
        EvidenceAnswer {
            n_low: v.n_low,
            n_high: v.n_high,
            trials: v.trials,
            trials_needed: v.trials_needed,
            share: v.share,
            bound: v.bound,
            certain: v.certain,
            peak: v.peak,
            marginal_cost: v.marginal_cost,
            doubling_size: v.doubling_size,
            top_decade_slope: v.top_decade_slope,
            cost_low: v.cost_low,
            cost_high: v.cost_high,
            blocks: &v.blocks,
        }
    }
}
