//! Examines systems before anything is measured there: the report of each about itself, how far every
//! workload would go, and causes of doubtful figures; and whether a guest boots at all.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use host::{Deadline, Host, NoReply};
use record::{Examination, System};
use workload::Extent;

use crate::launch::{Launcher, filled};
use crate::plan::RunPlan;
use crate::scratch::{Removal, Scratch};
use crate::{Error, Executor, system_plan};

/// A system that was examined.
#[derive(Clone, Debug)]
pub struct Examined {
    /// Its report about itself.
    pub system: System,
    /// How far n goes, for each item of the plan, as in a run of this plan.
    pub extents: Vec<Extent>,
    /// Causes of doubtful figures, or why it could not be examined.
    pub examination: Result<Examination, String>,
}

/// Makes every system of the plan describe itself and, if `thorough`, be examined for two seconds. Nothing is
/// measured, and nothing changed.
///
/// # Errors
/// [`Error`] when not even a scratch folder can be made; the error of a single system is in its entry.
pub fn examine(
    plan: &RunPlan,
    thorough: bool,
    interrupt: &AtomicBool,
) -> Result<Vec<Result<Examined, Error>>, Error> {
    let scratch = Scratch::make_for(plan)?;
    let own = scratch.folder.path();
    let mut described = Vec::new();
    for target in &plan.targets {
        let mut launcher = Launcher::new(target, &scratch.programs, own, own, None, interrupt);
        described.push(launcher.describe().map(|system| {
            let examination = match thorough {
                true => launcher.examine().map_err(|error| error.to_string()),
                false => Ok(Examination::default()),
            };
            (system, examination)
        }));
    }
    let systems: Vec<Option<&System>> =
        described.iter().map(|one| one.as_ref().ok().map(|(system, _)| system)).collect();
    let plans = system_plan::of_all(plan, &systems);
    let examined = described.into_iter().zip(plans).map(|(described, own)| {
        let (system, examination) = described?;
        Ok(Examined { system, extents: own.into_extents(), examination })
    });
    let examined = examined.collect();
    drop(Removal::begin(vec![scratch.folder]));
    Ok(examined)
}

/// The result of an attempt to boot a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestBoot {
    /// Its agent replied.
    Ready,
    /// Its agent did not reply in time, and it was ended.
    Silent,
    /// It ended by itself, or sent something else.
    Ended,
}

/// Boots the guest of this command, and ends it. Nothing is left of it.
///
/// # Errors
/// [`Error::Scratch`], when there is no folder for the programs that start it.
pub fn boot_guest(command: &[String], scratch: &Path, within: Duration) -> Result<GuestBoot, Error> {
    let scratch = Scratch::make(scratch)?;
    let (guard, agent) = (scratch.programs.main(), scratch.programs.agent());
    let command = filled(command, scratch.folder.path());
    let opened = Host::open_guest(&command, guard, agent, Deadline::within(within));
    Ok(match opened {
        Ok(_) => GuestBoot::Ready,
        Err(error) if matches!(error.no_reply(), Some(NoReply::Deadline(_))) => GuestBoot::Silent,
        Err(_) => GuestBoot::Ended,
    })
}
