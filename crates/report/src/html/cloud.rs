//! All points of all trials as one small picture: how many fell on each spot, as a grey mask that the page
//! colours. A million points take no more room than a thousand.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use png::{BitDepth, ColorType, Compression, Encoder, Filter};
use stats::Sweep;

use super::scale::Axis;

/// A picture of points.
pub(crate) struct Cloud {
    /// `data:image/png;base64,…`
    pub(crate) uri: String,
    /// Points above the axis, drawn at its upper edge.
    pub(crate) above: usize,
}

/// Pictures that are tried, the finest first: pixels per unit of the plot, and bits per pixel.
const FINENESS: [(f64, u8); 4] = [(2.0, 4), (1.5, 4), (1.25, 2), (0.9, 2)];

/// Draws the points that are to be kept, by n and cost; the first picture within `bytes_max` is taken, the
/// coarsest when none is.
pub(crate) fn draw(
    sweeps: &[Sweep<'_>],
    x: &Axis,
    y: &Axis,
    bytes_max: usize,
    keep: impl Fn(f64, f64) -> bool,
) -> Option<Cloud> {
    let mut last = None;
    for (pixels, bits) in FINENESS {
        let (grid, above) = Grid::of(sweeps, x, y, pixels, &keep);
        let png = grid.encode(bits)?;
        let fits = png.len() <= bytes_max;
        last = Some(Cloud { uri: format!("data:image/png;base64,{}", STANDARD.encode(&png)), above });
        if fits {
            break;
        }
    }
    last
}

/// How many points fell on each pixel.
struct Grid {
    width: usize,
    height: usize,
    counts: Vec<u32>,
}

impl Grid {
    fn of(
        sweeps: &[Sweep<'_>],
        x: &Axis,
        y: &Axis,
        pixels: f64,
        keep: &impl Fn(f64, f64) -> bool,
    ) -> (Grid, usize) {
        let width = ((x.to - x.from).abs() * pixels).round().max(1.0) as usize;
        let height = ((y.to - y.from).abs() * pixels).round().max(1.0) as usize;
        let mut grid = Grid { width, height, counts: vec![0; width * height] };
        let points: usize = sweeps.iter().map(|s| s.values.len()).sum();
        // A lone point must be seen: about two units wide when there are few, one pixel when there are many.
        let size = match points {
            0..4_000 => 2.0,
            4_000..40_000 => 1.4,
            _ => 0.8,
        };
        let size = ((size * pixels).round() as usize).max(1);
        let left = x.from.min(x.to);
        let top = y.from.min(y.to);
        let mut above = 0;
        for sweep in sweeps {
            for (i, &value) in sweep.values.iter().enumerate() {
                let n = sweep.n(i) as f64;
                if !value.is_finite() || !keep(n, value) {
                    continue;
                }
                above += usize::from(value > y.high);
                let at_x = (x.place(n) - left) * pixels;
                let at_y = (y.place(value.min(y.high)) - top) * pixels;
                grid.stamp(at_x, at_y, size);
            }
        }
        (grid, above)
    }

    /// A square of `size` pixels around a place, kept inside the picture.
    fn stamp(&mut self, x: f64, y: f64, size: usize) {
        let start = |at: f64, extent: usize| {
            let at = (at - (size as f64 - 1.0) / 2.0).round().max(0.0) as usize;
            at.min(extent.saturating_sub(size))
        };
        let (x0, y0) = (start(x, self.width), start(y, self.height));
        for row in y0..(y0 + size).min(self.height) {
            for cell in
                &mut self.counts[row * self.width + x0..row * self.width + (x0 + size).min(self.width)]
            {
                *cell = cell.saturating_add(1);
            }
        }
    }

    /// Grey by the logarithm of the count: one point is seen, and the densest spots are not all alike.
    fn encode(&self, bits: u8) -> Option<Vec<u8>> {
        let mut filled: Vec<u32> = self.counts.iter().copied().filter(|c| *c > 0).collect();
        filled.sort_unstable();
        let dense = filled.get(filled.len() * 98 / 100).copied().unwrap_or(1).max(2);
        let levels = f64::from((1u16 << bits) - 1);
        let faintest = 0.36f64;
        let level = |count: u32| -> u8 {
            if count == 0 {
                return 0;
            }
            let share = (f64::from(count).ln() / f64::from(dense).ln()).min(1.0);
            ((faintest + (1.0 - faintest) * share) * levels).round().max(1.0) as u8
        };
        let per_byte = usize::from(8 / bits);
        let mut packed = Vec::with_capacity(self.height * self.width.div_ceil(per_byte));
        for row in self.counts.chunks(self.width) {
            for group in row.chunks(per_byte) {
                let mut byte = 0u8;
                for (i, count) in group.iter().enumerate() {
                    byte |= level(*count) << (8 - usize::from(bits) * (i + 1));
                }
                packed.push(byte);
            }
        }
        let mut png = Vec::new();
        let mut encoder = Encoder::new(&mut png, self.width as u32, self.height as u32);
        encoder.set_color(ColorType::Grayscale);
        encoder.set_depth(if bits == 4 { BitDepth::Four } else { BitDepth::Two });
        encoder.set_compression(Compression::High);
        // Filters predict from neighbouring bytes; here a byte is two or four pixels of noise.
        encoder.set_filter(Filter::NoFilter);
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(&packed).ok()?;
        writer.finish().ok()?;
        Some(png)
    }
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
        let (grid, above) = Grid::of(&[sweep], &x, &y, 1.0, &|_, _| true);
        assert_eq!(above, 1);
        assert_eq!(grid.counts.iter().map(|c| *c as usize).sum::<usize>(), 4 * 2 * 2);
        assert!(
            draw(&[sweep], &x, &y, 10_000, |_, _| true)
                .is_some_and(|c| c.uri.starts_with("data:image/png;base64,"))
        );
    }
}
