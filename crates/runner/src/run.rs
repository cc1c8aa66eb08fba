//! Measures a plan and writes the record as it goes.
//!
//! [`run`](crate::run()) takes the programs, the clock and the disk of this machine. Simulations of a run
//! bring their own [`Outside`], so every order of events can be produced, without a process and without
//! waiting.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use judge::{Findings, Judgements};
use record::{
    Background, End, EndStatus, Line, Outcome, Recording, Run, SentLine, System, TrialParameters, Writer,
};
use workload::Workload;

use crate::blame::{BlameOptions, refuse_others};
use crate::hosts::Turn;
use crate::launch::Launcher;
use crate::lines::{RunFile, definitions, head};
use crate::plan::{Item, RunPlan};
use crate::preset::Trials;
use crate::run_loop::{LoopOutside, Measured, RunLoop};
use crate::scratch::{Folder, Removal, Scratch};
use crate::systems::{MeasuredSystem, describe};
use crate::{Error, Target, noise_floor};

/// A report of a run while it goes on.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// The systems are known and measuring begins.
    Begun {
        /// The systems, also those that cannot be measured.
        systems: &'a [System],
    },
    /// A trial begins.
    Trial {
        /// The item that is measured.
        item: &'a Item,
        /// Name of the system.
        system: &'a str,
        /// Number of the trial.
        trial: u32,
        /// How many the item gets, as planned by now.
        of: u32,
        /// Share of the whole run that is done.
        done: f64,
        /// How long the run will go on, if that is known.
        left: Option<TimeLeft>,
    },
    /// Items were judged, and more trials would decide no more of them.
    Decided {
        /// The findings of their workload.
        findings: &'a Findings,
        /// The variants that are decided.
        variants: &'a [&'static str],
    },
    /// All items that stand at a planned number of trials were judged.
    Looked {
        /// The items that are not decided.
        open: &'a [&'a Item],
        /// Of so many items.
        of: usize,
    },
    /// All trials on a host of a fleet are over.
    HostEnded {
        /// Name of the host.
        host: &'a str,
        /// How its part of the run ended.
        status: &'a EndStatus,
        /// Why the rest of its trials are lost; `None` where they are not.
        lost: Option<&'a str>,
        /// Hosts that have ended.
        ended: usize,
        /// Of so many.
        of: usize,
    },
    /// A trial did not go well.
    Trouble {
        /// The item that was measured.
        item: &'a Item,
        /// Name of the system.
        system: &'a str,
        /// Number of the trial.
        trial: u32,
        /// How it ended.
        outcome: &'a Outcome,
    },
}

/// A run that is over.
#[derive(Debug)]
pub struct Ran {
    /// All of it, as the record has it.
    pub recording: Recording,
    /// The findings.
    pub findings: Findings,
    /// The number of judgements for that and at earlier looks, one per series and look.
    pub judgements: usize,
    /// The error that kept the record from being written to its end; the findings above are complete all the
    /// same.
    pub unwritten: Option<Error>,
    /// The user wanted it to stop.
    pub interrupted: bool,
    /// Where the noise floor is kept that an A/A run found; `None` where it found none.
    pub floor_kept: Option<Result<PathBuf, Error>>,
    /// The scratch folder on its way out; `None` where there was none.
    pub removal: Option<Removal>,
}

/// How long a run will go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLeft {
    /// The number of trials is fixed: as long as these take.
    About(Duration),
    /// Trials go on until all is decided: no longer than the budget.
    AtMost(Duration),
}

impl TimeLeft {
    /// The time of all trials that are planned by now; or all that the budget leaves, where looks may plan
    /// more, in proportion to the share that is done.
    pub(crate) fn new(plan: &RunPlan, remaining: Duration, planned_seconds: f64) -> TimeLeft {
        let planned = Duration::from_secs_f64(planned_seconds);
        match (&plan.trials, plan.budget) {
            (Trials::Looks(_), Some(_)) => TimeLeft::AtMost(remaining.max(planned)),
            _ => TimeLeft::About(planned),
        }
    }

    /// The time.
    pub fn time(self) -> Duration {
        match self {
            TimeLeft::About(time) | TimeLeft::AtMost(time) => time,
        }
    }
}

/// Executes the trials of one system. Hosts of a fleet are measured at once, each in a thread.
pub trait Executor: Send {
    /// Makes the system describe itself.
    ///
    /// # Errors
    /// Why nothing can be measured there.
    fn describe(&mut self) -> Result<System, Error>;

    /// Checks that the loads beside trials can be held there.
    ///
    /// # Errors
    /// Why not, with the rate that was reached.
    fn try_background(&mut self, loads: &[Background]) -> Result<(), Error> {
        let _ = loads;
        Ok(())
    }

