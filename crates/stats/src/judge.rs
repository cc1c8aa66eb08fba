//! Judges one series: the findings about its blocks and its shape, and the class that follows from them.

use crate::block::{Grid, NORMAL_MAD, median};
use crate::centre::{FEWEST, Interval, MOST};
use crate::ends::Ends;
use crate::flat::trends;
use crate::shape_selection::{Case, ShapeSelection};
use crate::sweep::{Common, JudgeSettings, Sweep};
use crate::verdict::{Block, Class, Lines, Verdict, Warning};
use crate::view::View;
use crate::{modes, spikes, two_lines};

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
        top_decade_slope: view.figures().top_decade_slope(),
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
        local_exponents: view.figures().local_exponents(),
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
            let factor = 1.0 / ends.map_or(1.0, |ends| ends.before);
            let low = first.map(|cost| cost * factor);
            let factor = low.value * growth.value / last.value;
            [low, last.map(|cost| cost * factor)]
        }
        [(first, _), (last, _)] => [first, last],
    }
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

/// The evidence on which the class depends.
struct Evidence<'a> {
    view: &'a View,
    /// The cost, where there is one n only.
    one_level: Option<OneLevel>,
    /// Whether the measurements lie on two lines.
    has_lines: bool,
    /// Whether the cheapest median is too short for the clock.
    below_resolution: bool,
    /// One tick of the clock as a share of the cheapest cost, in logarithms.
    tick: f64,
    growth: Interval,
    selection: Option<&'a ShapeSelection>,
}

/// The class of a verdict, with its details.
struct Classified {
    class: Class,
    /// The classes that are not excluded.
    classes: Vec<Class>,
    /// Trials after which it may be definite, when more would help.
    trials_needed: Option<u32>,
    /// Trials that behave differently from most.
    trials_apart: usize,
}

/// The class that the evidence supports.
fn classify(evidence: &Evidence<'_>, margin: f64) -> Classified {
    let view = evidence.view;
    if let (Some(level), false) = (&evidence.one_level, evidence.below_resolution) {
        let class = level.class();
        return Classified {
            class,
            classes: vec![class],
            trials_needed: level.trials_needed(),
            trials_apart: 0,
        };
    }
    let enough = view.rows.len() >= FEWEST as usize;
    let trials_apart = if enough { apart(view, margin) } else { 0 };
    let (class, classes) = if evidence.below_resolution {
        (Class::Inconclusive, Vec::new())
    } else if evidence.has_lines {
        (Class::TwoLines, vec![Class::TwoLines])
    } else {
        of_shape(evidence, margin)
    };
    let many_apart = trials_apart > 0 && trials_apart as f64 >= APART_SHARE * view.rows.len() as f64;
    let (class, classes) = if many_apart { with_trials_apart(class, classes) } else { (class, classes) };
    let more_helps = !evidence.below_resolution && class == Class::Inconclusive && evidence.tick <= margin;
    let trials_needed = if more_helps { view.flatness.trials_needed(margin) } else { None };
    Classified { class, classes, trials_needed, trials_apart }
}

/// Trials that behave differently from most: by more than the margin from the smallest n to the largest, and
/// by half of the change of most.
fn apart(view: &View, margin: f64) -> usize {
    let mut trends = trends(&view.flatness.changes, &view.ranges);
    let Some(middle) = median(&mut trends) else { return 0 };
    let mut distances: Vec<f64> = trends.iter().map(|trend| (trend - middle).abs()).collect();
    let spread = median(&mut distances).unwrap_or(0.0) * NORMAL_MAD;
    let far = margin.max(APART * spread).max(middle.abs() / 2.0);
    distances.iter().filter(|distance| **distance > far).count()
}

/// Spreads, by the median deviation, beyond which a trial goes its own way.
const APART: f64 = 6.0;
/// From this share of such trials on no shape is named.
const APART_SHARE: f64 = 0.1;

/// Where some trials behave differently, one shape does not describe all.
fn with_trials_apart(class: Class, mut classes: Vec<Class>) -> (Class, Vec<Class>) {
    if !SHAPES.contains(&class) {
        return (class, classes);
    }
    classes.push(Class::TwoLines);
    // A stepped cost has its stretches beside it.
    (if class == Class::Stepped { Class::Composite } else { Class::Ambiguous }, classes)
}

