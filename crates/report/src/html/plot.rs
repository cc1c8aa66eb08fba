//! Plots of one series as inline SVG: cost over n, the change against the first n, and all costs of the upper
//! quarter of n by percentile, where modes and tails are seen.
//!
//! They are ours and no library's: a few hundred lines, which tests read as text. A run has too many points
//! for elements of SVG, so these are a bitmap (`points`); uPlot is embedded for zooming only.

use judge::Stop;
use record::Unit;
use stats::{Block, FittedLine, Interval, Lines, Modes, Spikes, Step, Sweep, Verdict};

use super::esc;
use super::marks::{self, Mark};
use super::points::{self, Cloud, Frame};
use super::svg::{Axis, Kind, Tick, change_label, cost_label, factor_label};
use super::svg::{BOTTOM, LEFT, RIGHT, STRIP, STRIP_APART, Svg, TOP, within};
use crate::quantity::Quantity;
use crate::sentences::{capital, middle as middle_of};
use crate::words::{count, factor, fixed, things};

/// A logarithmic axis of cost reaches to the value below which this share of all points lies; points above
/// have a strip of their own.
const SHARE_SHOWN: f64 = 0.999;
/// A linear one reaches above the band of the medians, or so many times above the medians where the band of
/// few trials is wider, so that a few slow calls do not press a growth to the ground.
const BAND_SHOWN: f64 = 1.5;
/// A logarithmic axis that ends so near the largest value may as well reach it.
const NEAR_THE_LARGEST: f64 = 1.5;
/// A change of more than this factor is drawn on a logarithmic axis.
const LOGARITHMIC_FROM: f64 = 2.5;
/// Knots of a line that is straight on one of the axes only.
const KNOTS: i32 = 48;
/// Places of the curve of percentiles.
const PLACES: usize = 160;
/// A percentile is reported only with so many measurements above it.
const ABOVE: usize = 10;
/// Percentiles that are written below the axis.
const NAMED: [f64; 7] = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];
/// Percentiles in the sentence.
const SAID: [f64; 3] = [0.5, 0.99, 0.999];
/// Labels of modes are at least so far apart.
const APART: f64 = 16.0;

/// The content of a plot of one series.
pub(crate) struct Subject<'a> {
    pub(crate) id: String,
    pub(crate) label: &'a str,
    /// The kind of its values: `cost`, `throughput`.
    pub(crate) what: &'a str,
    pub(crate) grows: &'a str,
    pub(crate) sweeps: &'a [Sweep<'a>],
    pub(crate) verdict: Option<&'a Verdict>,
    pub(crate) stops: &'a [Stop],
    pub(crate) margin: f64,
    pub(crate) unit: Unit,
    pub(crate) sentence: &'a str,
    pub(crate) bytes_max: usize,
}

/// A plot, and how many points are above its axis.
pub(crate) struct Plot {
    pub(crate) svg: String,
    pub(crate) points_above: usize,
    pub(crate) points: usize,
}

impl Plot {
    /// `, 12 of 80 000 points above`; empty where all are below.
    pub(crate) fn above(&self) -> String {
        match self.points_above {
            0 => String::new(),
            above => format!(", {} of {} above", count(above as u64), things(self.points, "point", "points")),
        }
    }
}

