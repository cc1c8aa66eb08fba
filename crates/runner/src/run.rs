//! Measures a plan and writes the record as it goes.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use judge::Judgements;
use record::{End, EndStatus, Line, Recording, Run, System, Writer};

use crate::blame::{BlameOptions, refuse_others};
use crate::event::{Ran, RunEvent};
use crate::executor::{Executor, MachineClock, Outside, RunClock};
use crate::hosts::Turn;
use crate::launch::Launcher;
use crate::lines::{definitions, head};
use crate::plan::RunPlan;
use crate::run_file::RunFile;
use crate::run_loop::{Measured, RunLoop};
use crate::scratch::{Folder, Removal, Scratch};
use crate::systems::{MeasuredSystem, describe};
use crate::{Error, Target, noise_floor};

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
    let (recording, ended) = match plan.is_of_fleet() {
        false => {
            let recording = Recording::from_run(head, lines);
            let one = RunLoop::new(plan, measured, (clock, interrupt), &file, recording)
                .run(Turn::default(), on_event);
            (one.recording, Ended { status: one.status, judgements: one.judgements })
        }
        true => {
            let outside = FleetOutside { clock, interrupt, file: &file };
            measure_hosts(plan, (head, lines, systems), measured, &outside, on_event)
        }
    };
    Ok(finish(plan, file, recording, ended, clock.now().saturating_sub(begun)))
}

/// How the loops of all hosts ended.
struct Ended {
    status: EndStatus,
    judgements: Judgements,
}

/// The outside of all hosts.
struct FleetOutside<'a> {
    clock: &'a dyn RunClock,
    interrupt: &'a AtomicBool,
    file: &'a RunFile,
}

/// Measures every host of a fleet, each in a loop of its own, and joins the results.
fn measure_hosts<E: Executor>(
    plan: &RunPlan,
    (head, lines, systems): (Run, Vec<Line>, Vec<System>),
    measured: Vec<MeasuredSystem<E>>,
    outside: &FleetOutside<'_>,
    on_event: &mut OnEvent<'_>,
) -> (Recording, Ended) {
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
        RunLoop::new(plan, measured, (outside.clock, outside.interrupt), outside.file, recording)
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
fn join(mut recording: Recording, hosts: Vec<Measured>) -> (Recording, Ended) {
    let badness = |status: &EndStatus| match status {
        EndStatus::Complete => 0,
        EndStatus::Budget => 1,
        EndStatus::Interrupted => 2,
        EndStatus::Failed | EndStatus::Other(_) => 3,
    };
    let mut ended = Ended { status: EndStatus::Complete, judgements: Judgements::default() };
    for host in hosts {
        if badness(&host.status) > badness(&ended.status) {
            ended.status = host.status;
        }
        ended.judgements.join(host.judgements);
        recording.join(host.recording);
    }
    (recording, ended)
}

/// Ends the record, and judges what was not judged yet.
fn finish(plan: &RunPlan, file: RunFile, mut recording: Recording, ended: Ended, elapsed: Duration) -> Ran {
    let Ended { status, mut judgements } = ended;
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
