//! The shape of a cost that changes for certain: its steps, the shapes between them, and the class.

use crate::block::Grid;
use crate::centre::{Centre, Interval, Student, exp, mean};
use crate::curve::Curve;
use crate::ends::{EndSite, Ends, LATE};
use crate::flat::{Flatness, Layout, growth};
use crate::model_selection::{ModelSelection, lacks_fit, material};
use crate::search::{interval, place};
use crate::shape::{Family, Fit};
use crate::step;
use crate::step::{NEAR, Site, Ways};
use crate::sweep::{Common, JudgeSettings};
use crate::verdict::{Asymptote, Bend, Class, Segment, Step, Turn};
use crate::view::View;

/// Fewer blocks show no shape.
const BLOCKS: usize = 5;
/// How far around a step is looked, as a factor of n.
const NEAR_N: f64 = 2.5;

/// A series, and the facts about it beside its blocks.
pub(crate) struct Case<'a> {
    pub(crate) common: &'a Common<'a>,
    pub(crate) grid: &'a Grid,
    /// Duration of one tick of the clock as a share of the cheapest cost.
    pub(crate) tick: f64,
    pub(crate) settings: &'a JudgeSettings,
}

/// The shape of a cost that certainly changes.
#[derive(Default)]
pub(crate) struct ShapeSelection {
    /// The class of the best shape; `None` where no shape describes the cost.
    pub(crate) class: Option<Class>,
    /// The classes of all shapes that describe it and are not excluded.
    classes: Vec<Class>,
    /// Share of resampled runs that agree with `class`.
    pub(crate) share: f64,
    /// Most of the change lies in the last two blocks, where a step, a knee and a limit look alike.
    late: bool,
    pub(crate) steps: Vec<Step>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) limit: Option<Asymptote>,
    pub(crate) bend: Option<Bend>,
    pub(crate) exponent: Option<Interval>,
    pub(crate) turn: Option<Turn>,
    /// The largest reversal on its way from end to end, in logarithms.
    back: f64,
    /// The growth of the cost, in logarithms, from the smallest n to the middle of the first block, and from
    /// the middle of the last to the largest n.
    pub(crate) ends: Option<Ends>,
    /// (n, cost) of the best shape.
    pub(crate) fit: Vec<(f64, f64)>,
}

/// The trials as they are, or upside down where the cost falls.
struct Facing {
    curve: Curve,
    sign: f64,
}

impl Facing {
    fn new(view: &View) -> Facing {
        let curve = view.curve(&view.rows, (0, view.ranges.len()));
        if view.growth().value < 1.0 {
            Facing { curve: curve.mirrored(), sign: -1.0 }
        } else {
            Facing { curve, sign: 1.0 }
        }
    }
}

/// A curve and the shapes that were fitted to it.
struct Fitted {
    facing: Facing,
    models: ModelSelection,
    /// The curve of plain medians; medians along a shape repeat its places, without their errors.
    plain: Curve,
}

impl Fitted {
    /// The same with medians taken along the best shape, as far as it is steep; `fit` fits the shapes anew.
    fn levelled(
        mut self,
        common: &Common<'_>,
        view: &View,
        (start, end): (usize, usize),
        fit: impl Fn(&Curve) -> ModelSelection,
    ) -> Fitted {
        for _ in 0..LEVELLED {
            let sign = self.facing.sign;
            let grown = self.models.growing();
            let best = grown.best();
            let Some(rows) = best.and_then(|best| view.rows_along(common, (start, end), best, sign)) else {
                break;
            };
            let curve = view.curve(&rows, (start, end));
            let curve = if sign < 0.0 { curve.mirrored() } else { curve };
            self = Fitted { models: fit(&curve), facing: Facing { curve, sign }, plain: self.plain };
        }
        self
    }
}

/// How often medians are taken along a shape that was fitted to the ones before.
const LEVELLED: usize = 3;

