//! How one process waits for its connections, and the possible architectures of a server without connections,
//! or with one or two: the wait for the next connection shows little about how it is served.

use std::collections::BTreeMap;

use sys::process_table::{EpollWatch, WaitCall};

use super::evidence::{ProcessEvidence, TaskEvidence};
use super::judgement::{FEW, Observed, Ruling};
use super::{Clue, Confidence, ServerArchitecture};

/// So many threads that wait beside a loop may be a pool.
const POOL: usize = 6;

/// How one process waits, with the evidence.
#[derive(Clone, Debug)]
pub(super) struct Mechanism {
    /// `Pool` where its threads wait for one connection each, and `Iterative` where only one does; one moment
    /// does not show whether they were made for it.
    pub(super) kind: ServerArchitecture,
    /// Threads that wait for events, or for one connection each.
    pub(super) threads: usize,
    /// Threads that wait for one connection each, beside those that wait for events.
    pub(super) blocked: usize,
    pub(super) clues: Vec<Clue>,
}

/// The mechanism of a process that holds a listening socket or connections; `None` where nothing was seen.
pub(super) fn of(process: &ProcessEvidence) -> Option<Mechanism> {
    ring(process)
        .or_else(|| signals(process))
        .or_else(|| epoll(process))
        .or_else(|| blocking(process))
        .or_else(|| descriptors(process))
}

fn made(kind: ServerArchitecture, threads: usize, clues: Vec<Clue>) -> Option<Mechanism> {
    Some(Mechanism { kind, threads, blocked: 0, clues })
}

/// The connections that are in an epoll(7) set, each once, although several sets may watch it and a set may
/// be open under several descriptors.
pub(super) fn watched(process: &ProcessEvidence) -> Vec<&EpollWatch> {
    let all = process.epolls.iter().flat_map(|set| &set.connections);
    let all: BTreeMap<(Option<u64>, i32), &EpollWatch> =
        all.map(|watch| ((watch.inode, watch.descriptor), watch)).collect();
    all.into_values().collect()
}

/// Threads that wait in epoll_wait(2) for connections, or for the next one where there is none. Those that
/// wait for other things, such as timers of a runtime, do not count.
fn loops(process: &ProcessEvidence, has_connections: bool) -> usize {
    let is_served = |descriptor: i32| {
        let set = process.epolls.iter().find(|set| set.descriptor == descriptor);
        set.is_some_and(
            |set| if has_connections { !set.connections.is_empty() } else { !set.listening.is_empty() },
        )
    };
    let is_loop = |task: &&TaskEvidence| {
        let waits = task.waits.keys().filter(|wait| wait.call == WaitCall::Epoll);
        waits.into_iter().any(|wait| wait.descriptor.is_none_or(is_served))
    };
    process.tasks.iter().filter(is_loop).count()
}

/// Threads that were seen in that call, even if they worked most of the time.
fn seen_in(process: &ProcessEvidence, call: &WaitCall) -> usize {
    process.tasks.iter().filter(|task| task.was_in(call)).count()
}

fn ring(process: &ProcessEvidence) -> Option<Mechanism> {
    let threads = seen_in(process, &WaitCall::Ring);
    // A program may use a ring for files, and wait for connections in another way.
    let others = [WaitCall::Epoll, WaitCall::Poll, WaitCall::Select, WaitCall::Accept];
    let others: usize = others.iter().map(|call| seen_in(process, call)).sum();
    let is_main = process.descriptors.rings > 0 && threads > 0 && others == 0;
    let clue = Clue::WaitsIn { call: WaitCall::Ring, threads, descriptors: None };
    is_main.then(|| made(ServerArchitecture::Ring, threads, vec![clue]))?
}

fn signals(process: &ProcessEvidence) -> Option<Mechanism> {
    let sends = process.connections.iter().any(|connection| connection.sends_signals == Some(true));
    if !(sends || process.listening_sends_signals) {
        return None;
    }
    let threads = seen_in(process, &WaitCall::Signal);
    let clues =
        vec![Clue::SendsSignals, Clue::WaitsIn { call: WaitCall::Signal, threads, descriptors: None }];
    made(ServerArchitecture::SignalIo, threads.max(1), clues)
}

