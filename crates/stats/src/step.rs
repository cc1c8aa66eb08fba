//! Steps, jumps between neighbouring n (their existence, place and height), and turns, changes of direction.
//!
//! A shape with steps fits any bend better than one without. Therefore a step must pass gates before it is
//! reported; they examine single trials close to its place. A turn needs no shape.

use crate::block::{column, log_medians, pieces};
use crate::centre::{Centre, Student, exp, mean};
use crate::sweep::Sweep;
use crate::verdict::{Step, Turn};

/// Jumps below this are not reported, however certain.
const LEAST: f64 = 0.05;
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
/// The most close-ups, each of the place that the last one left open.
const ROUNDS: usize = 4;
/// The confidence with which a place is excluded.
const EXCLUDED: f64 = 0.05;
/// A rise within this factor of n, or between two neighbouring n, is a jump.
const NARROW: f64 = 1.35;

/// The site of a search.
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
    let near = CloseUp::new(site, start, end)?;
    let split = near.split()?;
    let jumps = near.jumps(split);
    let centre = Centre::new(&jumps)?;
    let height = centre.value.abs();
    let same = |jump: &&f64| jump.signum() == centre.value.signum();
    let agreement = jumps.iter().filter(same).count() as f64 / jumps.len() as f64;
    let accepted = height >= LEAST.ln_1p()
        && height >= TICKS * site.tick
        && agreement >= AGREEMENT
        && centre.is_beyond(site.alpha / site.positions as f64)
        && near.superiority(split, centre.value) >= SUPERIORITY
        && near.is_sharp(site);
    if !accepted {
        return None;
    }
    let (n, n_low, n_high) = near.place(site);
    Some(Step { n, n_low, n_high, ratio: exp(centre.interval(&Student::new(site.alpha))), agreement })
}

/// A level up to one piece, another from a later piece on, and a straight way between them.
struct Ramp {
    /// The first piece that is not on the first level, and the first on the second.
    from: usize,
    to: usize,
    levels: [f64; 2],
    /// Squared distance of the means.
    distance: f64,
}

impl Ramp {
    fn new(means: &[f64], from: usize, to: usize) -> Ramp {
        let mut ramp = Ramp { from, to, levels: [0.0; 2], distance: 0.0 };
        // Least squares of 1 - share and share.
        let [mut both, mut first, mut second, mut low, mut high] = [0.0; 5];
        for (piece, mean) in means.iter().enumerate() {
            let share = ramp.share(piece);
            first += (1.0 - share).powi(2);
            second += share.powi(2);
            both += share * (1.0 - share);
            low += (1.0 - share) * mean;
            high += share * mean;
        }
        let all = first * second - both * both;
        ramp.levels = [(low * second - high * both) / all, (high * first - low * both) / all];
        let [low, high] = ramp.levels;
        let far = |(piece, mean): (usize, &f64)| (mean - low - (high - low) * ramp.share(piece)).powi(2);
        ramp.distance = means.iter().enumerate().map(far).sum();
        ramp
    }

    /// How much of the rise has been made at a piece.
    fn share(&self, piece: usize) -> f64 {
        if piece < self.from {
            0.0
        } else if piece >= self.to {
            1.0
        } else {
            (piece + 1 - self.from) as f64 / (self.to + 1 - self.from) as f64
        }
    }
}

/// The trials around a place, cut into pieces, without the smooth part.
struct CloseUp {
    /// Places in the site's sizes where each piece begins and ends.
    pieces: Vec<(usize, usize)>,
    /// The smooth part of the shape at each.
    smooth: Vec<f64>,
    /// A row per trial, a column per piece, less the smooth part and the mean of the row.
    rows: Vec<Vec<f64>>,
    means: Vec<f64>,
    /// Every piece is one n.
    finest: bool,
}

