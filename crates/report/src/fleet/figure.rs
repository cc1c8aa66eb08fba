//! One series over the hosts as a figure: a row for each host with its value and interval, over the interval
//! of the mean and that of a further host.

use record::Unit;
use stats::Interval;

use crate::document::{Figure, Text, Tone};
use crate::html::esc;
use crate::html::scale::{Axis, Kind, cost_label, factor_label};
use crate::html::svg::{ROOM_ACROSS, Svg, WIDTH};
use crate::html::tracks::shortened;

/// The plot begins here, behind the names of the hosts, and ends there.
const LEFT: f64 = 112.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 8.0;
/// Below the last row: the axis.
const FOOT: f64 = 30.0;
/// With more hosts than this the rows are low, and only outlying hosts have their names.
const NAMED_MOST: usize = 40;
const ROW: f64 = 17.0;
const ROW_LOW: f64 = 6.0;
/// Names are at least so far apart.
const APART: f64 = 15.0;
const NAME_MAX: usize = 14;
/// An axis that spans this factor is logarithmic.
const LOGARITHMIC_FROM: f64 = 5.0;

/// A figure of one series.
pub(super) struct OverHosts<'a> {
    pub(super) id: String,
    pub(super) title: String,
    /// Unit of the values; `None` for ratios.
    pub(super) unit: Option<Unit>,
    /// The largest first, each with its name and whether it lies apart.
    pub(super) hosts: Vec<(&'a str, Interval, bool)>,
    pub(super) mean: Option<Interval>,
    pub(super) prediction: Option<Interval>,
    pub(super) captions: Vec<String>,
}

