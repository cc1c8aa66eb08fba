//! The rules that recognise the architecture of a server from the evidence. They know no program by its name.

use std::collections::BTreeSet;

use sys::process_table::WaitCall;

use super::evidence::{Moment, ProcessEvidence, ServerEvidence, Stage};
use super::growth::{Activity, growth, predicted};
use super::mechanism::{self, Mechanism};
use super::{Clue, Confidence, Recognition, ServerArchitecture};

/// From so many connections on, their distribution is evidence.
pub(super) const FEW: usize = 3;
/// From so many connections on, an answer may be sure.
const MANY: usize = 10;

impl Recognition {
    /// Recognises the architecture; `None` where the waits of the server were not seen.
    pub fn of(evidence: &ServerEvidence) -> Option<Recognition> {
        let loaded = |moment: &&Moment| moment.stage != Stage::After;
        let peak = evidence.moments.iter().filter(loaded).max_by_key(|moment| moment.connections())?;
        let observed = Observed {
            evidence,
            before: evidence.moments.iter().find(|moment| moment.stage == Stage::Found),
            peak,
            after: evidence.moments.iter().find(|moment| moment.stage == Stage::After),
            held: peak.connections(),
        };
        let rulings = [Observed::by_spread, Observed::one_by_one, Observed::by_growth, Observed::idle];
        let mut ruling = rulings.iter().find_map(|rule| rule(&observed))?;
        observed.add_common(&mut ruling);
        let workers = ruling.workers;
        let mut answer = Recognition {
            architecture: ruling.architecture,
            phrase: String::new(),
            mechanism: ruling.mechanism,
            workers,
            has_supervisor: observed.has_supervisor(),
            threads: ruling.threads,
            has_pool: ruling.has_pool,
            confidence: ruling.confidence,
            reasons: ruling.reasons,
            doubts: ruling.doubts,
            alternatives: ruling.alternatives,
            growth: growth(evidence),
            prediction: None,
        };
        answer.phrase = answer.in_words();
        // Nothing follows from a guess.
        answer.prediction = predicted(&answer).filter(|_| answer.confidence > Confidence::Guess);
        Some(answer)
    }
}

/// The decision of a rule, before it is compared with its limits.
pub(super) struct Ruling {
    pub(super) architecture: ServerArchitecture,
    pub(super) mechanism: ServerArchitecture,
    pub(super) workers: usize,
    pub(super) threads: usize,
    pub(super) has_pool: bool,
    pub(super) reasons: Vec<Clue>,
    pub(super) doubts: Vec<Clue>,
    pub(super) alternatives: Vec<ServerArchitecture>,
    pub(super) confidence: Confidence,
}

impl Ruling {
    pub(super) fn of(architecture: ServerArchitecture, confidence: Confidence, reasons: Vec<Clue>) -> Ruling {
        Ruling {
            architecture,
            mechanism: architecture,
            workers: 1,
            threads: 1,
            has_pool: false,
            reasons,
            doubts: Vec::new(),
            alternatives: Vec::new(),
            confidence,
        }
    }
}

/// The evidence about a server, by its moments.
pub(super) struct Observed<'a> {
    pub(super) evidence: &'a ServerEvidence,
    before: Option<&'a Moment>,
    /// The moment with the most connections.
    pub(super) peak: &'a Moment,
    after: Option<&'a Moment>,
    /// Connections that the server has there.
    pub(super) held: usize,
}

