//! One series over the runs of a machine as a figure: a point for each run, a line for each segment, and
//! upright lines where the cost changed or something beside it did.

use history::{BoundaryKind, MachineHistory, SeriesHistory};

use super::words;
use crate::document::{Figure, Text, Tone};
use crate::html::esc;
use crate::html::scale::{Axis, Kind, Tick, cost_label};
use crate::html::svg::{BOTTOM, LEFT, RIGHT, Svg, TOP, within};
use crate::quantity::Quantity;

/// Dates along the axis.
const DATES: usize = 5;
/// Points become smaller beyond so many.
const CROWDED: usize = 60;

/// The figure; without a drawing where no run has a value.
pub fn figure(machine: &MachineHistory, series: &SeriesHistory) -> Figure {
    let svg = drawing(machine, series).unwrap_or_default();
    let captions = vec![Text::toned(caption(series), Tone::Faint)];
    Figure {
        id: series.id.clone(),
        title: series.series.as_str().into(),
        svg,
        captions,
        characters: Vec::new(),
    }
}

/// How to read the figure.
const READING: &str = "Each point is a run, and each band the interval of a level. Where nearly all series \
    of a run cost more or less, that part is taken off; a thin line leads from the point to the value as \
    measured";

fn caption(series: &SeriesHistory) -> String {
    let drift = series.drift.as_ref().map(words::drift);
    let parts = [Some(words::segments(series)), drift, Some(READING.to_owned())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(". ")
}

fn drawing(machine: &MachineHistory, series: &SeriesHistory) -> Option<String> {
    let times: Vec<f64> = machine.nights.iter().map(|night| night.started_seconds).collect();
    let known: Vec<f64> = series.values.iter().flatten().copied().collect();
    let ends = series.segments.iter().flat_map(|segment| [segment.value.low, segment.value.high]);
    let all: Vec<f64> = known.iter().copied().chain(ends).filter(|value| value.is_finite()).collect();
    let (low, high) = (all.iter().copied().reduce(f64::min)?, all.iter().copied().reduce(f64::max)?);
    let room = 0.06 * (high - low).max(0.02 * high);
    let y = Axis::new(Kind::Linear, (low - room).max(0.0), high + room, BOTTOM, TOP).of(series.unit);
    let (first, last) = (*times.first()?, *times.last()?);
    let x = Axis::new(Kind::Linear, first, last.max(first + 1.0), LEFT + 8.0, RIGHT - 8.0);
    let mut svg = Svg::open(&format!("{}-plot", series.id), 0.0);
    svg.describe(&series.series, &words::segments(series));
    svg.upright(&y, |tick| cost_label(tick.value, series.unit, &y));
    svg.level(&dates(machine, &x), |tick| date(machine, tick.value), "");
    boundaries(machine, &x, &mut svg);
    for (place, segment) in series.segments.iter().enumerate() {
        let (from, to) = (x.place(times[segment.first]), x.place(times[segment.last]));
        let (top, bottom) = (within(&y, segment.value.high), within(&y, segment.value.low));
        svg.put(format_args!(
            "<rect class=\"corridor\" x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            (to - from).max(1.0),
            (bottom - top).max(1.0)
        ));
        let level = within(&y, segment.value.value);
        svg.line("median", &[(from, level), (to.max(from + 1.0), level)]);
        if place > 0 && segment.ratio.is_some() {
            svg.put(format_args!("<path class=\"rule\" d=\"M{from:.1} {TOP}V{BOTTOM}\"/>"));
        }
    }
    let radius = if known.len() > CROWDED { 1.4 } else { 2.4 };
    let nights = machine.nights.iter().zip(series.values.iter().zip(&series.steady));
    for (night, (value, steady)) in nights {
        let (Some(value), Some(steady)) = (value, steady) else { continue };
        let at = x.place(night.started_seconds);
        let (measured, steady) = (within(&y, *value), within(&y, *steady));
        let said =
            format!("{}: {}, {}", words::when(&night.started_at), series.unit.cost(*value), night.kernel);
        svg.put(format_args!(
            "<g class=\"night\"><title>{}</title>\
             <path class=\"reach\" d=\"M{at:.1} {measured:.1}V{steady:.1}\"/>\
             <circle class=\"knot\" cx=\"{at:.1}\" cy=\"{steady:.1}\" r=\"{radius}\"/></g>",
            esc(&said)
        ));
    }
    Some(svg.close())
}

/// Known changes beside the system, as broken lines.
fn boundaries(machine: &MachineHistory, x: &Axis, svg: &mut Svg) {
    for boundary in machine.boundaries.iter().filter(|boundary| boundary.kind != BoundaryKind::Workload) {
        let Some(night) = machine.nights.get(boundary.night) else { continue };
        svg.put(format_args!(
            "<path class=\"mark\" stroke-dasharray=\"4 4\" d=\"M{:.1} {TOP}V{BOTTOM}\">\
             <title>{}</title></path>",
            x.place(night.started_seconds),
            esc(&words::boundary(machine, boundary))
        ));
    }
}

/// Marks at the times of some runs.
fn dates(machine: &MachineHistory, x: &Axis) -> Vec<Tick> {
    let mut ticks: Vec<Tick> = Vec::new();
    let apart = (x.high - x.low) / DATES as f64;
    for night in &machine.nights {
        let value = night.started_seconds;
        let is_apart = ticks.last().is_none_or(|last| value - last.value >= apart);
        if is_apart {
            ticks.push(Tick { value, at: x.place(value), labelled: true });
        }
    }
    ticks
}

fn date(machine: &MachineHistory, seconds: f64) -> String {
    let night = machine.nights.iter().find(|night| night.started_seconds == seconds);
    let span = machine
        .nights
        .last()
        .zip(machine.nights.first())
        .map_or(0.0, |(last, first)| last.started_seconds - first.started_seconds);
    // Within some days the time of day tells runs apart.
    let part = if span < 3.0 * 86400.0 { 11..16 } else { 2..10 };
    night.and_then(|night| night.started_at.get(part)).unwrap_or_default().to_owned()
}