impl CloseUp {
    fn new(site: &Site<'_>, start: usize, end: usize) -> Option<CloseUp> {
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
            .filter_map(|piece| Centre::new(&column(&rows, piece)))
            .map(|centre| centre.value)
            .collect();
        let finest = ranges.iter().all(|(low, high)| low == high);
        Some(CloseUp { pieces, smooth, rows, means, finest })
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

    /// Whether a jump describes the trials better than any rise over several n: a transition of free width,
    /// such as a bend or a sigmoid.
    fn is_sharp(&self, site: &Site<'_>) -> bool {
        if self.means.len() < 4 {
            return false;
        }
        let ramps = self.ramps();
        let best = |narrow: bool| {
            let alike = ramps.iter().filter(|ramp| self.is_narrow(ramp, site) == narrow);
            alike.min_by(|a, b| a.distance.total_cmp(&b.distance))
        };
        match (best(true), best(false)) {
            (Some(jump), Some(rise)) => jump.distance < rise.distance && self.is_seen(jump),
            _ => false,
        }
    }

    /// Whether the jump exists before the smooth part is removed; a piece on either side may hold it.
    fn is_seen(&self, jump: &Ramp) -> bool {
        let whole = |piece: usize| self.means[piece] + self.smooth[piece];
        let height = jump.levels[1] - jump.levels[0];
        let (before, after) = (jump.from.saturating_sub(2), (jump.to + 1).min(self.means.len() - 1));
        (whole(after) - whole(before)) * height.signum() >= height.abs() / 2.0
    }

    fn is_narrow(&self, ramp: &Ramp, site: &Site<'_>) -> bool {
        let n = |place: usize| site.sizes[place] as f64;
        let (before, after) = (n(self.pieces[ramp.from - 1].1 - 1), n(self.pieces[ramp.to].0));
        ramp.from == ramp.to || after <= NARROW * before
    }

    /// Every rise from one level to another, jumps among them, each with the levels that fit the means best.
    fn ramps(&self) -> Vec<Ramp> {
        let count = self.means.len();
        (1..count).flat_map(|from| (from..count).map(move |to| Ramp::new(&self.means, from, to))).collect()
    }

    /// A rise at each piece, its mean left aside.
    fn along(&self, ramp: &Ramp) -> Vec<f64> {
        let count = self.means.len();
        let [low, high] = ramp.levels;
        let values: Vec<f64> = (0..count).map(|piece| low + (high - low) * ramp.share(piece)).collect();
        let whole = mean(&values);
        values.iter().map(|value| value - whole).collect()
    }

    /// Whether `one` lies nearer to the trials than `other`, for certain (Vuong, Econometrica 57, 1989, with
    /// trials for observations).
    fn is_better(&self, one: &[f64], other: &[f64], level: f64) -> bool {
        let far = |row: &Vec<f64>, shape: &[f64]| -> f64 {
            row.iter().zip(shape).map(|(value, fitted)| (value - fitted).powi(2)).sum()
        };
        let gains: Vec<f64> = self.rows.iter().map(|row| far(row, other) - far(row, one)).collect();
        Centre::new(&gains).is_some_and(|centre| centre.value > 0.0 && centre.is_beyond(2.0 * level))
    }

    /// The first piece after the jump, and the pieces between which it may lie: a place that is not excluded
    /// may be a jump, or a rise as narrow as one.
    fn possible(&self, site: &Site<'_>) -> Option<(usize, usize, usize)> {
        let ramps = self.ramps();
        let narrow: Vec<&Ramp> = ramps.iter().filter(|ramp| self.is_narrow(ramp, site)).collect();
        let jumps = narrow.iter().filter(|ramp| ramp.from == ramp.to);
        let best = jumps.min_by(|a, b| a.distance.total_cmp(&b.distance))?;
        let along = self.along(best);
        let open: Vec<&&Ramp> =
            narrow.iter().filter(|ramp| !self.is_better(&along, &self.along(ramp), EXCLUDED / 2.0)).collect();
        let low = open.iter().map(|ramp| ramp.from).min().unwrap_or(best.from).min(best.from);
        let high = open.iter().map(|ramp| ramp.to).max().unwrap_or(best.to).max(best.to);
        Some((best.to, low, high))
    }

    /// The first n after the jump, with the smallest and the largest that it may be: by close-ups of the open
    /// range.
    fn place(self, site: &Site<'_>) -> (u64, u64, u64) {
        let mut near = self;
        let mut found;
        let mut round = 0;
        loop {
            let Some((split, low, high)) = near.possible(site) else { break (0, 0, 0) };
            let count = near.pieces.len();
            let n = |place: usize| site.sizes[place.min(site.sizes.len() - 1)];
            // The insides of the pieces on either side were not examined.
            let inside = usize::from(!near.finest);
            let before = near.pieces[low - inside.min(low)].0 + inside;
            let after = near.pieces[high].1 - 1;
            let after = if near.finest { near.pieces[high].0 } else { after };
            // Between the last n before the jump and the first after it nothing was measured.
            let first = before.checked_sub(1).map_or(n(before), |last| n(last) + 1);
            found = (n(near.pieces[split].0), first.min(n(before)), n(after));
            round += 1;
            let window = (near.pieces[low.saturating_sub(2)].0, near.pieces[(high + 2).min(count) - 1].1);
            let width = near.pieces[count - 1].1 - near.pieces[0].0;
            if near.finest || round == ROUNDS || window.1 - window.0 >= width {
                break found;
            }
            match CloseUp::new(site, window.0, window.1) {
                Some(nearer) => near = nearer,
                None => break found,
            }
        }
    }
}

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
        let mean = |place| Centre::new(&column(&smooth, place)).map_or(0.0, |centre| centre.value);
        let means: Vec<f64> = (0..count).map(mean).collect();
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
