//! One trial of a workload: its parameters, checks and remarks, and how it can end. It measures through the
//! driver of its shape: `curve.rs`, `load.rs` or `scaling/`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fmt, io};

use record::{Check, ClientHost, Line, OfferedLevel, Server};
use sys::clock::Clock;

use crate::definition::{Variant, Workload};
use crate::helpers::{Helpers, Link, Role};
use crate::load::PhaseTime;
use crate::reference::References;
use crate::slots::Slots;

/// How far n goes in the discarded pass before a trial: far enough for every code path and lazy binding
/// to have been used, and no further. Objects that a longer pass frees are handed out again, warm, to the
/// trial: with 100 sockets before it, its first 100 cost 40 % less than all others on Linux 6.18.
const WARM_UP_N: u64 = 8;

/// How long an operation is done and undone right before it is timed. Its effect was not measured alone. It
/// was meant for the first 300 mappings, which are a fifth more expensive on Linux 6.18, and still are.
const WARM_UP: Duration = Duration::from_millis(2);

/// Why an operation that its workload does not declare cannot be measured.
pub(crate) const UNDECLARED: &str = "the workload declares no such operation";

/// How long a load is held in the discarded pass, at most.
const WARM_UP_WINDOW: Duration = Duration::from_millis(10);

/// How long a load is held at one level, if neither the user nor the allowed time determines it.
const WINDOW: Duration = Duration::from_millis(500);
/// A shorter window would contain few responses; a longer one would leave time for few trials.
const WINDOW_MIN: Duration = Duration::from_millis(20);
const WINDOW_MAX: Duration = Duration::from_secs(2);

/// Why the way up ended before n was reached; the measurements so far stay.
#[derive(Debug)]
pub enum EarlyEnd {
    /// The system refused an operation.
    Refused {
        /// Live objects when it happened.
        n: u64,
        /// The operation.
        operation: &'static str,
        /// The system's answer.
        error: io::Error,
    },
    /// The time allowed for the way up was used up.
    Allowance {
        /// Live objects when it happened.
        n: u64,
    },
}

/// A trial that cannot go on and whose measurements must not be trusted.
#[derive(Debug)]
pub struct TrialError {
    /// The attempt.
    pub attempted: String,
    /// Its result.
    pub error: io::Error,
}

impl TrialError {
    /// For `map_err`: adds the attempt.
    pub fn at(attempted: impl Into<String>) -> impl FnOnce(io::Error) -> TrialError {
        let attempted = attempted.into();
        move |error| TrialError { attempted, error }
    }

    /// Collects all results.
    ///
    /// # Errors
    /// The first error, with the attempt.
    pub fn collect<T>(
        attempted: &str,
        results: impl IntoIterator<Item = io::Result<T>>,
    ) -> Result<Vec<T>, TrialError> {
        results.into_iter().collect::<io::Result<_>>().map_err(TrialError::at(attempted))
    }
}

impl fmt::Display for TrialError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.attempted, self.error)
    }
}

/// A program under test has ended otherwise than it should: a server by itself, a command with an error. This
/// is no limit, and no failed measurement.
#[derive(Debug)]
pub struct ProgramEnded(pub String);

impl ProgramEnded {
    /// How it ended, if that caused the error.
    pub fn behind(error: &io::Error) -> Option<String> {
        error.get_ref()?.downcast_ref::<ProgramEnded>().map(ToString::to_string)
    }
}

impl fmt::Display for ProgramEnded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ProgramEnded {}

/// How long to measure at each of `levels` levels, when they may take `allowed` together.
pub fn window(allowed: Option<Duration>, levels: usize) -> Duration {
    let levels = u32::try_from(levels).unwrap_or(u32::MAX).max(1);
    allowed.map_or(WINDOW, |allowed| (allowed / levels).clamp(WINDOW_MIN, WINDOW_MAX))
}

/// n of the discarded pass before a trial of `n`.
pub fn warm_up_n(n: u64) -> u64 {
    WARM_UP_N.min(n)
}

