//! Nights in order, and changes as they are raised.

use super::evidence::{
    Beside, Chances, Level, NIGHTS_PER_YEAR, Noise, REACH, SHARED_REACH, Shift, Track, UNKNOWN, located,
    proved, shifts, suspected,
};
use super::{
    ChangeGround, Confirmation, Confirmed, HistorySettings, LEVEL_NIGHTS, LevelChange, NightCosts, Suspicion,
    confirm, evidence,
};
use crate::block::{NORMAL_MAD, median, weighted_median};
use crate::centre::{Interval, exp, tails};

/// Error rate of all intervals.
pub(super) const ALPHA: f64 = 0.05;
/// Fewer series do not tell the machine from themselves.
const SERIES: usize = 5;
/// Nights that prove a change of one series, and one of all: a neighbour may stay for days.
const NIGHTS: usize = 2;
const SHARED_NIGHTS: usize = 5;
/// Nights before a change that its base keeps away from, because the night of a change is not certain.
const AWAY: usize = 3;
/// Nights of its own after which the noise of a series needs no other.
const OWN: usize = 5;
/// New systems a year that changes are looked for on, at least: two a month.
const SYSTEMS: f64 = 24.0;
/// Nights before a change of all series in which a new system is its reason.
const SYSTEM_NEAR: usize = 3;
/// Series that are suspected after one night, which bounds the time of confirming measurements.
const SUSPECTED_MOST: usize = 10;
/// 95 % of a normal distribution.
const NORMAL: f64 = 1.96;

/// A machine: the common part of its nights, and by series the rest.
#[derive(Clone, Debug)]
pub(super) struct NightlyMachine {
    pub(super) shared: Track,
    pub(super) tracks: Vec<Track>,
}

/// A history that grows by a night at a time; [`history`](super::history) makes one of all nights.
#[derive(Clone, Debug)]
pub struct HistoryFold {
    settings: HistorySettings,
    pub(super) days: Vec<f64>,
    /// First nights of epochs, with their machine.
    pub(super) epochs: Vec<(usize, usize)>,
    /// Nights with a new system, with their machine, in order.
    pub(super) systems: Vec<(usize, usize)>,
    /// By series: its values as measured, with the machine of each night.
    pub(super) logs: Vec<Vec<f64>>,
    pub(super) ran: Vec<usize>,
    pub(super) machines: Vec<NightlyMachine>,
    /// By series: nights before this one are explained by a confirming measurement that found nothing.
    explained: Vec<usize>,
    pub(super) changes: Vec<LevelChange>,
    suspected: Vec<Suspicion>,
}

impl HistoryFold {
    /// Before the first night of so many series.
    pub fn new(series: usize, settings: HistorySettings) -> HistoryFold {
        HistoryFold {
            settings,
            days: Vec::new(),
            epochs: Vec::new(),
            systems: Vec::new(),
            logs: vec![Vec::new(); series],
            ran: Vec::new(),
            machines: Vec::new(),
            explained: vec![0; series],
            changes: Vec::new(),
            suspected: Vec::new(),
        }
    }

    /// Adds a night, raises what it proves, and combines its confirming measurements.
    pub fn night(&mut self, night: &NightCosts) {
        let nights = self.days.len();
        while self.machines.len() <= night.machine {
            let tracks = vec![Track::new(nights); self.logs.len()];
            self.machines.push(NightlyMachine { shared: Track::new(nights), tracks });
        }
        let machine = &mut self.machines[night.machine];
        if night.starts_epoch || !self.ran.contains(&night.machine) {
            self.epochs.push((nights, night.machine));
            machine.tracks.iter_mut().chain([&mut machine.shared]).for_each(Track::begin);
        }
        if night.has_new_system {
            self.systems.push((nights, night.machine));
        }
        self.days.push(night.day);
        self.ran.push(night.machine);
        self.place(night);
        self.learn();
        self.suspected.clear();
        if self.judge_machine(night.machine) {
            return;
        }
        let chances = self.chances();
        (0..self.logs.len()).for_each(|series| self.judge(series, &chances, night.is_measured_again));
        self.suspected.sort_by(|a, b| b.errors.total_cmp(&a.errors));
        self.suspected.truncate(SUSPECTED_MOST);
        night.confirmations.iter().for_each(|confirmation| self.confirm(*confirmation));
    }

    /// The changes so far, as they were raised.
    pub fn changes(&self) -> &[LevelChange] {
        &self.changes
    }

    /// The series to measure again after the newest night, the most certain first.
    pub fn suspected(&self) -> &[Suspicion] {
        &self.suspected
    }