impl ShapeSelection {
    /// Finds steps first, lays the blocks so that no block holds one, and changes `view` to these blocks.
    /// `None` where there are too few blocks for a shape.
    pub(crate) fn new(case: &Case<'_>, view: &mut View) -> Option<ShapeSelection> {
        let facing = Facing::new(view);
        if facing.curve.blocks() < BLOCKS {
            return None;
        }
        let mut models = ModelSelection::new(&facing.curve);
        if let Some(first) = Parted::new(case, view, &facing, models.best()?) {
            // Shapes with the steps show their places better.
            let shape = first.models.plainest_with_its_steps(&first.facing.curve)?;
            let second = Parted::new(case, &first.view, &first.facing, shape);
            let parted = match second {
                Some(second) if second.steps.len() == first.steps.len() => second,
                _ => first,
            };
            let selection = parted.selection(case.common, case.settings);
            *view = parted.view;
            return Some(selection);
        }
        models.retain(|fit| fit.steps.is_empty() || fit.family == Family::Constant);
        let fitted = Fitted { plain: facing.curve.clone(), facing, models };
        let fitted = fitted.levelled(case.common, view, (0, view.ranges.len()), |curve| {
            let mut models = ModelSelection::new(curve);
            models.retain(|fit| fit.steps.is_empty() || fit.family == Family::Constant);
            models
        });
        Some(ShapeSelection::smooth(case, view, &fitted))
    }

    /// Where there are no steps.
    fn smooth(case: &Case<'_>, view: &View, fitted: &Fitted) -> ShapeSelection {
        let Case { common, settings, .. } = case;
        let Fitted { facing: Facing { curve, sign }, models, plain } = fitted;
        let models = models.clone().without_idle(curve);
        let grown = models.growing();
        let is_late = grown.best().is_some_and(is_late);
        let Ways { turn, back } = Ways::new(&view.rows, &view.middles, view.alpha, settings.log_margin());
        let alike = grown.plainest(curve);
        let nearest = alike.first().copied();
        let site = EndSite { view, common, curve, sign: *sign, settings };
        let ends = site.ends(nearest.filter(|_| !is_late), grown.close(curve));
        let late = is_late || ends.is_some_and(|ends| ends.is_mostly_outer(view.growth().value));
        let nothing = ShapeSelection { late, turn, back, ends, ..ShapeSelection::default() };
        let Some(best) = alike.into_iter().find(|fit| !lacks_fit(curve, fit, material(view))) else {
            return nothing;
        };
        let (mut classes, _) = models.allowed(curve, settings.seed);
        classes.retain(|class| *class != Class::Flat);
        if !classes.contains(&best.class()) {
            classes.push(best.class());
        }
        let (_, share) = grown.allowed(curve, settings.seed);
        classes.sort_unstable();
        classes.dedup();
        let class = if *sign < 0.0 { Class::Decreasing } else { best.class() };
        if *sign < 0.0 {
            let stepped = classes.contains(&Class::Stepped);
            classes = if stepped { vec![Class::Stepped, Class::Decreasing] } else { vec![Class::Decreasing] };
        }
        let power = grown.power().filter(|fit| *sign > 0.0 && !lacks_fit(curve, fit, material(view)));
        let exponent = power.and_then(|fit| fit.exponent).map(|of| of.interval(&Student::new(view.alpha)));
        ShapeSelection {
            class: Some(class),
            classes,
            share,
            limit: limit(curve, best, *sign, settings),
            bend: bend(view, [curve, plain], best, *sign, settings),
            exponent,
            fit: drawn(view, best, *sign),
            ..nothing
        }
    }

