//! The largest rise and fall of a cost of any shape: whether it has one direction.

use crate::centre::{Centre, Student, exp, mean};
use crate::finding::Turn;

/// Blocks on either side of a place that share its value, so that one block is no turn.
const BESIDE: usize = 1;

/// How a cost turns.
pub(crate) struct Ways {
    /// The largest turn, if it is certain on both sides and reaches the margin.
    pub(crate) turn: Option<Turn>,
    /// The largest reversal, by the means, on its way from end to end.
    pub(crate) back: f64,
}

impl Ways {
    /// From log medians, a row per trial; all places were looked at, so `alpha` is divided by their pairs.
    pub(crate) fn new(rows: &[Vec<f64>], middles: &[f64], alpha: f64, margin: f64) -> Ways {
        let smooth: Vec<Vec<f64>> = rows.iter().map(|row| smoothed(row)).collect();
        let count = middles.len();
        let means: Vec<f64> = (0..count)
            .map(|place| {
                Centre::new(&crate::block::column(&smooth, place)).map_or(0.0, |centre| centre.value)
            })
            .collect();
        let back = if means[count - 1] >= means[0] { back(&means) } else { back(&negative(&means)) };
        let student = Student::new(alpha / (count * count) as f64);
        let turns = [peak(&means), peak(&negative(&means))];
        let largest = turns.into_iter().flatten().max_by(|a, b| a.least.total_cmp(&b.least));
        let change = |from: usize, to: usize| {
            let changes: Vec<f64> = smooth.iter().map(|row| row[to] - row[from]).collect();
            Centre::new(&changes).map(|centre| centre.interval(&student))
        };
        let turn = largest.filter(|peak| peak.least >= margin).and_then(|peak| {
            let (before, after) = (change(peak.before, peak.at)?, change(peak.at, peak.after)?);
            let is_certain = before.low * before.high > 0.0 && after.low * after.high > 0.0;
            is_certain.then(|| Turn { n: middles[peak.at], before: exp(before), after: exp(after) })
        });
        Ways { turn, back }
    }
}

fn negative(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| -value).collect()
}

/// Means of neighbouring blocks.
fn smoothed(row: &[f64]) -> Vec<f64> {
    let near = |place: usize| &row[place.saturating_sub(BESIDE)..(place + BESIDE + 1).min(row.len())];
    (0..row.len()).map(|place| mean(near(place))).collect()
}

/// The most that values fall below one before them.
fn back(means: &[f64]) -> f64 {
    let fall = |(highest, most): (f64, f64), value: &f64| (highest.max(*value), most.max(highest - value));
    means.iter().fold((f64::NEG_INFINITY, 0.0), fall).1
}

/// A place above others on both sides of it.
struct Peak {
    at: usize,
    before: usize,
    after: usize,
    /// The lesser of its two heights.
    least: f64,
}

/// The place with the most on either side.
fn peak(means: &[f64]) -> Option<Peak> {
    let lowest = |range: std::ops::Range<usize>| range.min_by(|a, b| means[*a].total_cmp(&means[*b]));
    let of = |at: usize| {
        let (before, after) = (lowest(0..at)?, lowest(at + 1..means.len())?);
        let least = (means[at] - means[before]).min(means[at] - means[after]);
        Some(Peak { at, before, after, least })
    };
    (0..means.len()).filter_map(of).max_by(|a, b| a.least.total_cmp(&b.least))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(values: &[f64]) -> Vec<Vec<f64>> {
        (0..6)
            .map(|trial| values.iter().map(|value| value + 0.001 * f64::from(trial % 3)).collect())
            .collect()
    }

    #[test]
    fn a_hump_turns_and_a_rise_does_not() {
        let middles: Vec<f64> = (1..=9).map(f64::from).collect();
        let hump = [0.0, 0.0, 0.3, 0.9, 1.0, 0.9, 0.4, 0.2, 0.2];
        let ways = Ways::new(&rows(&hump), &middles, 0.05, 0.1);
        let turn = ways.turn.expect("a hump");
        assert_eq!(turn.n, 5.0);
        assert!(turn.before.value > 2.0 && turn.after.value < 0.6, "{turn:?}");
        assert!(ways.back > 0.5);
        let rise = [0.0, 0.1, 0.2, 0.5, 0.5, 0.6, 0.9, 1.0, 1.2];
        let ways = Ways::new(&rows(&rise), &middles, 0.05, 0.1);
        assert!(ways.turn.is_none() && ways.back < 1e-9);
    }
}
