//! Drawings of a load: latency and throughput over time, and how latency is distributed.

use record::Unit;

use super::plot::percentile;
use super::svg::{Axis, Kind, Tick, cost_label};
use super::svg::{BOTTOM, LEFT, RIGHT, ROOM_ACROSS, Svg, TOP, within};
use crate::document::Figure;
use crate::quantity::time;

/// One level of a load, to be drawn.
#[derive(Clone, Copy, Debug)]
pub struct LoadPlots<'a> {
    /// The ids of its drawings begin with this.
    pub id: &'a str,
    /// The offered load.
    pub name: &'a str,
    /// The time in pieces.
    pub moments: &'a [LoadMoment],
    /// Shares of the responses, rising, and the seconds that they do not exceed.
    pub percentiles: &'a [(f64, f64)],
}

/// A piece of the time. Latencies are in seconds, and missing without responses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadMoment {
    /// Its middle, since the level began.
    pub seconds: f64,
    /// Correct responses per second.
    pub completed_per_second: f64,
    /// Median, 99th percentile and largest latency.
    pub latency_seconds: Option<[f64; 3]>,
}

/// Percentiles that are written below the axis.
const NAMED: [f64; 6] = [0.0, 0.9, 0.99, 0.999, 0.9999, 0.99999];
const LEGEND: &str = "<p class=\"legend\"><span><i class=\"key line\"></i>median of a piece of the \
    time</span><span><i class=\"key upper\"></i>its 99th percentile</span><span><i \
    class=\"key again\"></i>its slowest response</span></p>";

impl LoadPlots<'_> {
    /// Median, 99th percentile and largest latency of each piece of the time.
    pub fn latency_over_time(&self) -> Option<Figure> {
        let known: Vec<(f64, [f64; 3])> = self
            .moments
            .iter()
            .filter_map(|moment| Some((moment.seconds, moment.latency_seconds?)))
            .collect();
        let all =
            || known.iter().flat_map(|(_, latencies)| latencies).copied().filter(|&seconds| seconds > 0.0);
        let (low, high) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
        let (x, y) = (self.time_axis(), upright(low, high));
        let mut svg = Svg::open(&format!("{}-time", self.id), 0.0);
        let extent = format!("from {} to {}", time(low), time(high));
        svg.describe(&format!("Latency over time, {}", self.name), &extent);
        svg.upright(&y, |tick: &Tick| cost_label(tick.value, Unit::Seconds, &y));
        seconds_below(&mut svg, &x);
        let places = |which: usize| -> Vec<(f64, f64)> {
            known.iter().map(|(at, latencies)| (x.place(*at), within(&y, latencies[which]))).collect()
        };
        for (at, slowest) in places(2) {
            svg.put(format_args!(
                "<path class=\"again\" d=\"M{:.1} {:.1}h6l-3 5Z\"/>",
                at - 3.0,
                slowest - 2.5
            ));
        }
        svg.line("upper", &places(1));
        svg.line("median", &places(0));
        Some(figure("Latency over time", svg.close() + LEGEND))
    }

    /// Latency over 1/(1 − q): each decade is one more nine.
    pub fn latency_by_percentile(&self) -> Option<Figure> {
        let known: Vec<(f64, f64)> = self
            .percentiles
            .iter()
            .filter(|(share, seconds)| *share < 1.0 && *seconds > 0.0)
            .map(|(share, seconds)| (1.0 / (1.0 - share), *seconds))
            .collect();
        let (first, last) = (known.first()?, known.last()?);
        let x = Axis::new(Kind::Log, 1.0, last.0.max(10.0), LEFT, RIGHT);
        let y = upright(first.1, last.1);
        let mut svg = Svg::open(&format!("{}-tail", self.id), 0.0);
        let extent = format!("from {} to {}", time(first.1), time(last.1));
        svg.describe(&format!("Latency by percentile, {}", self.name), &extent);
        svg.upright(&y, |tick: &Tick| cost_label(tick.value, Unit::Seconds, &y));
        let named = NAMED.iter().map(|share| 1.0 / (1.0 - share)).filter(|odds| *odds <= x.high * 1.001);
        let ticks: Vec<Tick> =
            named.map(|odds| Tick { value: odds, at: x.place(odds), labelled: true }).collect();
        svg.level(&ticks, |tick| percentile(1.0 - 1.0 / tick.value), "share of the responses at or below");
        let places: Vec<(f64, f64)> =
            known.iter().map(|(odds, seconds)| (x.place(*odds), within(&y, *seconds))).collect();
        svg.line("percentiles", &places);
        Some(figure("Latency by percentile", svg.close()))
    }

    /// Correct responses per second in each piece of the time.
    pub fn responses_over_time(&self) -> Option<Figure> {
        let rates = self.moments.iter().map(|moment| moment.completed_per_second);
        let high = rates.reduce(f64::max).filter(|&high| high > 0.0)?;
        let (x, y) = (self.time_axis(), Axis::new(Kind::Linear, 0.0, high * 1.05, BOTTOM, TOP));
        let mut svg = Svg::open(&format!("{}-rate", self.id), 0.0);
        svg.describe(&format!("Correct responses per second over time, {}", self.name), "");
        svg.upright(&y, |tick: &Tick| cost_label(tick.value, Unit::PerSecond, &y));
        seconds_below(&mut svg, &x);
        let place = |moment: &LoadMoment| (x.place(moment.seconds), within(&y, moment.completed_per_second));
        svg.line("median", &self.moments.iter().map(place).collect::<Vec<_>>());
        Some(figure("Correct responses per second over time", svg.close()))
    }

    /// The axis of the time, to the end of the last piece.
    fn time_axis(&self) -> Axis {
        let last = self.moments.last().map_or(1.0, |moment| moment.seconds);
        let first = self.moments.first().map_or(0.0, |moment| moment.seconds);
        Axis::new(Kind::Linear, 0.0, last + first, LEFT, RIGHT)
    }
}

fn figure(title: &str, svg: String) -> Figure {
    Figure { title: title.into(), svg, ..Figure::default() }
}

/// Seconds below the axis of the time.
fn seconds_below(svg: &mut Svg, x: &Axis) {
    svg.level(&x.ticks(ROOM_ACROSS), |tick| cost_label(tick.value, Unit::Seconds, x), "time");
}

/// An upright axis of times that differ by powers of ten.
fn upright(low: f64, high: f64) -> Axis {
    Axis::new(Kind::Log, low * 0.9, (high * 1.1).max(low * 1.5), BOTTOM, TOP)
}
