//! A run in memory, ordered for readers: by series, then by trial.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::mem;

use crate::series::REDUCED_OF_SERIES_MAX;
use crate::{
    Direction, End, EndStatus, GeneratorLevel, Histogram, JudgedSeries, Limitation, Line, NoiseFloor,
    Outcome, Profile, Run, Series, SeriesKey, SeriesKind, System, Trial, TrialKey, TrialParameters, Workload,
};

/// So many sums of a workload are made, the first that it declares. Every sum is as long as its parts, so
/// this bounds what a hostile file can cost.
pub const SUMS_MAX: usize = 16;

/// A series that must not be judged: a number whose check failed is not a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Excluded {
    /// The recorded series; without values where a sum could not be made.
    pub series: Series,
    /// Why it does not count.
    pub reason: Exclusion,
}

/// Why a series does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exclusion {
    /// The trial ended as [`Outcome::Failed`]; its reason.
    #[error("the trial failed: {0}")]
    Failed(String),
    /// A check of the trial did not hold; its claim.
    #[error("a check did not hold: {0}")]
    Check(String),
    /// The trial's own line is not in the file, so nothing is proved.
    #[error("the line of its trial is missing")]
    NoTrial,
    /// The same series of the same trial stands in the file more than once; the first one counts.
    #[error("it is recorded twice")]
    Twice,
    /// A declared sum whose parts are not all there, or were not taken at the same n.
    #[error("the parts of the sum do not match")]
    Parts,
    /// A declared sum beyond the [`SUMS_MAX`] of its workload. Listed once for the sum, not once a trial.
    #[error("its workload declares more than {SUMS_MAX} sums")]
    TooMany,
    /// A reduced series whose trials stand for more measurements than a reader has room for.
    #[error("its trials stand for too many measurements")]
    TooLong,
}

/// All of a run, in memory.
///
/// Sums that a workload declares (`SeriesKind::sum_of`) are made here, unless they were measured.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The head of the run.
    pub run: Run,
    /// The systems, as recorded; with the noise floor that this run found, where it looked for one.
    pub systems: Vec<System>,
    /// The workloads' definitions, as recorded.
    pub workloads: Vec<Workload>,
    /// All trials, as recorded, including those without any series.
    pub trials: Vec<Trial>,
    /// The load generators' own observations, as recorded.
    pub generators: Vec<GeneratorLevel>,
    /// The lower bounds, as recorded.
    pub limitations: Vec<Limitation>,
    /// Whole distributions, as recorded.
    pub histograms: Vec<Histogram>,
    /// Sampled trials, which do not count otherwise.
    pub sampled_trials: Vec<Trial>,
    /// Their samples, as recorded.
    pub profiles: Vec<Profile>,
    /// How the run ended; `None` when it was killed, or when the end of the file is lost.
    pub end: Option<End>,
    /// Series that are not to be judged, by key and trial.
    pub excluded: Vec<Excluded>,
    /// The verdicts of the series whose measurements were reduced, as recorded.
    pub judged: BTreeMap<SeriesKey, JudgedSeries>,
    series: BTreeMap<SeriesKey, Vec<Series>>,
}

impl Recording {
    /// Puts the lines of one run in order; `None` unless the first is its [`Run`] line. Other run lines
    /// are skipped.
    pub fn new(lines: impl IntoIterator<Item = Line>) -> Option<Self> {
        let mut lines = lines.into_iter();
        let Some(Line::Run(run)) = lines.next() else { return None };
        Some(Recording::from_run(run, lines))
    }

    /// Puts the lines behind a run's head in order.
    pub fn from_run(run: Run, lines: impl IntoIterator<Item = Line>) -> Self {
        let mut recording = Recording {
            run,
            systems: Vec::new(),
            workloads: Vec::new(),
            trials: Vec::new(),
            generators: Vec::new(),
            limitations: Vec::new(),
            histograms: Vec::new(),
            sampled_trials: Vec::new(),
            profiles: Vec::new(),
            end: None,
            excluded: Vec::new(),
            judged: BTreeMap::new(),
            series: BTreeMap::new(),
        };
        recording.extend(lines);
        recording
    }

