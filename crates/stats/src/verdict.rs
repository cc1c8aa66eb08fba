//! Judges one series.

use std::collections::HashMap;

use crate::bend::{Bend, Case};
use crate::block::Grid;
use crate::choice::Choice;
use crate::flat::FEWEST;
use crate::growth::trends;
use crate::lines;
use crate::median::median;
use crate::modes;
use crate::passes::{Merged, Passes};
use crate::range::Common;
use crate::shape::Curve;
use crate::spikes;
use crate::view::View;
use crate::{Drift, Hysteresis, Interval, Limit, Line, Lines, Modes, Segment, Spikes, Step, Sweep};

/// What the reader decides beforehand; always printed beside a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Growth below this share is not worth a word: δ, 0.10 by default.
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

impl Default for Settings {
    fn default() -> Settings {
        Settings { margin: 0.10, alpha: 0.05, looks: 1, tick_seconds: 0.0, seed: 1, whole: false }
    }
}

/// The word of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Stays within the bound, and the bound is within the margin.
    Flat,
    /// Grows for certain, by an estimate below the margin; `Verdict::bound` says how much it may be.
    SmallGrowth,
    /// Grows like a + b·log n or a + b·√n.
    Sublinear,
    /// Grows like a + b·n or a + b·n·log n, or like a line from some n on.
    LinearLike,
    /// Grows like a + b·n² or faster.
    Superlinear,
    /// Grows like a + b/(1 − n/c): a search for what is free among what runs out.
    ApproachingLimit,
    /// Constant but for one or a few jumps.
    Stepped,
    /// The measurements lie on two lines, each judged by itself.
    TwoLines,
    /// Changes for certain, and it takes several shapes in turn to describe it, with jumps between them:
    /// `Verdict::segments` and `Verdict::steps` have them.
    Composite,
    /// Changes for certain, by more than the margin, and the data do not tell between the shapes that
    /// `Verdict::classes` names.
    Ambiguous,
    /// Changes for certain, by more than the margin, and no shape describes it.
    Uneven,
    /// Falls for certain, by an estimate beyond the margin, and ends below where it began.
    Decreasing,
    /// The data carry none of the above.
    Inconclusive,
}

/// One range of n and what it cost there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Smallest n.
    pub n_low: u64,
    /// Largest n.
    pub n_high: u64,
    /// Median over trials of the trials' medians, in seconds, with its interval: the level.
    pub cost: Interval,
    /// Cost relative to the reference blocks of the same trial; 1 is no change. The interval is simultaneous.
    pub relative: Interval,
}

/// What may be said of one series, and how surely.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The word.
    pub class: Class,
    /// The words that the data do not exclude: `class` among them, unless it is [`Class::Composite`],
    /// [`Class::Ambiguous`] or [`Class::Inconclusive`], whose parts or candidates these are.
    pub classes: Vec<Class>,
    /// Share of resampled runs in which the shape of `class` describes the data best; 1 where no shape was
    /// chosen.
    pub share: f64,
    /// Smallest n of the judged range.
    pub n_low: u64,
    /// Largest n of the judged range.
    pub n_high: u64,
    /// Trials that carry it.
    pub trials: usize,
    /// Simultaneous upper bound of the change against the reference, as a share: "flat within x".
    pub bound: f64,
    /// Simultaneous lower bound of the largest change, up or down; at most 0 when none is certain.
    pub certain: f64,
    /// Estimate of the largest change, as a share; negative where the cost falls.
    pub peak: f64,
    /// Trials after which the verdict may be definite, when more would help.
    pub trials_needed: Option<u32>,
    /// Cost at the largest n over cost at the smallest.
    pub growth: Interval,
    /// Seconds per additional live object.
    pub marginal_cost: Interval,
    /// Objects that add the cost of the reference once more; `None` where the cost does not rise for certain.
    pub doubling_size: Option<Interval>,
    /// Slope of log cost on log n in the last decade: 0 flat, 1 linear.
    pub top_decade_slope: Interval,
    /// Level of the first block.
    pub cost_low: Interval,
    /// Level of the last block.
    pub cost_high: Interval,
    /// The ranges of n, rising.
    pub blocks: Vec<Block>,
    /// Jumps, by n.
    pub steps: Vec<Step>,
    /// The stretches between the jumps, by n; empty without jumps.
    pub segments: Vec<Segment>,
    /// Where the cost has no bound, when it approaches a limit.
    pub limit: Option<Limit>,
    /// From where on a cost rises that is constant before, when that describes it best.
    pub knee: Option<Interval>,
    /// The shape that describes the data best, at the middle of each block: (n, cost). Empty where none was
    /// fitted.
    pub fit: Vec<(f64, f64)>,
    /// The two lines, when there are two.
    pub lines: Option<Lines>,
    /// Ranges of n in which the measurements gather around two values.
    pub modes: Vec<Modes>,
    /// Single measurements far above their neighbours.
    pub spikes: Spikes,
    /// Where the way down differs from the way up for certain.
    pub hysteresis: Option<Hysteresis>,
    /// Change with time inside a trial, when it is certain.
    pub drift: Option<Drift>,
    /// What a reader should know of the numbers.
    pub warnings: Vec<Warning>,
}

