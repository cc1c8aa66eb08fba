//! Whether the level of a series has changed, and since when: a generalised likelihood ratio over the nights
//! on which the change may have come (Lorden, Ann. Math. Stat. 42, 1971; Page's test, Biometrika 41, 1954, is
//! its case of a known size). Nights of all machines count, each against the level of its own: a `Track` is
//! one series on one machine, with its level before each night and how far nights lie from it.

use crate::block::median;
use crate::centre::tails;
use crate::history::{HistorySettings, LEVEL_NIGHTS};

/// Nights back to which a change may have come: of a series, and of the common part, which is more noisy. A
/// change that needs more of them is no larger than a drift.
pub(super) const REACH: usize = 14;
pub(super) const SHARED_REACH: usize = 28;
/// Standard deviations up to which a night of a series counts: one outlier is not enough for an alarm. The
/// common part has an outlier whenever a neighbour comes, and counts less.
const CLIP: f64 = 6.0;
const SHARED_CLIP: f64 = 2.5;
/// The threshold of no sensible budget is below so many standard errors.
const NEVER: f64 = 3.0;
/// Nights with a run.
pub(super) const NIGHTS_PER_YEAR: f64 = 365.0;
/// Overlapping tests of one night count as this many independent ones.
const TESTS: f64 = 3.0;
/// Standard deviation of how series respond to the state of the machine, of which the common part removes the
/// mean: by between half and one and a half times as much.
const RESPONSE: f64 = 0.29;

/// A series, or the common part, on one machine, and the common part beside it.
pub(super) type Beside<'t> = (&'t Track, Option<&'t Track>);

/// A possible change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shift {
    pub(super) from: usize,
    /// Measured nights since then.
    pub(super) nights: usize,
    /// How far they lie from the level before (logarithm), outliers being cut.
    pub(super) log: f64,
    /// Standard error of that, and its degrees of freedom.
    pub(super) error: f64,
    pub(super) freedom: f64,
}

impl Shift {
    /// Standard errors from no change.
    pub(super) fn errors(&self) -> f64 {
        self.log.abs() / self.error
    }
}

/// A measured night since a possible change.
struct Since {
    /// From the level before the change.
    apart: f64,
    /// How far the machine was from its own level.
    shared: f64,
    variance: f64,
    level: f64,
    freedom: f64,
    machine: usize,
}

