//! Judges one series.

use crate::block::Grid;
use crate::centre::{FEWEST, Interval};
use crate::classify::{Evidence, OneLevel, classify};
use crate::ends::Ends;
use crate::finding::Lines;
use crate::range::Common;
use crate::shape_selection::{Case, ShapeSelection};
use crate::sweep::Sweep;
use crate::verdict::{Class, Verdict, Warning};
use crate::view::View;
use crate::{modes, spikes, two_lines};

/// The choices of the user, made beforehand and printed beside a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeSettings {
    /// The smallest growth that matters, as a share: δ, 0.10 by default.
    pub margin: f64,
    /// Error rate of the whole verdict, 0.05 by default.
    pub alpha: f64,
    /// How often the runner looked at the data before it stopped; α is divided by it.
    pub looks: u32,
    /// Smallest step of the clock; medians below ten of it carry no verdict.
    pub tick_seconds: f64,
    /// Seed of the resampling that finds simultaneous bounds.
    pub seed: u64,
    /// Judge from the first n to the last; otherwise the cold start of our own sweeps is left out.
    pub whole: bool,
}

impl Default for JudgeSettings {
    fn default() -> JudgeSettings {
        JudgeSettings { margin: 0.10, alpha: 0.05, looks: 1, tick_seconds: 0.0, seed: 1, whole: false }
    }
}

impl JudgeSettings {
    /// α of one look; an impossible α counts as 5 %.
    pub(crate) fn error_rate(&self) -> f64 {
        let alpha = if self.alpha > 0.0 && self.alpha < 1.0 { self.alpha } else { 0.05 };
        alpha / f64::from(self.looks.max(1))
    }

    /// δ as a natural logarithm: the same factor up and down.
    pub(crate) fn log_margin(&self) -> f64 {
        self.margin.max(0.0).ln_1p()
    }
}

/// Fewer trials do not show their own spread well, unless they agree so closely that a cost is flat.
const FEW: usize = 10;
/// A median of fewer ticks shows the clock more than the operation.
const TICKS: f64 = 10.0;