impl Subject<'_> {
    /// `cost of bind`, `race/epoll throughput`.
    fn named(&self) -> String {
        if self.what == "cost" { format!("cost of {}", self.label) } else { self.label.to_string() }
    }

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

    /// Points between two steps are joined; a line across a step would show a slope that was not measured.
    fn between_steps<'a, T>(&self, all: &'a [T], n: impl Fn(&T) -> f64) -> Vec<&'a [T]> {
        let steps: &[Step] = self.verdict.map_or(&[], |v| &v.steps);
        let after = |item: &T| steps.iter().filter(|step| n(item) >= step.n as f64).count();
        all.chunk_by(|a, b| after(a) == after(b)).collect()
    }

    /// The medians and their band.
    fn medians(&self, svg: &mut Svg, x: &Axis, y: &Axis, value: impl Fn(&Block) -> Interval) {
        for blocks in self.between_steps(self.blocks(), middle_of) {
            svg.band(blocks, x, y, |b| (value(b).low, value(b).high));
            svg.medians(blocks, x, y, |b| value(b).value);
        }
    }

    /// The marks of the plots.
    fn marks(&self) -> Vec<Mark> {
        marks::of(self.verdict, self.stops)
    }

    /// The room that labels need above the plots of cost, so that both stand on one line.
    pub(crate) fn head_of_cost(&self) -> f64 {
        let marks = self.marks();
        let head = |kind| marks::head(&marks, &self.axis_of_n(kind));
        head(Kind::Linear).max(head(Kind::Log))
    }

    /// The room that labels need above the plot of changes.
    pub(crate) fn head_of_change(&self) -> f64 {
        self.axis_of_change().map_or(0.0, |x| marks::head(&self.marks(), &x))
    }

    fn axis_of_change(&self) -> Option<Axis> {
        let (first, last) = (self.blocks().first()?, self.blocks().last()?);
        Some(Axis::new(Kind::Log, (first.n_low as f64).max(1.0), last.n_high as f64, LEFT, RIGHT))
    }

    /// Cost over n with every point, the medians and their band.
    pub(crate) fn cost(&self, kind: Kind) -> Option<Plot> {
        let frame = self.frame(kind)?;
        let (x, y) = (&frame.x, &frame.y);
        let axes = match kind {
            Kind::Linear => "linear axes",
            Kind::Log => "logarithmic axes",
        };
        let marks = self.marks();
        let id = format!("{}-{}", self.id, if kind == Kind::Log { "log" } else { "lin" });
        let mut svg = Svg::open(&id, self.head_of_cost());
        svg.describe(&format!("{} over {}, {axes}", capital(&self.named()), self.grows), self.sentence);
        svg.axes(x, y, self.grows, |t: &Tick| cost_label(t.value, self.unit, y));
        if let Some(level) = self.blocks().first().map(|b| b.cost.value / b.relative.value) {
            svg.corridor(level * (1.0 - self.margin), level * (1.0 + self.margin), y);
        }
        let clouds = self.clouds(&frame)?;
        let above = clouds.iter().map(|(_, cloud)| cloud.above).sum();
        if let Some(over) = &frame.over {
            let largest = self.unit.cost(over.high);
            let title = format!("{} above the axis, to {largest}", things(above, "point", "points"));
            svg.strip(over, &largest, &title);
        }
        clouds.iter().for_each(|(class, cloud)| svg.cloud(&cloud.uri, class));
        self.medians(&mut svg, x, y, |b| b.cost);
        if let Some(v) = self.verdict {
            let places = |(n, cost): &(f64, f64)| (x.place(*n), within(y, *cost));
            for fit in self.between_steps(&v.fit, |(n, _)| *n) {
                svg.line("fit", &fit.iter().map(places).collect::<Vec<_>>());
            }
            v.lines.iter().for_each(|lines| two_lines(lines, v, x, y, &mut svg));
            repeated(&v.spikes, x, &mut svg);
        }
        marks::draw(&marks, x, &mut svg);
        let points = self.sweeps.iter().map(|sweep| sweep.values.len()).sum();
        Some(Plot { svg: svg.close(), points_above: above, points })
    }

    /// The axes of cost over n, and the strip above them where points are beyond.
    fn frame(&self, kind: Kind) -> Option<Frame> {
        let costs = Costs::of(self.sweeps)?;
        let finite = |cost: &f64| cost.is_finite();
        let medians = self.blocks().iter().map(|b| b.cost.value).filter(finite).fold(0.0, f64::max);
        let band = self.blocks().iter().map(|b| b.cost.high).filter(finite).fold(medians, f64::max);
        // The upper of two lines lies above all medians.
        let upper = self.verdict.and_then(|v| Some(&v.lines.as_ref()?.upper));
        let upper = upper.map_or(0.0, |line| line.cost_low.value.max(line.cost_high.value));
        let (medians, band) = (medians.max(upper), band.max(BAND_SHOWN * upper));
        let (low, high) = match kind {
            Kind::Linear if medians > 0.0 => (0.0, 1.08 * band.min(BAND_SHOWN * medians)),
            Kind::Linear => (0.0, 1.08 * costs.shown),
            Kind::Log => (costs.low * 0.9, 1.1 * medians.max(costs.shown)),
        };
        let high = match kind {
            Kind::Log if costs.high <= NEAR_THE_LARGEST * high => high.max(1.1 * costs.high),
            _ => high,
        };
        let is_over = costs.high > high;
        let top = if is_over { TOP + STRIP + STRIP_APART } else { TOP };
        let over = Axis::new(Kind::Log, high, costs.high, TOP + STRIP, TOP).of(self.unit);
        let (x, y) = (self.axis_of_n(kind), Axis::new(kind, low, high, BOTTOM, top).of(self.unit));
        Some(Frame { x, y, over: is_over.then_some(over) })
    }

    /// All points, on two lines in two colours, each with its class.
    fn clouds(&self, frame: &Frame) -> Option<Vec<(&'static str, Cloud)>> {
        let Some((v, lines)) = self.verdict.and_then(|v| Some((v, v.lines.as_ref()?))) else {
            return Some(vec![("all", points::draw_cloud(self.sweeps, frame, self.bytes_max, |_, _| true)?)]);
        };
        let between = |n: f64| (cost_on(&lines.lower, v, n) * cost_on(&lines.upper, v, n)).sqrt();
        let half = self.bytes_max / 2;
        let lower = points::draw_cloud(self.sweeps, frame, half, |n, cost| cost < between(n))?;
        let upper = points::draw_cloud(self.sweeps, frame, half, |n, cost| cost >= between(n))?;
        Some(vec![("lower", lower), ("upper", upper)])
    }

    /// The change against the first n, with its simultaneous band and the corridor of the margin.
    pub(crate) fn change(&self) -> Option<String> {
        let x = self.axis_of_change()?;
        let blocks = self.blocks();
        let bounded = |v: f64| if v.is_finite() && v > 0.0 { v } else { 1.0 };
        let low = blocks.iter().map(|b| bounded(b.relative.low)).fold(1.0 - 1.5 * self.margin, f64::min);
        let high = blocks.iter().map(|b| bounded(b.relative.high)).fold(1.0 + 1.5 * self.margin, f64::max);
        let wide = high / low > LOGARITHMIC_FROM;
        let y = if wide {
            Axis::new(Kind::Log, low * 0.93, high * 1.07, BOTTOM, TOP)
        } else {
            Axis::new(Kind::Linear, low - 0.02, high + 0.02, BOTTOM, TOP)
        };
        let mut svg = Svg::open(&format!("{}-change", self.id), self.head_of_change());
        svg.describe(&format!("Change of the {} against its level at small n", self.named()), self.sentence);
        svg.corridor(1.0 - self.margin, 1.0 + self.margin, &y);
        if wide {
            svg.axes(&x, &y, self.grows, |t| factor_label(t.value));
        } else {
            // Marks at round changes, not at round factors.
            let shifted = Axis { low: y.low - 1.0, high: y.high - 1.0, ..y };
            svg.axes(&x, &shifted, self.grows, |t| change_label(t.value));
        }
        svg.rule(1.0, &y);
        self.medians(&mut svg, &x, &y, |b| b.relative);
        marks::draw(&self.marks(), &x, &mut svg);
        Some(svg.close())
    }
}