    /// The class of the verdict, and those that are not excluded.
    pub(crate) fn class(&self, growth: Interval, margin: f64) -> (Class, Vec<Class>) {
        let one = match (self.class, self.classes.as_slice()) {
            (Some(Class::Decreasing), _) if growth.high < 1.0 && growth.value.ln() <= -margin => {
                Some(Class::Decreasing)
            }
            (Some(Class::Stepped), [Class::Stepped]) => Some(Class::Stepped),
            // It must rise from end to end, and be the only possible shape.
            (Some(class), [only]) if class == *only && growth.low > 1.0 && !self.late => Some(class),
            _ => None,
        };
        match one {
            Some(class) => (class, self.classes.clone()),
            None if self.late => (Class::Ambiguous, LATE_SHAPES.to_vec()),
            None if !self.steps.is_empty() => (Class::Composite, self.classes.clone()),
            None if self.class.is_none() => self.without_shape(growth, margin),
            None if self.classes.len() > 1 => (Class::Ambiguous, self.classes.clone()),
            // The only remaining shape does not certainly rise from end to end.
            None => (Class::Uneven, self.classes.clone()),
        }
    }

    /// The class of a cost that no shape describes: it rises, falls, or does both.
    fn without_shape(&self, growth: Interval, margin: f64) -> (Class, Vec<Class>) {
        let one_way = self.turn.is_none() && self.back < margin / 2.0;
        if one_way && growth.low > 1.0 {
            (Class::Ambiguous, Vec::new())
        } else if one_way && growth.high < 1.0 && growth.value.ln() <= -margin {
            (Class::Decreasing, vec![Class::Decreasing])
        } else {
            (Class::Uneven, vec![Class::Uneven])
        }
    }
}

/// A series in blocks that end at its steps.
struct Parted {
    view: View,
    facing: Facing,
    /// The shapes, the best of which has these steps.
    models: ModelSelection,
    steps: Vec<Step>,
    /// The first block after each.
    firsts: Vec<usize>,
}

impl Parted {
    /// Looks for the steps of a shape, and lays the blocks anew. `None` where there are no steps, or where a
    /// shape without them is best once no block holds one.
    fn new(case: &Case<'_>, view: &View, facing: &Facing, shape: &Fit) -> Option<Parted> {
        let steps = steps(case, view, facing, shape);
        if steps.is_empty() {
            return None;
        }
        let common = case.common;
        let grid = case.grid.parted(&common.sizes, common.trials.len(), &steps);
        let view = View::new(common, &grid, case.settings)?;
        let firsts: Vec<usize> = steps
            .iter()
            .filter_map(|step| view.ranges.iter().position(|range| range.0 >= step.n))
            .filter(|first| *first > 0)
            .collect();
        let facing = Facing::new(&view);
        let models = ModelSelection::with_known(&facing.curve, &firsts);
        let there = models.best().is_some_and(|best| best.steps == firsts);
        there.then_some(Parted { view, facing, models, steps, firsts })
    }

    fn selection(&self, common: &Common<'_>, settings: &JudgeSettings) -> ShapeSelection {
        let Parted { view, facing, models, steps, firsts } = self;
        let Some(best) = models.plainest_with_its_steps(&facing.curve) else {
            return ShapeSelection::default();
        };
        let site = EndSite { view, common, curve: &facing.curve, sign: facing.sign, settings };
        let ends = site.ends(Some(best), models.close(&facing.curve));
        if ends.is_some_and(|ends| ends.is_mostly_outer(view.growth().value)) {
            return ShapeSelection { late: true, ends, ..ShapeSelection::default() };
        }
        let (mut classes, share) = models.allowed(&facing.curve, settings.seed);
        // A cost with more than steps shows it in the stretches between them.
        classes.retain(|class| ![Class::Flat, Class::Composite, Class::Stepped].contains(class));
        if facing.sign < 0.0 && !classes.is_empty() {
            classes = vec![Class::Decreasing];
        }
        let edges: Vec<usize> = std::iter::once(0)
            .chain(firsts.iter().copied())
            .chain(std::iter::once(view.ranges.len()))
            .collect();
        let parts: Vec<Part> = edges
            .windows(2)
            .map(|edge| Part::new(common, view, (edge[0], edge[1]), edges.len() - 1, settings))
            .collect();
        classes.push(Class::Stepped);
        match parts.iter().filter(|part| !part.changes.is_empty()).count() {
            0 | 1 => classes.extend(parts.iter().flat_map(|part| part.changes.iter().copied())),
            // A trend that continues across a jump is estimated best across it.
            _ => classes.extend(models.families(&facing.curve, settings.seed, facing.sign)),
        }
        classes.sort_unstable();
        classes.dedup();
        ShapeSelection {
            class: Some(if classes.len() == 1 { Class::Stepped } else { Class::Composite }),
            classes,
            share,
            limit: parts.iter().find_map(|part| part.limit),
            ends,
            fit: drawn(view, best, facing.sign),
            segments: parts.into_iter().map(|part| part.segment).collect(),
            steps: steps.clone(),
            ..ShapeSelection::default()
        }
    }
}