fn epoll(process: &ProcessEvidence) -> Option<Mechanism> {
    let held = process.connection_count();
    let listening: Vec<&EpollWatch> = process.epolls.iter().flat_map(|set| &set.listening).collect();
    let watched = watched(process);
    let blocked = blocked_threads(process);
    // A loop may watch the connections that wait, and hand those with a request to threads; or hand all of
    // them to threads, which are fewer.
    let are_most_blocked = blocked as u64 * 2 >= process.threads;
    let is_handing_over = !listening.is_empty()
        && blocked > 1
        && (watched.len() > 1 || (blocked * 2 < held && are_most_blocked));
    let is_used = match held {
        0 => !listening.is_empty(),
        _ if is_handing_over => are_most_blocked || (watched.len() + blocked) * 2 >= held,
        // A busy process has not registered each new one yet.
        _ => watched.len() * 2 >= held || (!listening.is_empty() && !watched.is_empty() && blocked == 0),
    };
    if !is_used {
        return None;
    }
    let blocked = if is_handing_over { blocked } else { 0 };
    let threads = loops(process, held > 0);
    // A loop that was written for its server waits to write only while it has something to write; a runtime
    // registers every descriptor once, for all events, and so it does with the listening socket. Or it
    // registers every one for a single event, because any of its threads may take the next.
    let is_edge = |watch: &&EpollWatch| watch.is_edge_triggered();
    let is_for_all = listening.iter().all(|watch| watch.is_edge_triggered() && watch.waits_to_write());
    let is_for_one = listening.iter().chain(&watched).all(|watch| watch.is_one_shot());
    let is_runtime = !listening.is_empty() && (is_for_all || is_for_one);
    let edge = watched.iter().copied().filter(is_edge).count();
    let is_edge_triggered = if watched.is_empty() {
        listening.iter().copied().all(|watch| is_edge(&watch))
    } else {
        edge * 2 > watched.len()
    };
    let mut clues = Vec::new();
    if held > 0 {
        clues.push(Clue::Watched { connections: watched.len(), of: held, is_edge_triggered });
    }
    if is_runtime {
        clues.push(if is_for_one { Clue::ListeningOnce } else { Clue::ListeningForWriting });
    }
    // Where all of them were busy at each look, some may still wait.
    if threads > 0 {
        clues.push(Clue::WaitsIn { call: WaitCall::Epoll, threads, descriptors: None });
    }
    let kind = match (is_runtime, is_edge_triggered) {
        (true, _) => ServerArchitecture::Coroutines,
        (false, true) => ServerArchitecture::EpollEdge,
        (false, false) => ServerArchitecture::Epoll,
    };
    Some(Mechanism { kind, threads: threads.max(1), blocked, clues })
}

/// Whether the thread waits for one connection: it reads or writes it, or asks poll(2) or select(2) for one.
fn waits_for_one(process: &ProcessEvidence, task: &TaskEvidence) -> bool {
    let Some(wait) = task.usual_wait() else { return false };
    match wait.call {
        WaitCall::Read | WaitCall::Write => match wait.descriptor {
            Some(descriptor) => process.holds_connection(descriptor),
            // Without arguments a thread that reads, in a process that has as many connections, reads one.
            None => true,
        },
        WaitCall::Poll => wait.descriptors.is_some_and(|descriptors| descriptors <= 2),
        _ => false,
    }
}

/// Threads that wait for one connection each. Where some were sampled, they represent all.
fn blocked_threads(process: &ProcessEvidence) -> usize {
    let blocked = process.tasks.iter().filter(|task| waits_for_one(process, task)).count();
    (blocked as f64 * process.weight()) as usize
}

