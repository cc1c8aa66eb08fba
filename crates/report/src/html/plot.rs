//! Plots of one series as inline SVG: cost over n, and the change against the first n.

use std::fmt::Write;

use stats::{Block, Sweep, Verdict};

use super::cloud;
use super::esc;
use super::scale::{Axis, Kind, Tick, change_label, count_label, factor_label, time_label};
use crate::sentences::middle as middle_of;
use crate::stops::{Cause, Stop};
use crate::words::count;

/// The size of a plot in its own units; the page scales it.
pub(crate) const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 496.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 256.0;
/// What labels need along an axis, at the larger type of a narrow screen.
const ROOM_ACROSS: f64 = 74.0;
const ROOM_DOWN: f64 = 20.0;
/// A linear axis of cost reaches so far above the median of the costliest block, or to the value below
/// which this share of all points lies; what is above is drawn at the edge and counted.
const SHARE_SHOWN: f64 = 0.995;
/// A change of more than this factor is drawn on a logarithmic axis.
const LOGARITHMIC_FROM: f64 = 2.5;

/// Knots of a line are at least so far apart.
const KNOTS_APART: f64 = 7.0;

/// What a plot of one series shows.
pub(crate) struct Subject<'a> {
    pub(crate) id: String,
    pub(crate) label: &'a str,
    pub(crate) grows: &'a str,
    pub(crate) sweeps: &'a [Sweep<'a>],
    pub(crate) verdict: Option<&'a Verdict>,
    pub(crate) stops: &'a [Stop],
    pub(crate) margin: f64,
    pub(crate) sentence: &'a str,
    pub(crate) bytes_max: usize,
}

/// A plot, and how many points stand at its upper edge because they are above it.
pub(crate) struct Plot {
    pub(crate) svg: String,
    pub(crate) above: usize,
}

impl Subject<'_> {
    /// Smallest and largest n that was measured or stopped at.
    fn range_of_n(&self) -> (f64, f64) {
        let sweeps = self.sweeps.iter().filter(|s| !s.values.is_empty());
        let ends = sweeps.flat_map(|s| [s.n(0) as f64, s.n(s.values.len() - 1) as f64]);
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for n in ends {
            low = low.min(n);
            high = high.max(n);
        }
        let stopped = self.stops.iter().filter_map(|s| s.n).map(|(_, n)| n as f64).fold(0.0, f64::max);
        (if low.is_finite() { low } else { 0.0 }, high.max(stopped))
    }

    fn axis_of_n(&self, kind: Kind) -> Axis {
        let (low, high) = self.range_of_n();
        match kind {
            // An axis to 19 999 may as well end at 20 000.
            Kind::Linear => {
                let end = crate::words::rounded(high, 2);
                let end = if end >= high && end <= 1.005 * high { end } else { high };
                Axis::new(kind, if low < 0.2 * high { 0.0 } else { low }, end, LEFT, RIGHT)
            }
            Kind::Log => Axis::new(kind, low.max(1.0), high, LEFT, RIGHT),
        }
    }

    fn blocks(&self) -> &[Block] {
        self.verdict.map_or(&[], |v| &v.blocks)
    }

    /// Cost over n with every point, the medians and their band.
    pub(crate) fn cost(&self, kind: Kind) -> Option<Plot> {
        let x = self.axis_of_n(kind);
        let costs = Costs::of(self.sweeps)?;
        let y = match kind {
            Kind::Linear => {
                let medians = self.blocks().iter().map(|b| b.cost.value).fold(0.0, f64::max);
                Axis::new(kind, 0.0, 1.08 * medians.max(costs.high_shown), BOTTOM, TOP)
            }
            Kind::Log => Axis::new(kind, costs.low * 0.9, costs.high * 1.1, BOTTOM, TOP),
        };
        let cloud = cloud::draw(self.sweeps, &x, &y, self.bytes_max)?;
        let axes = match kind {
            Kind::Linear => "linear axes",
            Kind::Log => "logarithmic axes",
        };
        let mut svg = Svg::open(&format!("{}-{}", self.id, if kind == Kind::Log { "log" } else { "lin" }));
        svg.describe(&format!("Cost of {} over {}, {axes}", self.label, self.grows), self.sentence);
        let label_of_cost = |t: &Tick| time_label(t.value, (kind == Kind::Linear).then_some(y.high));
        svg.axes(&x, &y, self.grows, label_of_cost);
        svg.cloud(&cloud.uri);
        svg.band(self.blocks(), &x, &y, |b| (b.cost.low, b.cost.high));
        svg.medians(self.blocks(), &x, &y, |b| b.cost.value);
        svg.stops(self.stops, &x);
        Some(Plot { svg: svg.close(), above: cloud.above })
    }

    /// The change against the first n, with its simultaneous band and the corridor of the margin.
    pub(crate) fn change(&self) -> Option<String> {
        let blocks = self.blocks();
        let last = blocks.last()?;
        let x = Axis::new(Kind::Log, (blocks[0].n_low as f64).max(1.0), last.n_high as f64, LEFT, RIGHT);
        let bounded = |v: f64| if v.is_finite() && v > 0.0 { v } else { 1.0 };
        let low = blocks.iter().map(|b| bounded(b.relative.low)).fold(1.0 - 1.5 * self.margin, f64::min);
        let high = blocks.iter().map(|b| bounded(b.relative.high)).fold(1.0 + 1.5 * self.margin, f64::max);
        let wide = high / low > LOGARITHMIC_FROM;
        let y = if wide {
            Axis::new(Kind::Log, low * 0.93, high * 1.07, BOTTOM, TOP)
        } else {
            Axis::new(Kind::Linear, low - 0.02, high + 0.02, BOTTOM, TOP)
        };
        let mut svg = Svg::open(&format!("{}-change", self.id));
        svg.describe(
            &format!("Change of the cost of {} against its level at small n", self.label),
            self.sentence,
        );
        svg.corridor(1.0 - self.margin, 1.0 + self.margin, &y);
        if wide {
            svg.axes(&x, &y, self.grows, |t| factor_label(t.value));
        } else {
            // Marks at round changes, not at round factors.
            let shifted = Axis { low: y.low - 1.0, high: y.high - 1.0, ..y };
            svg.axes(&x, &shifted, self.grows, |t| change_label(t.value));
        }
        svg.rule(1.0, &y);
        svg.band(blocks, &x, &y, |b| (b.relative.low, b.relative.high));
        svg.medians(blocks, &x, &y, |b| b.relative.value);
        Some(svg.close())
    }
}

