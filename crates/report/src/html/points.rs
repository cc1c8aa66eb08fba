//! The points of a series in its figure: all of them as a small picture, and those that a script can zoom
//! into.
//!
//! The picture has the number of points at each spot, as a grey mask that the page colours: a million points
//! take no more room than a thousand.
//!
//! For the script points are quantised, and sampled where there are too many. A trial is two strings in
//! base64: the steps of n from point to point, one byte each (0 says that a step of 255 goes on), and the
//! cost as sixteen bits, little-endian, on a logarithmic scale.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use png::{BitDepth, ColorType, DeflateCompression, Encoder, Filter};
use record::Unit;
use serde::Serialize;
use stats::{Sweep, Verdict};

use super::svg::Axis;
use crate::sentences::middle;

/// A point is lone when no more than this are in a square with sides of so many units around it.
const LONE: (u32, f64) = (2, 8.0);
/// Side of a lone point, in units.
const LONE_SIZE: f64 = 2.0;
/// How dark one point is, as a share of the darkest.
const FAINTEST: f64 = 0.42;
/// Pixels are noise: level 9 takes three times as long for the same size.
const LEVEL: u8 = 4;
/// Pictures that are tried, the finest first: pixels per unit of the plot, and bits per pixel.
const FINENESS: [(f64, u8); 4] = [(2.0, 4), (1.5, 4), (1.25, 2), (0.9, 2)];
/// Bytes that a point takes in the page: three, and a third more in base64.
const BYTES_OF_POINT: usize = 4;
/// Of each stretch of n these many points stay: the lowest, the highest and one between.
const OF_STRETCH: usize = 3;
/// The largest step in one byte.
const STEP_MAX: u64 = 255;
/// Bytes that the gaps between values may take, for each value, beyond what all points may take: a file may
/// claim any step of n.
const GAP_BYTES: u64 = 4;

/// A picture of points.
pub(crate) struct Cloud {
    /// `data:image/png;base64,…`
    pub(crate) uri: String,
    /// Points above the axis.
    pub(crate) above: usize,
}

/// The place for points.
pub(crate) struct Frame {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// The axis of the points above the other, if there are any.
    pub(crate) over: Option<Axis>,
}

impl Frame {
    fn height_of(&self, value: f64) -> f64 {
        match &self.over {
            Some(over) if value > self.y.high => over.place(value.min(over.high)),
            _ => self.y.place(value.min(self.y.high)),
        }
    }

    /// The left, the top, the width and the height.
    fn edges(&self) -> (f64, f64, f64, f64) {
        let (left, bottom) = (self.x.from.min(self.x.to), self.y.from.max(self.y.to));
        let top = self.over.as_ref().map_or(self.y.to, |over| over.to).min(self.y.from);
        (left, top, (self.x.to - self.x.from).abs(), bottom - top)
    }
}

