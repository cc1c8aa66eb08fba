//! An SVG picture of a plot: its frame, and the elements inside.

use std::fmt::Write;

use stats::Block;

use super::esc;
use super::scale::{Axis, Tick, count_label};
use crate::sentences::middle as middle_of;

/// The size of a plot in its own units; the page scales it.
pub(crate) const WIDTH: f64 = 520.0;
pub(crate) const HEIGHT: f64 = 300.0;
pub(crate) const LEFT: f64 = 62.0;
pub(crate) const RIGHT: f64 = 496.0;
pub(crate) const TOP: f64 = 16.0;
pub(crate) const BOTTOM: f64 = 256.0;
/// The width of labels along an axis, at the larger type of a narrow screen.
pub(crate) const ROOM_ACROSS: f64 = 74.0;
const ROOM_DOWN: f64 = 20.0;
/// Height of the strip above an axis, and its distance from that.
pub(crate) const STRIP: f64 = 14.0;
pub(crate) const STRIP_APART: f64 = 6.0;
const STRIP_EDGE: f64 = 1.0;
/// Knots of a line are at least so far apart.
const KNOTS_APART: f64 = 7.0;

/// An SVG picture under construction.
pub(crate) struct Svg {
    id: String,
    /// Where the plot ends.
    right: f64,
    out: String,
}

impl Svg {
    /// A picture with `head` more room above the plot, for labels.
    pub(crate) fn open(id: &str, head: f64) -> Svg {
        Svg::open_to(id, head, RIGHT)
    }

    /// The same with a plot that ends earlier, for names behind it.
    pub(crate) fn open_to(id: &str, head: f64, right: f64) -> Svg {
        Svg::framed(id, (0.0 - head, HEIGHT + head), right)
    }

    /// A picture of that height, without a plot.
    pub(crate) fn open_of_height(id: &str, height: f64) -> Svg {
        Svg::framed(id, (0.0, height), WIDTH)
    }

    fn framed(id: &str, (top, height): (f64, f64), right: f64) -> Svg {
        let mut svg = Svg { id: id.to_string(), right, out: String::new() };
        svg.put(format_args!(
            "<svg class=\"plot\" id=\"{id}\" viewBox=\"0 {top} {WIDTH} {height}\" role=\"img\" \
             aria-labelledby=\"{id}-t {id}-d\">"
        ));
        svg
    }

    /// Writing to a string cannot fail.
    pub(crate) fn put(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = self.out.write_fmt(text);
    }

    pub(crate) fn describe(&mut self, title: &str, description: &str) {
        let id = self.id.clone();
        self.put(format_args!(
            "<title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>",
            esc(title),
            esc(description)
        ));
    }

    /// Grid, marks, labels and the objects that n counts.
    pub(crate) fn axes(&mut self, x: &Axis, y: &Axis, grows: &str, label: impl Fn(&Tick) -> String) {
        self.upright(y, label);
        self.level_of_n(&x.ticks(ROOM_ACROSS), grows);
    }

    /// The level axis of n. The objects that n counts are unknown for imported numbers.
    pub(super) fn level_of_n(&mut self, ticks: &[Tick], grows: &str) {
        let of = if grows == "n" { "n".into() } else { format!("n = {grows}") };
        self.level(ticks, |tick| count_label(tick.value), &of);
    }

    /// The grid and the labels of the upright axis.
    pub(crate) fn upright(&mut self, y: &Axis, label: impl Fn(&Tick) -> String) {
        let (mut grid, mut marks) = (String::new(), String::new());
        let right = self.right;
        for tick in y.ticks(ROOM_DOWN).iter().filter(|t| t.at <= BOTTOM + 0.5 && t.at >= TOP - 0.5) {
            if !tick.labelled {
                let _ = write!(marks, "M{LEFT} {:.1}h-3", tick.at);
                continue;
            }
            let _ = write!(grid, "M{LEFT} {:.1}H{right}", tick.at);
            self.put(format_args!(
                "<text class=\"y\" x=\"{}\" y=\"{:.1}\">{}</text>",
                LEFT - 8.0,
                tick.at + 4.0,
                label(tick)
            ));
        }
        self.put(format_args!("<path class=\"grid\" d=\"{grid}\"/><path class=\"mark\" d=\"{marks}\"/>"));
    }

