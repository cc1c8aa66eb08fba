//! A turn of one architecture: three lives of its server, one after the other at the same port, each with an
//! attack, while the witness goes on from the first to the last.
//!
//! 1. A mixed attack. Afterwards it is stopped by SIGTERM while the next attack has begun, and restarted.
//! 2. The same, while workers are killed. They are those that a supervisor replaces, or the processes that
//!    serve one connection each; an architecture of one process has none.
//! 3. The same with few descriptors, while other clients hold more connections than there are descriptors.
//!    Owed to the witness is still every response, only later: a server without descriptors leaves
//!    connections in the queue until others have timed out. Only a file that has to be opened may be refused,
//!    with 503.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fastrand::Rng;
use rustix::process::Signal;

use super::account::{LoggedLines, RESERVE, Usage, until_back, until_idle};
use super::attacks::{Battlefield, attack, hold};
use super::findings::Findings;
use super::generator::{self, Generated, RunningGenerator};
use super::server::{DEADLINE, Life, RunningServer, ServerCounts, send};
use super::site::{CHANGING, Site};
use super::stall::Stalls;
use super::wire::{Wire, get_and_close};
use super::witness::{Outages, Seen, Witness};
use crate::AnyError;

/// Workers in the life in which they are killed.
const WORKERS: usize = 2;

/// Descriptors of each process in the life in which they run out, and connections that are held then.
const DESCRIPTORS: usize = 40;
const HELD: usize = 100;

/// From the beginning of an attack to SIGTERM, where the server is stopped under attack.
const BEFORE_STOP: Duration = Duration::from_millis(700);

/// How long the generator goes on that was started before SIGTERM.
const OVER_THE_STOP: Duration = Duration::from_secs(5);

/// Rounds of requests, on a connection each, that bring every file into the caches before the first account.
const WARM_UP: usize = 16;

/// What one turn is made of.
pub(super) struct Turn<'a> {
    pub(super) osdyno: &'a Path,
    pub(super) architecture: &'a str,
    pub(super) seed: u64,
    pub(super) attack: Duration,
    pub(super) findings: &'a Findings,
}

/// The three lives of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Mixed,
    Killed,
    Exhausted,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Mixed => "mixed",
            Kind::Killed => "killed",
            Kind::Exhausted => "exhausted",
        }
    }
}

/// What came of a turn.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) seen: Seen,
    /// Connections of each kind of hostile client.
    pub(super) hostile: Vec<u64>,
    pub(super) held: u64,
    pub(super) killed: u64,
    pub(super) exhausted: u64,
    pub(super) generated: Vec<Generated>,
    /// Requests of the generators in the access logs.
    pub(super) logged: u64,
    /// Before and after each attack.
    pub(super) usage: Vec<(Usage, Usage)>,
    pub(super) stalled: Duration,
}

/// What lasts from life to life.
struct Stage<'a> {
    turn: &'a Turn<'a>,
    site: &'a Site,
    folder: &'a Path,
    outages: &'a Outages,
    is_exhausted: &'a AtomicBool,
    witness_busy: &'a Mutex<()>,
    address: &'a Mutex<Option<SocketAddr>>,
    outcome: Outcome,
    lines: LoggedLines,
    /// Lines of each generator that may be missing: the worker that would have written them was killed.
    lost: BTreeMap<String, u64>,
    /// Whether one process served all connections of the last attack.
    has_one_process: bool,
    /// A generator that was started before the server was stopped.
    pending: Option<RunningGenerator>,
}

