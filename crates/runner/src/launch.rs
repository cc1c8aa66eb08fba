//! Starts the measured program, here or through the command of a system, and receives its reports.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

use background::HeldLoads;
use host::{CommandRefusal, Deadline, Host, NoReply, Process};
use record::{Background, Examination, Line, SentLine, System, TrialParameters};
use workload::Workload;

use crate::examine::DateOffset;
use crate::lines::{crashed, received, unsupported};
use crate::noise_floor::ENGINE;
use crate::target::{OWN_PROGRAM, SCRATCH};
use crate::{Entry, Error, Executor, Programs, Target};

/// How much longer than its time-out the supervisor of a trial may take before it counts as hung itself.
const SUPERVISOR_GRACE: Duration = Duration::from_secs(20);

/// How long a system may take to describe itself.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(30);

/// No trial has as many bytes of lines. A host that is not in order must not fill the memory here.
const TRIAL_BYTES_MAX: usize = 1 << 30;

/// The reason for a guest with an empty console.
const SILENT: &str = "its kernel printed nothing; more memory may help";

/// Where the trials of one system are started, and how.
pub(crate) struct Launcher<'a> {
    target: &'a Target,
    /// Those of this machine, of which one guards the command.
    own_programs: &'a Programs,
    /// The measured programs.
    programs: &'a Programs,
    /// The run's folder on this machine.
    scratch: &'a Path,
    /// Where workloads have their files on this machine.
    files: &'a Path,
    /// Where the agent of a command may make its folder.
    folders: Vec<String>,
    /// Ends it early.
    interrupt: &'a AtomicBool,
    /// Nothing before the first use, and again where it has come to an end.
    host: Option<Host>,
    /// How often the run has booted the system; 0 if it does not boot it.
    boots: u32,
}