    /// The marks and labels of the level axis, and their objects.
    pub(crate) fn level(&mut self, ticks: &[Tick], label: impl Fn(&Tick) -> String, of: &str) {
        let mut marks = String::new();
        for tick in ticks {
            let _ = write!(marks, "M{:.1} {BOTTOM}v{}", tick.at, if tick.labelled { 5 } else { 3 });
            if tick.labelled {
                self.put(format_args!(
                    "<text class=\"x\" x=\"{:.1}\" y=\"{}\">{}</text>",
                    tick.at,
                    BOTTOM + 18.0,
                    label(tick)
                ));
            }
        }
        let right = self.right;
        self.put(format_args!(
            "<path class=\"mark\" d=\"M{LEFT} {BOTTOM}H{right}{marks}\"/>\
             <text class=\"of\" x=\"{right}\" y=\"{}\">{}</text>",
            HEIGHT - 6.0,
            esc(of)
        ));
    }

    /// A picture of points, in the colour of a class.
    pub(crate) fn cloud(&mut self, uri: &str, class: &str) {
        let id = format!("{}-{class}", self.id);
        let (w, h) = (RIGHT - LEFT, BOTTOM - TOP);
        self.put(format_args!(
            "<mask id=\"{id}-m\"><image x=\"{LEFT}\" y=\"{TOP}\" width=\"{w}\" height=\"{h}\" \
             preserveAspectRatio=\"none\" href=\"{uri}\"/></mask>\
             <rect class=\"cloud {class}\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{w}\" height=\"{h}\" \
             mask=\"url(#{id}-m)\"/>"
        ));
    }

    /// The strip of the points above the axis: from its edge to the largest value, which stands beside it.
    pub(crate) fn strip(&mut self, over: &Axis, label: &str, title: &str) {
        let (y, height) = (over.to - STRIP_EDGE, over.from - over.to + 2.0 * STRIP_EDGE);
        self.put(format_args!(
            "<rect class=\"over\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{}\" height=\"{height:.1}\">\
             <title>{}</title></rect><text class=\"y\" x=\"{}\" y=\"{:.1}\">{label}</text>",
            RIGHT - LEFT,
            esc(title),
            LEFT - 8.0,
            over.to + 7.0
        ));
    }

    pub(crate) fn band(&mut self, blocks: &[Block], x: &Axis, y: &Axis, ends: impl Fn(&Block) -> (f64, f64)) {
        let finite = |b: &&Block| {
            let (low, high) = ends(b);
            low.is_finite() && high.is_finite()
        };
        let at = |b: &Block, value: f64| format!("{:.1} {:.1}", x.place(middle_of(b)), within(y, value));
        let upper: Vec<String> = blocks.iter().filter(finite).map(|b| at(b, ends(b).1)).collect();
        let lower: Vec<String> = blocks.iter().rev().filter(finite).map(|b| at(b, ends(b).0)).collect();
        if upper.len() > 1 {
            self.put(format_args!("<path class=\"band\" d=\"M{}L{}Z\"/>", upper.join("L"), lower.join("L")));
        }
    }

    pub(crate) fn medians(&mut self, blocks: &[Block], x: &Axis, y: &Axis, value: impl Fn(&Block) -> f64) {
        let places: Vec<(f64, f64)> = blocks
            .iter()
            .filter(|b| value(b).is_finite())
            .map(|b| (x.place(middle_of(b)), within(y, value(b))))
            .collect();
        self.line("median", &places);
        let mut last = f64::NEG_INFINITY;
        for (x, y) in places {
            // Where the ranges crowd, the line suffices.
            if x - last < KNOTS_APART {
                continue;
            }
            last = x;
            self.put(format_args!("<circle class=\"knot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.9\"/>"));
        }
    }

    /// A line through places, with a halo in the colour of the page.
    pub(crate) fn line(&mut self, class: &str, places: &[(f64, f64)]) {
        let points: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        if points.len() > 1 {
            let path = points.join("L");
            self.put(format_args!(
                "<path class=\"halo\" d=\"M{path}\"/><path class=\"{class}\" d=\"M{path}\"/>"
            ));
        }
    }

    pub(crate) fn corridor(&mut self, low: f64, high: f64, y: &Axis) {
        let (top, bottom) = (within(y, high), within(y, low));
        self.put(format_args!(
            "<rect class=\"corridor\" x=\"{LEFT}\" y=\"{top:.1}\" width=\"{}\" height=\"{:.1}\"/>",
            RIGHT - LEFT,
            bottom - top
        ));
    }

    pub(crate) fn rule(&mut self, value: f64, y: &Axis) {
        self.put(format_args!("<path class=\"rule\" d=\"M{LEFT} {:.1}H{RIGHT}\"/>", y.place(value)));
    }

    pub(crate) fn close(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }
}

/// Where a value stands, kept inside the axis.
pub(crate) fn within(y: &Axis, value: f64) -> f64 {
    y.place(value).clamp(y.from.min(y.to) - 1.0, y.from.max(y.to) + 1.0)
}
