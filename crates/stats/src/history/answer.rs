//! The result of a fold: segments with levels, the ratios of changes from what is known by now, and slow
//! drift.
//!
//! A drift is the slope per year of a level that wanders, by generalised least squares. A night is level +
//! noise; the level moves by a slope and a random walk (the local linear trend of Harvey, Forecasting,
//! Structural Time Series Models and the Kalman Filter, 1989, §2.3.2), and starts anew in each segment. The
//! slope is a regressor that the filter carries along (de Jong, Ann. Stat. 19, 1991). How much the level
//! wanders is not known: the answer is a mean over a grid of ratios of the two variances, weighted by their
//! likelihood, because the most likely one is often 0, and its interval too narrow.

use crate::block::median;
use crate::centre::{Centre, Interval, Student, exp};
use crate::curve::CholeskyFactor;
use crate::dependence::inflation;
use crate::gate::Decision;
use crate::history::evidence::Track;
use crate::history::fold::{ALPHA, HistoryFold};
use crate::history::{
    LEVEL_NIGHTS, LevelChange, LevelHistory, LevelSegment, SeriesLevels, YEARLY_DRIFT, YearlyDrift,
};

/// Fewer nights take their error from the noise of the series.
const FEW: usize = 6;

impl HistoryFold {
    /// The history up to the newest night.
    pub fn answer(&self) -> LevelHistory {
        let series = (0..self.logs.len()).map(|series| self.series(series)).collect();
        let changes = self.changes().iter().map(|change| self.updated(change)).collect();
        let machine_drifts = (0..self.machines.len()).map(|machine| self.machine_drift(machine)).collect();
        LevelHistory { series, machine_drifts, changes, suspected: self.suspected().to_vec() }
    }

    fn series(&self, series: usize) -> SeriesLevels {
        let machines = 0..self.machines.len();
        let starts: Vec<Vec<usize>> =
            machines.clone().map(|machine| self.starts(Some(series), machine)).collect();
        let most =
            machines.clone().max_by_key(|machine| self.ran.iter().filter(|ran| *ran == machine).count());
        let noise = most.map_or(f64::NAN, |machine| self.machines[machine].tracks[series].noise.deviation);
        let of_machine = |machine: usize| {
            let starts = &starts[machine];
            let ends = starts.iter().skip(1).copied().chain([self.days.len()]);
            starts
                .iter()
                .zip(ends)
                .filter_map(move |(first, end)| self.segment(series, machine, (*first, end)))
        };
        let track = |machine: &usize| &self.machines[*machine].tracks[series];
        let own: Vec<f64> =
            self.ran.iter().enumerate().map(|(night, machine)| track(machine).values[night]).collect();
        let segments: Vec<LevelSegment> = machines.flat_map(of_machine).collect();
        let drift = drift(&self.days, &own, &self.ran, &starts);
        let mut steady = own;
        segments.iter().for_each(|segment| self.level_with_machine(segment, &mut steady));
        SeriesLevels { segments, drift, steady, noise }
    }

    /// Adds the mean of the common part to the nights of a segment, so that they lie around its level.
    fn level_with_machine(&self, segment: &LevelSegment, steady: &mut [f64]) {
        let shared = &self.machines[segment.machine].shared.values;
        let nights = segment.first..=segment.last;
        let nights: Vec<usize> = nights
            .filter(|night| self.ran[*night] == segment.machine && steady[*night].is_finite())
            .collect();
        let part = |night: &usize| if shared[*night].is_finite() { shared[*night] } else { 0.0 };
        let mean = nights.iter().map(part).sum::<f64>() / nights.len().max(1) as f64;
        nights.iter().for_each(|night| steady[*night] += mean);
    }

    fn machine_drift(&self, machine: usize) -> Option<YearlyDrift> {
        let starts: Vec<Vec<usize>> = (0..self.machines.len())
            .map(|other| if other == machine { self.starts(None, machine) } else { Vec::new() })
            .collect();
        drift(&self.days, &self.machines[machine].shared.values, &self.ran, &starts)
    }

    /// First nights of the segments of a series, or of the common part, on a machine.
    fn starts(&self, series: Option<usize>, machine: usize) -> Vec<usize> {
        self.starts_with(machine, |change| match change.series {
            None => change.machine == machine,
            own => own == series,
        })
    }