/// Whether a shape does most of its rising in the last two blocks.
fn is_late(fit: &Fit) -> bool {
    let (Some(first), Some(last)) = (fit.curve.first(), fit.curve.last()) else { return false };
    let before = fit.curve.len().checked_sub(3).map_or(*first, |block| fit.curve[block]);
    before - first < LATE * (last - first)
}

/// Shapes that cannot be distinguished there.
const LATE_SHAPES: [Class; 4] =
    [Class::LinearLike, Class::Superlinear, Class::ApproachingLimit, Class::Stepped];

/// The steps of a shape that pass every gate.
fn steps(case: &Case<'_>, view: &View, facing: &Facing, shape: &Fit) -> Vec<Step> {
    let Case { common, settings, .. } = case;
    let smooth = |n: f64| facing.sign * shape.smooth_at(n);
    let blocks = view.ranges.len();
    let at = |n: u64| common.sizes.partition_point(|size| *size < n);
    // Up to the neighbouring steps; as far as blocks and n demand, because blocks before a step are narrow.
    let reach = |place: usize| {
        let before = if place == 0 { 0 } else { shape.steps[place - 1] };
        let after = shape.steps.get(place + 1).copied().unwrap_or(blocks);
        let step = shape.steps[place];
        let n = view.ranges[step].0;
        let low = view.ranges[before.max(step.saturating_sub(NEAR))].0.min((n as f64 / NEAR_N) as u64);
        let high = view.ranges[after.min(step + NEAR) - 1].1.max((n as f64 * NEAR_N) as u64);
        (low.max(view.ranges[before].0), high.min(view.ranges[after - 1].1))
    };
    let find = |place: usize| {
        let (low, high) = reach(place);
        let site = Site {
            trials: &common.trials,
            sizes: &common.sizes,
            window: (at(low), common.sizes.partition_point(|size| *size <= high)),
            smooth: &smooth,
            tick: case.tick,
            alpha: settings.error_rate(),
            positions: blocks,
        };
        step::find(&site)
    };
    let mut steps: Vec<Step> = (0..shape.steps.len()).filter_map(find).collect();
    steps.sort_unstable_by_key(|step| step.n);
    steps.dedup_by_key(|step| step.n);
    steps
}

/// One stretch between steps.
struct Part {
    segment: Segment,
    /// The classes of its change, if it changes for certain and by more than the margin.
    changes: Vec<Class>,
    limit: Option<Asymptote>,
}