impl Observed<'_> {
    fn is_new(&self, process: &ProcessEvidence) -> bool {
        let is_other = self.before.is_some_and(|before| !std::ptr::eq(before, self.peak));
        is_other
            && self.before.is_some_and(|before| before.process(process.pid, process.started_ticks).is_none())
    }

    /// Whether the moments before and at the peak are different ones.
    fn was_loaded(&self) -> bool {
        matches!(self.peak.stage, Stage::Held(_)) && self.before.is_some()
    }

    /// By how connections are spread over processes, where there are some.
    fn by_spread(&self) -> Option<Ruling> {
        let owners: Vec<&ProcessEvidence> = self.peak.owners().collect();
        let most = owners.iter().map(|owner| owner.connection_count()).max()?;
        let is_one_each = most == 1 && owners.len() >= self.held;
        if is_one_each && (self.held >= FEW || owners.iter().all(|owner| self.is_new(owner))) {
            return Some(self.process_each(&owners));
        }
        (self.held >= FEW || most > 1).then(|| self.shared(&owners))?
    }

    /// A process for each connection: made for it, or there before.
    fn process_each(&self, owners: &[&ProcessEvidence]) -> Ruling {
        let mut reasons = vec![Clue::ProcessEach { connections: self.held, processes: owners.len() }];
        let parent = |owner: &ProcessEvidence| self.peak.processes.iter().find(|one| one.pid == owner.parent);
        let is_executed = |owner: &&&ProcessEvidence| {
            parent(owner)
                .is_some_and(|parent| parent.program != owner.program || parent.command != owner.command)
        };
        let executed = owners.iter().filter(is_executed).count();
        let is_input = |owner: &&&ProcessEvidence| owner.holds_connection(0);
        let inputs = owners.iter().filter(is_input).count();
        if let Some(owner) = owners.iter().find(|owner| is_executed(owner))
            && executed * 2 > owners.len()
        {
            let program = owner.program.clone().unwrap_or_else(|| owner.command.join(" "));
            reasons.push(Clue::Executed { program });
        }
        let (before, now) =
            (self.before.map_or(0, |before| before.processes.len()), self.peak.processes.len());
        let new = owners.iter().filter(|owner| self.is_new(owner)).count();
        if new * 2 > owners.len() {
            reasons.push(Clue::ProcessesGrew { from: before, to: now });
        }
        if inputs * 2 > owners.len() && executed * 2 > owners.len() {
            reasons.insert(1, Clue::StandardInput { processes: inputs });
            return self.each(ServerArchitecture::Inetd, owners, reasons, Vec::new());
        }
        let (outlived, ended) = self.ended(owners);
        // Idle workers and not the parent wait for the next connection.
        let waiting = |process: &&ProcessEvidence| {
            process.connections.is_empty()
                && process.pid != self.evidence.root
                && !process.listening.is_empty()
                && mechanism::waits_for_connections(process)
        };
        let idle = self.before.unwrap_or(self.peak).processes.iter().filter(waiting).count();
        let holding = owners.iter().filter(|owner| !owner.listening.is_empty()).count();
        let mut for_prefork = Vec::new();
        if outlived * 2 > owners.len() {
            for_prefork.push(Clue::Outlived { processes: outlived, of: owners.len() });
        }
        if idle > 0 {
            for_prefork.push(Clue::IdleWorkers { processes: idle });
        }
        if holding * 2 > owners.len() && new * 2 <= owners.len() {
            for_prefork.push(Clue::SharedListening { processes: holding });
        }
        let mut for_fork = Vec::new();
        if ended * 2 > owners.len() {
            for_fork.push(Clue::EndedWithConnection { processes: ended, of: owners.len() });
        }
        // The end of the processes decides, where that was seen.
        let is_prefork = match (outlived, ended) {
            (0, 0) => !for_prefork.is_empty(),
            (outlived, ended) => outlived > ended,
        };
        let (architecture, for_it, against) = match is_prefork {
            true => (ServerArchitecture::Prefork, for_prefork, for_fork),
            false => (ServerArchitecture::Fork, for_fork, for_prefork),
        };
        reasons.extend(for_it);
        self.each(architecture, owners, reasons, against)
    }

    fn each(
        &self,
        architecture: ServerArchitecture,
        owners: &[&ProcessEvidence],
        reasons: Vec<Clue>,
        doubts: Vec<Clue>,
    ) -> Ruling {
        let is_sure = self.held >= FEW && self.was_loaded() && doubts.is_empty();
        let confidence = if is_sure { Confidence::Sure } else { Confidence::Likely };
        Ruling { workers: owners.len(), doubts, ..Ruling::of(architecture, confidence, reasons) }
    }

    /// How many of the processes lived longer than their connections, and how many did not.
    fn ended(&self, owners: &[&ProcessEvidence]) -> (usize, usize) {
        let Some(after) = self.after else { return (0, 0) };
        let lives = |owner: &&&ProcessEvidence| after.process(owner.pid, owner.started_ticks).is_some();
        let outlived = owners.iter().filter(lives).count();
        (outlived, owners.len() - outlived)
    }

    /// Processes that have several connections.
    fn shared(&self, owners: &[&ProcessEvidence]) -> Option<Ruling> {
        let busiest = owners.iter().copied().max_by_key(|owner| owner.connection_count())?;
        let held = busiest.connection_count();
        let mut reasons = vec![Clue::ProcessHolds { connections: held, threads: busiest.threads }];
        let before = self.before.and_then(|before| before.process(busiest.pid, busiest.started_ticks));
        let grew = before.map(|before| busiest.threads.saturating_sub(before.threads));
        let had = before.map_or(0, |before| before.connection_count());
        let mechanism = mechanism::of(busiest);
        let events = mechanism.as_ref().filter(|mechanism| mechanism.kind.is_event_driven());
        let is_thread_each =
            grew.is_some_and(|grew| grew * 4 >= (held - had.min(held)) as u64 * 3) && held > had;
        let outlived = self.outlived_threads(busiest, before.map_or(0, |before| before.threads));
        if self.was_loaded()
            && is_thread_each
            && events.is_none_or(|events| events.blocked == 0 && !self.is_watched(busiest))
        {
            let from = before.map_or(0, |before| before.threads);
            reasons.push(Clue::ThreadsGrew { from, to: busiest.threads });
            if let Some(mechanism) = &mechanism {
                reasons.extend(
                    mechanism.clues.iter().filter(|clue| matches!(clue, Clue::Blocked { .. })).cloned(),
                );
            }
            let is_sure = self.held >= MANY && outlived.is_none();
            let confidence = if is_sure { Confidence::Sure } else { Confidence::Likely };
            let mut ruling = Ruling::of(ServerArchitecture::Thread, confidence, reasons);
            if let Some(clue) = outlived {
                ruling.doubts.push(clue);
                ruling.alternatives.push(ServerArchitecture::Pool);
            }
            return Some(Ruling { threads: held, ..ruling });
        }
        // One that only works is not seen to wait; before the connections it was.
        let mechanism = mechanism.or_else(|| mechanism::of(before?))?;
        reasons.extend(mechanism.clues.iter().cloned());
        match mechanism.kind {
            ServerArchitecture::Pool => Some(self.threads_in(owners, busiest, &mechanism, reasons)),
            kind if kind.is_event_driven() => Some(self.event_driven(busiest, &mechanism, reasons)),
            _ => None,
        }
    }

    /// Whether most threads that came with the connections stayed: in a pool that grows up to its size, or
    /// because they are kept for the next connection.
    fn outlived_threads(&self, process: &ProcessEvidence, before: u64) -> Option<Clue> {
        let after = self.after?.process(process.pid, process.started_ticks)?;
        let came = process.threads.saturating_sub(before);
        let stayed = after.threads.saturating_sub(before).min(came);
        let is_closed = after.connection_count() * 2 < process.connection_count();
        (is_closed && came > 1 && stayed * 10 >= came * 9)
            .then_some(Clue::ThreadsOutlived { threads: stayed, of: came })
    }

    fn is_watched(&self, process: &ProcessEvidence) -> bool {
        mechanism::watched(process).len() * 2 >= process.connection_count()
    }

    /// Threads that wait for one connection each, and are no more than before.
    fn threads_in(
        &self,
        owners: &[&ProcessEvidence],
        busiest: &ProcessEvidence,
        mechanism: &Mechanism,
        reasons: Vec<Clue>,
    ) -> Ruling {
        let confidence = if self.was_loaded() { Confidence::Sure } else { Confidence::Likely };
        let workers = owners.iter().filter(|owner| owner.connection_count() > 1).count();
        let spare =
            busiest.tasks_in(&WaitCall::Accept).count() > 1 || busiest.tasks_in(&WaitCall::Futex).count() > 1;
        let is_pool = self.was_loaded() || self.peak.unaccepted > 0 || spare;
        // With one moment only, threads that are all busy may be made for each connection.
        let architecture = match (workers > 1, is_pool) {
            (true, _) => ServerArchitecture::Hybrid,
            (false, true) => ServerArchitecture::Pool,
            (false, false) => ServerArchitecture::Thread,
        };
        let mut ruling = Ruling::of(architecture, confidence, reasons);
        ruling.mechanism = if workers > 1 { ServerArchitecture::Pool } else { architecture };
        ruling.workers = workers.max(1);
        ruling.threads = mechanism.threads;
        if !self.was_loaded() {
            ruling.alternatives.push(ServerArchitecture::Pool);
            ruling.alternatives.push(ServerArchitecture::Thread);
            ruling.alternatives.retain(|other| *other != architecture);
        }
        ruling
    }

    fn event_driven(
        &self,
        busiest: &ProcessEvidence,
        mechanism: &Mechanism,
        mut reasons: Vec<Clue>,
    ) -> Ruling {
        let workers = self.event_workers(mechanism.kind);
        let before = self.before.and_then(|before| before.process(busiest.pid, busiest.started_ticks));
        let activity = before
            .filter(|_| self.was_loaded())
            .map(|before| Activity::between(before, busiest))
            .unwrap_or_default();
        let pool = activity.threads.max(mechanism.blocked);
        let is_runtime = mechanism.kind == ServerArchitecture::Coroutines;
        let is_beside = !is_runtime && (activity.is_pool() || mechanism.blocked > 1);
        let has_pool = is_beside && pool > mechanism.threads * 2;
        if has_pool {
            reasons.push(Clue::ActiveThreads { threads: pool });
        }
        let is_hybrid = workers > 1 || has_pool;
        let may_have_pool = !is_runtime && !is_hybrid && activity.may_be_pool();
        let is_sure = self.held >= MANY && self.was_loaded() && !may_have_pool;
        let confidence = if is_sure { Confidence::Sure } else { Confidence::Likely };
        let architecture = if is_hybrid { ServerArchitecture::Hybrid } else { mechanism.kind };
        let mut ruling = Ruling::of(architecture, confidence, reasons);
        if may_have_pool {
            ruling.doubts.push(Clue::ActiveThreads { threads: pool });
            ruling.alternatives.push(ServerArchitecture::Hybrid);
        }
        ruling.mechanism = mechanism.kind;
        ruling.workers = workers.max(1);
        ruling.has_pool = has_pool;
        ruling.threads = match mechanism.kind {
            ServerArchitecture::Coroutines => (pool + mechanism.threads).max(1),
            _ if has_pool => pool,
            _ => mechanism.threads,
        };
        ruling
    }

    /// Processes that wait for events of connections, or for the next connection, in the same way.
    fn event_workers(&self, kind: ServerArchitecture) -> usize {
        let is_worker = |process: &&ProcessEvidence| {
            let serves = !process.connections.is_empty() || !process.listening.is_empty();
            serves
                && mechanism::of(process).is_some_and(|mechanism| mechanism::is_alike(mechanism.kind, kind))
        };
        self.peak.processes.iter().filter(is_worker).count()
    }

    /// One process with one thread, which waits for its one connection while others wait to be accepted.
    fn one_by_one(&self) -> Option<Ruling> {
        let [owner] = self.peak.owners().collect::<Vec<_>>()[..] else { return None };
        let mechanism = mechanism::of(owner)?;
        let is_alone = owner.threads == 1 && owner.connection_count() == 1 && !self.is_worker(owner);
        let waiting = self.peak.unaccepted;
        if !is_alone || waiting == 0 || mechanism.kind != ServerArchitecture::Iterative {
            return None;
        }
        let reasons = vec![
            Clue::ProcessHolds { connections: 1, threads: 1 },
            Clue::WaitsForOne,
            Clue::Unaccepted { connections: waiting },
        ];
        let is_sure = self.was_loaded() && waiting >= MANY as u64;
        let confidence = if is_sure { Confidence::Sure } else { Confidence::Likely };
        Some(Ruling::of(ServerArchitecture::Iterative, confidence, reasons))
    }

    /// Whether it is one of several processes of the same program, below the one that started them. A
    /// superserver executes another program, and hands the listening socket over to it.
    fn is_worker(&self, process: &ProcessEvidence) -> bool {
        let parent = self.peak.processes.iter().find(|one| one.pid == process.parent);
        process.pid != self.evidence.root && parent.is_none_or(|parent| parent.program == process.program)
    }

    /// One or two connections: the processes and threads that came with them.
    fn by_growth(&self) -> Option<Ruling> {
        let owner = self.peak.owners().next()?;
        let before = self.before.filter(|_| self.was_loaded())?.process(owner.pid, owner.started_ticks)?;
        let held = self.held.saturating_sub(before.connection_count()) as u64;
        if held > 0 && owner.threads >= before.threads + held && !self.is_watched(owner) {
            let clue = Clue::ThreadsGrew { from: before.threads, to: owner.threads };
            return Some(Ruling::of(ServerArchitecture::Thread, Confidence::Likely, vec![clue]));
        }
        // More were offered than it took: it serves one at a time.
        let is_alone = self.peak.unaccepted >= FEW as u64;
        let one = is_alone.then(|| {
            let clue = Clue::Unaccepted { connections: self.peak.unaccepted };
            let architecture = match self.is_worker(owner) {
                true => ServerArchitecture::Prefork,
                false => ServerArchitecture::Iterative,
            };
            let workers = self.peak.owners().count();
            Ruling { workers, ..Ruling::of(architecture, Confidence::Likely, vec![clue]) }
        });
        one.or_else(|| self.idle())
    }

    /// Whether a process that does not serve started those that do.
    fn has_supervisor(&self) -> bool {
        let root = self.evidence.root;
        let serves =
            |process: &ProcessEvidence| !process.connections.is_empty() || !process.listening.is_empty();
        let root_waits = self.peak.processes.iter().find(|process| process.pid == root);
        // A supervisor may hold the listening socket for its workers, and wait for something else.
        let is_server = root_waits.is_some_and(|root| {
            let is_watched = root.epolls.iter().any(|set| !set.listening.is_empty());
            !root.connections.is_empty() || is_watched || root.tasks_in(&WaitCall::Accept).count() > 0
        });
        let has_children = self.peak.processes.iter().any(|process| process.pid != root && serves(process));
        has_children && !is_server
    }

    /// The evidence that any server may show.
    fn add_common(&self, ruling: &mut Ruling) {
        let listening: BTreeSet<u64> =
            self.peak.processes.iter().flat_map(|process| process.listening.iter().copied()).collect();
        let sharing = |inode: &u64| {
            self.peak.processes.iter().filter(|process| process.listening.contains(inode)).count()
        };
        let shared = listening.iter().map(sharing).max().unwrap_or(0);
        if shared > 1 && !ruling.reasons.iter().any(|clue| matches!(clue, Clue::SharedListening { .. })) {
            ruling.reasons.push(Clue::SharedListening { processes: shared });
        }
        // Two sockets may be one of IPv4 and one of IPv6.
        if listening.len() > 2 && shared == 1 && ruling.workers > 1 {
            ruling.reasons.push(Clue::ReusePort { sockets: listening.len() });
        }
        let has_grown = ruling
            .reasons
            .iter()
            .any(|clue| matches!(clue, Clue::ThreadsGrew { .. } | Clue::ProcessesGrew { .. }));
        if let Some(before) = self.before.filter(|_| self.was_loaded() && !has_grown && self.held >= FEW)
            && before.threads() == self.peak.threads()
        {
            ruling.reasons.push(Clue::NothingGrew { threads: before.threads() });
        }
        let not_seen: u64 = self.peak.processes.iter().map(ProcessEvidence::threads_not_seen).sum();
        let is_of_threads = !matches!(
            ruling.architecture,
            ServerArchitecture::Inetd | ServerArchitecture::Fork | ServerArchitecture::Prefork
        );
        // Most threads were not sampled.
        if is_of_threads && not_seen * 2 > self.peak.threads() {
            ruling.doubts.push(Clue::ThreadsNotSeen { threads: not_seen });
            ruling.confidence = ruling.confidence.min(Confidence::Likely);
        }
        let few = ruling.doubts.iter().any(|clue| matches!(clue, Clue::FewConnections { .. }));
        let is_told = ruling.reasons.iter().any(|clue| matches!(clue, Clue::Unaccepted { .. }));
        // One that leaves the others waiting never has more.
        if self.held < FEW && !few && !is_told {
            ruling.doubts.push(Clue::FewConnections { connections: self.held });
        }
        if self.peak.unaccepted > 0 && !is_told {
            ruling.doubts.push(Clue::Unaccepted { connections: self.peak.unaccepted });
        }
    }
}