    /// Makes a system that the run boots boot anew before its next trial; any other goes on unchanged.
    fn reboot(&mut self);

    /// Executes one trial to its end; `None` when it was interrupted, which leaves nothing of it behind.
    ///
    /// # Errors
    /// Why no trial of that workload can be executed there.
    fn trial(&mut self, workload: &Workload, order: TrialParameters) -> Result<Option<Vec<SentLine>>, Error>;
}

/// The time as a run sees it.
pub trait RunClock: Sync {
    /// Time since a fixed moment; it never goes back.
    fn now(&self) -> Duration;

    /// Waits for so long, or until `interrupt` is set.
    fn wait(&self, time: Duration, interrupt: &AtomicBool);

    /// The date, which may be set to anything at any time.
    fn date(&self) -> SystemTime;
}

/// Makes a record that begins with these lines.
pub type CreateRecord<'a> = dyn Fn(Run, &[Line]) -> record::Result<Writer> + 'a;

/// The outside of a run.
pub struct Outside<'a, E> {
    /// One for each system of the plan, in their order.
    pub executors: Vec<E>,
    /// Times the run.
    pub clock: &'a dyn RunClock,
    /// Makes the record.
    pub create: &'a CreateRecord<'a>,
    /// Ends the run early.
    pub interrupt: &'a AtomicBool,
}

/// Takes the events of a run: from the threads of its hosts, one at a time.
pub type OnEvent<'a> = dyn FnMut(RunEvent<'_>) + Send + 'a;

/// Measures the plan. Every finished trial is in the record at `path` before the next begins. `interrupt`
/// ends the run at once and in good order.
///
/// # Errors
/// [`Error`] when nothing can be measured at all; the end of every single trial is in the record.
pub fn run(
    plan: &RunPlan,
    path: &Path,
    command: Vec<String>,
    interrupt: &AtomicBool,
    on_event: &mut OnEvent<'_>,
) -> Result<Ran, Error> {
    let scratch = Scratch::make_for(plan)?;
    // Where the user names no folder, a system that shares none with this machine has one of its own.
    let parent = (plan.scratch != std::env::temp_dir()).then_some(plan.scratch.as_path());
    let folders: Vec<Option<Folder>> = plan.targets.iter().map(folder_of).collect::<Result<_, Error>>()?;
    let own = scratch.folder.path();
    let files = folders.iter().map(|folder| folder.as_ref().map_or(own, Folder::path));
    let launch = |(target, files)| Launcher::new(target, &scratch.programs, own, files, parent, interrupt);
    let mut ran = run_with(
        plan,
        command,
        Outside {
            executors: plan.targets.iter().zip(files).map(launch).collect(),
            clock: &MachineClock::start(),
            create: &|head, lines| Writer::create(path, head, lines),
            interrupt,
        },
        on_event,
    )?;
    if plan.aa && !ran.interrupted {
        let system = &ran.recording.systems[0];
        let keep = |floor| noise_floor::keep(floor, system, plan.seed, path);
        ran.floor_kept = system.noise_floor.as_ref().map(keep);
    }
    ran.removal = Some(Removal::begin(folders.into_iter().flatten().chain([scratch.folder]).collect()));
    Ok(ran)
}

/// The run's own folder in that of the user's, where the system has its files in one.
fn folder_of(target: &Target) -> Result<Option<Folder>, Error> {
    let failed = |path: PathBuf, source| Error::Files { path, source };
    target.files.as_deref().map(|files| Folder::make(files, failed)).transpose()
}

/// Measures the plan with this outside. A noise floor that it finds is not stored.
///
/// # Errors
/// [`Error`] when nothing can be measured at all; the end of every single trial is in the record.
pub fn run_with<E: Executor>(
    plan: &RunPlan,
    command: Vec<String>,
    outside: Outside<'_, E>,
    on_event: &mut OnEvent<'_>,
) -> Result<Ran, Error> {
    let Outside { executors, clock, create, interrupt } = outside;
    let (systems, measured) = describe(plan, executors, interrupt)?;
    if let Some(BlameOptions { run: Some((run, _)), anyway: false, .. }) = &plan.blame {
        refuse_others(run, &systems)?;
    }
    let head = head(plan, command, &systems, clock.date());
    let mut lines: Vec<Line> = systems.iter().cloned().map(Line::System).collect();
    lines.extend(definitions(plan).map(Line::Workload));
    let file = RunFile::new(create(head.clone(), &lines)?);
    on_event(RunEvent::Begun { systems: &systems });
    let begun = clock.now();
    let outside = (clock, interrupt, &file);
    let measured = match plan.is_of_fleet() {
        true => measure_hosts(plan, (head, lines, systems), measured, outside, on_event),
        false => {
            let recording = Recording::from_run(head, lines);
            RunLoop::new(plan, measured, outside, recording).run(Turn::default(), on_event)
        }
    };
    Ok(finish(plan, file, measured, clock.now().saturating_sub(begun)))
}

