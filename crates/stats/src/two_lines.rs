//! Two lines on which the measurements lie, each judged by itself.

use crate::block::Grid;
use crate::centre::{FEWEST, Interval};
use crate::finding::{FittedLine, Lines};
use crate::judge::JudgeSettings;
use crate::lines;
use crate::model_selection::ModelSelection;
use crate::range::Common;
use crate::sweep::Sweep;
use crate::verdict::{Class, Verdict};
use crate::view::View;
use std::collections::HashMap;

/// Two lines, each judged by itself, that separate by more than the margin from the smallest n to the
/// largest. Lines that do not separate are two modes, unless both hold so many values that the medians jump
/// between them. `judge` judges one line by itself.
pub(crate) fn find(
    common: &Common<'_>,
    view: &View,
    settings: &JudgeSettings,
    judge: impl Fn(&[Sweep<'_>], &JudgeSettings) -> Option<Verdict>,
) -> Option<Lines> {
    let found = lines::find(&common.trials, &view.ranges, settings.tick_seconds, settings.seed)?;
    if is_set_by_n(&found) {
        return None;
    }
    let line = |share: f64, points: &[(Vec<u64>, Vec<f64>)]| {
        let trials: Vec<Sweep<'_>> =
            points.iter().map(|(sizes, values)| Sweep::listed(sizes, values)).collect();
        let settings = JudgeSettings { whole: true, ..settings.clone() };
        let verdict = judge(&trials, &settings)?;
        // Values with jumps or without any shape are a disturbance, not a line.
        let is_line =
            verdict.classes != [Class::Uneven] && verdict.steps.is_empty() && !jumps(&trials, &settings);
        let Verdict { class, bound, growth, marginal_cost, cost_low, cost_high, .. } = verdict;
        is_line.then_some(FittedLine { share, class, bound, growth, marginal_cost, cost_low, cost_high })
    };
    let [lower, upper] = found.shares;
    let (lower, upper) = (line(lower, &found.lower)?, line(upper, &found.upper)?);
    let margin = settings.log_margin();
    let way = (view.ranges[view.ranges.len() - 1].1 - view.ranges[0].0) as f64;
    // With few values the whole line is more informative than its two ends.
    let rise = |line: &FittedLine| {
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
fn jumps(trials: &[Sweep<'_>], settings: &JudgeSettings) -> bool {
    if trials.len() >= FEWEST as usize {
        return false;
    }
    let view = Common::new(trials, settings.whole).and_then(|common| {
        let grid = Grid::new(&common.sizes, common.trials.len());
        View::new(&common, &grid, settings)
    });
    view.is_some_and(|view| {
        let curve = view.curve(&view.rows, (0, view.ranges.len()));
        ModelSelection::new(&curve).best().is_some_and(|best| !best.steps.is_empty())
    })
}

/// Lines that do not separate hold at least this share each.
const PARALLEL: f64 = 0.25;