    /// Adds lines of the run. The lines of one trial come together, after the definition of its workload.
    pub fn extend(&mut self, lines: impl IntoIterator<Item = Line>) {
        let (first, mut floor) = (self.trials.len(), None);
        let mut series: BTreeMap<SeriesKey, Vec<Series>> = BTreeMap::new();
        for line in lines {
            match line {
                Line::Run(_) => {}
                Line::System(system) => self.systems.push(system),
                Line::Workload(workload) => self.workloads.push(workload),
                Line::Trial(trial) if trial.order.profile.is_some() => self.sampled_trials.push(trial),
                Line::Trial(trial) => self.trials.push(trial),
                Line::Series(mut one) => {
                    one.values.shrink_to_fit();
                    one.sizes.shrink_to_fit();
                    one.counts.shrink_to_fit();
                    series.entry(SeriesKey::from_series(&one)).or_default().push(one);
                }
                Line::Generator(level) => self.generators.push(level),
                Line::Limited(limitation) => self.limitations.push(limitation),
                Line::Histogram(histogram) => self.histograms.push(histogram),
                Line::Profile(profile) => self.profiles.push(profile),
                Line::Judged(judged) => {
                    self.judged.entry(judged.of.clone()).or_insert(judged);
                }
                Line::NoiseFloor(found) => floor = Some(found),
                Line::End(end) => self.end = Some(end),
            }
        }
        if floor.is_some() {
            self.systems.iter_mut().for_each(|system| system.noise_floor.clone_from(&floor));
        }
        let known = self.excluded.len();
        exclude(&self.trials[first..], &mut series, &mut self.excluded);
        sum(&self.workloads, &mut series, &mut self.excluded);
        if self.excluded.len() > known {
            self.excluded.sort_by_cached_key(|one| (SeriesKey::from_series(&one.series), one.series.trial));
        }
        for (key, trials) in series.into_iter().filter(|(_, trials)| !trials.is_empty()) {
            let all = self.series.entry(key).or_default();
            all.extend(trials);
            all.sort_by_key(|series| series.trial);
        }
    }

    /// Takes the trials of other systems of the same run, whose lines it was not extended by.
    pub fn join(&mut self, others: Recording) {
        self.trials.extend(others.trials);
        self.generators.extend(others.generators);
        self.limitations.extend(others.limitations);
        self.histograms.extend(others.histograms);
        self.sampled_trials.extend(others.sampled_trials);
        self.profiles.extend(others.profiles);
        self.excluded.extend(others.excluded);
        self.excluded.sort_by_cached_key(|one| (SeriesKey::from_series(&one.series), one.series.trial));
        self.judged.extend(others.judged);
        self.series.extend(others.series);
    }

    /// A part of the run: the systems of which some workload is wanted, with their trials of these workloads.
    #[must_use]
    pub fn part(&self, is_wanted: impl Fn(&str, &str) -> bool) -> Recording {
        let of_trial = |trial: &&Trial| is_wanted(&trial.order.system, &trial.order.workload);
        let of = |key: &TrialKey| is_wanted(&key.system, &key.workload);
        let of_series = |series: &Series| is_wanted(&series.system, &series.workload);
        let has_workload =
            |system: &&System| self.workloads.iter().any(|one| is_wanted(&system.name, &one.name));
        let series = self.series.iter().filter(|(key, _)| is_wanted(&key.system, &key.workload));
        let judged = self.judged.iter().filter(|(key, _)| is_wanted(&key.system, &key.workload));
        Recording {
            run: self.run.clone(),
            systems: self.systems.iter().filter(has_workload).cloned().collect(),
            workloads: self.workloads.clone(),
            trials: self.trials.iter().filter(of_trial).cloned().collect(),
            generators: self.generators.iter().filter(|one| of(&one.of)).cloned().collect(),
            limitations: self.limitations.iter().filter(|one| of(&one.of)).cloned().collect(),
            histograms: self.histograms.iter().filter(|one| of(&one.of)).cloned().collect(),
            sampled_trials: self.sampled_trials.iter().filter(of_trial).cloned().collect(),
            profiles: self.profiles.iter().filter(|one| of(&one.of)).cloned().collect(),
            end: self.end.clone(),
            excluded: self.excluded.iter().filter(|one| of_series(&one.series)).cloned().collect(),
            judged: judged.map(|(key, judged)| (key.clone(), judged.clone())).collect(),
            series: series.map(|(key, trials)| (key.clone(), trials.clone())).collect(),
        }
    }

