//! The class of a series, from the findings about its blocks and its shape.

use crate::centre::{FEWEST, Interval, MOST};
use crate::growth::trends;
use crate::median::median;
use crate::shape_selection::ShapeSelection;
use crate::verdict::{Block, Class};
use crate::view::View;

/// Three trials show only a change of at least this factor, and only if all agree; two need more, because two
/// agree by chance more often.
const GROSS: f64 = 2.0;
const GROSS_OF_TWO: f64 = 3.0;

/// Trials that behave differently from most: by more than the margin from the smallest n to the largest, and
/// by half of the change of most.
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
/// From this share of such trials on no shape is named.
const APART_SHARE: f64 = 0.1;

/// The evidence on which the class depends.
pub(crate) struct Evidence<'a> {
    pub(crate) view: &'a View,
    /// The cost, where there is one n only.
    pub(crate) one_level: Option<OneLevel>,
    /// Whether the measurements lie on two lines.
    pub(crate) has_lines: bool,
    /// Whether the cheapest median is too short for the clock.
    pub(crate) below_resolution: bool,
    /// One tick of the clock as a share of the cheapest cost, in logarithms.
    pub(crate) tick: f64,
    pub(crate) growth: Interval,
    pub(crate) selection: Option<&'a ShapeSelection>,
}

/// The class of a verdict, with its details.
pub(crate) struct Classified {
    pub(crate) class: Class,
    /// The classes that are not excluded.
    pub(crate) classes: Vec<Class>,
    /// Trials after which it may be definite, when more would help.
    pub(crate) trials_needed: Option<u32>,
    /// Trials that behave differently from most.
    pub(crate) trials_apart: usize,
}

/// The class that the evidence supports.
pub(crate) fn classify(evidence: &Evidence<'_>, margin: f64) -> Classified {
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
pub(crate) struct OneLevel {
    trials: usize,
    /// How far the interval reaches, in logarithms: the longer side.
    reach: f64,
    tick: f64,
}

impl OneLevel {
    /// `None` where there are several n; `tick` is one tick of the clock as a share of the cost, in
    /// logarithms.
    pub(crate) fn new(blocks: &[Block], trials: usize, tick: f64) -> Option<OneLevel> {
        let [Block { n_low, n_high, cost: Interval { value, low, high }, .. }] = blocks else { return None };
        let reach = (high / value).ln().max((value / low).ln());
        (n_low == n_high).then_some(OneLevel { trials, reach, tick })
    }

    /// Whether the cost is known well enough.
    pub(crate) fn class(self) -> Class {
        let enough = self.trials >= FEWEST as usize;
        if enough && self.reach.max(self.tick) <= PRECISION.ln_1p() {
            Class::Value
        } else {
            Class::Inconclusive
        }
    }

    /// Trials after which it may be: the reach falls with the square root of their number. `None` where it is
    /// known, where more would not help, or where far too many would be needed.
    pub(crate) fn trials_needed(self) -> Option<u32> {
        let within = PRECISION.ln_1p();
        let times = (self.reach / within).powi(2);
        let needed = (self.trials as f64 * times).ceil().max(f64::from(FEWEST)).max(self.trials as f64 + 1.0);
        let helps = self.class() != Class::Value && self.tick <= within && needed <= f64::from(MOST);
        helps.then_some(needed as u32)
    }
}
