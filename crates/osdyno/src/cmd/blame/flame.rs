//! A differential flame graph: as wide as the time where an operation is expensive, coloured by how much of
//! that is new. Without scripts: names and shares are titles.

use std::fmt::Write;

use ::report::html::esc;
use ::report::quantity::time;
use ::report::words::percent;
use inspect::blame::{CallTree, SeriesBlame};

const WIDTH: f64 = 1080.0;
const ROW: f64 = 19.0;
/// Narrower boxes are left out: they would be lines.
const NARROWEST: f64 = 0.8;
/// Width of a letter at the size that names have.
const LETTER: f64 = 6.4;
/// Deeper calls are left out, as a damaged file may nest without end.
const DEPTH_MOST: usize = 100;

/// How boxes look, on paper of either colour.
pub(super) const STYLE: &str = ".flame { display: block; width: 100%; height: auto; margin: 8px 0; }
.flame text { font: 11px ui-monospace, Menlo, Consolas, monospace; fill: var(--ink); pointer-events: none; }
.flame rect { stroke: var(--paper); stroke-width: 1; }
.flame .base { fill: var(--hair); } .flame .more { fill: var(--notable); } .flame .less { fill: var(--good); }
.flame g:hover .base { fill: var(--soft); }";

/// The graph; `None` where there is no time to show.
pub(super) fn draw(series: &SeriesBlame, id: &str) -> Option<String> {
    let tree = &series.tree;
    let all = tree.seconds[1];
    if !(all.is_finite() && all > 0.0) {
        return None;
    }
    let depth = tree.depth().min(DEPTH_MOST);
    let height = ROW * (depth + 1) as f64;
    let mut svg = format!(
        "<svg class=\"flame\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{id}\">\
         <title id=\"{id}\">Differential flame graph of {}</title>",
        esc(&series.label)
    );
    let graph = Graph { all, scale: WIDTH / all, growth: tree.growth(), height };
    graph.draw(tree, &series.label, 0.0, 0, &mut svg);
    svg.push_str("</svg>");
    Some(svg)
}

struct Graph {
    all: f64,
    scale: f64,
    growth: f64,
    height: f64,
}

impl Graph {
    fn draw(&self, tree: &CallTree, name: &str, x: f64, depth: usize, svg: &mut String) {
        let width = tree.seconds[1] * self.scale;
        if width < NARROWEST || depth > DEPTH_MOST {
            return;
        }
        let y = self.height - ROW * (depth + 1) as f64;
        // Of what is spent here, the part that is new; or how much more there was.
        let change = tree.growth() / tree.seconds[1].max(tree.seconds[0]);
        let (class, opacity) = (if change > 0.0 { "more" } else { "less" }, change.abs().min(1.0) * 0.75);
        let title = format!(
            "{name}: {} at low n, {} at high n; {} of the growth, {} of the time",
            time(tree.seconds[0]),
            time(tree.seconds[1]),
            part(tree.growth(), self.growth),
            part(tree.seconds[1], self.all)
        );
        let _ = write!(
            svg,
            "<g><title>{}</title><rect class=\"base\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{ROW}\" rx=\"2\"/><rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" \
             width=\"{width:.1}\" height=\"{ROW}\" rx=\"2\" fill-opacity=\"{opacity:.2}\"/>",
            esc(&title)
        );
        let fits = ((width - 8.0) / LETTER).max(0.0) as usize;
        if let Some(label) = fitting(name, fits) {
            let (x, y) = (x + 4.0, y + ROW - 6.0);
            let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", esc(&label));
        }
        svg.push_str("</g>");
        let mut x = x;
        for call in &tree.calls {
            self.draw(call, &call.name, x, depth + 1, svg);
            x += call.seconds[1] * self.scale;
        }
    }
}

fn part(part: f64, whole: f64) -> String {
    if whole > 0.0 { percent((part / whole).clamp(-0.99, 1.0)) } else { "—".to_owned() }
}

/// The name, or its beginning; nothing where not even that would fit.
fn fitting(name: &str, letters: usize) -> Option<String> {
    if name.chars().count() <= letters {
        return Some(name.to_owned());
    }
    (letters >= 4).then(|| name.chars().take(letters - 1).chain(['…']).collect())
}