/// The cost on one of two lines: straight in n between its ends.
fn cost_on(line: &FittedLine, v: &Verdict, n: f64) -> f64 {
    let (low, high) = (v.n_low as f64, v.n_high as f64);
    let share = if high > low { (n - low) / (high - low) } else { 0.0 };
    let cost = line.cost_low.value + share * (line.cost_high.value - line.cost_low.value);
    cost.max(f64::MIN_POSITIVE)
}

/// The two lines as they are judged; each has a colour and a dash.
fn two_lines(lines: &Lines, v: &Verdict, x: &Axis, y: &Axis, svg: &mut Svg) {
    let (low, high) = ((v.n_low as f64).max(1.0), v.n_high as f64);
    let n = |i: i32| low * (high / low).powf(f64::from(i) / f64::from(KNOTS));
    for (class, line) in [("lower", &lines.lower), ("upper", &lines.upper)] {
        let places: Vec<(f64, f64)> =
            (0..=KNOTS).map(|i| (x.place(n(i)), within(y, cost_on(line, v, n(i))))).collect();
        svg.line(class, &places);
    }
}

/// Ticks at the upper edge where trial after trial has a spike.
fn repeated(spikes: &Spikes, x: &Axis, svg: &mut Svg) {
    for place in spikes.repeated.iter().filter(|place| place.n as f64 >= x.low && place.n as f64 <= x.high) {
        let said = format!(
            "n = {}: spikes in {}, {}",
            count(place.n),
            things(place.trials, "trial", "trials"),
            factor(place.ratio)
        );
        svg.put(format_args!(
            "<path class=\"again\" d=\"M{:.1} {TOP}h8l-4 8Z\"><title>{}</title></path>",
            x.place(place.n as f64) - 4.0,
            esc(&said)
        ));
    }
}