/// One execution of a workload.
#[derive(Debug)]
pub struct Trial<'a> {
    pub(crate) workload: &'static Workload,
    variant: &'a str,
    pub(crate) n: usize,
    pub(crate) scratch: &'a Path,
    seed: u64,
    pub(crate) random: fastrand::Rng,
    pub(crate) clock: &'a Clock,
    pub(crate) tick_ticks: f64,
    pub(crate) slots: Slots<'a>,
    pub(crate) allowance_ticks: u64,
    /// The time of the clock at which a load ends at any level.
    pub(crate) end_ticks: u64,
    pub(crate) ended: Option<EarlyEnd>,
    pub(crate) checks: Vec<Check>,
    pub(crate) warnings: Vec<String>,
    pub(crate) facts: Vec<Line>,
    pub(crate) phase_times: Vec<PhaseTime>,
    pub(crate) batch: u32,
    rehearsal: bool,
    window: Option<Duration>,
    server: Option<&'a Server>,
    clients: &'a [ClientHost],
    cpu: Option<u32>,
    server_cpu: Option<u32>,
    spare_cpus: &'a [u32],
    offered: &'a [OfferedLevel],
    settings: Option<&'a BTreeMap<String, String>>,
    pub(crate) wants_references: bool,
    pub(crate) references: Option<References<'a>>,
    /// How many helpers there are to be.
    helper_count: u32,
    pub(crate) helpers: Option<Helpers>,
    /// In a helper, the pipe to the trial.
    pub(crate) duty: Option<Link>,
}