impl<'a> Launcher<'a> {
    /// `parent` is where the user wants scratch folders: `None` leaves it to each system.
    pub(crate) fn new(
        target: &'a Target,
        own_programs: &'a Programs,
        scratch: &'a Path,
        files: &'a Path,
        parent: Option<&Path>,
        interrupt: &'a AtomicBool,
    ) -> Launcher<'a> {
        // Where a command leads to the same files, the run's own folder is there, and its janitor beside it.
        let own = scratch.to_string_lossy().into_owned();
        let folders = match parent {
            // Any other folder is on another file system.
            _ if target.is_new_in_each_trial() => vec![own],
            Some(parent) => vec![own, parent.to_string_lossy().into_owned()],
            None => [own].into_iter().chain(Host::FOLDERS.map(str::to_owned)).collect(),
        };
        let programs = target.programs.as_ref().unwrap_or(own_programs);
        Launcher { target, own_programs, programs, scratch, files, folders, interrupt, host: None, boots: 0 }
    }

    /// Starts a role, and the command anew where it has ended; beside it, the folder for files there.
    fn start(&mut self, role: &str, program: &Path, verb: &str) -> Result<(Process, String), host::Error> {
        let deadline = self.deadline(self.target.start_timeout);
        if self.host.as_ref().is_some_and(Host::is_over) {
            self.host = None;
        }
        let host = match &mut self.host {
            Some(host) => host,
            none => {
                let (guard, agent) = (self.own_programs.main(), self.programs.agent());
                let command = filled(&self.target.prefix, self.scratch);
                self.boots += u32::from(self.target.is_guest());
                none.insert(match self.target.entry {
                    Entry::Shell => Host::open(&command, guard, agent, &self.folders, deadline)?,
                    Entry::Agent => Host::open_agent(&command, guard, agent, deadline)?,
                    Entry::Guest => Host::open_guest(&command, guard, agent, deadline)?,
                })
            }
        };
        let process = host.start(role, program, &[verb], deadline)?;
        let folder = host.folder().map_or_else(|| self.files.to_string_lossy().into_owned(), str::to_owned);
        Ok((process, folder))
    }

    /// Causes of doubtful figures of the system.
    ///
    /// # Errors
    /// Why they are unknown.
    pub(crate) fn examine(&mut self) -> Result<Examination, Error> {
        let (mut process, scratch) = self
            .start("its trial program", self.programs.main(), "examine")
            .map_err(|error| self.unusable(error))?;
        let deadline = self.deadline(DESCRIBE_TIMEOUT);
        let replied = process.send(&scratch).and_then(|()| process.receive(deadline));
        replied.map_err(|error| self.unusable(error))
    }

    /// The date of the system beside the one here, by so many round trips.
    ///
    /// # Errors
    /// Why it is unknown.
    pub(crate) fn exchange_clock(&mut self, round_trips: usize) -> Result<DateOffset, Error> {
        let (mut process, _) = self
            .start("its trial program", self.programs.main(), "clock")
            .map_err(|error| self.unusable(error))?;
        let deadline = self.deadline(DESCRIBE_TIMEOUT);
        let mut exchanges = Vec::with_capacity(round_trips);
        for _ in 0..round_trips {
            let (sent, begun) = (SystemTime::now(), Instant::now());
            let there_ns = process.send(&()).and_then(|()| process.receive::<u64>(deadline));
            exchanges.push((sent, there_ns.map_err(|error| self.unusable(error))?, begun.elapsed()));
        }
        let nothing =
            || Error::Describe { name: self.target.name.clone(), reason: "it told no time".to_owned() };
        DateOffset::from_exchanges(&exchanges).ok_or_else(nothing)
    }

    fn deadline(&self, time: Duration) -> Deadline<'a> {
        Deadline::within(time).or_when(self.interrupt)
    }

    /// Why the system cannot be measured, with the remedy.
    fn unusable(&self, error: host::Error) -> Error {
        let name = self.target.name.clone();
        match error {
            host::Error::Start { command, source } if self.target.prefix.is_empty() => {
                Error::Program { path: command.into(), source }
            }
            host::Error::NoReply { ref stderr, .. } if self.target.is_guest() && stderr.is_empty() => {
                Error::Describe { name, reason: format!("{error}, and {SILENT}") }
            }
            host::Error::NoShell(CommandRefusal { is_unsupported: true, reason }) => {
                Error::Unsupported { name, reason }
            }
            // The command is the user's own.
            error
                if !self.target.prefix.is_empty() && self.target.written.starts_with(&self.target.prefix) =>
            {
                Error::Command { name, reason: error.to_string() }
            }
            error => Error::Describe { name, reason: error.to_string() },
        }
    }
}