fn blocking(process: &ProcessEvidence) -> Option<Mechanism> {
    let held = process.connection_count();
    let blocked = process.tasks.iter().filter(|task| waits_for_one(process, task)).count();
    let estimated = blocked_threads(process);
    if held > 1 && estimated * 2 >= held && blocked > 1 {
        return made(ServerArchitecture::Pool, estimated, vec![Clue::Blocked { threads: estimated }]);
    }
    let accepting = process.tasks_in(&WaitCall::Accept).count();
    let clue = Clue::Accepting { threads: accepting };
    match (held, accepting, blocked) {
        (_, 2.., _) => made(ServerArchitecture::Pool, accepting, vec![clue]),
        (0, 1, _) => made(ServerArchitecture::Iterative, 1, vec![clue]),
        (1, _, 1..) => made(ServerArchitecture::Iterative, 1, vec![Clue::Blocked { threads: 1 }]),
        _ => None,
    }
}

fn descriptors(process: &ProcessEvidence) -> Option<Mechanism> {
    let held = process.connection_count() as u64;
    let loops = [(ServerArchitecture::Poll, WaitCall::Poll), (ServerArchitecture::Select, WaitCall::Select)];
    for (kind, call) in loops {
        let waits = process.tasks.iter().flat_map(|task| task.waits.keys()).filter(|wait| wait.call == call);
        let most = waits.filter_map(|wait| wait.descriptors).max();
        let threads = seen_in(process, &call);
        if threads > 0 && most.is_none_or(|most| most >= held) {
            let clue = Clue::WaitsIn { call, threads, descriptors: most };
            return made(kind, threads, vec![clue]);
        }
    }
    // One thread that only works, or whose waits this user may not read.
    None
}

/// Whether both are the same but for how epoll(7) reports.
pub(super) fn is_alike(one: ServerArchitecture, other: ServerArchitecture) -> bool {
    let without_edge = |kind| match kind {
        ServerArchitecture::EpollEdge => ServerArchitecture::Epoll,
        kind => kind,
    };
    without_edge(one) == without_edge(other)
}

/// Whether a thread of the process waits for connections: in accept(2), for the lock of those that do, or for
/// an event of the listening socket.
pub(super) fn waits_for_connections(process: &ProcessEvidence) -> bool {
    let is_watched = process.epolls.iter().any(|set| !set.listening.is_empty());
    let calls = [WaitCall::Accept, WaitCall::Lock, WaitCall::Poll, WaitCall::Select, WaitCall::Ring];
    is_watched || calls.iter().any(|call| process.tasks_in(call).count() > 0)
}