/// Draws the points that are to be kept, by n and cost; the first picture within `bytes_max` is taken, the
/// coarsest when none is.
pub(crate) fn draw_cloud(
    sweeps: &[Sweep<'_>],
    frame: &Frame,
    bytes_max: usize,
    keep: impl Fn(f64, f64) -> bool,
) -> Option<Cloud> {
    let points = PlacedPoints::of(sweeps, frame, keep);
    let mut last = None;
    for (pixels, bits) in FINENESS {
        let png = points.grid(pixels).encode(bits)?;
        let fits = png.len() <= bytes_max;
        let uri = format!("data:image/png;base64,{}", STANDARD.encode(&png));
        last = Some(Cloud { uri, above: points.above });
        if fits {
            break;
        }
    }
    last
}

/// Where points stand, in units of the plot: the same in pictures of every fineness.
struct PlacedPoints {
    width: f64,
    height: f64,
    places: Vec<PlacedPoint>,
    /// How many are above the axis.
    above: usize,
}

struct PlacedPoint {
    x: f64,
    y: f64,
    /// The square of points around it.
    square: usize,
    is_lone: bool,
}

impl PlacedPoints {
    fn of(sweeps: &[Sweep<'_>], frame: &Frame, keep: impl Fn(f64, f64) -> bool) -> PlacedPoints {
        let (left, top, width, height) = frame.edges();
        let (most, side) = LONE;
        let mut around = Grid::new(width / side, height / side);
        let (mut places, mut above) = (Vec::new(), 0);
        // Trials go through the same n: where each stands takes a logarithm.
        let mut columns: Vec<(f64, f64)> = Vec::new();
        for sweep in sweeps {
            for (index, &value) in sweep.values.iter().enumerate() {
                let n = sweep.n(index) as f64;
                let x = match columns.get(index) {
                    Some(&(of, x)) if of == n => x,
                    _ => {
                        let x = frame.x.place(n) - left;
                        columns.truncate(index);
                        columns.push((n, x));
                        x
                    }
                };
                if value.is_finite() && keep(n, value) {
                    let y = frame.height_of(value) - top;
                    let square = around.pixel(x / side, y / side);
                    around.counts[square] += 1;
                    above += usize::from(value > frame.y.high);
                    places.push(PlacedPoint { x, y, square, is_lone: false });
                }
            }
        }
        for place in &mut places {
            place.is_lone = around.counts[place.square] <= most;
        }
        PlacedPoints { width, height, places, above }
    }

    /// A picture with so many pixels per unit.
    fn grid(&self, pixels: f64) -> Grid {
        // A point must be seen: about two units wide when there are few, one pixel when there are many.
        let size = match self.places.len() {
            0..4_000 => 2.0,
            4_000..40_000 => 1.4,
            _ => 0.8,
        };
        let [size, lone] = [size, LONE_SIZE].map(|size: f64| ((size * pixels).round() as usize).max(1));
        let mut grid = Grid::new(self.width * pixels, self.height * pixels);
        for place in &self.places {
            grid.stamp(place.x * pixels, place.y * pixels, if place.is_lone { lone } else { size });
        }
        grid
    }
}

/// How many points fell on each pixel.
struct Grid {
    width: usize,
    height: usize,
    counts: Vec<u32>,
    /// The pixels that have a stamp: most of a picture is empty.
    marked: Vec<usize>,
}

impl Grid {
    fn new(width: f64, height: f64) -> Grid {
        let (width, height) = (width.round().max(1.0) as usize, height.round().max(1.0) as usize);
        Grid { width, height, counts: vec![0; width * height], marked: Vec::new() }
    }

    /// The place of a pixel among the counts.
    fn pixel(&self, x: f64, y: f64) -> usize {
        let [x, y] = [(x, self.width), (y, self.height)].map(|(at, extent)| nearest(at).min(extent - 1));
        y * self.width + x
    }

    /// A square of `size` pixels around a place, kept inside the picture.
    fn stamp(&mut self, x: f64, y: f64, size: usize) {
        let start =
            |at: f64, extent: usize| nearest(at - (size as f64 - 1.0) / 2.0).min(extent.saturating_sub(size));
        let (x0, y0) = (start(x, self.width), start(y, self.height));
        let across = size.min(self.width - x0);
        for y in y0..(y0 + size).min(self.height) {
            let left = y * self.width + x0;
            for pixel in left..left + across {
                if self.counts[pixel] == 0 {
                    self.marked.push(pixel);
                }
                self.counts[pixel] += 1;
            }
        }
    }

    /// Grey by the logarithm of the count: one point is seen, and the densest spots are not all alike.
    fn encode(&self, bits: u8) -> Option<Vec<u8>> {
        let mut counts: Vec<u32> = self.marked.iter().map(|&pixel| self.counts[pixel]).collect();
        let rank = counts.len() * 98 / 100;
        let dense = if counts.is_empty() { 1 } else { *counts.select_nth_unstable(rank).1 }.max(2);
        let levels = f64::from((1u16 << bits) - 1);
        let level = |count: u32| -> u8 {
            let share = (f64::from(count).ln() / f64::from(dense).ln()).min(1.0);
            ((FAINTEST + (1.0 - FAINTEST) * share) * levels).round().max(1.0) as u8
        };
        let per_byte = usize::from(8 / bits);
        let row_bytes = self.width.div_ceil(per_byte);
        let mut packed = vec![0; self.height * row_bytes];
        for &pixel in &self.marked {
            let (row, column) = (pixel / self.width, pixel % self.width);
            let shift = 8 - usize::from(bits) * (column % per_byte + 1);
            packed[row * row_bytes + column / per_byte] |= level(self.counts[pixel]) << shift;
        }
        let mut png = Vec::new();
        let mut encoder = Encoder::new(&mut png, self.width as u32, self.height as u32);
        encoder.set_color(ColorType::Grayscale);
        encoder.set_depth(if bits == 4 { BitDepth::Four } else { BitDepth::Two });
        encoder.set_deflate_compression(DeflateCompression::Level(LEVEL));
        // Filters predict from neighbouring bytes; here a byte is two or four pixels of noise.
        encoder.set_filter(Filter::NoFilter);
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(&packed).ok()?;
        writer.finish().ok()?;
        Some(png)
    }
}

/// The nearest whole number, and 0 for a negative one: `f64::round` is a call of a function where the
/// target's processors need not have an instruction for it.
fn nearest(at: f64) -> usize {
    (at + 0.5) as usize
}

/// The points of one series.
#[derive(Debug, Serialize)]
pub(crate) struct ZoomPoints {
    /// Points kept here.
    pub(crate) shown: usize,
    /// All points.
    pub(crate) of: usize,
    /// The objects that n counts.
    grows: String,
    /// The unit of the values, as in a record; empty for bare numbers.
    unit: &'static str,
    /// Costs that 0 and 65 535 stand for.
    low: f64,
    high: f64,
    trials: Vec<PackedTrial>,
    /// The medians: n, cost.
    medians: Vec<(f64, f64)>,
}

#[derive(Debug, Serialize)]
struct PackedTrial {
    /// The number of the trial.
    trial: u32,
    first: u64,
    steps: String,
    costs: String,
}

impl ZoomPoints {
    /// Packs the points of a series into about `bytes_max`; `None` where n goes absurdly far for so few
    /// values.
    pub(crate) fn of(
        sweeps: &[(u32, Sweep<'_>)],
        verdict: Option<&Verdict>,
        (grows, unit): (&str, Unit),
        bytes_max: usize,
    ) -> Option<ZoomPoints> {
        let values = || sweeps.iter().flat_map(|(_, sweep)| sweep.values).copied();
        let costs = || values().filter(|v| v.is_finite() && *v > 0.0);
        let of = values().count();
        let low = costs().reduce(f64::min)?;
        let high = costs().reduce(f64::max)?.max(low * 1.000_001);
        if gaps(sweeps) > GAP_BYTES.saturating_mul(of as u64).saturating_add(bytes_max as u64) {
            return None;
        }
        let each = bytes_max / BYTES_OF_POINT / sweeps.len();
        let mut points = ZoomPoints {
            shown: 0,
            of,
            grows: grows.to_string(),
            unit: unit.name(),
            low,
            high,
            trials: Vec::with_capacity(sweeps.len()),
            medians: verdict
                .map(|v| v.blocks.iter().map(|b| (middle(b), b.cost.value)).collect())
                .unwrap_or_default(),
        };
        for (trial, sweep) in sweeps {
            points.pack(*trial, sweep, each);
        }
        Some(points)
    }

    fn pack(&mut self, trial: u32, sweep: &Sweep<'_>, each: usize) {
        let mut chosen: Vec<(u64, f64)> = chosen(sweep.values, each)
            .into_iter()
            .map(|i| (sweep.n(i), sweep.values[i]))
            .filter(|(_, v)| v.is_finite() && *v > 0.0)
            .collect();
        chosen.sort_by_key(|(n, _)| *n);
        chosen.dedup_by_key(|(n, _)| *n);
        let Some(&(first, _)) = chosen.first() else { return };
        self.shown += chosen.len();
        let span = (self.high / self.low).ln();
        let (mut steps, mut costs) = (Vec::new(), Vec::new());
        let mut before = first;
        for (n, value) in chosen {
            let mut step = n - before;
            while step > STEP_MAX {
                steps.push(0);
                step -= STEP_MAX;
            }
            if n != before {
                steps.push(step as u8);
            }
            before = n;
            let share = ((value / self.low).ln() / span).clamp(0.0, 1.0);
            costs.extend(((share * 65_535.0).round() as u16).to_le_bytes());
        }
        let (steps, costs) = (STANDARD.encode(steps), STANDARD.encode(costs));
        self.trials.push(PackedTrial { trial, first, steps, costs });
    }
}

/// Bytes that only continue a step of n.
fn gaps(sweeps: &[(u32, Sweep<'_>)]) -> u64 {
    let span = |s: &Sweep<'_>| s.n(0).abs_diff(s.n(s.values.len().saturating_sub(1)));
    sweeps.iter().fold(0, |sum, (_, sweep)| sum.saturating_add(span(sweep) / STEP_MAX))
}

/// Places of the values that stay: all when there is room, else of each stretch the lowest, the highest and
/// the one in the middle. Stretches are narrow at both small n and large, so that either axis has its share.
fn chosen(values: &[f64], each: usize) -> Vec<usize> {
    let len = values.len();
    if len <= each {
        return (0..len).collect();
    }
    let stretches = (each / OF_STRETCH).max(1);
    let stretch_of = |i: usize| {
        let evenly = i as f64 / len as f64;
        let logarithmic = ((i + 1) as f64).ln() / ((len + 1) as f64).ln();
        ((0.7 * evenly + 0.3 * logarithmic) * stretches as f64) as usize
    };
    let mut places = Vec::with_capacity(each + OF_STRETCH);
    let mut start = 0;
    while start < len {
        let stretch = stretch_of(start);
        let mut end = start + 1;
        while end < len && stretch_of(end) == stretch {
            end += 1;
        }
        let by_value = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let lowest = (start..end).min_by(by_value).unwrap_or(start);
        let highest = (start..end).max_by(by_value).unwrap_or(start);
        let mut three = [lowest, start + (end - start) / 2, highest];
        three.sort_unstable();
        for place in three {
            if places.last() != Some(&place) {
                places.push(place);
            }
        }
        start = end;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::super::svg::Kind;
    use super::*;

    #[test]
    fn every_point_leaves_a_mark() {
        let values = [1.0, 2.0, 3.0, 50.0];
        let sweep = Sweep::even(0, 1, &values);
        let x = Axis::new(Kind::Linear, 0.0, 3.0, 0.0, 100.0);
        let y = Axis::new(Kind::Linear, 0.0, 4.0, 80.0, 0.0);
        let frame = Frame { x, y, over: None };
        let points = PlacedPoints::of(&[sweep], &frame, |_, _| true);
        assert_eq!(points.above, 1);
        let grid = points.grid(1.0);
        assert_eq!(grid.counts.iter().map(|c| *c as usize).sum::<usize>(), 4 * 2 * 2);
        assert!(
            draw_cloud(&[sweep], &frame, 10_000, |_, _| true)
                .is_some_and(|c| c.uri.starts_with("data:image/png;base64,"))
        );
    }

    #[test]
    fn what_is_above_the_axis_stands_in_the_strip_in_its_order() {
        let x = Axis::new(Kind::Linear, 0.0, 3.0, 0.0, 100.0);
        let y = Axis::new(Kind::Linear, 0.0, 4.0, 80.0, 20.0);
        let over = Axis::new(Kind::Log, 4.0, 400.0, 14.0, 0.0);
        let frame = Frame { x, y, over: Some(over) };
        let at = |value| frame.height_of(value);
        assert!(at(4.0) == 20.0 && at(5.0) < 14.0 && at(40.0) < at(5.0) && at(400.0) == 0.0);
        assert_eq!(frame.edges(), (0.0, 0.0, 100.0, 80.0));
    }

    #[test]
    fn a_lone_point_is_larger_than_one_of_a_crowd() {
        let mut values = vec![1.0; 50_000];
        values[25_000] = 3.0;
        let x = Axis::new(Kind::Linear, 0.0, 50_000.0, 0.0, 400.0);
        let y = Axis::new(Kind::Linear, 0.0, 4.0, 200.0, 0.0);
        let frame = Frame { x, y, over: None };
        let grid = PlacedPoints::of(&[Sweep::even(0, 1, &values)], &frame, |_, _| true).grid(2.0);
        let row = |y: usize| grid.counts[y * grid.width..(y + 1) * grid.width].iter().filter(|c| **c > 0);
        assert_eq!((90..110).map(|y| row(y).count()).sum::<usize>(), 4 * 4, "two units in each direction");
        assert_eq!((280..320).filter(|y| row(*y).count() > 0).count(), 2, "the crowd is as thin as before");
    }

    #[test]
    fn the_extremes_of_every_trial_stay() {
        let mut values: Vec<f64> = (0..20_000).map(|i| 1.0 + f64::from(i % 7) * 0.01).collect();
        values[777] = 90.0;
        values[13_131] = 0.01;
        let places = chosen(&values, 600);
        assert!(places.len() <= 630, "{}", places.len());
        assert!(places.contains(&777) && places.contains(&13_131));
        assert!(places.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(chosen(&values[..500], 600).len(), 500);
    }

    #[test]
    fn what_is_packed_is_what_was_measured() {
        let values: Vec<f64> = (0..2_000).map(|i| 1e-6 * (1.0 + f64::from(i) / 100.0)).collect();
        let sweep = Sweep::even(1_999, -1, &values);
        let points = ZoomPoints::of(&[(7, sweep)], None, ("things", Unit::Seconds), 400).unwrap();
        let trial = &points.trials[0];
        assert_eq!(trial.trial, 7);
        let costs = STANDARD.decode(&trial.costs).unwrap();
        assert_eq!(costs.len(), 2 * points.shown);
        let mut n = trial.first;
        let mut seen = 1;
        let mut carried = 0;
        for step in STANDARD.decode(&trial.steps).unwrap() {
            if step == 0 {
                carried += 255;
                continue;
            }
            n += carried + u64::from(step);
            carried = 0;
            seen += 1;
        }
        assert_eq!((seen, n), (points.shown, 1_999));
        let first = f64::from(u16::from_le_bytes([costs[0], costs[1]])) / 65_535.0;
        let cost = points.low * (points.high / points.low).powf(first);
        assert!((cost / values[1_999] - 1.0).abs() < 1e-3);
    }

    #[test]
    fn n_that_goes_absurdly_far_is_not_packed() {
        let values = [1e-6; 1_000];
        let points = |n_first, n_step| {
            ZoomPoints::of(
                &[(0, Sweep::even(n_first, n_step, &values))],
                None,
                ("things", Unit::Seconds),
                4_000,
            )
        };
        assert_eq!(points(0, 1_000).map(|p| p.shown), Some(1_000));
        for (n_first, n_step) in [(0, 1_000_000_000), (u64::MAX, -1_000_000_000), (0, i64::MAX)] {
            assert!(points(n_first, n_step).is_none(), "{n_first} {n_step}");
        }
    }
}