/// All changes that the newest night would be part of, the latest first; none before `first`.
pub(super) fn shifts(tracks: &[Beside<'_>], first: usize) -> Vec<Shift> {
    let nights = tracks.iter().map(|(track, _)| track.values.len()).max().unwrap_or(0);
    let Some(newest) = nights.checked_sub(1).filter(|newest| is_measured(tracks, *newest)) else {
        return Vec::new();
    };
    let reach = if is_shared(tracks) { SHARED_REACH } else { REACH };
    let first = first.max(nights.saturating_sub(reach));
    (first..=newest).rev().filter_map(|from| shift(tracks, from)).collect()
}

/// Whether they are the common part, which has none beside it.
fn is_shared(tracks: &[Beside<'_>]) -> bool {
    tracks.iter().all(|(_, shared)| shared.is_none())
}

fn is_measured(tracks: &[Beside<'_>], night: usize) -> bool {
    tracks.iter().any(|(track, _)| track.values[night].is_finite())
}

/// The measured nights from one on, on machines whose level before another is known.
fn since(tracks: &[Beside<'_>], from: usize, level: usize) -> Vec<Since> {
    let known = |track: &Track| track.before(level).filter(|level| level.nights >= FEWEST);
    let of_machine = |(machine, (track, shared)): (usize, &Beside<'_>)| -> Vec<Since> {
        let Some(Level { log, variance, .. }) = known(track) else { return Vec::new() };
        let noise = track.noise_before(level);
        let square = noise.deviation.powi(2);
        let night = |night: usize| {
            let state = shared.and_then(|shared| Some(shared.values[night] - shared.before(level)?.log));
            Since {
                apart: track.values[night] - log,
                shared: state.unwrap_or(0.0),
                variance: square * track.spreads[night].powi(2),
                level: square * variance,
                freedom: noise.freedom,
                machine,
            }
        };
        let nights = from..track.values.len();
        nights.filter(|night| track.values[*night].is_finite()).map(night).collect()
    };
    tracks.iter().enumerate().flat_map(of_machine).collect()
}

/// The change that would begin with a night.
pub(super) fn shift(tracks: &[Beside<'_>], from: usize) -> Option<Shift> {
    if !is_measured(tracks, from) {
        return None;
    }
    let nights = since(tracks, from, from);
    let clip = if is_shared(tracks) { SHARED_CLIP } else { CLIP };
    let all: f64 = nights.iter().map(|night| 1.0 / night.variance).sum();
    let share = |night: &Since| 1.0 / night.variance / all;
    let mean =
        |value: &dyn Fn(&Since) -> f64| nights.iter().map(|night| share(night) * value(night)).sum::<f64>();
    let log = mean(&|night| {
        let reach = clip * night.variance.sqrt();
        night.apart.clamp(-reach, reach)
    });
    // Nights of one machine share the error of its level.
    let levels: f64 = (0..tracks.len())
        .map(|machine| {
            let own = || nights.iter().filter(|night| night.machine == machine);
            own().map(share).sum::<f64>().powi(2) * own().map(|night| night.level).next().unwrap_or(0.0)
        })
        .sum();
    let response = RESPONSE * mean(&|night| night.shared);
    let error = (1.0 / all + levels + response.powi(2)).sqrt();
    let freedom = mean(&|night| night.freedom);
    (!nights.is_empty()).then_some(Shift { from, nights: nights.len(), log, error, freedom })
}

/// How often a change may begin. Both kinds of nights have the same budget of false alarms, so that a change
/// on one of the few with a new system needs less evidence.
pub(super) struct Chances {
    /// Series, and what they share.
    pub(super) series: usize,
    /// Nights with a new system.
    pub(super) systems: Vec<usize>,
    pub(super) systems_per_year: f64,
}

impl Chances {
    /// As if no night had a new system.
    pub(super) fn alike(&self) -> Chances {
        Chances { systems: Vec::new(), ..*self }
    }

    /// Nights a year like this one.
    fn per_year(&self, night: usize) -> f64 {
        if self.systems.contains(&night) { self.systems_per_year } else { NIGHTS_PER_YEAR }
    }
}

/// The change that nights alone prove, with so many false alarms a year.
pub(super) fn proved(
    shifts: &[Shift],
    fewest: usize,
    chances: &Chances,
    settings: &HistorySettings,
) -> Option<Shift> {
    let beyond = |shift: &&Shift| {
        let level = settings.alarms_per_year / (chances.per_year(shift.from) * chances.series as f64 * TESTS);
        let errors = (shift.log.abs() - settings.margin) / shift.error;
        shift.nights >= fewest && errors > NEVER && tails(errors, shift.freedom) < level
    };
    furthest(shifts.iter().filter(beyond))
}

/// The change that is worth a confirming measurement.
pub(super) fn suspected(shifts: &[Shift], settings: &HistorySettings) -> Option<Shift> {
    let is_suspected = |shift: &&Shift| {
        let least = settings.suspect[shift.nights.clamp(1, 3) - 1];
        shift.log.abs() >= settings.least && shift.errors() >= least
    };
    furthest(shifts.iter().filter(is_suspected))
}

fn furthest<'s>(shifts: impl Iterator<Item = &'s Shift>) -> Option<Shift> {
    shifts.copied().max_by(|a, b| a.errors().total_cmp(&b.errors()))
}

/// The most likely first night of a change of a known size from the level before a night: that from which the
/// nights lie beyond the middle of both levels most clearly (Hinkley, Biometrika 57, 1970). A single night
/// counts no more than twice the change, because an outlier before it would take its place. A night with a
/// new system is likelier by as much as there are fewer of them.
pub(super) fn located(
    tracks: &[Beside<'_>],
    shifts: &[Shift],
    chances: &Chances,
    (log, level): (f64, usize),
) -> Option<Shift> {
    let (size, sign) = (log.abs(), log.signum());
    let score = |shift: &Shift| {
        let nights = since(tracks, shift.from, level);
        let gain = |night: &Since| (sign * night.apart).clamp(-size, 2.0 * size) - size / 2.0;
        let likelihood = size * nights.iter().map(|night| gain(night) / night.variance).sum::<f64>();
        likelihood - chances.per_year(shift.from).ln()
    };
    shifts.iter().copied().max_by(|a, b| score(a).total_cmp(&score(b)))
}

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
const FEWEST: usize = 3;
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
    fn noise_before(&self, night: usize) -> Noise {
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
