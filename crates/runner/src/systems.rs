//! The systems of a run: the report of each about itself, and its plan.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use record::{Outcome, System};

use crate::hosts::Turn;
use crate::plan::RunPlan;
use crate::system_plan::{self, SystemPlan};
use crate::{Error, Executor, Target, noise_floor};

/// A system of the run, ready to be measured.
pub(crate) struct MeasuredSystem<E> {
    /// Executes its trials.
    pub(crate) executor: E,
    /// The outcome of every trial, where nothing can be measured there; `None` if it can.
    pub(crate) unavailable: Option<Outcome>,
    /// Its plan.
    pub(crate) plan: SystemPlan,
}

/// Makes every system describe itself, and plans for each from its report. Hosts do so at once.
///
/// # Errors
/// The first error, if no system can be measured.
pub(crate) fn describe<E: Executor>(
    plan: &RunPlan,
    executors: Vec<E>,
    interrupt: &AtomicBool,
) -> Result<(Vec<System>, Vec<MeasuredSystem<E>>), Error> {
    let mut executors = executors.into_iter().enumerate();
    let hosts = plan.hosts();
    let of_hosts = hosts.iter().map(|host| executors.by_ref().take(host.systems).collect()).collect();
    let describe_one = |(place, mut executor): (usize, E)| {
        let described = executor.describe().and_then(|system| {
            // One host of many says nothing about the others.
            if plan.is_of_fleet() {
                try_background(plan, place, &mut executor, &system)?;
            }
            Ok(system)
        });
        (executor, described)
    };
    let describe_all = |executors: Vec<(usize, E)>, _turn: Turn| -> Vec<(E, Result<System, Error>)> {
        executors.into_iter().map(describe_one).collect()
    };
    let described = plan.turns.on_each(of_hosts, &describe_all);
    let (mut executors, mut described): (Vec<E>, Vec<Result<System, Error>>) =
        described.into_iter().flatten().unzip();
    // An interrupt is not an error.
    if described.iter().all(Result::is_err)
        && !interrupt.load(Ordering::Relaxed)
        && let Some(Err(error)) = described.drain(..).next()
    {
        return Err(error);
    }
    for (place, executor) in executors.iter_mut().enumerate().filter(|_| !plan.is_of_fleet()) {
        if let Ok(system) = &described[place] {
            // A load that is too much for the system is a mistake of the command line.
            try_background(plan, place, executor, system)?;
        }
    }
    let systems: Vec<Option<&System>> = described.iter().map(|system| system.as_ref().ok()).collect();
    let plans = system_plan::of_all(plan, &systems);
    let outcomes: Vec<Option<Outcome>> =
        described.iter().map(|system| system.as_ref().err().map(outcome_of)).collect();
    let recorded = described.into_iter().zip(&plan.targets).zip(&plans).map(|((system, target), own)| {
        let system = system.map_or_else(|error| unknown(target, &error), |system| planned(system, plan, own));
        System { fleet: target.fleet.clone(), ..system }
    });
    let recorded = recorded.collect();
    let measured = executors.into_iter().zip(outcomes).zip(plans);
    let measured =
        measured.map(|((executor, unavailable), plan)| MeasuredSystem { executor, unavailable, plan });
    Ok((recorded, measured.collect()))
}

/// Checks that the loads beside the trials of a system can be held there.
fn try_background<E: Executor>(
    plan: &RunPlan,
    place: usize,
    executor: &mut E,
    system: &System,
) -> Result<(), Error> {
    let own = system_plan::of_all(plan, &[Some(system)]).remove(0);
    executor.try_background(&own.background(&plan.targets[place]))
}

/// The outcome of every trial on a system that did not describe itself.
fn outcome_of(error: &Error) -> Outcome {
    match error {
        Error::Unsupported { reason, .. } => Outcome::Unsupported { reason: reason.clone() },
        Error::Command { reason, .. } | Error::Describe { reason, .. } => {
            Outcome::Failed { reason: reason.clone() }
        }
        other => Outcome::Failed { reason: other.to_string() },
    }
}

/// The system with its plan and its noise floor.
fn planned(mut system: System, plan: &RunPlan, own: &SystemPlan) -> System {
    // A run that measures the floor must not copy an older one.
    match noise_floor::known(&system) {
        Ok(floor) => system.noise_floor = floor.filter(|_| !plan.aa),
        Err(warning) => system.warnings.push(warning),
    }
    if let Some(processors) = &mut system.processors {
        (processors.trial, processors.server) = (own.cpu, own.server_cpu);
    }
    system.warnings.extend(own.remarks(plan));
    system
}

/// A system that did not describe itself.
fn unknown(target: &Target, error: &Error) -> System {
    System {
        name: target.name.clone(),
        prefix: target.written.clone(),
        environment: BTreeMap::new(),
        warnings: vec![sentence(&error.to_string())],
        limits: BTreeMap::new(),
        processors: None,
        noise_floor: None,
        fleet: None,
    }
}

/// An error's text as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).chain(['.']).collect()
}
