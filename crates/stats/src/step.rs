//! Steps, jumps between neighbouring n: whether there is one, where exactly, and how high.
//!
//! A shape with steps fits any bend better than one without. Therefore a step must pass gates, which look at
//! the trials one by one, close to its place, before it is reported.

use crate::block::{column, log_medians, pieces};
use crate::centre::{Centre, Student, exp, mean, tails};
use crate::finding::Step;
use crate::sweep::Sweep;

/// Jumps below this are not reported, however certain.
pub(crate) const LEAST: f64 = 0.05;
/// Nor jumps of fewer ticks of the clock.
const TICKS: f64 = 3.0;
/// Share of the trials that must jump the same way.
const AGREEMENT: f64 = 0.8;
/// Chance, within a trial, that a block after the jump lies on the right side of one before it (the
/// probability of superiority, Grissom & Kim, Effect Sizes, 2005, ch. 5).
const SUPERIORITY: f64 = 0.9;
/// Blocks on either side that take part.
pub(crate) const NEAR: usize = 3;
/// Pieces of a close-up.
const PIECES: usize = 48;
/// Close-ups, each of the place that the last one left open.
const ROUNDS: usize = 4;
/// How surely a place is excluded.
const EXCLUDED: f64 = 0.05;
/// How surely a jump must describe the close-up better than a slope.
const SHARP: f64 = 0.05;

/// Where to look.
pub(crate) struct Site<'a> {
    pub(crate) trials: &'a [Sweep<'a>],
    /// The n of a trial, rising.
    pub(crate) sizes: &'a [u64],
    /// Places in `sizes` between which the jump lies.
    pub(crate) window: (usize, usize),
    /// The smooth part of the shape, in logarithms, at any n.
    pub(crate) smooth: &'a dyn Fn(f64) -> f64,
    /// Duration of one tick of the clock as a share of the cost here.
    pub(crate) tick: f64,
    /// Error rate, and among how many places the jump was searched.
    pub(crate) alpha: f64,
    pub(crate) positions: usize,
}

/// The jump at this site, if every gate accepts one.
pub(crate) fn find(site: &Site<'_>) -> Option<Step> {
    let (start, end) = site.window;
    let near = CloseUp::of(site, start, end)?;
    let split = near.split()?;
    let jumps = near.jumps(split);
    let centre = Centre::of(&jumps)?;
    let height = centre.value.abs();
    let same = |jump: &&f64| jump.signum() == centre.value.signum();
    let agreement = jumps.iter().filter(same).count() as f64 / jumps.len() as f64;
    let accepted = height >= LEAST.ln_1p()
        && height >= TICKS * site.tick
        && agreement >= AGREEMENT
        && tails(centre.value / centre.error, centre.freedom) < site.alpha / site.positions as f64
        && near.superiority(split, centre.value) >= SUPERIORITY
        && near.is_sharp(split);
    if !accepted {
        return None;
    }
    let (n, n_low, n_high) = near.place(site);
    Some(Step { n, n_low, n_high, ratio: exp(centre.interval(&Student::of(site.alpha))), agreement })
}

/// The trials around a place, cut into pieces, the smooth part left aside.
struct CloseUp {
    /// Places in the site's sizes where each piece begins and ends.
    pieces: Vec<(usize, usize)>,
    /// A row per trial, a column per piece, less the mean of the row.
    rows: Vec<Vec<f64>>,
    means: Vec<f64>,
    /// Every piece is one n.
    finest: bool,
}

impl CloseUp {
    fn of(site: &Site<'_>, start: usize, end: usize) -> Option<CloseUp> {
        let sizes = site.sizes;
        let pieces = pieces(sizes, (start, end), PIECES);
        let ranges: Vec<(u64, u64)> =
            pieces.iter().map(|(start, end)| (sizes[*start], sizes[*end - 1])).collect();
        let middle = |range: &(u64, u64)| (range.0 as f64).midpoint(range.1 as f64);
        let smooth: Vec<f64> = ranges.iter().map(|range| (site.smooth)(middle(range))).collect();
        let mut rows = log_medians(site.trials, &ranges, 0.0);
        rows.retain(|row| row.iter().all(|value| value.is_finite()));
        for row in &mut rows {
            row.iter_mut().zip(&smooth).for_each(|(value, smooth)| *value -= smooth);
            let level = mean(row);
            row.iter_mut().for_each(|value| *value -= level);
        }
        if rows.len() < 2 || pieces.len() < 2 {
            return None;
        }
        let means = (0..pieces.len())
            .filter_map(|piece| Centre::of(&column(&rows, piece)))
            .map(|centre| centre.value)
            .collect();
        let finest = ranges.iter().all(|(low, high)| low == high);
        Some(CloseUp { pieces, rows, means, finest })
    }

    /// The first piece after the jump, where two levels describe the means best.
    fn split(&self) -> Option<usize> {
        let count = self.means.len();
        let least = (count / 12).max(1);
        let gain = |split: usize| {
            let (left, right) = self.means.split_at(split);
            let weight = (left.len() * right.len()) as f64 / count as f64;
            weight * (mean(right) - mean(left)).powi(2)
        };
        (least..=count.checked_sub(least)?).max_by(|a, b| gain(*a).total_cmp(&gain(*b)))
    }