impl Turn<'_> {
    /// Runs it. What goes wrong is among the findings.
    pub(super) fn run(&self) -> Outcome {
        match tempfile::tempdir().map_err(AnyError::from).and_then(|folder| self.run_in(folder.path())) {
            Ok(outcome) => outcome,
            Err(error) => {
                self.findings.add(&error.to_string());
                Outcome::default()
            }
        }
    }

    fn run_in(&self, folder: &Path) -> Result<Outcome, AnyError> {
        let site = Site::make(&folder.join("root"))?;
        let (outages, stalls) = (Outages::default(), Stalls::default());
        let (is_over, is_exhausted) = (AtomicBool::new(false), AtomicBool::new(false));
        let (busy, address) = (Mutex::new(()), Mutex::new(None));
        let start = Instant::now();
        std::thread::scope(|scope| {
            let witness = Witness {
                site: &site,
                outages: &outages,
                findings: self.findings,
                stalls: &stalls,
                is_over: &is_over,
                is_exhausted: &is_exhausted,
                busy: &busy,
                address: &address,
            };
            let witness = scope.spawn(move || witness.watch());
            scope.spawn(|| stalls.watch(&is_over));
            let mut stage = Stage {
                turn: self,
                site: &site,
                folder,
                outages: &outages,
                is_exhausted: &is_exhausted,
                witness_busy: &busy,
                address: &address,
                outcome: Outcome::default(),
                lines: LoggedLines::default(),
                lost: BTreeMap::new(),
                has_one_process: false,
                pending: None,
            };
            let played = stage.play();
            is_over.store(true, Ordering::Relaxed);
            stage.outcome.seen = witness.join().map_err(|_| "the witness panicked")?;
            stage.outcome.stalled = stalls.since(start);
            if let Err(error) = played {
                self.findings.add(&error.to_string());
            }
            if stage.outcome.seen.right == 0 {
                self.findings.add("the witness has not been served once");
            }
            Ok(stage.outcome)
        })
    }
}