/// The medians of one system among others.
pub(crate) struct Curve<'a> {
    /// Its class in the style sheet.
    pub(crate) class: String,
    pub(crate) blocks: &'a [Block],
}

/// The medians of several systems over n, on logarithmic axes.
pub(crate) fn curves(id: &str, label: &str, grows: &str, sentence: &str, curves: &[Curve<'_>]) -> String {
    let blocks = || curves.iter().flat_map(|c| c.blocks);
    let costs = || blocks().map(|b| b.cost.value).filter(|v| v.is_finite() && *v > 0.0);
    let (low, high) = (costs().fold(f64::INFINITY, f64::min), costs().fold(0.0, f64::max));
    let n_low = blocks().map(|b| b.n_low).min().unwrap_or(1).max(1) as f64;
    let n_high = blocks().map(|b| b.n_high).max().unwrap_or(1) as f64;
    let x = Axis::new(Kind::Log, n_low, n_high, LEFT, RIGHT);
    // Two systems that differ by a few percent must not look worlds apart.
    let middle = (low * high).sqrt();
    let y = Axis::new(Kind::Log, (low * 0.8).min(middle / 1.6), (high * 1.25).max(middle * 1.6), BOTTOM, TOP);
    let mut svg = Svg::open(id);
    svg.describe(&format!("Median cost of {label} over {grows}, logarithmic axes"), sentence);
    svg.axes(&x, &y, grows, |t| time_label(t.value, None));
    for curve in curves {
        let places: Vec<(f64, f64)> = curve
            .blocks
            .iter()
            .filter(|b| b.cost.value.is_finite())
            .map(|b| (x.place(middle_of(b)), within(&y, b.cost.value)))
            .collect();
        svg.line(&curve.class, &places);
    }
    svg.close()
}

/// What the costs of all points span.
struct Costs {
    low: f64,
    high: f64,
    /// Most points lie below.
    high_shown: f64,
}

impl Costs {
    fn of(sweeps: &[Sweep<'_>]) -> Option<Costs> {
        let mut values: Vec<f64> =
            sweeps.iter().flat_map(|s| s.values).copied().filter(|v| v.is_finite() && *v > 0.0).collect();
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        let place = ((values.len() - 1) as f64 * SHARE_SHOWN) as usize;
        let (_, shown, _) = values.select_nth_unstable_by(place, f64::total_cmp);
        Some(Costs { low, high, high_shown: *shown })
    }
}

/// An SVG picture under construction.
pub(crate) struct Svg {
    id: String,
    out: String,
}

impl Svg {
    pub(crate) fn open(id: &str) -> Svg {
        let mut svg = Svg { id: id.to_string(), out: String::new() };
        svg.put(format_args!(
            "<svg class=\"plot\" id=\"{id}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             aria-labelledby=\"{id}-t {id}-d\">"
        ));
        svg
    }

    /// What is written into a string is written.
    fn put(&mut self, text: std::fmt::Arguments<'_>) {
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

    /// Grid, marks, labels and what n counts.
    pub(crate) fn axes(&mut self, x: &Axis, y: &Axis, grows: &str, label: impl Fn(&Tick) -> String) {
        let mut grid = String::new();
        let mut marks = String::new();
        for tick in y.ticks(ROOM_DOWN).iter().filter(|t| t.at <= BOTTOM + 0.5 && t.at >= TOP - 0.5) {
            if tick.labelled {
                let _ = write!(grid, "M{LEFT} {:.1}H{RIGHT}", tick.at);
                self.put(format_args!(
                    "<text class=\"y\" x=\"{}\" y=\"{:.1}\">{}</text>",
                    LEFT - 8.0,
                    tick.at + 4.0,
                    label(tick)
                ));
            } else {
                let _ = write!(marks, "M{LEFT} {:.1}h-3", tick.at);
            }
        }
        for tick in x.ticks(ROOM_ACROSS) {
            let _ = write!(marks, "M{:.1} {BOTTOM}v{}", tick.at, if tick.labelled { 5 } else { 3 });
            if tick.labelled {
                self.put(format_args!(
                    "<text class=\"x\" x=\"{:.1}\" y=\"{}\">{}</text>",
                    tick.at,
                    BOTTOM + 18.0,
                    count_label(tick.value)
                ));
            }
        }
        self.put(format_args!(
            "<path class=\"grid\" d=\"{grid}\"/><path class=\"mark\" d=\"M{LEFT} {BOTTOM}H{RIGHT}{marks}\"/>\
             <text class=\"of\" x=\"{RIGHT}\" y=\"{}\">n = {}</text>",
            HEIGHT - 6.0,
            esc(grows)
        ));
    }

    fn cloud(&mut self, uri: &str) {
        let id = self.id.clone();
        let (w, h) = (RIGHT - LEFT, BOTTOM - TOP);
        self.put(format_args!(
            "<mask id=\"{id}-m\"><image x=\"{LEFT}\" y=\"{TOP}\" width=\"{w}\" height=\"{h}\" \
             preserveAspectRatio=\"none\" href=\"{uri}\"/></mask>\
             <rect class=\"cloud\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{w}\" height=\"{h}\" \
             mask=\"url(#{id}-m)\"/>"
        ));
    }

    fn band(&mut self, blocks: &[Block], x: &Axis, y: &Axis, ends: impl Fn(&Block) -> (f64, f64)) {
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

    fn medians(&mut self, blocks: &[Block], x: &Axis, y: &Axis, value: impl Fn(&Block) -> f64) {
        let places: Vec<(f64, f64)> = blocks
            .iter()
            .filter(|b| value(b).is_finite())
            .map(|b| (x.place(middle_of(b)), within(y, value(b))))
            .collect();
        self.line("median", &places);
        let mut last = f64::NEG_INFINITY;
        for (x, y) in places {
            // Where the ranges crowd the line says it all.
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

    fn corridor(&mut self, low: f64, high: f64, y: &Axis) {
        let (top, bottom) = (within(y, high), within(y, low));
        self.put(format_args!(
            "<rect class=\"corridor\" x=\"{LEFT}\" y=\"{top:.1}\" width=\"{}\" height=\"{:.1}\"/>",
            RIGHT - LEFT,
            bottom - top
        ));
    }

    fn rule(&mut self, value: f64, y: &Axis) {
        self.put(format_args!("<path class=\"rule\" d=\"M{LEFT} {:.1}H{RIGHT}\"/>", y.place(value)));
    }

    /// Where trials stopped short.
    fn stops(&mut self, stops: &[Stop], x: &Axis) {
        for (i, stop) in stops.iter().filter(|s| s.n.is_some()).enumerate() {
            let Some((_, n)) = stop.n else { continue };
            let word = match &stop.cause {
                Cause::Limit { error, .. } => error.as_str(),
                Cause::Allowance => "time used up",
                Cause::Crashed { .. } => "crashed",
                Cause::TimedOut => "timed out",
                Cause::Unsupported { .. } | Cause::Failed { .. } | Cause::NotMeasured { .. } => continue,
            };
            let at = x.place(n as f64);
            let (anchor, beside) = if at > (LEFT + RIGHT) / 2.0 { ("end", -6.0) } else { ("start", 6.0) };
            self.put(format_args!(
                "<path class=\"stop\" d=\"M{at:.1} {TOP}V{BOTTOM}\"/>\
                 <text class=\"stop\" text-anchor=\"{anchor}\" x=\"{:.1}\" y=\"{}\">{} at {}</text>",
                at + beside,
                TOP + 12.0 + 16.0 * i as f64,
                esc(word),
                count(n)
            ));
        }
    }

    pub(crate) fn close(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }
}

/// Where a value stands, kept inside the plot.
fn within(y: &Axis, value: f64) -> f64 {
    y.place(value).clamp(TOP - 1.0, BOTTOM + 1.0)
}

/// A curve in a cell of a table, from heights between 0 and 1.
pub(crate) fn sparkline(heights: &[f64], label: &str) -> String {
    const W: f64 = 96.0;
    const H: f64 = 24.0;
    if heights.len() < 2 {
        return String::new();
    }
    let step = (W - 4.0) / (heights.len() - 1) as f64;
    let points: Vec<String> = heights
        .iter()
        .enumerate()
        .map(|(i, h)| format!("{:.1} {:.1}", 2.0 + i as f64 * step, H - 3.0 - h.clamp(0.0, 1.0) * (H - 6.0)))
        .collect();
    format!(
        "<svg class=\"spark\" viewBox=\"0 0 {W} {H}\" role=\"img\" aria-label=\"{}\"><path d=\"M{}\"/></svg>",
        esc(label),
        points.join("L")
    )
}
