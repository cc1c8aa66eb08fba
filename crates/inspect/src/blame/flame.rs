//! A differential flame graph: as wide as the time where an operation is expensive; the part of that which is
//! new is hatched. Boxes are buttons, placed by percent, so that names have the size of text on any screen.
//! A script zooms and moves between them; without it names and shares are titles.

use std::fmt::Write;

use report::html::esc;
use report::quantity::time;
use report::words::percent;

use super::{CallTree, SeriesBlame};

/// How boxes look, on paper of either colour.
pub(super) const STYLE: &str = include_str!("flame.css");
/// Zooms into a box, moves between boxes, and describes the box under the pointer.
pub(super) const SCRIPT: &str = include_str!("flame.js");

/// Height of a box, in pixels.
const ROW: usize = 20;
/// Narrower boxes are left out, in percent of the time: they would be lines.
const NARROWEST: f64 = 0.08;
/// Deeper calls are left out, as a damaged file may nest without end.
const DEPTH_MOST: usize = 100;
/// Smaller parts of the growth are in titles only.
const NAMED_PART: f64 = 0.01;

/// The parts of a box.
const LEGEND: &str = "<p class=\"legend\"><span><span class=\"key new\"></span>more than at low n</span>\
    <span><span class=\"key old\"></span>as much as at low n</span>\
    <span><span class=\"key gone\"></span>less than at low n</span></p>";

/// The graph with its legend; `None` where there is no time to show.
pub(super) fn draw(series: &SeriesBlame, id: &str) -> Option<String> {
    let tree = &series.tree;
    let all = tree.seconds[1];
    if !(all.is_finite() && all > 0.0) {
        return None;
    }
    let mut boxes = String::new();
    let mut graph = Graph { all, growth: tree.growth(), deepest: 0 };
    graph.draw(tree, &series.label, 0.0, 0, &mut boxes);
    let height = ROW * (graph.deepest + 1);
    Some(format!(
        "<div class=\"flame\" id=\"{id}\" role=\"group\" aria-label=\"Differential flame graph of {}\" \
         style=\"height:{height}px\">{boxes}</div><output class=\"at\" for=\"{id}\"></output>{LEGEND}",
        esc(&series.label)
    ))
}

struct Graph {
    all: f64,
    growth: f64,
    /// How deep a call was drawn.
    deepest: usize,
}

impl Graph {
    fn draw(&mut self, tree: &CallTree, name: &str, x: f64, depth: usize, html: &mut String) {
        let width = tree.seconds[1] / self.all * 100.0;
        if width < NARROWEST || depth > DEPTH_MOST {
            return;
        }
        self.deepest = self.deepest.max(depth);
        let of_growth = part(tree.growth(), self.growth);
        let title = format!(
            "{name}: {} at low n, {} at high n; {} of the growth, {} of the time",
            time(tree.seconds[0]),
            time(tree.seconds[1]),
            of_growth.map_or_else(|| "—".to_owned(), percent),
            percent(tree.seconds[1] / self.all)
        );
        let is_less = tree.growth() < 0.0;
        let shown = of_growth.filter(|part| part.abs() >= NAMED_PART);
        let shown = shown.map(|part| format!(" <i>{}{}</i>", if is_less { "" } else { "+" }, percent(part)));
        let _ = write!(
            html,
            "<button type=\"button\" class=\"{}\" style=\"left:{x:.3}%;width:{width:.3}%;bottom:{}px;\
             --old:{:.1}%\" data-at=\"{x:.4} {width:.4} {depth}\" title=\"{}\"><span>{}{}</span></button>",
            if is_less { "less" } else { "more" },
            depth * ROW,
            // The part that was there before, from the left; the rest is new.
            (tree.seconds[0] / tree.seconds[1]).clamp(0.0, 1.0) * 100.0,
            esc(&title),
            esc(name),
            shown.unwrap_or_default()
        );
        let mut x = x;
        for call in &tree.calls {
            self.draw(call, &call.name, x, depth + 1, html);
            x += call.seconds[1] / self.all * 100.0;
        }
    }
}

/// The share of the growth. One that is larger than all, beside others that fall, is all of it: the rest is
/// within its interval.
fn part(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| (part / whole).clamp(-0.99, 1.0))
}