impl<'a> Trial<'a> {
    /// A trial of `workload` that goes to `n`.
    pub fn new(
        workload: &'static Workload,
        variant: &'a str,
        n: u64,
        scratch: &'a Path,
        seed: u64,
        clock: &'a Clock,
        slots: Slots<'a>,
    ) -> Trial<'a> {
        Trial {
            workload,
            variant,
            n: n as usize,
            scratch,
            seed,
            random: fastrand::Rng::with_seed(seed),
            clock,
            tick_ticks: 1.0,
            slots,
            allowance_ticks: u64::MAX,
            end_ticks: u64::MAX,
            ended: None,
            checks: Vec::new(),
            warnings: Vec::new(),
            facts: Vec::new(),
            phase_times: Vec::new(),
            batch: 1,
            rehearsal: false,
            window: None,
            server: None,
            clients: &[],
            cpu: None,
            server_cpu: None,
            spare_cpus: &[],
            offered: &[],
            settings: None,
            wants_references: false,
            references: None,
            helper_count: 0,
            helpers: None,
            duty: None,
        }
    }

    /// Makes it a pass that is discarded: one small level, held for ten milliseconds at most.
    pub fn rehearse(&mut self) {
        self.rehearsal = true;
    }

    /// How long a load is held at each level.
    pub fn set_window(&mut self, window: Duration) {
        self.window = Some(window);
    }

    /// Times references among the operations of a curve.
    pub fn want_references(&mut self) {
        self.wants_references = true;
    }

    /// Uses so many helper processes for objects of a curve: of `count + 1` objects the trial makes one.
    pub fn have_helpers(&mut self, helpers: u32) {
        self.helper_count = helpers;
    }

    /// How many n there are for each object that this process makes.
    pub(crate) fn stride(&self) -> usize {
        self.helper_count as usize + 1
    }

    /// The helpers, which are started when they are first needed; `None` in a helper.
    pub(crate) fn take_helpers(&mut self) -> Result<Option<Helpers>, TrialError> {
        if self.duty.is_some() || self.helpers.is_some() {
            return Ok(self.helpers.take());
        }
        match Helpers::fork(self.helper_count).map_err(TrialError::at("to start helper processes"))? {
            Role::Trial(helpers) => Ok(Some(helpers)),
            Role::Helper(link) => {
                self.duty = Some(link);
                Ok(None)
            }
        }
    }

    /// The end of the experiment: checks of helpers must hold too. A helper ends here.
    ///
    /// # Errors
    /// Those of the experiment, here or in a helper.
    pub fn conclude(&mut self, ran: Result<(), TrialError>) -> Result<(), TrialError> {
        if let Some(mut link) = self.duty.take() {
            let error = ran.err().map(|error| error.to_string());
            let told = link.conclude(&self.checks, error.as_deref());
            sys::process::end_now(u8::from(told.is_err()));
        }
        ran?;
        let Some(helpers) = self.helpers.take() else { return Ok(()) };
        let checks = helpers.conclusions().map_err(TrialError::at("to end the helper processes"))?;
        checks.into_iter().for_each(|check| merge(&mut self.checks, check));
        Ok(())
    }

    /// Where the server of a load runs, and on which processor when that is here.
    pub fn set_server(&mut self, server: Option<&'a Server>, cpu: Option<u32>) {
        (self.server, self.server_cpu) = (server, cpu);
    }

    /// The hosts that load the server.
    pub fn set_clients(&mut self, clients: &'a [ClientHost]) {
        self.clients = clients;
    }

    /// The processor of this process, and those that are left for workers of the server and load generators.
    pub fn set_processors(&mut self, cpu: Option<u32>, spare: &'a [u32]) {
        (self.cpu, self.spare_cpus) = (cpu, spare);
    }

    /// The load that all rivals are offered.
    pub fn set_offered(&mut self, offered: &'a [OfferedLevel]) {
        self.offered = offered;
    }

    /// The load that all rivals are offered, level by level; empty in the trials that find it.
    pub fn offered(&self) -> &'a [OfferedLevel] {
        self.offered
    }

    /// The settings of the user; others have their defaults.
    ///
    /// # Errors
    /// [`TrialError`] for a setting or a value that the workload does not declare.
    pub fn set_settings(&mut self, chosen: &'a BTreeMap<String, String>) -> Result<(), TrialError> {
        for (name, value) in chosen {
            let setting = self.workload.setting(name);
            if setting.is_none_or(|setting| setting.values.parse(value).as_ref() != Some(value)) {
                return Err(self.no_setting(&format!("{name}={value}")));
            }
        }
        self.settings = Some(chosen);
        Ok(())
    }

    /// The value of a setting.
    ///
    /// # Errors
    /// [`TrialError`] when the workload does not declare it.
    pub fn setting(&self, name: &str) -> Result<&'a str, TrialError> {
        let declared = self.workload.setting(name).ok_or_else(|| self.no_setting(name))?;
        let chosen = self.settings.and_then(|settings| settings.get(name));
        Ok(chosen.map_or(declared.default, String::as_str))
    }

    /// The value of a setting that is a number.
    ///
    /// # Errors
    /// [`TrialError`] when the workload does not declare it as a number.
    pub fn number(&self, name: &str) -> Result<u64, TrialError> {
        self.setting(name)?.parse().map_err(|_| self.no_setting(name))
    }

    fn no_setting(&self, setting: &str) -> TrialError {
        TrialError {
            attempted: format!("to set {setting} in {}", self.workload.name),
            error: io::Error::other("the workload declares no such setting"),
        }
    }

    /// Ends a pass up, timed or not, after that many ticks from its own beginning.
    pub fn allow(&mut self, ticks: u64) {
        self.allowance_ticks = ticks;
    }

    /// Ends a load at this time by the clock, below the levels that would take longer.
    pub fn end_at(&mut self, ticks: u64) {
        self.end_ticks = ticks;
    }

    /// The step of the clock, in ticks; decides about batches.
    pub fn set_resolution(&mut self, ticks: f64) {
        self.tick_ticks = ticks;
    }

    /// Name of the variant.
    pub fn variant(&self) -> &'a str {
        self.variant
    }

    /// Whether it is one of these variants.
    pub fn is_one_of(&self, variants: &[Variant]) -> bool {
        variants.iter().any(|variant| variant.name == self.variant)
    }

    /// How far n goes, or went once the way up is over.
    pub fn n(&self) -> usize {
        self.n
    }

    /// A folder of this run's own.
    pub fn scratch(&self) -> &'a Path {
        self.scratch
    }

    /// Seed of the trial's own random choices.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Where the server of a load runs; `None` is this machine, where the workload starts it itself.
    pub fn server(&self) -> Option<&'a Server> {
        self.server
    }

    /// The hosts that load the server; empty where this process and its children do.
    pub fn clients(&self) -> &'a [ClientHost] {
        self.clients
    }

    /// The processor that a server on this machine is to be pinned to, which is not the one of this process.
    pub fn server_cpu(&self) -> Option<u32> {
        self.server_cpu
    }

    /// The processor that this process is bound to.
    pub fn cpu(&self) -> Option<u32> {
        self.cpu
    }

    /// The processors that neither this process nor the server has, the best first.
    pub fn spare_cpus(&self) -> &'a [u32] {
        self.spare_cpus
    }

    /// The n to be measured at, rising.
    pub fn levels(&self) -> Vec<u64> {
        let levels = self.workload.sizes.list(self.n as u64);
        if self.rehearsal { levels.last().copied().into_iter().collect() } else { levels }
    }

    /// The clock of this trial, for a job that times many calls at one level.
    pub fn clock(&self) -> &'a Clock {
        self.clock
    }

    /// How long to measure at one level, with its connections made already.
    pub fn window(&self) -> Duration {
        if self.rehearsal {
            return self.window.map_or(WARM_UP_WINDOW, |window| window.min(WARM_UP_WINDOW));
        }
        let seconds = self.allowance_ticks as f64 * self.clock.seconds_per_tick();
        let allowed = Duration::try_from_secs_f64(seconds).ok().filter(|_| self.allowance_ticks < u64::MAX);
        self.window.unwrap_or_else(|| window(allowed, self.workload.sizes.count(self.n as u64)))
    }

    /// The objects in random order, as things end on a server. The newest would still be in the
    /// processor's cache: with them first or last, cost would seem to depend on n.
    pub fn shuffled<T>(&mut self, mut objects: Vec<T>) -> std::vec::IntoIter<T> {
        self.random.shuffle(&mut objects);
        objects.into_iter()
    }

    /// The reason why the way up ended early, if it did.
    pub fn ended(&self) -> Option<&EarlyEnd> {
        self.ended.as_ref()
    }

    /// The checks.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// Operations per measurement.
    pub fn batch(&self) -> u32 {
        self.batch
    }

    /// States something that must hold for the numbers to be numbers.
    pub fn check(&mut self, claim: &'static str, held: bool) {
        note(&mut self.checks, claim, held);
    }

    /// Remarks that a reader of the numbers should see, each a whole sentence.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Adds a remark, a whole sentence.
    pub fn remark(&mut self, sentence: String) {
        if !self.warnings.contains(&sentence) {
            self.warnings.push(sentence);
        }
    }

    /// Lines of the record beside the series. They name no trial yet.
    pub fn facts(&self) -> &[Line] {
        &self.facts
    }

    /// Does and undoes the operation for two milliseconds, untimed, so that the caches of processor and
    /// kernel are warm when timing begins: preparations of a workload, such as reading files, evict them.
    /// Leaves one object behind to be used again, not thousands.
    pub fn warm(&mut self, mut do_and_undo: impl FnMut() -> io::Result<()>) {
        let begun = Instant::now();
        // An error here occurs again where it is reported.
        while begun.elapsed() < WARM_UP && do_and_undo().is_ok() {}
    }

    /// The error of a workload that does not measure as it declares.
    pub(crate) fn fault(&self, name: &str, why: &'static str) -> TrialError {
        TrialError {
            attempted: format!("to measure {name} in {}", self.workload.name),
            error: io::Error::other(why),
        }
    }
}

/// Adds a claim, or a further result of a known one: a claim holds if it always held.
pub(crate) fn note(checks: &mut Vec<Check>, claim: &'static str, held: bool) {
    merge(checks, Check { claim: claim.to_owned(), held });
}

/// The same, for a claim that another process has made.
fn merge(checks: &mut Vec<Check>, check: Check) {
    match checks.iter_mut().find(|known| known.claim == check.claim) {
        Some(known) => known.held &= check.held,
        None => checks.push(check),
    }
}