/// The class, and the classes that are not excluded, of a series with several n that is not two lines.
fn of_shape(evidence: &Evidence<'_>, margin: f64) -> (Class, Vec<Class>) {
    let Evidence { view, growth, selection, .. } = evidence;
    let bound = view.flatness.bound.max(evidence.tick);
    let flatness = &view.flatness;
    if view.rows.len() < FEWEST as usize {
        let class = gross(&flatness.changes, view.baseline_blocks);
        return (class, if class == Class::Ambiguous { SHAPES.to_vec() } else { vec![class] });
    }
    if bound <= margin {
        return (Class::Flat, vec![Class::Flat]);
    }
    let certain = flatness.rise.max(flatness.fall) > 0.0;
    match selection {
        Some(selection) if flatness.peak.abs() >= margin => selection.class(*growth, margin),
        // Too few sizes for a shape; more trials would not help.
        None if certain && flatness.peak.abs() >= margin && growth.high < 1.0 => {
            (Class::Decreasing, vec![Class::Decreasing])
        }
        None if certain && flatness.peak.abs() >= margin && growth.low > 1.0 => {
            (Class::Ambiguous, SHAPES.to_vec())
        }
        _ if flatness.rise > 0.0 && flatness.peak > 0.0 && flatness.peak < margin => {
            (Class::SmallGrowth, vec![Class::SmallGrowth])
        }
        _ => {
            let open = |class: &&Class| match class {
                Class::Flat => !certain,
                Class::Decreasing => flatness.fall > 0.0 || growth.low.ln() < -margin,
                _ => growth.high.ln() > margin || flatness.rise > 0.0,
            };
            let all = [Class::Flat, Class::SmallGrowth].iter().chain(&SHAPES).chain([&Class::Decreasing]);
            (Class::Inconclusive, all.filter(open).copied().collect())
        }
    }
}

/// The shapes that a growth may have.
const SHAPES: [Class; 5] =
    [Class::Sublinear, Class::LinearLike, Class::Superlinear, Class::ApproachingLimit, Class::Stepped];
/// Three trials show only a change of at least this factor, and only if all agree; two need more, because two
/// agree by chance more often.
const GROSS: f64 = 2.0;
const GROSS_OF_TWO: f64 = 3.0;

/// A change that is certain without an interval.
fn gross(changes: &[Vec<f64>], baseline_blocks: usize) -> Class {
    let blocks = changes.first().map_or(0, Vec::len);
    let everywhere = |sign: f64, gross: f64| {
        let all_beyond = |place: usize| changes.iter().all(|row| sign * row[place] > gross);
        changes.len() > 1
            && (baseline_blocks + 1..blocks).any(|place| all_beyond(place - 1) && all_beyond(place))
    };
    let gross = if changes.len() < 3 { GROSS_OF_TWO.ln() } else { GROSS.ln() };
    if everywhere(1.0, gross) {
        Class::Ambiguous
    } else if everywhere(-1.0, gross) {
        Class::Decreasing
    } else {
        Class::Inconclusive
    }
}

/// A cost is known well enough when its interval reaches no further than this share to either side: half of
/// the margin within which a curve is called flat, so that two such values show a difference that matters.
const PRECISION: f64 = 0.05;

/// The cost at the only n.
#[derive(Clone, Copy, Debug)]
struct OneLevel {
    trials: usize,
    /// How far the interval reaches, in logarithms: the longer side.
    reach: f64,
    tick: f64,
}

impl OneLevel {
    /// `None` where there are several n; `tick` is one tick of the clock as a share of the cost, in
    /// logarithms.
    fn new(blocks: &[Block], trials: usize, tick: f64) -> Option<OneLevel> {
        let [Block { n_low, n_high, cost: Interval { value, low, high }, .. }] = blocks else { return None };
        let reach = (high / value).ln().max((value / low).ln());
        (n_low == n_high).then_some(OneLevel { trials, reach, tick })
    }

    /// Whether the cost is known well enough.
    fn class(self) -> Class {
        let enough = self.trials >= FEWEST as usize;
        if enough && self.reach.max(self.tick) <= PRECISION.ln_1p() {
            Class::Value
        } else {
            Class::Inconclusive
        }
    }

    /// Trials after which it may be: the reach falls with the square root of their number. `None` where it is
    /// known, where more would not help, or where far too many would be needed.
    fn trials_needed(self) -> Option<u32> {
        let within = PRECISION.ln_1p();
        let times = (self.reach / within).powi(2);
        let needed = (self.trials as f64 * times).ceil().max(f64::from(FEWEST)).max(self.trials as f64 + 1.0);
        let helps = self.class() != Class::Value && self.tick <= within && needed <= f64::from(MOST);
        helps.then_some(needed as u32)
    }
}
