//! Examines systems before anything is measured there: the report of each about itself, how far every
//! workload would go, and causes of doubtful figures; whether a guest boots at all; and which hosts of a
//! fleet can be reached, and how far their clocks are off.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

use host::{Deadline, Host, NoReply};
use record::{Examination, System};
use workload::Extent;

use crate::hosts::{FleetOptions, Turn};
use crate::launch::{Launcher, filled};
use crate::plan::RunPlan;
use crate::scratch::{Removal, Scratch};
use crate::{Error, Executor, Target, systems};

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
    let plans = systems::plan_all(plan, &systems);
    let examined = described.into_iter().zip(plans).map(|(described, own)| {
        let (system, examination) = described?;
        Ok(Examined { system, extents: own.into_extents(), examination })
    });
    let examined = examined.collect();
    drop(Removal::begin(vec![scratch.folder]));
    Ok(examined)
}

/// A host that was probed.
#[derive(Clone, Debug)]
pub struct ProbedHost {
    /// Its name.
    pub name: String,
    /// The words of the command that leads there.
    pub command: Vec<String>,
    /// The facts about it, or why it is lost.
    pub probed: Result<Probe, String>,
}

/// The facts about a host.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Its report about itself.
    pub system: System,
    /// Causes of doubtful figures there.
    pub examination: Examination,
    /// Its clock beside the one of this machine.
    pub clock: DateOffset,
    /// From the start of the command to the first reply, in which the agent is sent.
    pub start: Duration,
}

/// How far the date of a host is ahead of the date here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DateOffset {
    /// The difference; negative where the host is behind.
    pub seconds: f64,
    /// It is wrong by this at most.
    pub error_seconds: f64,
    /// The shortest round trip.
    pub round_trip_seconds: f64,
}

/// Requests for the time of a host.
const ROUND_TRIPS: usize = 32;

/// Probes all hosts at once; each takes two seconds, in which a reference operation is repeated there.
///
/// # Errors
/// [`Error`] when there is no scratch folder; the error of a single host is in its entry.
pub fn probe(fleet: &FleetOptions, interrupt: &AtomicBool) -> Result<Vec<ProbedHost>, Error> {
    let scratch = Scratch::make(&std::env::temp_dir())?;
    let targets: Vec<Target> = fleet.targets(vec![Target::local()])?;
    let own = scratch.folder.path();
    let probe_one = |target: &Target, _turn: Turn| {
        let mut launcher = Launcher::new(target, &scratch.programs, own, own, None, interrupt);
        let begun = Instant::now();
        let probed = launcher.describe().and_then(|system| {
            let start = begun.elapsed();
            let clock = launcher.exchange_clock(ROUND_TRIPS)?;
            Ok(Probe { system, clock, start, examination: launcher.examine()? })
        });
        let probed = probed.map_err(|error| error.to_string());
        ProbedHost { name: target.name.clone(), command: target.prefix.clone(), probed }
    };
    let hosts = fleet.turns()?.on_each(targets.iter().collect(), &probe_one);
    drop(Removal::begin(vec![scratch.folder]));
    Ok(hosts)
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

impl DateOffset {
    /// From exchanges: when each request left here, the reply in nanoseconds since 1970, and how long both
    /// took. The reply of the shortest round trip is the surest: the time there was read within it, at a
    /// moment that is unknown by half of it (Cristian, Distributed Computing 3, 1989).
    pub(crate) fn from_exchanges(exchanges: &[(SystemTime, u64, Duration)]) -> Option<DateOffset> {
        let (sent, there_ns, round_trip) = exchanges.iter().min_by_key(|(_, _, round_trip)| *round_trip)?;
        let here = sent.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() + *round_trip / 2;
        let there = Duration::from_nanos(*there_ns);
        let seconds =
            if there >= here { (there - here).as_secs_f64() } else { -(here - there).as_secs_f64() };
        let round_trip_seconds = round_trip.as_secs_f64();
        Some(DateOffset { seconds, error_seconds: round_trip_seconds / 2.0, round_trip_seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_tells_the_offset() {
        let at = |ms: u64| SystemTime::UNIX_EPOCH + Duration::from_millis(ms);
        let exchanges = [
            (at(1000), 1_150_000_000, Duration::from_millis(40)),
            (at(2000), 2_102_000_000, Duration::from_millis(4)),
            (at(3000), 3_900_000_000, Duration::from_millis(900)),
        ];
        let offset = DateOffset::from_exchanges(&exchanges).expect("exchanges");
        assert!(
            (offset.seconds - 0.1).abs() < 1e-9 && (offset.error_seconds - 0.002).abs() < 1e-9,
            "{offset:?}"
        );
        let behind = [(at(2000), 1_000_000_000, Duration::from_millis(4))];
        let behind = DateOffset::from_exchanges(&behind).expect("an exchange");
        assert!((behind.seconds + 1.002).abs() < 1e-9, "{behind:?}");
        assert_eq!(DateOffset::from_exchanges(&[]), None);
    }
}
