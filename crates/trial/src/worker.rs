//! The process that measures: it pins itself, warms up, runs the experiment, and reports its outcome.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use host::{FrameReader, FrameWriter};
use record::{Check, Line, Outcome, TrialClock, TrialKey, TrialParameters, resource};
use serde::{Deserialize, Serialize};
use sys::clock::Clock;
use sys::limit::Resource;
use workload::{EarlyEnd, Experiment, Group, PhaseTime, ProgramEnded, Slots, Trial, TrialError, Workload};

use crate::{Done, find};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) order: TrialParameters,
    /// The descriptor of the shared region, which the worker has inherited.
    pub(crate) region: i32,
    /// The number of the process that sends this.
    pub(crate) supervisor: u32,
}

/// The report of a worker that ends by itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WorkerReport {
    pub(crate) outcome: Outcome,
    pub(crate) checks: Vec<Check>,
    pub(crate) clock: TrialClock,
    pub(crate) batch: u32,
    pub(crate) warnings: Vec<String>,
    /// Lines of the record beside the series, of this trial, as JSON: the supervisor passes them on.
    pub(crate) facts: Vec<String>,
    /// When the phases of a sampled job were under way.
    pub(crate) phase_times: Vec<PhaseTime>,
}

/// Receives one task, measures into the shared region, and reports how it ended. It has one thread, so that
/// nothing disturbs the measurement; it ends with its parent where the system supports that, and with its
/// work elsewhere.
pub(crate) fn measure(groups: &[Group]) -> Done {
    let task = FrameReader::standard_input().receive()?;
    let Some(Task { order, region, supervisor }) = task else { return Ok(()) };
    if !sys::process::die_with(supervisor) {
        return Ok(());
    }
    let workload = find(groups, &order.workload).ok_or("the supervisor let an unknown workload pass")?;
    let rows = order.rows();
    let workload = workload.at_levels(&order.levels);
    let region = sys::memory::Shared::open(region, numbers(workload, &order))?;
    let place = Place::new(&order.scratch);
    let mut report = execute(workload, &order, Slots::new(workload, rows, region.slots()))?;
    report.outcome = place.judge(report.outcome);
    Ok(FrameWriter::standard_output().send(&report)?)
}

/// How many numbers a trial and its supervisor share.
pub(crate) fn numbers(workload: &Workload, order: &TrialParameters) -> usize {
    match order.profile {
        Some(_) => Slots::needed_with_ends(workload, order.rows()),
        None => Slots::needed(workload, order.rows()),
    }
}

/// The experiment of the workload, or the reason why there is none.
fn experiment(workload: &Workload, clock: &Clock, is_standing: bool) -> Result<Experiment, Outcome> {
    if is_standing {
        let reason = format!(
            "the clock of this system ({}) stands still, so nothing can be timed; start the system again, or \
             give it another clock source",
            clock.source()
        );
        return Err(Outcome::Failed { reason });
    }
    workload.run.map_err(|reason| Outcome::Unsupported { reason: reason.to_owned() })
}

