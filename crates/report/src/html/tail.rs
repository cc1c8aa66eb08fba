//! All measurements of the upper quarter of n by percentile: where modes and tails are seen.

use stats::{Modes, Sweep, Verdict};

use record::Unit;

use super::scale::{Axis, Kind, Tick, cost_label};
use super::svg::{BOTTOM, LEFT, RIGHT, Svg, TOP, within};
use crate::quantity::Quantity;
use crate::words::{count, fixed};

/// Places of the curve.
const KNOTS: usize = 160;
/// A percentile is reported only with so many measurements above it.
const ABOVE: usize = 10;
/// Percentiles that are written below the axis.
const NAMED: [f64; 7] = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];
/// Percentiles in the sentence.
const SAID: [f64; 3] = [0.5, 0.99, 0.999];
/// Labels of modes are at least so far apart.
const APART: f64 = 16.0;

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
            let odds = (count as f64).powf(i as f64 / KNOTS as f64);
            (odds, (x.place(odds), within(&y, self.at(1.0 - 1.0 / odds))))
        };
        let (near, far): (Vec<_>, Vec<_>) = (0..=KNOTS).map(place).partition(|(odds, _)| *odds <= sure);
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
fn percentile(share: f64) -> String {
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