impl OverHosts<'_> {
    /// The figure; without a drawing where no host has a value.
    pub(super) fn draw(&self) -> Figure {
        let svg = self.axis().map(|axis| self.svg(&axis)).unwrap_or_default();
        let captions = self.captions.iter().map(|words| Text::toned(words, Tone::Faint)).collect();
        let title = Text::from(self.title.as_str());
        Figure { id: self.id.clone(), title, svg, captions, characters: Vec::new() }
    }

    fn axis(&self) -> Option<Axis> {
        let ends = |interval: &Interval| [interval.low, interval.value, interval.high];
        let of_hosts = self.hosts.iter().flat_map(|(_, value, _)| ends(value));
        // A wide interval of a further host, from few hosts, must not press all hosts together.
        let values: Vec<f64> = self.hosts.iter().map(|(_, value, _)| value.value).collect();
        let (low, high) = (least(&values)?, most(&values)?);
        let room = (high / low).max(1.01);
        let inside = |value: &f64| value.is_finite() && *value >= low / room && *value <= high * room;
        let all: Vec<f64> = of_hosts
            .chain(self.mean.iter().flat_map(ends))
            .chain(self.prediction.iter().flat_map(ends))
            .filter(inside)
            .collect();
        let (low, high) = (least(&all)?, most(&all)?);
        let kind = if high > LOGARITHMIC_FROM * low { Kind::Log } else { Kind::Linear };
        let edge = if kind == Kind::Linear { 0.03 * (high - low).max(0.01 * high) } else { 0.0 };
        let axis = Axis::new(kind, low - edge, high + edge, LEFT, RIGHT);
        Some(self.unit.map_or(axis, |unit| axis.of(unit)))
    }

    fn row(&self) -> f64 {
        if self.hosts.len() > NAMED_MOST { ROW_LOW } else { ROW }
    }

    fn svg(&self, axis: &Axis) -> String {
        let bottom = TOP + self.row() * self.hosts.len() as f64;
        let mut svg = Svg::open_of_height(&self.id, bottom + FOOT);
        let apart: Vec<&str> = self.hosts.iter().filter(|host| host.2).map(|host| host.0).collect();
        let description = match apart.as_slice() {
            [] => format!("{} hosts; none lies apart", self.hosts.len()),
            some => format!("{} hosts; apart: {}", self.hosts.len(), some.join(", ")),
        };
        svg.describe(&self.title, &description);
        let bands = [("further", &self.prediction), ("mean", &self.mean)];
        for (class, band) in bands.into_iter().filter_map(|(class, band)| Some((class, band.as_ref()?))) {
            let (from, to) = (inside(axis, band.low), inside(axis, band.high));
            let height = bottom - TOP;
            svg.put(format_args!(
                "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" \
                 height=\"{height:.1}\"/>",
                (to - from).max(1.0)
            ));
        }
        if let Some(mean) = self.mean {
            let at = inside(axis, mean.value);
            svg.put(format_args!("<path class=\"rule\" d=\"M{at:.1} {TOP}V{bottom:.1}\"/>"));
        }
        // Equal costs, where they are within the axis.
        if self.unit.is_none() && axis.low <= 1.0 && axis.high >= 1.0 {
            svg.put(format_args!("<path class=\"mark\" d=\"M{:.1} {TOP}V{bottom:.1}\"/>", axis.place(1.0)));
        }
        self.foot(axis, bottom, &mut svg);
        let mut named = f64::NEG_INFINITY;
        for (place, host) in self.hosts.iter().enumerate() {
            let y = TOP + self.row() * (place as f64 + 0.5);
            let has_name = (host.2 || self.hosts.len() <= NAMED_MOST) && y - named >= APART;
            if has_name {
                named = y;
            }
            self.host(axis, host, y, has_name, &mut svg);
        }
        svg.close()
    }

    fn foot(&self, axis: &Axis, bottom: f64, svg: &mut Svg) {
        svg.put(format_args!("<path class=\"mark\" d=\"M{LEFT} {bottom:.1}H{RIGHT}\"/>"));
        for tick in axis.ticks(ROOM_ACROSS).iter().filter(|tick| tick.at >= LEFT && tick.at <= RIGHT + 0.5) {
            let size = if tick.labelled { 5 } else { 3 };
            svg.put(format_args!("<path class=\"mark\" d=\"M{:.1} {bottom:.1}v{size}\"/>", tick.at));
            if tick.labelled {
                let label = match self.unit {
                    Some(unit) => cost_label(tick.value, unit, axis),
                    None => factor_label(tick.value),
                };
                svg.put(format_args!(
                    "<text class=\"x\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
                    tick.at,
                    bottom + 20.0
                ));
            }
        }
    }

    fn host(&self, axis: &Axis, host: &(&str, Interval, bool), y: f64, has_name: bool, svg: &mut Svg) {
        let (name, value, is_apart) = *host;
        let class = if is_apart { "host apart" } else { "host" };
        let (from, at, to) = (inside(axis, value.low), inside(axis, value.value), inside(axis, value.high));
        let mark = match is_apart {
            true => format!("<path class=\"dot\" d=\"M{at:.1} {:.1}l5 5l-5 5l-5-5z\"/>", y - 5.0),
            false => format!(
                "<circle cx=\"{at:.1}\" cy=\"{y:.1}\" r=\"{}\"/>",
                if self.row() < ROW { 2.0 } else { 3.2 }
            ),
        };
        let text = match has_name {
            true => format!(
                "<text class=\"y\" x=\"{}\" y=\"{:.1}\">{}</text>",
                LEFT - 10.0,
                y + 4.0,
                esc(&shortened(name, NAME_MAX))
            ),
            false => String::new(),
        };
        svg.put(format_args!(
            "<g class=\"{class}\"><title>{}</title><path class=\"reach\" d=\"M{from:.1} {y:.1}H{to:.1}\"/>\
             {mark}{text}</g>",
            esc(&self.said(name, value))
        ));
    }

    fn said(&self, name: &str, value: Interval) -> String {
        let value = match self.unit {
            Some(unit) => crate::quantity::Quantity::estimate_with_interval(unit, value),
            None => crate::words::factor_with_interval(value),
        };
        format!("{name}: {value}")
    }
}

fn inside(axis: &Axis, value: f64) -> f64 {
    axis.place(value).clamp(LEFT, RIGHT)
}

fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().filter(|value| value.is_finite()).reduce(f64::min)
}

fn most(values: &[f64]) -> Option<f64> {
    values.iter().copied().filter(|value| value.is_finite()).reduce(f64::max)
}