fn execute(
    workload: &'static Workload,
    order: &TrialParameters,
    slots: Slots<'_>,
) -> io::Result<WorkerReport> {
    let mut warnings = prepare(order);
    let clock = Clock::start();
    let begun_ticks = clock.now();
    let resolution = clock.resolution();
    let per_tick = clock.seconds_per_tick();
    let mut report = WorkerReport {
        outcome: Outcome::Complete,
        checks: Vec::new(),
        clock: TrialClock {
            source: clock.source().to_owned(),
            tick_seconds: resolution.tick_seconds,
            read_seconds: resolution.read_seconds,
        },
        batch: 1,
        warnings: Vec::new(),
        facts: Vec::new(),
        phase_times: Vec::new(),
    };
    let run = match experiment(workload, &clock, resolution.is_standing) {
        Ok(run) => run,
        Err(outcome) => {
            report.outcome = outcome;
            return Ok(report);
        }
    };
    if workload.warms_up {
        warm_up(workload, order, &clock);
    }

    let scratch = Path::new(&order.scratch);
    let mut trial = Trial::new(workload, &order.variant, order.n, scratch, order.seed, &clock, slots);
    trial.set_resolution(resolution.tick_seconds / per_tick);
    if let Some(seconds) = order.allowance_seconds {
        trial.allow((seconds / per_tick) as u64);
    }
    let share = order.share_seconds.map(|seconds| (seconds / per_tick) as u64);
    trial.end_at(share.map_or(u64::MAX, |ticks| begun_ticks.saturating_add(ticks)));
    if let Some(window) = order.window_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        trial.set_window(window);
    }
    if order.references {
        trial.want_references();
    }
    trial.have_helpers(order.helpers);
    trial.set_server(order.server.as_ref(), order.server_cpu);
    trial.set_clients(&order.clients);
    trial.set_processors(order.cpu, &order.spare_cpus);
    trial.set_offered(&order.offered);
    let ran = trial.set_settings(&order.settings).and_then(|()| run(&mut trial));
    let ran = trial.conclude(ran);
    let n = trial.n() as u64;
    report.outcome = match ran {
        Err(stop) if ProgramEnded::behind(&stop.error).is_some() => {
            Outcome::Crashed { n, reason: stop.error.to_string() }
        }
        Err(stop) if sys::error::means_unsupported(&stop.error) => {
            Outcome::Unsupported { reason: stop.to_string() }
        }
        Err(stop) => Outcome::Failed { reason: with_advice(&stop) },
        Ok(()) => outcome(trial.ended(), trial.n(), |error| remedy(error, workload, &order.variant)),
    };
    report.checks = trial.checks().to_vec();
    report.batch = trial.batch();
    report.warnings.append(&mut warnings);
    report.warnings.extend_from_slice(trial.warnings());
    report.phase_times = trial.phase_times().to_vec();
    report.facts = of_trial(trial.facts(), order)?;
    Ok(report)
}

/// These lines as JSON, each with the key of the trial.
fn of_trial(facts: &[Line], order: &TrialParameters) -> io::Result<Vec<String>> {
    let key = TrialKey::from_parameters(order);
    let text = |mut fact: Line| {
        fact.belong_to(&key);
        record::format_line(&fact)
    };
    facts.iter().cloned().map(text).collect()
}

/// Why a workload could not prepare its measurement, with the remedy for a limit on descriptors; other errors
/// have another meaning before a measurement than within it.
fn with_advice(stop: &TrialError) -> String {
    match sys::error::out_of_descriptors(&stop.error) {
        true => format!("{stop}; {}", sys::error::advice(&stop.error)),
        false => stop.to_string(),
    }
}

/// Raises limits and pins the process; a failure is a warning.
fn prepare(order: &TrialParameters) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Ok(raises) = sys::limit::raise_soft_to_hard() {
        for raise in raises {
            if let Some(error) = raise.stopped_by {
                warnings.push(format!("the limit of {:?} could not be raised: {error}", raise.kind));
            }
        }
    }
    if let Some(cpu) = order.cpu
        && let Err(error) = sys::cpu::pin(cpu)
    {
        warnings.push(format!("the trial could not be pinned to processor {cpu}: {error}"));
    }
    warnings
}

/// Runs the experiment small and discards it, so that the first measurements do not pay for lazy binding
/// and cold code. An error here occurs again where it is reported.
fn warm_up(workload: &'static Workload, order: &TrialParameters, clock: &Clock) {
    let Ok(run) = workload.run else { return };
    let n = workload::warm_up_n(order.n);
    let discarded: Vec<AtomicU64> = (0..Slots::needed(workload, n)).map(|_| AtomicU64::new(0)).collect();
    let slots = Slots::new(workload, n, &discarded);
    let scratch = Path::new(&order.scratch);
    let mut trial = Trial::new(workload, &order.variant, n, scratch, order.seed, clock, slots);
    trial.rehearse();
    trial.set_server(order.server.as_ref(), order.server_cpu);
    trial.set_processors(order.cpu, &order.spare_cpus);
    let _ = trial.set_settings(&order.settings).and_then(|()| run(&mut trial));
}