impl Observed<'_> {
    /// Without connections: by the threads that wait for them.
    pub(super) fn idle(&self) -> Option<Ruling> {
        let serving: Vec<(&ProcessEvidence, Mechanism)> = self
            .peak
            .processes
            .iter()
            .filter(|process| !process.listening.is_empty() || !process.connections.is_empty())
            .filter_map(|process| Some((process, of(process)?)))
            .collect();
        let workers: Vec<&(&ProcessEvidence, Mechanism)> =
            serving.iter().filter(|(process, _)| process.pid != self.evidence.root).collect();
        let (process, mechanism) = match workers.as_slice() {
            [] => serving.first()?,
            [first, ..] => first,
        };
        let count = workers.len().max(1);
        let mut reasons = mechanism.clues.clone();
        let few = Clue::FewConnections { connections: self.held };
        let is_locked =
            |worker: &&&(&ProcessEvidence, Mechanism)| worker.0.tasks_in(&WaitCall::Lock).count() > 0;
        let locked = workers.iter().filter(is_locked).count();
        let is_blocking = matches!(mechanism.kind, ServerArchitecture::Iterative) || locked > 0;
        // A worker that waits so, in the oldest way, is likely to serve so.
        let is_old = matches!(mechanism.kind, ServerArchitecture::Poll | ServerArchitecture::Select);
        let is_spare = process.tasks_in(&WaitCall::Futex).count() >= POOL * 2;
        let mut ruling = if is_blocking && is_spare {
            let ruling = Ruling::of(ServerArchitecture::Pool, Confidence::Guess, reasons);
            Ruling { alternatives: vec![ServerArchitecture::Hybrid, ServerArchitecture::Thread], ..ruling }
        } else if is_old && !workers.is_empty() && process.threads == 1 {
            reasons.insert(0, Clue::IdleWorkers { processes: count });
            let ruling = Ruling::of(ServerArchitecture::Prefork, Confidence::Guess, reasons);
            Ruling { alternatives: vec![ServerArchitecture::Hybrid, mechanism.kind], ..ruling }
        } else if is_old && process.threads == 1 && process.has_ended_children {
            reasons.push(Clue::EndedChildren);
            let ruling = Ruling::of(ServerArchitecture::Fork, Confidence::Guess, reasons);
            let others = vec![ServerArchitecture::Iterative, mechanism.kind, ServerArchitecture::Inetd];
            Ruling { alternatives: others, ..ruling }
        } else if is_blocking && !workers.is_empty() {
            reasons.insert(0, Clue::IdleWorkers { processes: count });
            Ruling::of(ServerArchitecture::Prefork, Confidence::Likely, reasons)
        } else if is_blocking {
            // One that made processes for connections has had children, and one that made threads may have
            // some left.
            let architecture = match (process.threads, process.has_ended_children) {
                (3.., _) => ServerArchitecture::Thread,
                (_, true) => ServerArchitecture::Fork,
                (_, false) => ServerArchitecture::Iterative,
            };
            let mut ruling = Ruling::of(architecture, Confidence::Guess, reasons);
            ruling.alternatives =
                vec![ServerArchitecture::Fork, ServerArchitecture::Thread, ServerArchitecture::Iterative];
            ruling.alternatives.retain(|other| *other != architecture);
            ruling
        } else if mechanism.kind == ServerArchitecture::Pool {
            let architecture = if count > 1 { ServerArchitecture::Hybrid } else { ServerArchitecture::Pool };
            Ruling::of(architecture, Confidence::Likely, reasons)
        } else {
            self.idle_loop(process, mechanism, count, reasons)
        };
        ruling.workers = count;
        ruling.threads = mechanism.threads;
        if self.held < FEW {
            ruling.doubts.push(few);
        }
        Some(ruling)
    }

    /// Processes that wait for a connection in an event interface, which does not prove that they serve in
    /// this way.
    fn idle_loop(
        &self,
        process: &ProcessEvidence,
        mechanism: &Mechanism,
        count: usize,
        mut reasons: Vec<Clue>,
    ) -> Ruling {
        let is_many = count > self.evidence.processors.max(1) * 2;
        let waiting = process.tasks_in(&WaitCall::Futex).count();
        if count > 1 {
            reasons.insert(0, Clue::IdleWorkers { processes: count });
        }
        let (architecture, mut alternatives) = match mechanism.kind {
            kind @ (ServerArchitecture::Ring
            | ServerArchitecture::SignalIo
            | ServerArchitecture::Coroutines) => (kind, Vec::new()),
            _ if is_many => (ServerArchitecture::Prefork, vec![ServerArchitecture::Hybrid]),
            kind if count > 1 || waiting >= POOL * 2 => (
                ServerArchitecture::Hybrid,
                vec![ServerArchitecture::Prefork, ServerArchitecture::Pool, kind],
            ),
            kind @ (ServerArchitecture::Poll | ServerArchitecture::Select) => {
                let others =
                    [ServerArchitecture::Iterative, ServerArchitecture::Fork, ServerArchitecture::Thread];
                (kind, others.to_vec())
            }
            kind => (kind, vec![ServerArchitecture::Fork, ServerArchitecture::Thread]),
        };
        alternatives.retain(|other| *other != architecture);
        let confidence = if alternatives.is_empty() { Confidence::Likely } else { Confidence::Guess };
        let mut ruling = Ruling::of(architecture, confidence, reasons);
        ruling.mechanism = match architecture {
            ServerArchitecture::Hybrid => mechanism.kind,
            other => other,
        };
        ruling.has_pool = architecture == ServerArchitecture::Hybrid && waiting >= POOL * 2;
        ruling.alternatives = alternatives;
        ruling
    }
}