impl Part {
    /// Of blocks `start..end`, one of so many stretches.
    fn new(
        common: &Common<'_>,
        view: &View,
        (start, end): (usize, usize),
        stretches: usize,
        settings: &JudgeSettings,
    ) -> Part {
        let alpha = view.alpha;
        let margin = settings.log_margin();
        let rows: Vec<Vec<f64>> = view.rows.iter().map(|row| row[start..end].to_vec()).collect();
        let ranges = &view.ranges[start..end];
        let growth = growth(&rows, alpha, view.controls.systematic);
        let segment = |class: Class| Segment {
            n_low: view.ranges[start].0,
            n_high: view.ranges[end - 1].1,
            class,
            growth,
        };
        let plain = |class: Class| Part { segment: segment(class), changes: Vec::new(), limit: None };
        let baseline_blocks = (end - start).div_ceil(4).min(NEAR);
        let layout = Layout { ranges, baseline_blocks };
        let flatness = |alpha: f64| Flatness::new(&rows, &layout, alpha, settings.seed, view.controls);
        if flatness(alpha).bound <= margin {
            return plain(Class::Flat);
        }
        // A change in any of the stretches is a claim about the whole cost: they share its error rate.
        let flatness = flatness(alpha / stretches as f64);
        if flatness.rise.max(flatness.fall) <= 0.0 {
            return plain(Class::Inconclusive);
        }
        if flatness.peak.abs() < margin {
            return plain(if flatness.peak > 0.0 { Class::SmallGrowth } else { Class::Inconclusive });
        }
        let curve = view.curve(&rows, (start, end));
        let falls = growth.value < 1.0;
        let sign = if falls { -1.0 } else { 1.0 };
        let curve = if falls { curve.mirrored() } else { curve };
        let fit = |curve: &Curve| ModelSelection::with_known(curve, &[]).growing();
        let fitted = Fitted { models: fit(&curve), plain: curve.clone(), facing: Facing { curve, sign } };
        let Fitted { facing, models, .. } = fitted.levelled(common, view, (start, end), fit);
        let models = models.without_idle(&facing.curve);
        let curve = facing.curve;
        let fits = |fit: &&Fit| !lacks_fit(&curve, fit, material(view));
        let Some(best) = models.plainest(&curve).into_iter().find(fits) else {
            return Part { changes: vec![Class::Uneven], ..plain(Class::Uneven) };
        };
        let (mut classes, _) = models.allowed(&curve, settings.seed);
        if falls {
            classes = vec![Class::Decreasing];
        }
        let class = match classes[..] {
            [] => Class::Uneven,
            [only] => only,
            _ => Class::Ambiguous,
        };
        let limit = limit(&curve, best, sign, settings).filter(|_| class == Class::ApproachingLimit);
        Part { segment: segment(class), changes: classes, limit }
    }
}

/// The limit that a rising cost approaches.
fn limit(curve: &Curve, fit: &Fit, sign: f64, settings: &JudgeSettings) -> Option<Asymptote> {
    let Family::Approach { limit } = fit.family else { return None };
    // Every n that was measured has a finite cost.
    let is_ahead = sign > 0.0 && limit > curve.end;
    is_ahead.then(|| interval(curve, fit, curve.end, settings).map(|n| Asymptote { n })).flatten()
}

/// Where a rising line bends, and its slopes at the level of a typical trial.
fn bend(
    view: &View,
    [curve, plain]: [&Curve; 2],
    fit: &Fit,
    sign: f64,
    settings: &JudgeSettings,
) -> Option<Bend> {
    let ratio = match fit.family {
        Family::Hinge { .. } => f64::INFINITY,
        Family::Bend { ratio, .. } => ratio,
        _ => return None,
    };
    if sign < 0.0 {
        return None;
    }
    let centre = place(curve, fit, 0.0)?;
    let error = place(plain, &Fit::new(plain, fit.family, &fit.steps), 0.0)?.error.max(centre.error);
    let n = exp(Centre { error, ..centre }.interval(&Student::new(settings.error_rate())));
    let (first, last) = (view.middles[0], *view.middles.last()?);
    let drawn = drawn(view, fit, sign);
    let rise = drawn.last()?.1 - drawn.first()?.1;
    // The number of n over which the first slope rises as much.
    let way = if ratio.is_infinite() { last - n.value } else { n.value - first + ratio * (last - n.value) };
    let slope = rise / way;
    Some(if ratio.is_infinite() {
        Bend { n, before: 0.0, after: slope }
    } else {
        Bend { n, before: slope, after: ratio * slope }
    })
}

/// The shape at the middle of each block, at the level of a typical trial.
fn drawn(view: &View, fit: &Fit, sign: f64) -> Vec<(f64, f64)> {
    let costs = view.blocks(0.05);
    let logs: Vec<f64> =
        costs.iter().zip(&fit.curve).map(|(block, log)| block.cost.value.ln() - sign * log).collect();
    let level = mean(&logs);
    view.middles.iter().zip(&fit.curve).map(|(n, log)| (*n, (level + sign * log).exp())).collect()
}