    /// The noise floor that this run measured: it was one of a system against itself.
    #[must_use]
    pub fn measured_noise_floor(&self) -> Option<&NoiseFloor> {
        self.systems
            .iter()
            .find_map(|system| system.noise_floor.as_ref())
            .filter(|floor| floor.run.is_empty())
    }

    /// The boot of its system in which the trial of a series was measured; 0 if unknown.
    #[must_use]
    pub fn boot(&self, series: &Series) -> u32 {
        self.trial_of(series).map_or(0, |trial| trial.order.boot)
    }

    /// The trial of a series.
    #[must_use]
    pub fn trial_of(&self, series: &Series) -> Option<&Trial> {
        let is_its = |trial: &&Trial| {
            let order = &trial.order;
            (order.trial, &order.system) == (series.trial, &series.system)
                && (&order.workload, &order.variant) == (&series.workload, &series.variant)
        };
        self.trials.iter().find(is_its)
    }

    /// Every series that may be judged with its trials, by trial number; the keys ascend.
    pub fn series(&self) -> impl Iterator<Item = (&SeriesKey, &[Series])> {
        self.series.iter().map(|(key, trials)| (key, trials.as_slice()))
    }

    /// The trials of one series by trial number; none when nothing of it may be judged.
    #[must_use]
    pub fn trials_of(&self, key: &SeriesKey) -> &[Series] {
        self.series.get(key).map_or(&[], Vec::as_slice)
    }

    /// The definition of a workload.
    #[must_use]
    pub fn workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// The meaning of a series and its expected growth.
    #[must_use]
    pub fn kind(&self, key: &SeriesKey) -> Option<&SeriesKind> {
        let kinds = &self.workload(&key.workload)?.series;
        kinds.iter().find(|kind| kind.name == key.name && kind.direction == key.direction)
    }

    /// The settings that trials of the workload on that system had, which are the same in all of them; `None`
    /// without a trial.
    #[must_use]
    pub fn settings(&self, system: &str, workload: &str) -> Option<&BTreeMap<String, String>> {
        let mut orders = self.trials.iter().map(|trial| &trial.order);
        let first = orders.find(|order| order.workload == workload && order.system == system);
        first.map(|order| &order.settings)
    }

    /// The settings of all trials of the workload: those of a run may differ from system to system.
    #[must_use]
    pub fn all_settings(&self, workload: &str) -> BTreeSet<&BTreeMap<String, String>> {
        let orders = self.trials.iter().map(|trial| &trial.order).filter(|order| order.workload == workload);
        orders.map(|order| &order.settings).collect()
    }

    /// The loads beside trials of the workload, those of each system in their canonical form: a run may have
    /// several, each as a system of its own.
    #[must_use]
    pub fn backgrounds(&self, workload: &str) -> BTreeSet<Vec<&str>> {
        let orders = self.trials.iter().map(|trial| &trial.order).filter(|order| order.workload == workload);
        orders.map(|order| order.background.iter().map(|one| one.load.as_str()).collect()).collect()
    }

