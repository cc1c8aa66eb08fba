//! Measures a plan and writes the record as it goes.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use record::{Line, Recording, Writer};

use crate::blame::{BlameOptions, refuse_others};
use crate::event::{Ran, RunEvent};
use crate::executor::{Executor, MachineClock, Outside};
use crate::launch::Launcher;
use crate::lines::{definitions, head};
use crate::plan::RunPlan;
use crate::run_loop::RunLoop;
use crate::scratch::{Folder, Removal, Scratch};
use crate::systems::describe;
use crate::{Error, Target, noise_floor};

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
    on_event: &mut dyn FnMut(RunEvent<'_>),
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
    on_event: &mut dyn FnMut(RunEvent<'_>),
) -> Result<Ran, Error> {
    let Outside { executors, clock, create, interrupt } = outside;
    let (systems, measured) = describe(plan, executors, interrupt)?;
    if let Some(BlameOptions { run: Some((run, _)), anyway: false, .. }) = &plan.blame {
        refuse_others(run, &systems)?;
    }
    let head = head(plan, command, &systems, clock.date());
    let mut lines: Vec<Line> = systems.iter().cloned().map(Line::System).collect();
    lines.extend(definitions(plan).map(Line::Workload));
    let writer = create(head.clone(), &lines)?;
    on_event(RunEvent::Begun { systems: &systems });
    let recording = Recording::from_run(head, lines);
    Ok(RunLoop::new(plan, measured, clock, interrupt, writer, recording).run(on_event))
}
