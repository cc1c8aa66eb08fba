//! The drawing of plots: axes with the places and labels of their values, and an SVG picture with its frame
//! and the elements inside.

use std::fmt::Write;

use record::Unit;
use stats::Block;

use super::esc;
use crate::quantity::Quantity;
use crate::sentences::middle as middle_of;
use crate::words::{count, fixed};

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
/// No axis has more marks.
const TICKS_MAX: i64 = 100;
/// A logarithmic axis of sizes that spans this factor is marked in powers of two.
const POWERS_FROM: f64 = 8.0;

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
        self.level(ticks, |tick| count(tick.value.round() as u64), &of);
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

/// Linear or logarithmic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Linear,
    Log,
}

/// An axis from `low` to `high`, drawn from `from` to `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub(crate) kind: Kind,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// The unit of its round numbers: 1, or for sizes a multiple of the byte.
    pub(crate) base: f64,
}

/// A mark on an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) at: f64,
    pub(crate) labelled: bool,
}

impl Axis {
    /// An axis over a range; an empty range is widened so that it can be drawn.
    pub(crate) fn new(kind: Kind, low: f64, high: f64, from: f64, to: f64) -> Axis {
        let (low, high) = match kind {
            Kind::Linear if high > low => (low, high),
            Kind::Linear => (low, low + 1.0),
            Kind::Log => {
                let low = if low.is_finite() && low > 0.0 { low } else { 1.0 };
                (low, if high > low * 1.0001 { high } else { low * 10.0 })
            }
        };
        Axis { kind, low, high, from, to, base: 1.0 }
    }

    /// The same axis of a unit, so that its labels are round: sizes are marked in one multiple of the byte.
    pub(crate) fn of(self, unit: Unit) -> Axis {
        match unit {
            Unit::Bytes if self.kind == Kind::Log => {
                Axis { base: unit.scale((self.low * self.high).sqrt()).0, ..self }
            }
            Unit::Bytes => Axis { base: unit.scale(self.high).0, ..self },
            _ => self,
        }
    }

    /// Where a value stands; on a logarithmic axis a value below the axis is at its start.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let share = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + share * (self.to - self.from)
    }

    /// Marks at 1, 2 and 5 times powers of ten; `room` is the width of a label along the axis. Empty at the
    /// limits of floating point.
    pub(crate) fn ticks(&self, room: f64) -> Vec<Tick> {
        let counted = Axis { low: self.low / self.base, high: self.high / self.base, ..*self };
        if self.is_in_powers() {
            return self.power_ticks(room);
        }
        let ticks = match self.kind {
            Kind::Linear => counted.linear_ticks(room),
            Kind::Log => counted.log_ticks(room),
        };
        ticks.into_iter().map(|tick| Tick { value: tick.value * self.base, ..tick }).collect()
    }

    /// Whether its marks are powers of two: those of sizes over several of them.
    fn is_in_powers(&self) -> bool {
        let is_finite = self.low.is_normal() && self.high.is_finite();
        self.base != 1.0 && self.kind == Kind::Log && is_finite && self.high / self.low >= POWERS_FROM
    }

    /// Marks at every power of two, four, sixteen or more, as there is room.
    fn power_ticks(&self, room: f64) -> Vec<Tick> {
        let (low, high) = (self.low.log2(), self.high.log2());
        let each = self.length() / (high - low);
        let every = [1, 2, 4, 5, 10, 20].into_iter().find(|every| each * f64::from(*every) >= room);
        let every = every.unwrap_or(100);
        let powers = (low.ceil() as i32..=high.floor() as i32).filter(|power| power.rem_euclid(every) == 0);
        let tick = |power: i32| {
            let value = 2f64.powi(power);
            Tick { value, at: self.place(value), labelled: true }
        };
        powers.map(tick).collect()
    }

    fn length(&self) -> f64 {
        (self.to - self.from).abs()
    }

    fn linear_ticks(&self, room: f64) -> Vec<Tick> {
        let wanted = (self.length() / room).floor().clamp(1.0, 6.0);
        let raw = (self.high - self.low) / wanted;
        let power = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw * 0.999);
        let step = step.unwrap_or(10.0 * power);
        if !step.is_normal() {
            return Vec::new();
        }
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        if last.saturating_sub(first) >= TICKS_MAX {
            return Vec::new();
        }
        let tick = |i| {
            let value = i as f64 * step;
            Tick { value, at: self.place(value), labelled: true }
        };
        (first..=last).map(tick).collect()
    }

    fn log_ticks(&self, room: f64) -> Vec<Tick> {
        if !(self.low.is_normal() && self.high.is_normal()) {
            return Vec::new();
        }
        let decades = self.high.log10() - self.low.log10();
        // Within a decade 1, 2 and 5 are too few; round steps stand where the logarithm puts them.
        if decades < 1.0 {
            let even = Axis { kind: Kind::Linear, ..*self };
            let ticks = even.linear_ticks(1.4 * room).into_iter();
            return ticks.map(|t| Tick { at: self.place(t.value), ..t }).collect();
        }
        let decade = self.length() / decades;
        // The narrowest gap between neighbours of 1, 2, 5 is log10(2) of a decade.
        let all = decade * 0.301 >= room;
        let every = (room / decade).ceil().max(1.0) as i32;
        let mut ticks = Vec::new();
        for exponent in (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32) {
            for multiple in [1.0, 2.0, 5.0] {
                let value = multiple * 10f64.powi(exponent);
                if value < self.low * 0.999 || value > self.high * 1.001 {
                    continue;
                }
                let labelled = all || (multiple == 1.0 && exponent.rem_euclid(every) == 0);
                ticks.push(Tick { value, at: self.place(value), labelled });
            }
        }
        // An axis within one decade may have met no power of ten: then all it met are labelled.
        if ticks.iter().filter(|t| t.labelled).count() < 2 {
            ticks.iter_mut().for_each(|t| t.labelled = true);
        }
        ticks
    }
}