/// What a reader should know of the numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Fewer than ten trials.
    FewTrials {
        /// How many there are.
        trials: usize,
    },
    /// n spans less than two decades.
    NarrowRange,
    /// The median is below ten ticks of the clock.
    BelowResolution,
    /// Values that are not finite and positive were left out.
    LeftOut {
        /// How many.
        values: usize,
    },
    /// Trials go another way than most, by more than the margin from the smallest n to the largest.
    TrialsApart {
        /// How many.
        trials: usize,
    },
    /// Trials ended at different n; only the common range was judged.
    UnequalRange {
        /// Trials that were left out because they ended too early.
        trials_left_out: usize,
    },
}

/// Three trials can show no more than this factor, and only if every one of them does; two need more, for two
/// agree by chance more often.
const GROSS: f64 = 2.0;
const GROSS_OF_TWO: f64 = 3.0;
/// Fewer trials do not show their own spread well.
const FEW: usize = 10;
/// A median of fewer ticks says more of the clock than of the operation.
const TICKS: f64 = 10.0;

/// Judges one series; `None` when there is not a single value to judge.
///
/// Judged is the range that most trials cover, less its cold start unless [`Settings::whole`], in blocks of
/// n; each trial is compared with its own first blocks. Trials that go up and trials that go down may be
/// given together: the first of the one and the first of the other are one trial, and so on. With fewer than
/// four trials the word is [`Class::Inconclusive`], or [`Class::Ambiguous`] and [`Class::Decreasing`] where
/// every one of three more than doubles or halves, or of two more than triples or falls to a third, in the
/// same two neighbouring blocks. Where one trial says nothing of the spread, interval ends are infinite, or 0
/// for a cost or ratio.
pub fn judge(trials: &[Sweep<'_>], settings: &Settings) -> Option<Verdict> {
    let passes = Passes::of(trials);
    let Some(merged) = passes.merged() else { return judge_one_way(trials, None, settings, true) };
    let merged: Vec<Sweep<'_>> = merged.iter().map(Merged::sweep).collect();
    judge_one_way(&merged, Some(&passes), settings, true)
}

fn judge_one_way(
    trials: &[Sweep<'_>],
    passes: Option<&Passes<'_>>,
    settings: &Settings,
    with_lines: bool,
) -> Option<Verdict> {
    let alpha = settings.error_rate();
    let margin = settings.log_margin();
    let common = Common::of(trials, settings.whole)?;
    let grid = Grid::of(&common.sizes, common.trials.len());
    let grid = grid.refined(&common.trials, &common.sizes, settings.tick_seconds, alpha, margin);
    let mut view = View::of(&common, &grid, settings)?;
    let cheapest = view.cheapest();
    let blurred = cheapest < TICKS * settings.tick_seconds;
    // Medians sit on ticks of the clock: no bound is finer than one.
    let tick = (settings.tick_seconds / cheapest).ln_1p().max(0.0);

    let enough = view.rows.len() >= FEWEST as usize;
    let certain = view.flatness.rise.max(view.flatness.fall) > 0.0;
    let bend = (certain && !blurred && enough)
        .then(|| Bend::of(&Case { common: &common, grid: &grid, passes, tick, settings }, &mut view));
    let bend = bend.flatten();

    let growth = view.growth(alpha);
    let growth = match bend.as_ref().and_then(|bend| bend.ends) {
        Some(ends) => Interval {
            value: growth.value * ends.value,
            low: growth.low * ends.low,
            high: growth.high * ends.high,
        },
        None => growth,
    };
    let bound = view.flatness.bound.max(tick);
    let lines = if with_lines && !blurred && enough { two_lines(&common, &view, settings) } else { None };
    let (class, classes) = if blurred {
        (Class::Inconclusive, Vec::new())
    } else if lines.is_some() {
        (Class::TwoLines, vec![Class::TwoLines])
    } else {
        class(&view, bound, growth, margin, bend.as_ref())
    };
    let apart = if enough { apart(&view, margin) } else { 0 };
    let (class, classes) = if apart as f64 >= APART_SHARE * view.rows.len() as f64 && apart > 0 {
        with_trials_apart(class, classes)
    } else {
        (class, classes)
    };
    let more_helps = !blurred && class == Class::Inconclusive && tick <= margin;
    let bend = bend.unwrap_or_default();
    let (hysteresis, drift) = passes.map_or((None, None), |passes| passes.compare(&view.ranges, settings));
    let (marginal_cost, doubling_size) = view.marginal_cost(alpha);
    let blocks = view.blocks(alpha);
    let (first, last) = (blocks.first()?, blocks.last()?);

    Some(Verdict {
        class,
        classes,
        share: if bend.class == Some(class) { bend.share } else { 1.0 },
        n_low: first.n_low,
        n_high: last.n_high,
        trials: view.rows.len(),
        bound: bound.exp_m1(),
        certain: view.flatness.rise.max(view.flatness.fall).exp_m1(),
        peak: view.flatness.peak.exp_m1(),
        trials_needed: if more_helps { view.flatness.trials_needed(margin) } else { None },
        growth,
        marginal_cost,
        doubling_size,
        top_decade_slope: view.top_decade_slope(alpha),
        cost_low: first.cost,
        cost_high: last.cost,
        warnings: warnings(&common, (view.rows.len(), apart), (first.n_low, last.n_high), blurred),
        blocks,
        steps: bend.steps,
        segments: bend.segments,
        limit: bend.limit,
        knee: bend.knee,
        fit: bend.fit,
        lines,
        modes: modes::find(&common.trials, &view.ranges, settings.tick_seconds, settings.seed),
        spikes: spikes::find(&common.trials, &view.ranges, &view.rows, settings.tick_seconds),
        hysteresis,
        drift,
    })
}

/// Two lines, each judged by itself, that part by more than the margin from the smallest n to the largest.
/// Lines that do not part are two modes, and more than that only where both hold so much that the medians
/// jump between them.
fn two_lines(common: &Common<'_>, view: &View, settings: &Settings) -> Option<Lines> {
    let found = lines::find(&common.trials, &view.ranges, settings.tick_seconds, settings.seed)?;
    if is_set_by_n(&found) {
        return None;
    }
    let line = |share: f64, points: &[(Vec<u64>, Vec<f64>)]| {
        let trials: Vec<Sweep<'_>> =
            points.iter().map(|(sizes, values)| Sweep::listed(sizes, values)).collect();
        let settings = Settings { whole: true, ..settings.clone() };
        let verdict = judge_one_way(&trials, None, &settings, false)?;
        // What has jumps or no shape at all is a stretch of trouble, and not a line.
        let is_line =
            verdict.classes != [Class::Uneven] && verdict.steps.is_empty() && !jumps(&trials, &settings);
        let Verdict { class, bound, growth, marginal_cost, cost_low, cost_high, .. } = verdict;
        is_line.then_some(Line { share, class, bound, growth, marginal_cost, cost_low, cost_high })
    };
    let [lower, upper] = found.shares;
    let (lower, upper) = (line(lower, &found.lower)?, line(upper, &found.upper)?);
    let margin = settings.log_margin();
    let way = (view.ranges[view.ranges.len() - 1].1 - view.ranges[0].0) as f64;
    // With few values the whole line is more informative than its two ends.
    let rise = |line: &Line| {
        let rise = |seconds: f64| 1.0 + seconds * way / line.cost_low.value;
        let Interval { value, low, high } = line.marginal_cost;
        Interval { value: rise(value), low: rise(low), high: rise(high) }
    };
    let (one, other) = (rise(&upper), rise(&lower));
    let certain = one.low > other.high || other.low > one.high;
    let part = certain && (one.value / other.value).ln().abs() >= margin;
    let both_count = lower.share.min(upper.share) >= PARALLEL;
    let apart = found.distance.ln() >= margin && (part || both_count);
    apart.then_some(Lines { lower, upper, persistence: found.persistence, distance: found.distance })
}

/// Whether all trials choose the same line at the same n: then the cost depends on n, and nothing is chosen.
fn is_set_by_n(found: &lines::Found) -> bool {
    let mut counts: HashMap<u64, [u32; 2]> = HashMap::new();
    for (kind, trials) in [&found.lower, &found.upper].into_iter().enumerate() {
        let sizes = trials.iter().flat_map(|(sizes, _)| sizes);
        sizes.for_each(|n| counts.entry(*n).or_default()[kind] += 1);
    }
    let [lower, upper] = found.shares;
    let (mut asked, mut agree, mut by_chance) = (0.0, 0.0, 0.0);
    for [below, above] in counts.into_values().filter(|[below, above]| below + above >= FEWEST) {
        asked += 1.0;
        agree += f64::from(u8::from(below == 0 || above == 0));
        let trials = (below + above) as i32;
        by_chance += lower.powi(trials) + upper.powi(trials);
    }
    agree - by_chance > (asked - by_chance) / 2.0
}

/// Whether a step describes these trials best; used where they are too few to be judged.
fn jumps(trials: &[Sweep<'_>], settings: &Settings) -> bool {
    if trials.len() >= FEWEST as usize {
        return false;
    }
    let view = Common::of(trials, settings.whole).and_then(|common| {
        let grid = Grid::of(&common.sizes, common.trials.len());
        View::of(&common, &grid, settings)
    });
    view.is_some_and(|view| {
        let curve = Curve::of(&view.rows, &view.middles());
        Choice::of(&curve).best().is_some_and(|best| !best.steps.is_empty())
    })
}

/// Lines that do not part hold at least this share each.
const PARALLEL: f64 = 0.25;

/// Trials that go another way than most: by more than the margin from the smallest n to the largest, and by
/// half of what most of them change.
fn apart(view: &View, margin: f64) -> usize {
    let mut trends = trends(&view.flatness.changes, &view.ranges);
    let Some(middle) = median(&mut trends) else { return 0 };
    let mut distances: Vec<f64> = trends.iter().map(|trend| (trend - middle).abs()).collect();
    let spread = median(&mut distances).unwrap_or(0.0) * DEVIATION;
    let far = margin.max(APART * spread).max(middle.abs() / 2.0);
    distances.iter().filter(|distance| **distance > far).count()
}

/// Spreads, by the median deviation, beyond which a trial goes its own way.
const APART: f64 = 6.0;
/// From the median deviation to the standard deviation of a normal distribution.
const DEVIATION: f64 = 1.4826;
/// From this share on what goes its own way forbids to name a shape.
const APART_SHARE: f64 = 0.1;

impl Settings {
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

/// Where some trials go another way, one shape is not all there is.
fn with_trials_apart(class: Class, mut classes: Vec<Class>) -> (Class, Vec<Class>) {
    if !SHAPES.contains(&class) {
        return (class, classes);
    }
    classes.push(Class::TwoLines);
    // What is stepped has its stretches beside it.
    (if class == Class::Stepped { Class::Composite } else { Class::Ambiguous }, classes)
}

/// The word, and the words that are not excluded.
fn class(view: &View, bound: f64, growth: Interval, margin: f64, bend: Option<&Bend>) -> (Class, Vec<Class>) {
    let flatness = &view.flatness;
    if view.rows.len() < FEWEST as usize {
        let class = gross(&flatness.changes, view.reference);
        return (class, if class == Class::Ambiguous { SHAPES.to_vec() } else { vec![class] });
    }
    if bound <= margin {
        return (Class::Flat, vec![Class::Flat]);
    }
    let certain = flatness.rise.max(flatness.fall) > 0.0;
    match bend {
        Some(bend) if flatness.peak.abs() >= margin => bend.class(growth, margin),
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

/// What is plain without an interval.
fn gross(changes: &[Vec<f64>], reference: usize) -> Class {
    let blocks = changes.first().map_or(0, Vec::len);
    let everywhere = |sign: f64, gross: f64| {
        let all_beyond = |place: usize| changes.iter().all(|row| sign * row[place] > gross);
        changes.len() > 1 && (reference + 1..blocks).any(|place| all_beyond(place - 1) && all_beyond(place))
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

fn warnings(
    common: &Common<'_>,
    (trials, apart): (usize, usize),
    (n_low, n_high): (u64, u64),
    blurred: bool,
) -> Vec<Warning> {
    let narrow = (n_high as f64) < 100.0 * n_low.max(1) as f64;
    let all = [
        (trials < FEW).then_some(Warning::FewTrials { trials }),
        narrow.then_some(Warning::NarrowRange),
        blurred.then_some(Warning::BelowResolution),
        (common.no_cost > 0).then_some(Warning::LeftOut { values: common.no_cost }),
        (apart > 0).then_some(Warning::TrialsApart { trials: apart }),
        common.unequal.then_some(Warning::UnequalRange { trials_left_out: common.left_out }),
    ];
    all.into_iter().flatten().collect()
}