    /// Splits the night into the common part and those of the series.
    fn place(&mut self, night: &NightCosts) {
        let log = |series: usize| night.logs.get(series).copied().flatten().filter(|log| log.is_finite());
        let tracks = &self.machines[night.machine].tracks;
        let levels: Vec<Option<Level>> = tracks.iter().map(Track::next).collect();
        let reading = |series: usize| {
            let (log, level) = (log(series)?, levels[series]?);
            Some(Reading { log, level, noise: tracks[series].noise })
        };
        let readings: Vec<Reading> = (0..tracks.len()).filter_map(reading).collect();
        let (shared, spread) = common(&readings);
        let nights = self.days.len() - 1;
        let is_first = self.machines[night.machine].shared.start == nights;
        let is_known = readings.len() >= SERIES || is_first;
        for (place, machine) in self.machines.iter_mut().enumerate() {
            let runs = place == night.machine;
            machine.shared.push(if runs && is_known { shared } else { f64::NAN }, 1.0);
            for (series, track) in machine.tracks.iter_mut().enumerate() {
                let log = log(series).filter(|_| runs).unwrap_or(f64::NAN);
                track.push(log - shared, if runs { spread } else { 1.0 });
            }
        }
        for (series, logs) in self.logs.iter_mut().enumerate() {
            logs.push(log(series).unwrap_or(f64::NAN));
        }
    }

    /// Estimates all noises anew. A series of which a machine knows little takes after itself on others.
    fn learn(&mut self) {
        let known = |series: usize| {
            let own = self.machines.iter().map(|machine| &machine.tracks[series]);
            let most = own.max_by_key(|track| track.known)?;
            (most.known >= OWN).then(|| most.learned(0.0).deviation)
        };
        let of_series: Vec<Option<f64>> = (0..self.logs.len()).map(known).collect();
        let prior = median(&mut of_series.iter().copied().flatten().collect::<Vec<f64>>()).unwrap_or(UNKNOWN);
        for machine in &mut self.machines {
            for (track, known) in machine.tracks.iter_mut().zip(&of_series) {
                let other = if track.known < OWN { known.unwrap_or(prior) } else { prior };
                track.noise = track.learned(other);
            }
            machine.shared.noise = machine.shared.learned(prior);
        }
    }

    /// Raises a change of all series of a machine.
    fn judge_machine(&mut self, machine: usize) -> bool {
        let tracks = [(&self.machines[machine].shared, None)];
        let shifts = shifts(&tracks, 0);
        let chances = self.chances();
        let found = proved(&shifts, SHARED_NIGHTS, &chances, &self.settings);
        let found = found.and_then(|shift| located(&tracks, &shifts, &chances, (shift.log, shift.from)));
        if let Some(shift) = found {
            // The night is not certain, and a new system is a reason.
            let near = shift.from.saturating_sub(SYSTEM_NEAR)..=shift.from;
            let from = near.rev().find(|night| self.is_of_system(*night)).unwrap_or(shift.from);
            self.raise(None, Shift { from, ..shift }, ChangeGround::Nights);
        }
        found.is_some()
    }

    /// Raises, or suspects, a change of one series.
    fn judge(&mut self, series: usize, chances: &Chances, is_measured_again: bool) {
        let tracks = self.tracks(series);
        let shifts = shifts(&tracks, self.explained[series]);
        let at =
            |shift: Shift, chances: &Chances| located(&tracks, &shifts, chances, (shift.log, shift.from));
        let proved = proved(&shifts, NIGHTS, chances, &self.settings);
        let proved = proved.and_then(|shift| at(shift, chances));
        let proved = match proved {
            Some(shift) if self.is_of_system(shift.from) => self.certain(series, shift),
            other => other,
        };
        let proved = proved.or_else(|| self.with_system(series, chances));
        if let Some(shift) = proved.filter(|_| !is_measured_again) {
            self.raise(Some(series), shift, ChangeGround::Nights);
        } else if let Some(shift) = suspected(&shifts, &self.settings).or(proved) {
            // Its base is to be before the change, and a night with a new system may not be.
            let shift = at(shift, &chances.alike()).unwrap_or(shift);
            self.suspected.push(self.suspicion(series, shift));
        }
    }

    /// A change that began with a new system, with the common part of the nights, which may be the system's:
    /// it is one if it has the same direction, in 95 %.
    fn certain(&self, series: usize, shift: Shift) -> Option<Shift> {
        let track = self.with_machine(series)?;
        let with = evidence::shift(&[(&track, None)], shift.from)?;
        (tails(with.errors(), with.freedom) < ALPHA && with.log * shift.log > 0.0).then_some(with)
    }

    /// A change that began with a new system, and that other series share: beside them it is not proved.
    fn with_system(&self, series: usize, chances: &Chances) -> Option<Shift> {
        let first = self.explained[series].max(self.days.len().saturating_sub(REACH));
        if !(first..self.days.len()).any(|night| self.is_of_system(night)) {
            return None;
        }
        let track = self.with_machine(series)?;
        let tracks = [(&track, None)];
        let shifts = shifts(&tracks, first);
        let shift = proved(&shifts, SHARED_NIGHTS, chances, &self.settings)?;
        let shift = located(&tracks, &shifts, chances, (shift.log, shift.from));
        shift.filter(|shift| self.is_of_system(shift.from))
    }

    /// A series with the common part of the nights, on the machine that ran last.
    fn with_machine(&self, series: usize) -> Option<Track> {
        let machine = &self.machines[*self.ran.last()?];
        Some(machine.tracks[series].with(&machine.shared))
    }