/// Measures every host of a fleet, each in a loop of its own, and joins the results.
fn measure_hosts<E: Executor>(
    plan: &RunPlan,
    (head, lines, systems): (Run, Vec<Line>, Vec<System>),
    measured: Vec<MeasuredSystem<E>>,
    outside: LoopOutside<'_>,
    on_event: &mut OnEvent<'_>,
) -> Measured {
    let hosts = plan.hosts();
    let mut first = 0;
    let mut plans = Vec::new();
    for (place, host) in hosts.iter().enumerate() {
        plans.push(plan.of_host(place, first, host.systems));
        first += host.systems;
    }
    let definitions = || lines.iter().filter(|line| matches!(line, Line::Workload(_))).cloned();
    let (mut measured, mut recorded) = (measured.into_iter(), systems.into_iter());
    let loops = plans.iter().map(|plan| {
        let own: Vec<Line> = recorded.by_ref().take(plan.targets.len()).map(Line::System).collect();
        let recording = Recording::from_run(head.clone(), own.into_iter().chain(definitions()));
        let measured = measured.by_ref().take(plan.targets.len()).collect();
        RunLoop::new(plan, measured, outside, recording)
    });
    let (shared, ended) = (Mutex::new(on_event), Mutex::new(0));
    let report = |event: RunEvent<'_>| {
        let mut on_event = shared.lock().unwrap_or_else(PoisonError::into_inner);
        (*on_event)(event);
    };
    let work = |one: RunLoop<'_, E>, turn: Turn| {
        let host = one.host().to_owned();
        let done = one.run(turn, &mut |event| report(event));
        let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
        *ended += 1;
        let (ended, of) = (*ended, hosts.len());
        let (status, lost) = (&done.status, done.lost.as_deref());
        report(RunEvent::HostEnded { host: &host, status, lost, ended, of });
        done
    };
    let done: Vec<Measured> = plan.turns.on_each(loops.collect(), &work);
    join(Recording::from_run(head, lines), done)
}

/// The results of all hosts as those of one run, which ended as the one that ended worst.
fn join(recording: Recording, hosts: Vec<Measured>) -> Measured {
    let badness = |status: &EndStatus| match status {
        EndStatus::Complete => 0,
        EndStatus::Budget => 1,
        EndStatus::Interrupted => 2,
        EndStatus::Failed | EndStatus::Other(_) => 3,
    };
    let (status, judgements) = (EndStatus::Complete, Judgements::default());
    let mut all = Measured { status, recording, judgements, lost: None };
    for host in hosts {
        if badness(&host.status) > badness(&all.status) {
            all.status = host.status;
        }
        all.judgements.join(host.judgements);
        all.recording.join(host.recording);
    }
    all
}

/// Ends the record, and judges the rest of the series.
fn finish(plan: &RunPlan, file: RunFile, measured: Measured, elapsed: Duration) -> Ran {
    let Measured { status, mut recording, mut judgements, .. } = measured;
    if plan.aa
        && let Some(floor) = judge::noise_floor::measured(&recording)
    {
        file.append(&[Line::NoiseFloor(floor.clone()).into()]);
        recording.extend([Line::NoiseFloor(floor)]);
    }
    let interrupted = status == EndStatus::Interrupted;
    let end = End { status, elapsed_seconds: elapsed.as_secs_f64() };
    recording.end = Some(end.clone());
    let unwritten = file.finish(end);
    Ran {
        findings: judgements.findings(&recording),
        judgements: judgements.count(),
        recording,
        unwritten,
        interrupted,
        floor_kept: None,
        removal: None,
    }
}

/// How often a wait looks for an interrupt.
const ATTENTION: Duration = Duration::from_millis(50);

/// The clock of this machine.
#[derive(Debug)]
struct MachineClock(Instant);

impl MachineClock {
    fn start() -> MachineClock {
        MachineClock(Instant::now())
    }
}

impl RunClock for MachineClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn wait(&self, time: Duration, interrupt: &AtomicBool) {
        let begun = Instant::now();
        while begun.elapsed() < time && !interrupt.load(Ordering::Relaxed) {
            std::thread::sleep(ATTENTION.min(time));
        }
    }

    fn date(&self) -> SystemTime {
        SystemTime::now()
    }
}