/// A value beside an axis: in the multiple that suits it, or the whole axis.
pub(crate) fn cost_label(cost: f64, unit: Unit, axis: &Axis) -> String {
    if cost == 0.0 {
        return "0".into();
    }
    let (scale, symbol) = match unit {
        Unit::Bytes if !axis.is_in_powers() => unit.scale(axis.base),
        // Room is short beside an axis: thousands have their sign.
        Unit::PerSecond if (1e3..1e6).contains(&cost) && axis.high >= 1e4 => (1e3, "k/s".into()),
        _ => unit.scale(if axis.kind == Kind::Linear { axis.high } else { cost }),
    };
    let gap = if symbol.is_empty() { "" } else { "\u{202f}" };
    format!("{}{gap}{symbol}", shortest(cost / scale))
}

/// A factor beside an axis.
pub(crate) fn factor_label(value: f64) -> String {
    format!("×{}", shortest(value))
}

/// A change in percent beside an axis, with its sign.
pub(crate) fn change_label(share: f64) -> String {
    let sign = if share > 1e-9 { "+" } else { "" };
    format!("{sign}{}\u{202f}%", shortest(share * 100.0))
}

/// At most three decimals, and none that is a zero at the end.
fn shortest(value: f64) -> String {
    let text = fixed(value, 3);
    if !text.contains('.') || text.contains('e') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, room: f64) -> Vec<f64> {
        axis.ticks(room).iter().filter(|t| t.labelled).map(|t| t.value).collect()
    }

    #[test]
    fn linear_marks_are_round() {
        let axis = Axis::new(Kind::Linear, 0.0, 19_999.0, 0.0, 440.0);
        assert_eq!(labels(axis, 70.0), [0.0, 5_000.0, 10_000.0, 15_000.0]);
        let change = Axis::new(Kind::Linear, -0.15, 0.15, 240.0, 0.0);
        assert_eq!(labels(change, 40.0).len(), 7);
    }

    #[test]
    fn logarithmic_marks_are_one_two_five_where_there_is_room() {
        let axis = Axis::new(Kind::Log, 1.0, 1_000.0, 0.0, 600.0);
        assert_eq!(labels(axis, 40.0), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0]);
        assert_eq!(labels(axis, 90.0), [1.0, 10.0, 100.0, 1_000.0]);
        assert_eq!(axis.place(0.0), 0.0, "zero stands at the start");
    }

    #[test]
    fn what_floating_point_cannot_divide_has_no_marks() {
        let ends = [5e-324, f64::MIN_POSITIVE, 1.0, 1e17, f64::MAX, f64::INFINITY];
        for kind in [Kind::Linear, Kind::Log] {
            for low in [0.0].into_iter().chain(ends) {
                for high in ends {
                    let ticks = Axis::new(kind, low, high, 240.0, 0.0).ticks(20.0);
                    assert!(ticks.len() <= 3 * 640, "{kind:?} {low} {high}: {}", ticks.len());
                }
            }
        }
        assert!(labels(Axis::new(Kind::Linear, 0.0, 5e-324, 240.0, 0.0), 20.0).is_empty());
        assert!(labels(Axis::new(Kind::Log, 1.0, f64::INFINITY, 240.0, 0.0), 20.0).is_empty());
    }

    fn narrow(label: &str) -> String {
        label.replace(' ', "\u{202f}")
    }

    #[test]
    fn labels_are_short() {
        let linear = |high| Axis::new(Kind::Linear, 0.0, high, 240.0, 0.0);
        let log = |low, high| Axis::new(Kind::Log, low, high, 240.0, 0.0);
        assert_eq!(cost_label(0.5e-6, Unit::Seconds, &linear(2e-6)), "0.5\u{202f}µs");
        assert_eq!(cost_label(100e-6, Unit::Seconds, &log(1e-6, 1e-3)), "100\u{202f}µs");
        assert_eq!(cost_label(2e5, Unit::PerSecond, &log(1e3, 1e6)), "200\u{202f}k/s");
        let sizes = log(1_000.0, 40_000.0).of(Unit::Bytes);
        let labels: Vec<String> =
            sizes.ticks(30.0).iter().map(|t| cost_label(t.value, Unit::Bytes, &sizes)).collect();
        assert_eq!(labels, ["1", "2", "4", "8", "16", "32"].map(|n| format!("{n}\u{202f}KiB")));
        let wide = log(30_000.0, 2e8).of(Unit::Bytes);
        let labels: Vec<String> =
            wide.ticks(30.0).iter().map(|t| cost_label(t.value, Unit::Bytes, &wide)).collect();
        assert_eq!(labels, ["64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB", "64 MiB"].map(narrow));
        let near = log(40_000.0, 60_000.0).of(Unit::Bytes);
        let labels: Vec<String> =
            near.ticks(60.0).iter().map(|t| cost_label(t.value, Unit::Bytes, &near)).collect();
        assert_eq!(labels, ["40 KiB", "50 KiB"].map(narrow));
        assert_eq!(factor_label(2e20), "×2.0e20");
        assert_eq!(change_label(-0.1), "−10\u{202f}%");
    }
}