/// Judges one series; `None` when there is not a single value to judge.
///
/// Judged is the range that most trials cover, less its cold start unless [`JudgeSettings::whole`], in blocks
/// of n; each trial is compared with its own first blocks. A series with one n is judged by how well its cost
/// is known. All trials have one direction: measurements of the way down are a series of their own.
///
/// Where trials have references, the shared part is removed from all changes: bound, growth, slopes, shape,
/// trials that behave differently, and trials needed (see `crate::Adjustment`). Costs, modes, spikes and two
/// lines come from the raw measurements; so does the close-up in which a step must pass its gates, because it
/// is too narrow for references.
///
/// With fewer than four trials the class is `crate::Class::Inconclusive`, or `crate::Class::Ambiguous` and
/// `crate::Class::Decreasing` where every one of three more than doubles or halves, or of two more than
/// triples or falls to a third, in the same two neighbouring blocks. With one trial, which shows no spread,
/// interval ends are infinite, or 0 for a cost or ratio.
pub fn judge(trials: &[Sweep<'_>], settings: &JudgeSettings) -> Option<Verdict> {
    judge_series(trials, settings, true)
}

/// Judges a series; each of two lines is judged like one, and has no lines of its own.
fn judge_series(trials: &[Sweep<'_>], settings: &JudgeSettings, with_lines: bool) -> Option<Verdict> {
    let alpha = settings.error_rate();
    let common = Common::new(trials, settings.whole)?;
    let grid = Grid::new(&common.sizes, common.trials.len());
    let grid =
        grid.refined(&common.trials, &common.sizes, settings.tick_seconds, alpha, settings.log_margin());
    let mut view = View::new(&common, &grid, settings)?;
    let cheapest = view.cheapest();
    let below_resolution = cheapest < TICKS * settings.tick_seconds;
    // Medians sit on ticks of the clock: no bound is finer than one.
    let tick = (settings.tick_seconds / cheapest).ln_1p().max(0.0);

    let may_have_shape = !below_resolution && view.rows.len() >= FEWEST as usize;
    let certain = view.flatness.rise.max(view.flatness.fall) > 0.0;
    let selection = (certain && may_have_shape)
        .then(|| ShapeSelection::new(&Case { common: &common, grid: &grid, tick, settings }, &mut view));
    let selection = selection.flatten();
    let by_itself = |points: &[Sweep<'_>], settings: &JudgeSettings| judge_series(points, settings, false);
    let lines = (with_lines && may_have_shape).then(|| two_lines::find(&common, &view, settings, by_itself));
    let lines = lines.flatten();

    let found = Found { selection, lines, tick, below_resolution };
    verdict(&common, &view, found, settings)
}

/// The findings about the shape of a series, and the resolution of its clock.
struct Found {
    selection: Option<ShapeSelection>,
    lines: Option<Lines>,
    /// One tick of the clock as a share of the cheapest cost, in logarithms.
    tick: f64,
    below_resolution: bool,
}

/// The verdict, with all figures.
fn verdict(common: &Common<'_>, view: &View, found: Found, settings: &JudgeSettings) -> Option<Verdict> {
    let alpha = settings.error_rate();
    let Found { selection, lines, tick, below_resolution } = found;
    let ends = selection.as_ref().and_then(|selection| selection.ends);
    let growth = to_the_ends(view.growth(), ends);
    let blocks = view.blocks(alpha);
    let centre = |end: usize| view.cost(end, alpha).filter(|_| blocks.len() > 1);
    let at = |end: usize| (blocks[end].cost, centre(end));
    let [cost_low, cost_high] = costs([at(0), at(blocks.len() - 1)], growth, ends);
    let (first, last) = (*blocks.first()?, *blocks.last()?);
    let evidence = Evidence {
        view,
        one_level: OneLevel::new(&blocks, view.rows.len(), tick),
        has_lines: lines.is_some(),
        below_resolution,
        tick,
        growth,
        selection: selection.as_ref(),
    };
    let classified = classify(&evidence, settings.log_margin());
    let selection = selection.unwrap_or_default();
    let (marginal_cost, doubling_size) = view.marginal_cost();

    Some(Verdict {
        class: classified.class,
        share: if selection.class == Some(classified.class) { selection.share } else { 1.0 },
        classes: classified.classes,
        n_low: first.n_low,
        n_high: last.n_high,
        trials: view.rows.len(),
        bound: view.flatness.bound.max(tick).exp_m1(),
        certain: view.flatness.rise.max(view.flatness.fall).exp_m1(),
        peak: view.flatness.peak.exp_m1(),
        trials_needed: classified.trials_needed,
        growth,
        marginal_cost,
        doubling_size,
        top_decade_slope: view.top_decade_slope(),
        cost_low,
        cost_high,
        warnings: warnings(
            common,
            classified.class,
            (view.rows.len(), classified.trials_apart),
            (first.n_low, last.n_high),
            below_resolution,
        ),
        adjustment: view.adjustment.clone(),
        blocks,
        steps: selection.steps,
        segments: selection.segments,
        // A place belongs to its shape; without a single shape there is none.
        limit: selection.limit.filter(|_| LIMITED.contains(&classified.class)),
        bend: selection.bend.filter(|_| classified.class == Class::LinearLike),
        exponent: selection.exponent,
        local_exponents: view.local_exponents(),
        turn: selection.turn,
        fit: selection.fit,
        lines,
        modes: modes::find(&common.trials, &view.ranges, settings.tick_seconds, settings.seed),
        spikes: spikes::find(&common.trials, &view.ranges, &view.raw, settings.tick_seconds),
    })
}

/// The classes that may approach a limit in some part.
const LIMITED: [Class; 2] = [Class::ApproachingLimit, Class::Composite];

/// The growth from the middle of the first block to that of the last, carried on to the ends by the shape.
fn to_the_ends(growth: Interval, ends: Option<Ends>) -> Interval {
    match ends.map(|ends| ends.growth) {
        Some(ends) => Interval {
            value: growth.value * ends.value,
            low: growth.low * ends.low,
            high: growth.high * ends.high,
        },
        None => growth,
    }
}

/// The costs at both ends of n, from the medians and the centres of trials there. The second is the first
/// times the growth: a reader divides the two, and medians of trials that differ have another ratio.
fn costs(at: [(Interval, Option<Interval>); 2], growth: Interval, ends: Option<Ends>) -> [Interval; 2] {
    match at {
        [(_, Some(first)), (_, Some(last))] if growth.value.is_finite() => {
            let low = scaled(first, 1.0 / ends.map_or(1.0, |ends| ends.before));
            [low, scaled(last, low.value * growth.value / last.value)]
        }
        [(first, _), (last, _)] => [first, last],
    }
}

fn scaled(interval: Interval, factor: f64) -> Interval {
    let Interval { value, low, high } = interval;
    Interval { value: value * factor, low: low * factor, high: high * factor }
}

fn warnings(
    common: &Common<'_>,
    class: Class,
    (trials, apart): (usize, usize),
    (n_low, n_high): (u64, u64),
    below_resolution: bool,
) -> Vec<Warning> {
    // One n is no range.
    let narrow = n_high > n_low && (n_high as f64) < 100.0 * n_low.max(1) as f64;
    let all = [
        (trials < FEW && class != Class::Flat).then_some(Warning::FewTrials { trials }),
        narrow.then_some(Warning::NarrowRange),
        below_resolution.then_some(Warning::BelowResolution),
        (common.no_cost > 0).then_some(Warning::LeftOut { values: common.no_cost }),
        (apart > 0).then_some(Warning::TrialsApart { trials: apart }),
        common.unequal.then_some(Warning::UnequalRange { trials_left_out: common.left_out }),
    ];
    all.into_iter().flatten().collect()
}
