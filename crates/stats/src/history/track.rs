//! One series on one machine over nights: its level before each night and how far nights lie from it.

use super::LEVEL_NIGHTS;
use crate::median::median;

/// Nights back to which a level reaches where many are missing: a level wanders.
const LEVEL_REACH: usize = 2 * LEVEL_NIGHTS;
/// Measured nights from which the noise of a series is estimated: a season, so that it can change.
const NOISE_NIGHTS: usize = 90;
/// Nights that the noise of the other series counts as. Real series of one run differ by a factor of ten, so
/// it counts for little (Smyth 2004, see `prior`).
const PRIOR: f64 = 3.0;
/// Share of the largest deviations that count as the next smaller one: a neighbour comes on one night in
/// twenty, and must not hide changes. More would hide that a series has two modes.
const WINSORISED: f64 = 0.05;
/// A level counts nights up to so many standard deviations from its median (Huber, Robust Statistics, 1981).
const HUBER: f64 = 2.5;
/// Nights of a level before nights are judged by it, and their deviations count as noise.
pub(super) const FEWEST: usize = 3;
/// Noise of a series before anything is known of it.
pub(super) const UNKNOWN: f64 = 0.05;

/// A level from the nights before another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    pub(super) log: f64,
    /// Nights that it rests on.
    pub(super) nights: usize,
    /// Its variance, as a share of that of one night.
    pub(super) variance: f64,
}

/// The noise of a series: standard deviation of a night, and the degrees of freedom of that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Noise {
    pub(super) deviation: f64,
    pub(super) freedom: f64,
}

/// A series, or the common part of all, on one machine.
#[derive(Clone, Debug)]
pub(super) struct Track {
    /// By night; not a number where it was not measured.
    pub(super) values: Vec<f64>,
    /// By night: how many times as far as usual all series scatter.
    pub(super) spreads: Vec<f64>,
    /// By night: the level before it.
    before: Vec<Option<Level>>,
    /// By night: the noise as it was known before it, so that a change does not count as noise.
    noises: Vec<Noise>,
    /// As it is known now.
    pub(super) noise: Noise,
    /// By night: the deviation from the level, as on a usual night.
    deviations: Vec<f64>,
    /// Nights whose deviations count as noise.
    pub(super) known: usize,
    /// First night of the segment.
    pub(super) start: usize,
}

impl Track {
    /// On a machine that did not run on so many nights.
    pub(super) fn new(nights: usize) -> Track {
        let noise = Noise { deviation: UNKNOWN, freedom: 0.0 };
        Track {
            values: vec![f64::NAN; nights],
            spreads: vec![1.0; nights],
            before: vec![None; nights],
            noises: vec![noise; nights],
            noise,
            deviations: vec![f64::NAN; nights],
            known: 0,
            start: nights,
        }
    }

    /// The same with the part that all series share.
    pub(super) fn with(&self, shared: &Track) -> Track {
        let sum = |(own, shared): (&f64, &f64)| own + if shared.is_finite() { *shared } else { 0.0 };
        let level = |(own, shared): (&Option<Level>, &Option<Level>)| {
            let (own, shared) = ((*own)?, (*shared)?);
            let nights = own.nights.min(shared.nights);
            Some(Level { log: own.log + shared.log, nights, variance: own.variance.max(shared.variance) })
        };
        let noise = |own: &Noise, shared: &Noise| Noise {
            deviation: own.deviation.hypot(shared.deviation),
            freedom: own.freedom.min(shared.freedom),
        };
        Track {
            values: self.values.iter().zip(&shared.values).map(sum).collect(),
            before: self.before.iter().zip(&shared.before).map(level).collect(),
            noises: self.noises.iter().zip(&shared.noises).map(|(own, shared)| noise(own, shared)).collect(),
            noise: noise(&self.noise, &shared.noise),
            start: self.start.max(shared.start),
            ..self.clone()
        }
    }

    /// Begins a segment with the next night.
    pub(super) fn begin(&mut self) {
        self.start = self.values.len();
    }

    /// Adds a night.
    pub(super) fn push(&mut self, value: f64, spread: f64) {
        let night = self.values.len();
        self.before.push(self.next());
        self.noises.push(self.noise);
        self.values.push(value);
        self.spreads.push(spread);
        let deviation = self.deviation(night);
        self.known += usize::from(deviation.is_finite());
        self.deviations.push(deviation);
    }

    /// Begins a segment with a night in the past.
    pub(super) fn restart(&mut self, from: usize) {
        let Some(noise) = self.noises.get(from) else { return };
        (self.start, self.noise) = (from, *noise);
        for night in from..self.values.len() {
            self.before[night] = self.level(from, night);
            self.noises[night] = self.noise;
            self.deviations[night] = self.deviation(night);
        }
        self.known = self.deviations.iter().filter(|deviation| deviation.is_finite()).count();
    }

    /// The level before a night of the current segment.
    pub(super) fn before(&self, night: usize) -> Option<Level> {
        self.before.get(night).copied().flatten().filter(|_| night > self.start)
    }

    /// The level before the next night.
    pub(super) fn next(&self) -> Option<Level> {
        self.level(self.start, self.values.len())
    }

    /// The noise that was known before a night.
    pub(super) fn noise_before(&self, night: usize) -> Noise {
        self.noises.get(night).copied().unwrap_or(self.noise)
    }

    /// The level of the last measured nights from one to before another.
    pub(super) fn level(&self, from: usize, to: usize) -> Option<Level> {
        let measured = || {
            let nights = from.max(to.saturating_sub(LEVEL_REACH))..to;
            nights.rev().filter(|night| self.values[*night].is_finite()).take(LEVEL_NIGHTS)
        };
        let mut values: Vec<f64> = measured().map(|night| self.values[night]).collect();
        let nights = values.len();
        let middle = median(&mut values)?;
        let reach = if nights < FEWEST { f64::INFINITY } else { HUBER * self.noise.deviation };
        let (mut sum, mut weights) = (0.0, 0.0);
        for night in measured() {
            let weight = self.spreads[night].powi(-2);
            sum += weight * (self.values[night] - middle).clamp(-reach, reach);
            weights += weight;
        }
        Some(Level { log: middle + sum / weights, nights, variance: 1.0 / weights })
    }

    fn deviation(&self, night: usize) -> f64 {
        match self.before(night) {
            Some(level) if level.nights >= FEWEST => {
                (self.values[night] - level.log) / (self.spreads[night].powi(2) + level.variance).sqrt()
            }
            _ => f64::NAN,
        }
    }

    /// The noise of its nights so far, `prior` being that of other series.
    pub(super) fn learned(&self, prior: f64) -> Noise {
        let last = self.deviations.iter().rev().filter(|deviation| deviation.is_finite());
        let mut squares: Vec<f64> = last.take(NOISE_NIGHTS).map(|deviation| deviation.powi(2)).collect();
        let count = squares.len();
        let cut = (count as f64 * WINSORISED) as usize;
        let place = count.checked_sub(cut + 1);
        let most = place.map_or(0.0, |place| *squares.select_nth_unstable_by(place, f64::total_cmp).1);
        let sum: f64 = squares.iter().map(|square| square.min(most)).sum();
        let freedom = count as f64 + PRIOR;
        Noise { deviation: ((sum + PRIOR * prior * prior) / freedom).sqrt(), freedom }
    }
}