    /// The hosts that loaded the servers of the workload: those of a run are the same in all trials.
    #[must_use]
    pub fn clients(&self, workload: &str) -> Vec<&str> {
        let mut orders = self.trials.iter().map(|trial| &trial.order);
        let order = orders.find(|order| order.workload == workload);
        order.into_iter().flat_map(|order| &order.clients).map(|client| client.name.as_str()).collect()
    }

    /// Whether the run was cut off.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.end.as_ref().is_none_or(|end| end.status == EndStatus::Interrupted)
    }
}

/// Moves series that do not count out of `series`, and sorts the rest.
fn exclude(trials: &[Trial], series: &mut BTreeMap<SeriesKey, Vec<Series>>, excluded: &mut Vec<Excluded>) {
    let mut verdicts: HashMap<_, Option<Exclusion>> = HashMap::new();
    for trial in trials {
        let TrialParameters { system, workload, variant, trial: number, .. } = &trial.order;
        let verdict = verdicts.entry((system, workload, variant, *number)).or_default();
        *verdict = verdict.take().or_else(|| exclusion(trial));
    }
    for trials in series.values_mut() {
        trials.sort_by_key(|series| series.trial);
        let (mut last, mut reduced) = (None, 0_usize);
        for series in mem::take(trials) {
            reduced += if series.is_reduced() { series.measurements() } else { 0 };
            let Series { system, workload, variant, trial, .. } = &series;
            let twice = last.replace(*trial) == Some(*trial);
            let reason = match verdicts.get(&(system, workload, variant, *trial)) {
                _ if twice => Some(Exclusion::Twice),
                None => Some(Exclusion::NoTrial),
                _ if reduced > REDUCED_OF_SERIES_MAX => Some(Exclusion::TooLong),
                Some(verdict) => verdict.clone(),
            };
            match reason {
                None => trials.push(series),
                Some(reason) => excluded.push(Excluded { series, reason }),
            }
        }
    }
}

/// Makes the declared sums; a later one may build on an earlier one. Of workloads with the same name the
/// first is the definition, as in [`Recording::workload`].
fn sum(workloads: &[Workload], series: &mut BTreeMap<SeriesKey, Vec<Series>>, excluded: &mut Vec<Excluded>) {
    let mut places = Places::new(series.keys());
    let mut defined = HashSet::new();
    for workload in workloads.iter().filter(|workload| defined.insert(&workload.name)) {
        let kinds = workload.series.iter().filter(|kind| !kind.sum_of.is_empty());
        for (i, kind) in kinds.enumerate() {
            let names: BTreeSet<&str> = kind.sum_of.iter().map(String::as_str).collect();
            let keys = places.named(&workload.name, kind.direction, &names);
            let mut parts = keys.filter_map(|key| series.get(key)).flatten();
            if i >= SUMS_MAX {
                if let Some(part) = parts.next().filter(|_| !is_refused(excluded, workload, kind)) {
                    let series = Series { name: kind.name.clone(), ..head(part) };
                    excluded.push(Excluded { series, reason: Exclusion::TooMany });
                }
                continue;
            }
            // Every system and variant has its own sum; within one, every trial.
            let mut sums: BTreeMap<(SeriesKey, u32), Vec<&Series>> = BTreeMap::new();
            for part in parts {
                let key = SeriesKey { name: kind.name.clone(), ..SeriesKey::from_series(part) };
                sums.entry((key, part.trial)).or_default().push(part);
            }
            let made: Vec<_> = sums
                .into_iter()
                .filter(|((key, trial), _)| !is_measured(series, key, *trial))
                .map(|((key, _), parts)| (key, total(&kind.name, &parts, parts.len() == kind.sum_of.len())))
                .collect();
            for (key, (sum, exclusion)) in made {
                match exclusion {
                    None => {
                        places.add(&key);
                        series.entry(key).or_default().push(sum);
                    }
                    Some(reason) => excluded.push(Excluded { series: sum, reason }),
                }
            }
        }
    }
}

