//! A curve in eight characters.

use stats::Verdict;

const GLYPHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The full height is at least this share of the lowest value, so that a flat cost looks flat.
const SPAN_MIN: f64 = 0.30;
/// From this factor on the height is logarithmic.
const LOGARITHMIC_FROM: f64 = 4.0;

/// The block medians over n, relative to the first blocks, as a line of at most eight glyphs.
pub(crate) fn line(verdict: &Verdict) -> String {
    of_heights(&heights(verdict, GLYPHS.len()))
}

/// A glyph for each height between 0 and 1.
pub(crate) fn of_heights(heights: &[f64]) -> String {
    heights.iter().map(|h| GLYPHS[(h * 7.0).round().clamp(0.0, 7.0) as usize]).collect()
}

/// Heights between 0 and 1 at no more than `columns` places.
pub(crate) fn heights(verdict: &Verdict, columns: usize) -> Vec<f64> {
    let values: Vec<f64> =
        verdict.blocks.iter().map(|b| b.relative.value).filter(|v| v.is_finite() && *v > 0.0).collect();
    let values = gathered(&values, columns);
    let low = values.iter().copied().fold(1.0, f64::min);
    let high = values.iter().copied().fold(1.0, f64::max);
    if high / low >= LOGARITHMIC_FROM {
        let span = (high / low).ln();
        return values.iter().map(|v| (v / low).ln() / span).collect();
    }
    let span = (high - low).max(SPAN_MIN * low);
    values.iter().map(|v| (v - low) / span).collect()
}

/// Neighbours put together by their geometric mean until there are no more than `columns`.
fn gathered(values: &[f64], columns: usize) -> Vec<f64> {
    let columns = columns.min(values.len());
    let bin = |i: usize| {
        let bin = &values[i * values.len() / columns..(i + 1) * values.len() / columns];
        (bin.iter().map(|v| v.ln()).sum::<f64>() / bin.len() as f64).exp()
    };
    (0..columns).map(bin).collect()
}