/// How a trial ended that came as far as `reached`.
fn outcome(ended: Option<&EarlyEnd>, reached: usize, remedy: impl Fn(&io::Error) -> String) -> Outcome {
    match ended {
        None => Outcome::Complete,
        Some(EarlyEnd::Allowance { n }) => Outcome::Allowance { n: *n },
        Some(EarlyEnd::Refused { operation, error, .. })
            if reached == 0 && sys::error::means_unsupported(error) =>
        {
            Outcome::Unsupported { reason: format!("{operation}: {error}") }
        }
        Some(EarlyEnd::Refused { n, error, .. }) if ProgramEnded::behind(error).is_some() => {
            Outcome::Crashed { n: *n, reason: error.to_string() }
        }
        Some(EarlyEnd::Refused { n, operation, error }) => Outcome::Limit {
            n: *n,
            operation: (*operation).to_owned(),
            error: sys::error::name(error),
            advice: remedy(error),
        },
    }
}

/// The remedy for a refusal in that workload. `ENOSPC` is the error of many limits, and only files fill a
/// disk.
fn remedy(error: &io::Error, workload: &Workload, variant: &str) -> String {
    let needs = workload.needs_of(variant).into_iter().chain(workload.fixed_needs_of(variant));
    let needs: Vec<&str> = needs.map(|need| need.resource).collect();
    let needed = Resource::ALL.iter().copied().filter(|resource| needs.contains(&resource.name()));
    let has_files = needs.iter().any(|name| [resource::DISK, resource::INODES].contains(name));
    match sys::limit::refusing(error, needed) {
        Some(bound) => format!("{} is {}; {}", bound.limit, bound.value, bound.advice),
        None if error.kind() == io::ErrorKind::StorageFull && !has_files => String::new(),
        None => sys::error::advice(error).to_owned(),
    }
}

/// The folder as a trial found it. Where its file system is unmounted meanwhile, or the folder removed, a
/// workload would make it again, and measure another file system under the name of this one.
#[derive(Debug)]
struct Place<'a> {
    folder: &'a Path,
    /// `None` where it was missing at the beginning: not every workload needs it.
    identity: Option<(u64, u64)>,
}

impl<'a> Place<'a> {
    fn new(folder: &'a str) -> Place<'a> {
        let folder = Path::new(folder);
        Place { folder, identity: sys::file::identity(folder).ok() }
    }

    /// The outcome of a trial that has ended like this.
    fn judge(&self, ended: Outcome) -> Outcome {
        let went_wrong = matches!(ended, Outcome::Limit { .. } | Outcome::Failed { .. });
        let was_missed = self.identity.is_none() && went_wrong;
        if !was_missed && sys::file::identity(self.folder).ok() == self.identity {
            return ended;
        }
        let folder = self.folder.display();
        let reason = format!(
            "the folder for files, {folder}, is gone or is another one now: somebody removed it, or \
             unmounted its file system"
        );
        Outcome::Failed { reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_blamed_only_where_files_are_made() {
        use workload::Need;

        let [enospc, enfile] = [28, 23].map(io::Error::from_raw_os_error);
        let needing = |needs| Workload { needs, ..Workload::CURVE };
        let watches =
            needing(const { &[Need::new(resource::INODES, 1), Need::new(resource::INOTIFY_WATCHES, 1)] });
        assert!(remedy(&enospc, &watches, "").contains("fs.inotify.max_user_watches"));
        let files = needing(const { &[Need::new(resource::INODES, 1)] });
        assert!(remedy(&enospc, &files, "").contains("disk"));
        let attributes = needing(const { &[Need::new(resource::MEMORY, 1)] });
        assert_eq!(remedy(&enospc, &attributes, ""), "");
        assert!(remedy(&enfile, &attributes, "").contains("fs.file-max"));
    }

    #[test]
    fn a_trial_counts_only_where_its_folder_stayed() {
        let limit = || Outcome::Limit {
            n: 1,
            operation: "open".to_owned(),
            error: "ENOENT".to_owned(),
            advice: String::new(),
        };
        let is_lost = |outcome| matches!(outcome, Outcome::Failed { .. });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("files");
        let name = path.to_str().unwrap();
        let missing = Place::new(name);
        assert_eq!(missing.judge(Outcome::Complete), Outcome::Complete, "it was not needed");
        assert!(is_lost(missing.judge(limit())));
        std::fs::create_dir(&path).unwrap();
        assert!(is_lost(missing.judge(Outcome::Complete)), "the workload has made it");
        let there = Place::new(name);
        assert_eq!((there.judge(limit()), there.judge(Outcome::Complete)), (limit(), Outcome::Complete));
        std::fs::remove_dir(&path).unwrap();
        assert!(is_lost(there.judge(Outcome::Complete)));
    }
}