    /// How often a change may begin: on any night, and on each with a new system.
    fn chances(&self) -> Chances {
        let nights = self.days.len().max(LEVEL_NIGHTS) as f64;
        let rate = (NIGHTS_PER_YEAR * self.systems.len() as f64 / nights).clamp(SYSTEMS, NIGHTS_PER_YEAR);
        // Only those of which a change can still be found: with a new kernel each night there are many.
        let near = self.systems.iter().rev().take_while(|(night, _)| night + SHARED_REACH >= self.days.len());
        let systems = near.map(|(night, _)| *night).collect();
        Chances { series: self.logs.len() + 1, systems, systems_per_year: rate }
    }

    /// Whether the machine that ran last had a new system on a night.
    fn is_of_system(&self, night: usize) -> bool {
        self.ran.last().is_some_and(|machine| self.systems.binary_search(&(night, *machine)).is_ok())
    }

    fn tracks(&self, series: usize) -> Vec<Beside<'_>> {
        self.machines.iter().map(|machine| (&machine.tracks[series], Some(&machine.shared))).collect()
    }

    /// Its base is a night of the machine that ran last, where there is one.
    fn suspicion(&self, series: usize, shift: Shift) -> Suspicion {
        let newest = self.ran.last().copied().unwrap_or(0);
        let track = &self.machines[newest].tracks[series];
        let measured = (track.start..shift.from).rev().filter(|night| track.values[*night].is_finite());
        let base = measured.take(AWAY).last().unwrap_or(track.start);
        Suspicion { series, from: shift.from, base, ratio: ratio(shift), errors: shift.errors() }
    }

    /// Combines a suspicion of the newest night with a confirming measurement.
    pub fn confirm(&mut self, confirmation: Confirmation) {
        let Confirmation { series, ratio } = confirmation;
        let Some(place) = self.suspected.iter().position(|one| one.series == series) else { return };
        let suspicion = self.suspected[place];
        let tracks = self.tracks(series);
        let all = shifts(&tracks, 0);
        let chances = self.chances();
        let proved = proved(&all, NIGHTS, &chances, &self.settings);
        let at = |log: f64, first: usize| {
            let later: Vec<Shift> = all.iter().copied().filter(|shift| shift.from >= first).collect();
            located(&tracks, &later, &chances, (log, suspicion.from))
        };
        let confirmed = confirm(&suspicion, ratio, &self.settings);
        let (shift, ground) = match confirmed {
            Confirmed::Raised => {
                (at(ratio.value.ln(), self.explained[series]), ChangeGround::SideBySide(ratio))
            }
            Confirmed::Open => (proved.and_then(|shift| at(shift.log, 0)), ChangeGround::Nights),
            Confirmed::Dismissed => (proved.and_then(|shift| at(shift.log, 0)), ChangeGround::Machine(ratio)),
        };
        if let Some(shift) = shift {
            self.raise(Some(series), shift, ground);
        } else if confirmed == Confirmed::Dismissed {
            self.explained[series] = self.days.len();
        }
        if shift.is_some() || confirmed != Confirmed::Open {
            self.suspected.remove(place);
        }
    }

    fn raise(&mut self, series: Option<usize>, shift: Shift, ground: ChangeGround) {
        let (from, raised) = (shift.from, self.days.len() - 1);
        let machine = self.ran[raised];
        self.changes.push(LevelChange { series, machine, from, raised, ratio: ratio(shift), ground });
        let restart = |track: &mut Track| track.restart(from.max(track.start));
        match series {
            Some(series) => {
                self.machines.iter_mut().for_each(|machine| restart(&mut machine.tracks[series]));
                self.explained[series] = from;
            }
            None => {
                let machine = &mut self.machines[machine];
                machine.tracks.iter_mut().chain([&mut machine.shared]).for_each(restart);
            }
        }
        self.learn();
    }
}

fn ratio(shift: Shift) -> Interval {
    exp(Interval::around(shift.log, NORMAL * shift.error))
}

/// A series on one night.
#[derive(Clone, Copy, Debug)]
struct Reading {
    log: f64,
    level: Level,
    noise: Noise,
}

/// How far a night lies from the levels in common, and how many times as far as usual series scatter around
/// that. A weighted median over the series, which the change of one, or of a third of them, hardly moves.
fn common(readings: &[Reading]) -> (f64, f64) {
    if readings.len() < SERIES {
        return (0.0, 1.0);
    }
    let apart = |reading: &Reading| reading.log - reading.level.log;
    let mut pairs: Vec<(f64, f64)> =
        readings.iter().map(|reading| (apart(reading), 1.0 / reading.noise.deviation)).collect();
    let shared = weighted_median(&mut pairs).unwrap_or(0.0);
    let far = |reading: &Reading| {
        (apart(reading) - shared).abs() / (reading.noise.deviation * (1.0 + reading.level.variance).sqrt())
    };
    let mut scatter: Vec<f64> = readings.iter().map(far).collect();
    let spread = NORMAL_MAD * median(&mut scatter).unwrap_or(0.0);
    (shared, spread.max(1.0))
}