    /// Height of the jump in each trial. A piece that holds the jump itself belongs to neither side.
    fn jumps(&self, split: usize) -> Vec<f64> {
        let of = |row: &Vec<f64>| {
            let (left, right) = row.split_at(split);
            let left = if left.len() > 2 { &left[..left.len() - 1] } else { left };
            let right = if right.len() > 2 { &right[1..] } else { right };
            mean(right) - mean(left)
        };
        self.rows.iter().map(of).collect()
    }

    /// Chance that a stretch after the jump lies on the jump's side of one before, within a trial. Stretches
    /// are thirds of a side: about the blocks that the jump was found in.
    fn superiority(&self, split: usize, jump: f64) -> f64 {
        let thirds = |side: &[f64]| -> Vec<f64> {
            let count = side.len().min(NEAR);
            (0..count)
                .map(|third| mean(&side[third * side.len() / count..(third + 1) * side.len() / count]))
                .collect()
        };
        let (mut superior, mut pairs) = (0_u32, 0_u32);
        for row in &self.rows {
            let (left, right) = row.split_at(split);
            let right = thirds(right);
            for before in thirds(left) {
                superior += right.iter().filter(|after| (**after - before) * jump > 0.0).count() as u32;
                pairs += right.len() as u32;
            }
        }
        f64::from(superior) / f64::from(pairs.max(1))
    }

    /// Whether two levels describe the trials better, for certain, than a slope does.
    fn is_sharp(&self, split: usize) -> bool {
        let count = self.means.len();
        if count < 4 {
            return false;
        }
        let middle = (count as f64 - 1.0) / 2.0;
        let squares: f64 = (0..count).map(|piece| (piece as f64 - middle).powi(2)).sum();
        let products: f64 =
            self.means.iter().enumerate().map(|(piece, mean)| (piece as f64 - middle) * mean).sum();
        let slope: Vec<f64> = (0..count).map(|piece| products / squares * (piece as f64 - middle)).collect();
        self.is_better(&self.levels(split), &slope, SHARP)
    }

    /// The two levels, their mean left aside.
    fn levels(&self, split: usize) -> Vec<f64> {
        let (left, right) = self.means.split_at(split);
        let (low, high) = (mean(left), mean(right));
        let whole = mean(&self.means);
        (0..self.means.len()).map(|piece| if piece < split { low } else { high } - whole).collect()
    }

    /// Whether `one` lies nearer to the trials than `other`, for certain (Vuong, Econometrica 57, 1989, with
    /// trials for observations).
    fn is_better(&self, one: &[f64], other: &[f64], level: f64) -> bool {
        let far = |row: &Vec<f64>, shape: &[f64]| -> f64 {
            row.iter().zip(shape).map(|(value, fitted)| (value - fitted).powi(2)).sum()
        };
        let gains: Vec<f64> = self.rows.iter().map(|row| far(row, other) - far(row, one)).collect();
        Centre::of(&gains).is_some_and(|centre| {
            centre.value > 0.0 && tails(centre.value / centre.error, centre.freedom) < 2.0 * level
        })
    }

    /// The pieces at which the jump may be, as far as the trials tell.
    fn possible(&self, split: usize) -> (usize, usize) {
        let best = self.levels(split);
        let open = |other: &usize| {
            *other == split || !self.is_better(&best, &self.moved(split, *other), EXCLUDED / 2.0)
        };
        let count = self.means.len();
        let low = (1..=split).find(open).unwrap_or(split);
        let high = (split..count).rev().find(open).unwrap_or(split);
        (low, high)
    }

    /// The levels of one split with the jump at another.
    fn moved(&self, split: usize, other: usize) -> Vec<f64> {
        let (left, right) = self.means.split_at(split);
        let (low, high) = (mean(left), mean(right));
        let level = |piece: usize| if piece < other { low } else { high };
        let whole = mean(&(0..self.means.len()).map(level).collect::<Vec<f64>>());
        (0..self.means.len()).map(|piece| level(piece) - whole).collect()
    }

    /// The first n after the jump, with the smallest and the largest that it may be: close-up after close-up
    /// of what is open.
    fn place(self, site: &Site<'_>) -> (u64, u64, u64) {
        let mut near = self;
        let mut found;
        let mut round = 0;
        loop {
            let Some(split) = near.split() else { break (0, 0, 0) };
            let (low, high) = near.possible(split);
            let count = near.pieces.len();
            let n = |place: usize| site.sizes[place.min(site.sizes.len() - 1)];
            // Inside the pieces on either side nothing was looked at.
            let inside = usize::from(!near.finest);
            let before = near.pieces[low - inside.min(low)].0 + inside;
            let after = near.pieces[high].1 - 1;
            let after = if near.finest { near.pieces[high].0 } else { after };
            found = (n(near.pieces[split].0), n(before), n(after));
            round += 1;
            let window = (near.pieces[low.saturating_sub(2)].0, near.pieces[(high + 2).min(count) - 1].1);
            let width = near.pieces[count - 1].1 - near.pieces[0].0;
            if near.finest || round == ROUNDS || window.1 - window.0 >= width {
                break found;
            }
            match CloseUp::of(site, window.0, window.1) {
                Some(nearer) => near = nearer,
                None => break found,
            }
        }
    }
}
