//! All points of all trials as one small picture: the number at each spot, as a grey mask that the page
//! colours. A million points take no more room than a thousand.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use png::{BitDepth, ColorType, DeflateCompression, Encoder, Filter};
use stats::Sweep;

use super::scale::Axis;

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

/// Draws the points that are to be kept, by n and cost; the first picture within `bytes_max` is taken, the
/// coarsest when none is.
pub(crate) fn draw(
    sweeps: &[Sweep<'_>],
    frame: &Frame,
    bytes_max: usize,
    keep: impl Fn(f64, f64) -> bool,
) -> Option<Cloud> {
    let points = Points::of(sweeps, frame, keep);
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
struct Points {
    width: f64,
    height: f64,
    places: Vec<Place>,
    /// How many are above the axis.
    above: usize,
}

struct Place {
    x: f64,
    y: f64,
    /// The square of points around it.
    square: usize,
    is_lone: bool,
}

impl Points {
    fn of(sweeps: &[Sweep<'_>], frame: &Frame, keep: impl Fn(f64, f64) -> bool) -> Points {
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
                    places.push(Place { x, y, square, is_lone: false });
                }
            }
        }
        for place in &mut places {
            place.is_lone = around.counts[place.square] <= most;
        }
        Points { width, height, places, above }
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
}

impl Grid {
    fn new(width: f64, height: f64) -> Grid {
        let (width, height) = (width.round().max(1.0) as usize, height.round().max(1.0) as usize);
        Grid { width, height, counts: vec![0; width * height] }
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
        for row in self.counts.chunks_exact_mut(self.width).skip(y0).take(size) {
            row[x0..x0 + across].iter_mut().for_each(|count| *count += 1);
        }
    }

    /// Grey by the logarithm of the count: one point is seen, and the densest spots are not all alike.
    fn encode(&self, bits: u8) -> Option<Vec<u8>> {
        let mut marked: Vec<u32> = self.counts.iter().copied().filter(|&count| count > 0).collect();
        let rank = marked.len() * 98 / 100;
        let dense = if marked.is_empty() { 1 } else { *marked.select_nth_unstable(rank).1 }.max(2);
        let levels = f64::from((1u16 << bits) - 1);
        let level = |count: u32| -> u8 {
            let share = (f64::from(count).ln() / f64::from(dense).ln()).min(1.0);
            ((FAINTEST + (1.0 - FAINTEST) * share) * levels).round().max(1.0) as u8
        };
        let per_byte = usize::from(8 / bits);
        let row_bytes = self.width.div_ceil(per_byte);
        let mut packed = vec![0; self.height * row_bytes];
        let rows = self.counts.chunks_exact(self.width).zip(packed.chunks_exact_mut(row_bytes));
        for (counts, row) in rows {
            for (column, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let shift = 8 - usize::from(bits) * (column % per_byte + 1);
                row[column / per_byte] |= level(count) << shift;
            }
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

#[cfg(test)]
mod tests {
    use super::super::scale::Kind;
    use super::*;

    #[test]
    fn every_point_leaves_a_mark() {
        let values = [1.0, 2.0, 3.0, 50.0];
        let sweep = Sweep::even(0, 1, &values);
        let x = Axis::new(Kind::Linear, 0.0, 3.0, 0.0, 100.0);
        let y = Axis::new(Kind::Linear, 0.0, 4.0, 80.0, 0.0);
        let frame = Frame { x, y, over: None };
        let points = Points::of(&[sweep], &frame, |_, _| true);
        assert_eq!(points.above, 1);
        let grid = points.grid(1.0);
        assert_eq!(grid.counts.iter().map(|c| *c as usize).sum::<usize>(), 4 * 2 * 2);
        assert!(
            draw(&[sweep], &frame, 10_000, |_, _| true)
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
        let grid = Points::of(&[Sweep::even(0, 1, &values)], &frame, |_, _| true).grid(2.0);
        let row = |y: usize| grid.counts[y * grid.width..(y + 1) * grid.width].iter().filter(|c| **c > 0);
        assert_eq!((90..110).map(|y| row(y).count()).sum::<usize>(), 4 * 4, "two units in each direction");
        assert_eq!((280..320).filter(|y| row(*y).count() > 0).count(), 2, "the crowd is as thin as before");
    }
}