impl Executor for Launcher<'_> {
    fn describe(&mut self) -> Result<System, Error> {
        let described = self.start("its trial program", self.programs.main(), "describe");
        let described = described.and_then(|(mut process, scratch)| {
            process.send(&scratch)?;
            let bytes = process.receive_bytes(self.deadline(DESCRIBE_TIMEOUT))?;
            Ok((bytes, process.stderr()))
        });
        let of_command = self.host.as_ref().map(Host::stderr).unwrap_or_default();
        // Another system may need the device.
        if self.target.is_new_in_each_trial() {
            self.host = None;
        }
        let (bytes, stderr) = described.map_err(|error| self.unusable(error))?;
        let Ok(Line::System(mut system)) = record::parse_line(&String::from_utf8_lossy(&bytes)) else {
            let (name, reason) = (self.target.name.clone(), "it reported something else".to_owned());
            return Err(Error::Describe { name, reason });
        };
        system.name.clone_from(&self.target.name);
        system.prefix.clone_from(&self.target.written);
        let engine = self.target.engine.map(|engine| (ENGINE.to_owned(), engine.to_owned()));
        system.environment.extend(engine);
        system.warnings.extend([of_command, stderr].iter().filter_map(|stderr| remark(stderr)));
        system.warnings.extend(self.programs.remark());
        Ok(system)
    }

    fn try_background(&mut self, loads: &[Background]) -> Result<(), Error> {
        if loads.is_empty() {
            return Ok(());
        }
        let program = self.programs.main();
        let start = |role: &str| self.start(role, program, background::ROLE);
        let reached = HeldLoads::start(loads, background::TIME_MOST, start);
        let reached = reached.and_then(|mut beside| beside.reach(self.interrupt));
        if self.target.is_new_in_each_trial() {
            self.host = None;
        }
        match reached {
            Err(error) if !error.is_interrupted() => {
                Err(Error::Background { name: self.target.name.clone(), source: error })
            }
            _ => Ok(()),
        }
    }

    fn reboot(&mut self) {
        if self.target.is_guest() {
            self.host = None;
        }
    }

    fn trial(
        &mut self,
        workload: &Workload,
        mut order: TrialParameters,
    ) -> Result<Option<Vec<SentLine>>, Error> {
        order.scratch = self.files.to_string_lossy().into_owned();
        let program = match self.programs.measuring(workload) {
            Ok(program) => program,
            Err(reason) => return Ok(Some(vec![unsupported(&order, reason)])),
        };
        let (begun, mut has_begun) = (Instant::now(), false);
        let lines = host::until_loaded(|| {
            let started = self.start("the supervisor of the trial", program, "supervise");
            order.boot = self.boots;
            let (mut supervisor, scratch) = started?;
            has_begun = true;
            order.scratch = scratch;
            receive(&mut supervisor, &order, self.interrupt)
        });
        if self.target.is_new_in_each_trial() {
            self.host = None;
        }
        match lines {
            Ok(lines) => Ok(Some(lines)),
            Err(error) if error.no_reply() == Some(&NoReply::Interrupted) => Ok(None),
            // A host of a fleet that cannot be reached is tried again.
            Err(error) if error.no_reply().is_some() && (has_begun || self.target.fleet.is_none()) => {
                Ok(Some(vec![crashed(&order, begun, error.to_string())]))
            }
            // A program that cannot start now will not start for the next trial.
            Err(error) => Err(self.unusable(error)),
        }
    }
}

/// A command; the run replaces two of its words.
pub(crate) fn filled(command: &[String], scratch: &Path) -> Vec<String> {
    let word = |word: &String| match word.as_str() {
        OWN_PROGRAM => sys::process::own_program().map(|path| path.to_string_lossy().into_owned()).ok(),
        SCRATCH => Some(scratch.to_string_lossy().into_owned()),
        _ => None,
    };
    command.iter().map(|own| word(own).unwrap_or_else(|| own.clone())).collect()
}

/// Sends the parameters and receives the lines of the trial.
fn receive(
    supervisor: &mut Process,
    order: &TrialParameters,
    interrupt: &AtomicBool,
) -> Result<Vec<SentLine>, host::Error> {
    supervisor.send(order)?;
    let timeout = Duration::try_from_secs_f64(order.timeout_seconds).unwrap_or(Duration::MAX);
    let beside = if order.background.is_empty() { Duration::ZERO } else { background::TIME_MOST };
    let within = timeout.saturating_add(SUPERVISOR_GRACE).saturating_add(beside);
    let deadline = Deadline::within(within).or_when(interrupt);
    let count: usize = supervisor.receive(deadline)?;
    let begun = Instant::now();
    let (mut messages, mut bytes) = (Vec::new(), 0);
    for _ in 0..count {
        let message = supervisor.receive_bytes(deadline)?;
        bytes += message.len();
        messages.push(message);
        if bytes > TRIAL_BYTES_MAX {
            return Ok(vec![crashed(order, begun, "it sent more than a trial can measure".to_owned())]);
        }
    }
    let lost = || crashed(order, begun, "its own line cannot be read".to_owned());
    let mut lines = received(messages, order, lost);
    let stderr = supervisor.stderr();
    for trial in lines.iter_mut().filter_map(SentLine::trial_mut) {
        trial.warnings.extend(remark(&stderr));
    }
    Ok(lines)
}

/// The standard error of a program, as a remark.
fn remark(stderr: &str) -> Option<String> {
    (!stderr.is_empty()).then(|| format!("Standard error of the system: {stderr}."))
}