    /// The same with the changes that are its own.
    fn starts_with(&self, machine: usize, is_own: impl Fn(&LevelChange) -> bool) -> Vec<usize> {
        let epochs = self.epochs.iter().filter(|epoch| epoch.1 == machine).map(|epoch| epoch.0);
        let first = epochs.clone().min().unwrap_or(0);
        let changes = self.changes.iter().filter(|change| is_own(change)).map(|change| change.from);
        let mut starts: Vec<usize> = epochs.chain(changes.filter(|from| *from > first)).collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    fn segment(&self, series: usize, machine: usize, (first, end): (usize, usize)) -> Option<LevelSegment> {
        let nights = (first..end).filter(|night| self.ran[*night] == machine);
        let logs: Vec<f64> =
            nights.map(|night| self.logs[series][night]).filter(|log| log.is_finite()).collect();
        let centre = Centre::new(&logs)?;
        let own = self.machines[machine].tracks[series].noise;
        let reach = if logs.len() < FEW {
            let noise = own.deviation.hypot(self.machines[machine].shared.noise.deviation);
            noise * Student::new(ALPHA).critical(own.freedom) / (logs.len() as f64).sqrt()
        } else {
            centre.reach(&Student::new(ALPHA)) * inflation(&logs).sqrt()
        };
        let level = Interval::around(centre.value, reach);
        let starts_epoch = self.epochs.contains(&(first, machine));
        Some(LevelSegment { machine, first, last: end - 1, measured: logs.len(), level, starts_epoch })
    }

    /// The change with the ratio of the nights around it. Only these, because a level wanders. The common
    /// part of a new system may be the system's, and stays in, with its changes.
    fn updated(&self, change: &LevelChange) -> LevelChange {
        let machine = &self.machines[change.machine];
        let starts = self.starts(change.series, change.machine);
        let ratio = match change.series {
            None => ratio(&machine.shared, change, &starts),
            Some(series) if self.systems.contains(&(change.from, change.machine)) => {
                let own = self.starts_with(change.machine, |other| other.series == Some(series));
                ratio(&machine.tracks[series].with(&machine.shared), change, &own)
            }
            Some(series) => ratio(&machine.tracks[series], change, &starts),
        };
        let ratio = ratio.map_or(change.ratio, exp);
        LevelChange { ratio, ..*change }
    }
}

/// Between the segments of a track around a change.
fn ratio(track: &Track, change: &LevelChange, starts: &[usize]) -> Option<Interval> {
    let place = starts.iter().position(|start| *start == change.from)?;
    let before = starts[place.checked_sub(1)?];
    let end = starts.get(place + 1).copied().unwrap_or(track.values.len());
    let old = track.level(before, change.from)?;
    let new = track.level(change.from, end.min(change.from + LEVEL_NIGHTS))?;
    let error = track.noise.deviation * (old.variance + new.variance).sqrt();
    let reach = error * Student::new(ALPHA).critical(track.noise.freedom);
    Some(Interval::around(new.log - old.log, reach))
}

const YEAR: f64 = 365.25;
/// Fewer nights, or days, do not show a drift per year.
const NIGHTS: usize = 10;
const DAYS: f64 = 30.0;
/// The largest variance of the walk in one day as a share of that of the noise of a night, and how often it
/// is halved; with none at all, this is the grid.
const MOST: f64 = 0.25;
const WALKS: i32 = 14;
/// Nights farther than so many median deviations from those around them are left out: three standard
/// deviations of a normal distribution.
const CLIP: f64 = 4.5;
/// Share of the drift that matters from which an estimate counts as one: a level that wanders without a drift
/// may end half as far away.
const NEARER: f64 = 0.6;
/// Error (logarithm per year) of the common part, against which a series drifts: it rests on levels that rest
/// on it. In simulated years intervals without it hold the truth in 87 to 91 %.
const COMMON: f64 = 0.0075;
/// Nights on each side that are around one.
const AROUND: usize = 15;

/// The drift of a series that machine `ran[night]` measured, whose segments on each machine begin with the
/// nights `starts`.
fn drift(days: &[f64], logs: &[f64], ran: &[usize], starts: &[Vec<usize>]) -> Option<YearlyDrift> {
    let measured: Vec<usize> = (0..logs.len()).filter(|night| logs[*night].is_finite()).collect();
    let (first, last) = (measured.first()?, measured.last()?);
    if measured.len() < NIGHTS || days[*last] - days[*first] < DAYS {
        return None;
    }
    let pieces: Vec<Vec<(f64, f64)>> = starts
        .iter()
        .enumerate()
        .flat_map(|(machine, starts)| {
            let ends = starts.iter().skip(1).copied().chain([logs.len()]);
            starts.iter().zip(ends).map(move |(first, end)| {
                let nights = (*first..end).filter(|night| ran[*night] == machine && logs[*night].is_finite());
                nights.map(|night| (days[night], logs[night])).collect()
            })
        })
        .collect();
    let mut pieces = usual(&pieces);
    pieces.retain(|piece| !piece.is_empty());
    let of_piece = |(place, piece): (usize, &Vec<(f64, f64)>)| -> Vec<(f64, f64, usize)> {
        piece.iter().map(|(day, log)| (*day, *log, place)).collect()
    };
    let mut nights: Vec<(f64, f64, usize)> = pieces.iter().enumerate().flat_map(of_piece).collect();
    nights.sort_by(|a, b| a.0.total_cmp(&b.0));
    let walks = std::iter::once(0.0).chain((0..WALKS).map(|power| MOST * 0.5_f64.powi(power)));
    let fits: Vec<Fit> = walks.filter_map(|walk| fit(&nights, pieces.len(), walk)).collect();
    let best = fits.iter().map(|fit| fit.likelihood).fold(f64::NEG_INFINITY, f64::max);
    let weight = |fit: &Fit| (fit.likelihood - best).exp();
    let all: f64 = fits.iter().map(weight).sum();
    let slope = fits.iter().map(|fit| weight(fit) * fit.slope).sum::<f64>() / all;
    let square = |fit: &Fit| weight(fit) * (fit.variance + (fit.slope - slope).powi(2));
    let error = (fits.iter().map(square).sum::<f64>() / all).sqrt().hypot(COMMON);
    let freedom = nights.len().checked_sub(pieces.len() + 1).filter(|freedom| *freedom > 0)?;
    let reach = error * Student::new(ALPHA).critical(freedom as f64);
    if !reach.is_finite() {
        return None;
    }
    let logs = Interval::around(slope, reach);
    let decision = if (logs.low > 0.0 || logs.high < 0.0) && slope.abs() > NEARER * YEARLY_DRIFT {
        Decision::Certain
    } else if logs.low > -YEARLY_DRIFT && logs.high < YEARLY_DRIFT {
        Decision::Excluded
    } else {
        Decision::Undecided
    };
    Some(YearlyDrift { ratio: exp(logs), decision })
}

/// The pieces without nights that lie far from those around them, on which a neighbour came.
fn usual(pieces: &[Vec<(f64, f64)>]) -> Vec<Vec<(f64, f64)>> {
    let apart = |piece: &[(f64, f64)]| -> Vec<f64> {
        let around = |place: usize| {
            let near = &piece[place.saturating_sub(AROUND)..piece.len().min(place + AROUND + 1)];
            median(&mut near.iter().map(|night| night.1).collect::<Vec<f64>>()).unwrap_or(f64::NAN)
        };
        (0..piece.len()).map(|place| (piece[place].1 - around(place)).abs()).collect()
    };
    let apart: Vec<Vec<f64>> = pieces.iter().map(|piece| apart(piece)).collect();
    let reach = CLIP * median(&mut apart.concat()).unwrap_or(0.0);
    let keep = |(piece, apart): (&Vec<(f64, f64)>, &Vec<f64>)| {
        let kept = piece.iter().zip(apart).filter(|(_, apart)| **apart <= reach);
        kept.map(|(night, _)| *night).collect()
    };
    pieces.iter().zip(&apart).map(keep).collect()
}

struct Fit {
    /// Logarithm per year.
    slope: f64,
    variance: f64,
    likelihood: f64,
}

/// The filter for one ratio of variances. All machines share the walk; each piece has a level of its own
/// beside it, which is a regressor as the slope is. `nights` are (day, log, piece), in order.
fn fit(nights: &[(f64, f64, usize)], pieces: usize, walk: f64) -> Option<Fit> {
    let first = nights.first()?.0;
    // The columns are the pieces, the slope, and the logarithms.
    let (slope, log) = (pieces, pieces + 1);
    let mut levels = vec![0.0; pieces + 2];
    let mut products = vec![vec![0.0; pieces + 2]; pieces + 2];
    let (mut variance, mut last, mut determinants) = (0.0, first, 0.0);
    for night in nights {
        let mut row = vec![0.0; pieces + 2];
        (row[night.2], row[slope], row[log]) = (1.0, (night.0 - first) / YEAR, night.1);
        variance += walk * (night.0 - last);
        last = night.0;
        let total: f64 = variance + 1.0;
        let gain = variance / total;
        row.iter_mut().zip(&levels).for_each(|(value, level)| *value -= level);
        levels.iter_mut().zip(&row).for_each(|(level, error)| *level += gain * error);
        for (products, own) in products.iter_mut().zip(&row) {
            products.iter_mut().zip(&row).for_each(|(product, other)| *product += own * other / total);
        }
        determinants += total.ln();
        variance *= 1.0 - gain;
    }
    let freedom = nights.len().checked_sub(pieces + 1).filter(|freedom| *freedom > 0)? as f64;
    let rows = products[..=slope].iter().enumerate().map(|(place, row)| row[..=place].to_vec());
    let factor = CholeskyFactor::new(rows.collect())?;
    let solved = factor.solve(&products[log][..=slope]);
    let explained: f64 = solved.iter().zip(&products[log]).map(|(one, other)| one * other).sum();
    let noise = (products[log][log] - explained) / freedom;
    let mut unit = vec![0.0; pieces + 1];
    unit[slope] = 1.0;
    let variance = noise * factor.solve(&unit)[slope];
    let likelihood = -0.5 * (freedom * noise.ln() + determinants) - factor.half_log_determinant();
    (noise > 0.0).then_some(Fit { slope: solved[slope], variance, likelihood })
}
