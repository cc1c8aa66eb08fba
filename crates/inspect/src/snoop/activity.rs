//! The threads that worked beside an event loop while connections came.

use sys::process_table::WaitCall;

use super::evidence::{ProcessEvidence, TaskEvidence};

/// So many threads that work beside a loop are a pool, and no helpers of it.
const POOL: usize = 4;
/// A thread that works under load uses at least this share of the busiest one's time.
const WORKS: f64 = 0.02;

/// Work that was handed to threads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Activity {
    /// Threads that worked, and usually wait for another one to wake them.
    pub(super) threads: usize,
    /// How often they were woken.
    wakes: u64,
    /// Connections that came meanwhile.
    connections: u64,
}

impl Activity {
    /// The work of a process from one moment to another. Threads that were started meanwhile count as well:
    /// pools grow with their work.
    pub(super) fn between(before: &ProcessEvidence, now: &ProcessEvidence) -> Activity {
        let then = |task: &TaskEvidence| before.tasks.iter().find(|then| then.thread == task.thread);
        // A thread that existed and was not sampled then shows nothing.
        let was_all_seen = before.threads_not_seen() == 0;
        let known = |task: &&TaskEvidence| was_all_seen || then(task).is_some();
        let spent = |task: &TaskEvidence| {
            task.used.cpu_seconds - then(task).map_or(0.0, |then| then.used.cpu_seconds)
        };
        let woken = |task: &TaskEvidence| {
            task.used.waits.saturating_sub(then(task).map_or(0, |then| then.used.waits))
        };
        let busiest = now.tasks.iter().filter(known).map(spent).fold(0.0, f64::max);
        let is_waiting = |task: &&TaskEvidence| {
            !task.was_in(&WaitCall::Epoll)
                && task.usual_wait().is_some_and(|wait| wait.call == WaitCall::Futex)
        };
        // Some are woken now and then without work.
        let works = |task: &&TaskEvidence| woken(task) > 0 && spent(task) >= busiest * WORKS;
        let working: Vec<&TaskEvidence> =
            now.tasks.iter().filter(known).filter(is_waiting).filter(works).collect();
        let all = |seen: f64| seen * now.weight();
        let held = now.connection_count().saturating_sub(before.connection_count());
        Activity {
            threads: all(working.len() as f64) as usize,
            wakes: all(working.iter().map(|task| woken(task)).sum::<u64>() as f64) as u64,
            connections: held as u64,
        }
    }

    /// Whether every connection may have woken one of them.
    fn is_of_connections(&self) -> bool {
        self.connections > 0 && self.wakes >= self.connections
    }

    /// Whether they are a pool that does the work of the connections.
    pub(super) fn is_pool(&self) -> bool {
        self.threads >= POOL && self.is_of_connections()
    }

    /// Whether they may be one: so few may also be helpers of a runtime.
    pub(super) fn may_be_pool(&self) -> bool {
        self.threads > 1 && self.is_of_connections()
    }
}