/// Whether the sum of a trial need not be made, because sums were measured. A reduced run has them of those
/// trials where they could be made.
fn is_measured(series: &BTreeMap<SeriesKey, Vec<Series>>, key: &SeriesKey, trial: u32) -> bool {
    let all = series.get(key).map_or(&[][..], Vec::as_slice);
    match all.iter().any(Series::is_reduced) {
        true => all.binary_search_by_key(&trial, |one| one.trial).is_ok(),
        false => !all.is_empty(),
    }
}

/// Whether the sum is listed already as one of too many.
fn is_refused(excluded: &[Excluded], workload: &Workload, kind: &SeriesKind) -> bool {
    let is_of = |series: &Series| {
        (&series.workload, &series.name, series.direction) == (&workload.name, &kind.name, kind.direction)
    };
    excluded.iter().any(|one| one.reason == Exclusion::TooMany && is_of(&one.series))
}

/// The keys of every system and variant by workload, direction and name.
#[derive(Default)]
struct Places(HashMap<String, HashMap<(Direction, String), BTreeSet<SeriesKey>>>);

impl Places {
    fn new<'a>(keys: impl Iterator<Item = &'a SeriesKey>) -> Self {
        let mut places = Places::default();
        keys.for_each(|key| places.add(key));
        places
    }

    fn add(&mut self, key: &SeriesKey) {
        let of_workload = self.0.entry(key.workload.clone()).or_default();
        of_workload.entry((key.direction, key.name.clone())).or_default().insert(key.clone());
    }

    /// The keys that have one of these names, name by name.
    fn named<'a>(
        &'a self,
        workload: &str,
        direction: Direction,
        names: &'a BTreeSet<&str>,
    ) -> impl Iterator<Item = &'a SeriesKey> {
        let of_workload = self.0.get(workload);
        let of_name = move |name: &&str| of_workload?.get(&(direction, name.to_string()));
        names.iter().filter_map(of_name).flatten()
    }
}

/// Why the values of a trial must not be judged, if so.
fn exclusion(trial: &Trial) -> Option<Exclusion> {
    if let Outcome::Failed { reason } = &trial.outcome {
        return Some(Exclusion::Failed(reason.clone()));
    }
    trial.checks.iter().find(|check| !check.held).map(|check| Exclusion::Check(check.claim.clone()))
}

/// The sum of series of one trial, value by value as far as all of them go; `complete` says whether
/// all parts are there. Without values where it cannot be made.
fn total(name: &str, parts: &[&Series], complete: bool) -> (Series, Option<Exclusion>) {
    let first = parts[0];
    let mut sum = Series { name: name.into(), ..head(first) };
    let alike = |part: &&Series| {
        (part.n_first, part.n_step, &part.sizes, &part.counts)
            == (first.n_first, first.n_step, &first.sizes, &first.counts)
    };
    if !complete || !parts.iter().all(alike) {
        return (sum, Some(Exclusion::Parts));
    }
    sum.sizes.clone_from(&first.sizes);
    sum.counts.clone_from(&first.counts);
    sum.values.clone_from(&first.values);
    for part in &parts[1..] {
        sum.batch = sum.batch.max(part.batch);
        sum.values.truncate(part.values.len());
        sum.sizes.truncate(part.values.len());
        sum.counts.truncate(part.values.len());
        sum.values.iter_mut().zip(&part.values).for_each(|(sum, value)| *sum += value);
    }
    (sum, None)
}

/// A series without its values and their sizes.
fn head(series: &Series) -> Series {
    Series {
        system: series.system.clone(),
        workload: series.workload.clone(),
        variant: series.variant.clone(),
        name: series.name.clone(),
        sizes: Vec::new(),
        values: Vec::new(),
        counts: Vec::new(),
        ..*series
    }
}