/// The range of the costs of all points.
struct Costs {
    low: f64,
    high: f64,
    /// Below this [`SHARE_SHOWN`] of all points lie.
    shown: f64,
}

impl Costs {
    fn of(sweeps: &[Sweep<'_>]) -> Option<Costs> {
        let mut values: Vec<f64> =
            sweeps.iter().flat_map(|s| s.values).copied().filter(|v| v.is_finite() && *v > 0.0).collect();
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        let last = (values.len() - 1) as f64;
        let place = (last * SHARE_SHOWN).ceil() as usize;
        let shown = *values.select_nth_unstable_by(place, f64::total_cmp).1;
        Some(Costs { low, high, shown })
    }
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

/// The measurements of the upper quarter of n, sorted.
pub(crate) struct Tail {
    n_low: u64,
    values: Vec<f64>,
}

impl Tail {
    /// Gathers them; `None` if there are too few.
    pub(crate) fn of(sweeps: &[Sweep<'_>], range: Option<(u64, u64)>) -> Option<Tail> {
        let (low, high) = range?;
        let n_low = high - high.saturating_sub(low) / 4;
        let of_sweep = |sweep: &Sweep<'_>| {
            let places = (0..sweep.values.len()).filter(|place| (n_low..=high).contains(&sweep.n(*place)));
            let values = places.map(|place| sweep.values[place]).filter(|v| v.is_finite() && *v > 0.0);
            values.collect::<Vec<f64>>()
        };
        let mut values: Vec<f64> = sweeps.iter().flat_map(of_sweep).collect();
        values.sort_unstable_by(f64::total_cmp);
        (values.len() >= 2 * ABOVE).then_some(Tail { n_low, values })
    }

    /// The cost below which this share of the measurements lies.
    fn at(&self, share: f64) -> f64 {
        let last = self.values.len() - 1;
        self.values[((last as f64 * share) as usize).min(last)]
    }

    /// `half of them cost at most 1.2 µs, 99 % at most 1.9 µs`: as far as ten measurements are above.
    pub(crate) fn sentence(&self, unit: Unit) -> String {
        let carried = |share: &&f64| (1.0 - **share) * self.values.len() as f64 >= ABOVE as f64;
        let said = SAID.iter().filter(carried).map(|share| {
            let of = if *share == 0.5 { "half of them cost".into() } else { percentile(*share) };
            format!("{of} at most {}", unit.cost(self.at(*share)))
        });
        said.collect::<Vec<_>>().join(", ")
    }

    /// The title of the picture.
    pub(crate) fn title(&self) -> String {
        format!("All costs from n = {} on, by percentile", count(self.n_low))
    }

    /// The cost over 1/(1 − q) on logarithmic axes: each decade is one more nine.
    pub(crate) fn draw(&self, id: &str, label: &str, unit: Unit, v: Option<&Verdict>, head: f64) -> String {
        let count = self.values.len();
        let x = Axis::new(Kind::Log, 1.0, count as f64, LEFT, RIGHT);
        let (low, high) = (self.values[0], self.values[count - 1]);
        let y = Axis::new(Kind::Log, low * 0.95, (high * 1.05).max(low * 1.3), BOTTOM, TOP);
        let mut svg = Svg::open(&format!("{id}-tail"), head);
        svg.describe(&format!("{} of {label}", self.title()), &self.sentence(unit));
        svg.upright(&y, |tick: &Tick| cost_label(tick.value, unit, &y));
        let ticks: Vec<Tick> = NAMED
            .iter()
            .map(|share| 1.0 / (1.0 - share))
            .filter(|odds| *odds <= count as f64)
            .map(|odds| Tick { value: odds, at: x.place(odds), labelled: odds != 2.0 })
            .collect();
        svg.level(&ticks, |tick| percentile(1.0 - 1.0 / tick.value), "share of the measurements at or below");
        if let Some(levels) = modes(v, self.n_low, &y) {
            draw_modes(levels, &mut svg);
        }
        let sure = count as f64 / ABOVE as f64;
        let place = |i: usize| {
            let odds = (count as f64).powf(i as f64 / PLACES as f64);
            (odds, (x.place(odds), within(&y, self.at(1.0 - 1.0 / odds))))
        };
        let (near, far): (Vec<_>, Vec<_>) = (0..=PLACES).map(place).partition(|(odds, _)| *odds <= sure);
        let joint = near.last().copied();
        let places = |knots: &[(f64, (f64, f64))]| knots.iter().map(|knot| knot.1).collect::<Vec<_>>();
        svg.line("percentiles", &places(&near));
        svg.line("percentiles far", &places(&joint.into_iter().chain(far).collect::<Vec<_>>()));
        svg.close()
    }
}

/// The modes that reach into the upper quarter, from the clearest: where the lower and the upper stand.
fn modes(v: Option<&Verdict>, n_low: u64, y: &Axis) -> Option<(f64, f64)> {
    let within_range = |modes: &&Modes| modes.n_high >= n_low;
    let modes = v?.modes.iter().filter(within_range).max_by(|a, b| a.separation.total_cmp(&b.separation))?;
    Some((within(y, modes.lower), within(y, modes.upper)))
}

/// Both modes as rules, named where there is room: the upper before the curve reaches it, the lower behind.
fn draw_modes((lower, upper): (f64, f64), svg: &mut Svg) {
    let names = [(upper, "start", LEFT + 6.0, "upper mode"), (lower, "end", RIGHT - 6.0, "lower mode")];
    for (at, anchor, x, word) in names {
        svg.put(format_args!("<path class=\"mode\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/>"));
        if lower - upper >= APART {
            let y = at - 4.0;
            svg.put(format_args!(
                "<text class=\"mode\" text-anchor=\"{anchor}\" x=\"{x}\" y=\"{y:.1}\">{word}</text>"
            ));
        }
    }
}

/// `99.9 %`
pub(super) fn percentile(share: f64) -> String {
    let percent = share * 100.0;
    let decimals =
        (0..=4).find(|d| (percent * 10f64.powi(*d) - (percent * 10f64.powi(*d)).round()).abs() < 1e-6);
    format!("{}\u{202f}%", fixed(percent, decimals.unwrap_or(4) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_said_as_far_as_ten_are_above() {
        let values: Vec<f64> = (1..=4_000).map(f64::from).collect();
        let tail = Tail::of(&[Sweep::even(1, 1, &values)], Some((1, 4_000))).expect("values");
        assert_eq!(tail.values.len(), 1_000);
        let said = tail.sentence(Unit::None).replace('\u{202f}', " ");
        assert_eq!(said, "half of them cost at most 3 500, 99 % at most 3 990");
        assert_eq!(percentile(0.9999), "99.99\u{202f}%");
        assert!(Tail::of(&[Sweep::even(1, 1, &values[..40])], Some((1, 40))).is_none());
    }
}
