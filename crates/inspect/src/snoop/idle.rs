//! The possible architectures of a server without connections, or with one or two: the wait for the next
//! connection shows little about how it is served.

use sys::process_table::WaitCall;

use super::answer::{Clue, Confidence, ServerArchitecture};
use super::evidence::ProcessEvidence;
use super::judgement::{FEW, Observed, Ruling};
use super::mechanism::{self, Mechanism};

/// So many threads that wait beside a loop may be a pool.
const POOL: usize = 6;

impl Observed<'_> {
    /// Without connections: by the threads that wait for them.
    pub(super) fn idle(&self) -> Option<Ruling> {
        let serving: Vec<(&ProcessEvidence, Mechanism)> = self
            .peak
            .processes
            .iter()
            .filter(|process| !process.listening.is_empty() || !process.connections.is_empty())
            .filter_map(|process| Some((process, mechanism::of(process)?)))
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