impl Stage<'_> {
    fn play(&mut self) -> Result<(), AnyError> {
        for kind in [Kind::Mixed, Kind::Killed, Kind::Exhausted] {
            self.live(kind).map_err(|error| format!("{}: {error}", kind.name()))?;
        }
        self.compare_logs();
        Ok(())
    }

    /// One life of the server, from its start to its end.
    fn live(&mut self, kind: Kind) -> Result<(), AnyError> {
        let server = self.start(kind)?;
        if let Some(generator) = self.pending.take() {
            self.take(generator.end()?);
        }
        let attacked = self.attack_between_accounts(&server, kind);
        if attacked.is_err() {
            // The server is killed, and not by the witness's fault.
            self.outages.begin();
        }
        self.stop(server, kind, attacked?)
    }

    /// An account, an attack, and another account; the number of workers killed.
    fn attack_between_accounts(&mut self, server: &RunningServer, kind: Kind) -> Result<u64, AnyError> {
        let before = self.account_before(server)?;
        let killed = self.attack(server, kind, before)?;
        let counts = self.account_after(server, before, kind)?;
        let is_supervised = before.processes > 1;
        if is_supervised && counts.get("restarts") != killed {
            let counted = counts.get("restarts");
            self.turn.findings.add(&format!("{killed} workers were killed, and {counted} restarted"));
        }
        Ok(killed)
    }

    fn log(&self, kind: Kind) -> PathBuf {
        self.folder.join(format!("{}.log", kind.name()))
    }

    fn start(&mut self, kind: Kind) -> Result<RunningServer, AnyError> {
        let known = *self.address.lock().unwrap_or_else(PoisonError::into_inner);
        let mut life = Life {
            program: self.turn.osdyno,
            architecture: self.turn.architecture,
            root: &self.site.root,
            log: &self.log(kind),
            listen: known.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0))),
            workers: (kind == Kind::Killed).then_some(WORKERS),
            descriptors: (kind == Kind::Exhausted).then_some(DESCRIPTORS),
        };
        let server = match life.start() {
            Err(error) if error.to_string().contains("several workers make no sense") => {
                life.workers = None;
                life.start()?
            }
            other => other?,
        };
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = Some(server.address);
        self.outages.end();
        Ok(server)
    }

    /// What the server uses when it has served every file, and has no client.
    fn account_before(&self, server: &RunningServer) -> Result<Usage, AnyError> {
        let _without_witness = self.witness_busy.lock().unwrap_or_else(PoisonError::into_inner);
        self.site.restore()?;
        let paths = || self.site.known.iter().map(|file| file.path).chain([CHANGING]);
        for path in (0..WARM_UP).flat_map(|_| paths()) {
            let mut wire = Wire::connect(server.address)?;
            wire.send(get_and_close(path))?;
            wire.response(Instant::now() + DEADLINE, &|| true)?;
        }
        until_idle(server)?;
        // A supervisor may still be starting its workers.
        let (mut usage, mut same) = (Usage::of(server), 0);
        while same < 5 {
            std::thread::sleep(Duration::from_millis(200));
            let now = Usage::of(server);
            same = if now.processes == usage.processes { same + 1 } else { 0 };
            usage = Usage { processes: now.processes, ..usage.max(now) };
        }
        Ok(usage)
    }

    /// Attacks; the number of workers killed.
    fn attack(&mut self, server: &RunningServer, kind: Kind, before: Usage) -> Result<u64, AnyError> {
        self.is_exhausted.store(kind == Kind::Exhausted, Ordering::Relaxed);
        let seed = self.turn.seed.wrapping_mul(10).wrapping_add(kind as u64);
        let is_over = AtomicBool::new(false);
        let field = self.field(server, &is_over);
        let generator =
            RunningGenerator::start(self.turn.osdyno, server.address, kind.name(), self.turn.attack, seed)?;
        let (hostile, held, killed, processes) = std::thread::scope(|scope| {
            let hostile = scope.spawn(|| attack(&field, seed));
            let held = (kind == Kind::Exhausted).then(|| scope.spawn(|| hold(&field, HELD)));
            let killed = (kind == Kind::Killed)
                .then(|| scope.spawn(|| self.kill(server, &is_over, before, &mut Rng::with_seed(seed))));
            std::thread::sleep(self.turn.attack);
            let processes = server.processes().len();
            is_over.store(true, Ordering::Relaxed);
            let held = held.map_or(Ok(0), std::thread::ScopedJoinHandle::join);
            let killed = killed.map_or(Ok(Ok(0)), std::thread::ScopedJoinHandle::join);
            (hostile.join(), held, killed, processes)
        });
        let panicked = |_| "a thread of the attack panicked";
        self.has_one_process = processes == 1;
        self.add_hostile(hostile.map_err(panicked)?);
        self.outcome.held += held.map_err(panicked)?;
        let killed = killed.map_err(panicked)??;
        self.outcome.killed += killed;
        if killed > 0 {
            self.lost.insert(kind.name().to_owned(), killed * generator::CONNECTIONS);
        }
        self.take(generator.end()?);
        Ok(killed)
    }

    fn field<'b>(&'b self, server: &RunningServer, is_over: &'b AtomicBool) -> Battlefield<'b> {
        Battlefield { address: server.address, site: self.site, findings: self.turn.findings, is_over }
    }

    fn add_hostile(&mut self, connections: Vec<u64>) {
        self.outcome.hostile.resize(connections.len(), 0);
        for (sum, more) in self.outcome.hostile.iter_mut().zip(connections) {
            *sum += more;
        }
    }

    /// Kills one worker after the other, by SIGKILL or SIGTERM, each when the one before has been replaced.
    fn kill(
        &self,
        server: &RunningServer,
        is_over: &AtomicBool,
        before: Usage,
        rng: &mut Rng,
    ) -> Result<u64, String> {
        let mut killed = 0;
        while !is_over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(rng.u64(300..900)));
            let workers: Vec<_> =
                server.processes().into_iter().filter(|one| one.id != server.id()).collect();
            let is_whole = before.processes == 1 || workers.len() + 1 == before.processes;
            let Some(worker) = is_whole.then(|| rng.choice(&workers)).flatten() else { continue };
            let signal = if rng.bool() { Signal::KILL } else { Signal::TERM };
            self.outages.begin();
            // A process of one connection may have ended by itself.
            let sent = send(worker.id, signal);
            let start = Instant::now();
            while worker.is_alive() && start.elapsed() < DEADLINE {
                std::thread::sleep(Duration::from_millis(10));
            }
            self.outages.end();
            if worker.is_alive() {
                return Err(format!("a worker is alive {DEADLINE:?} after {signal:?}"));
            }
            killed += u64::from(sent.is_ok());
        }
        Ok(killed)
    }

    /// Waits until the server is back where it began.
    fn account_after(
        &mut self,
        server: &RunningServer,
        before: Usage,
        kind: Kind,
    ) -> Result<ServerCounts, AnyError> {
        let _without_witness = self.witness_busy.lock().unwrap_or_else(PoisonError::into_inner);
        let reserve = if kind == Kind::Exhausted { RESERVE } else { 0 };
        let after = until_back(server, before, reserve)?;
        self.outcome.usage.push((before, after));
        server.counts()
    }

    /// Stops the server, under attack where it is to be restarted at once, and checks what it counted.
    fn stop(&mut self, server: RunningServer, kind: Kind, killed: u64) -> Result<(), AnyError> {
        let processes = server.processes();
        let counts = if kind == Kind::Mixed {
            self.stop_under_attack(server)?
        } else {
            self.outages.begin();
            server.tell_to_stop()?;
            server.end(&processes)?
        };
        self.outcome.exhausted += counts.get("exhausted");
        let lines = self.lines.read(&self.log(kind))?;
        let mut wrong = Vec::new();
        if counts.get("accepted") != counts.get("ended") || counts.get("open") != 0 {
            let (accepted, ended) = (counts.get("accepted"), counts.get("ended"));
            wrong.push(format!("{accepted} connections were accepted and {ended} have ended"));
        }
        // A worker that is killed takes lines with it that it has counted and not written.
        if killed == 0 && counts.get("responses") != lines {
            wrong.push(format!("{} responses were counted and {lines} logged", counts.get("responses")));
        }
        // Where there is a process for each connection, each has descriptors of its own.
        if kind == Kind::Exhausted && self.has_one_process && counts.get("exhausted") == 0 {
            wrong.push("descriptors did not run out, so this life shows nothing".to_owned());
        }
        for text in wrong {
            self.turn.findings.add(&format!("{}: {text}", kind.name()));
        }
        Ok(())
    }

    fn stop_under_attack(&mut self, server: RunningServer) -> Result<ServerCounts, AnyError> {
        let (is_over, seed) = (AtomicBool::new(false), self.turn.seed);
        let address = server.address;
        self.pending =
            Some(RunningGenerator::start(self.turn.osdyno, address, "stopped", OVER_THE_STOP, seed)?);
        let field = self.field(&server, &is_over);
        let (hostile, counts) = std::thread::scope(|scope| {
            let hostile = scope.spawn(|| attack(&field, !seed));
            std::thread::sleep(BEFORE_STOP);
            self.outages.begin();
            let processes = server.processes();
            let counts = server.tell_to_stop().and_then(|()| server.end(&processes));
            is_over.store(true, Ordering::Relaxed);
            (hostile.join(), counts)
        });
        self.add_hostile(hostile.map_err(|_| "a thread of the attack panicked")?);
        counts
    }

    fn take(&mut self, generated: Generated) {
        for violation in generated.violations() {
            self.turn.findings.add(&violation);
        }
        self.outcome.generated.push(generated);
    }

    /// The access logs of all lives against what the generators counted.
    fn compare_logs(&mut self) {
        for generated in &self.outcome.generated {
            let lost = self.lost.get(&generated.mark).copied().unwrap_or(0);
            if let Some(difference) = self.lines.check(generated, lost) {
                self.turn.findings.add(&difference);
            }
        }
        self.outcome.logged = self.lines.marked.values().sum();
    }
}
