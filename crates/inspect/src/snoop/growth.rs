//! How a server changes with its connections: its growth with the prediction from that, and the threads that
//! worked beside an event loop while connections came.

use sys::process_table::WaitCall;

use super::evidence::{Moment, ProcessEvidence, ServerEvidence, Stage, TaskEvidence};
use super::{ConnectionScaling, Prediction, Recognition, ServerArchitecture, ServerGrowth};

/// The number of connections that is predicted for.
const CONNECTIONS: u64 = 10_000;
/// A difference of so many connections shows the memory of each.
const CONNECTIONS_APART: usize = 10;

/// So many threads that work beside a loop are a pool, and no helpers of it.
const POOL: usize = 4;
/// A thread that works under load uses at least this share of the busiest one's time.
const WORKS: f64 = 0.02;

/// How it grew, moment by moment.
pub(super) fn growth(evidence: &ServerEvidence) -> Vec<ServerGrowth> {
    let one = |moment: &Moment| ServerGrowth {
        held: match moment.stage {
            Stage::Held(held) => Some(held),
            Stage::Found | Stage::After => None,
        },
        is_after: moment.stage == Stage::After,
        connections: moment.connections(),
        unaccepted: moment.unaccepted,
        processes: moment.processes.len(),
        threads: moment.threads(),
        descriptors: moment.descriptors(),
        memory_bytes: moment.memory_bytes(),
    };
    evidence.moments.iter().map(one).collect()
}

/// The prediction; `None` without a moment.
pub(super) fn predicted(answer: &Recognition) -> Option<Prediction> {
    let rows: Vec<&ServerGrowth> = answer.growth.iter().filter(|row| !row.is_after).collect();
    let peak = rows.iter().max_by_key(|row| row.connections)?;
    let (processes, threads) = (peak.processes as f64, peak.threads as f64);
    let missing = (CONNECTIONS as f64 - peak.connections as f64).max(0.0);
    let (scaling, processes, threads) = match answer.mechanism {
        ServerArchitecture::Inetd | ServerArchitecture::Fork => {
            // Some architectures have several processes for each connection.
            let each = ratio(&rows, |row| row.processes as f64).unwrap_or(1.0).max(1.0);
            let there = processes + missing * each;
            (ConnectionScaling::Processes, there, there)
        }
        ServerArchitecture::Thread => (ConnectionScaling::Threads, processes, threads + missing),
        ServerArchitecture::Prefork if peak.unaccepted == 0 && grew(&rows) => {
            let there = processes + missing;
            (ConnectionScaling::ProcessesAsSet, there, there)
        }
        ServerArchitecture::Prefork | ServerArchitecture::Pool | ServerArchitecture::Iterative => {
            (ConnectionScaling::Workers, processes, threads)
        }
        _ => (ConnectionScaling::Events, processes, threads),
    };
    let is_bounded = scaling == ConnectionScaling::Workers && peak.unaccepted > 0;
    let at_most = is_bounded.then_some(peak.connections.max(1) as u64);
    let each = ratio(&rows, |row| row.memory_bytes.unwrap_or(f64::NAN));
    // Pages that were there before may hold the memory of connections.
    let connection_bytes = each.filter(|bytes| *bytes >= 1.0);
    let memory = connection_bytes.filter(|_| at_most.is_none());
    let memory = memory.and_then(|each| Some(peak.memory_bytes? + each * missing));
    Some(Prediction {
        connections: CONNECTIONS,
        scaling,
        processes: Some(processes),
        threads: Some(threads),
        is_memory_seen: each.is_some(),
        connection_bytes,
        memory_bytes: memory.filter(|bytes| bytes.is_finite()),
        at_most,
        compare_with: like(answer.mechanism),
    })
}

/// Our architecture that is like it.
fn like(mechanism: ServerArchitecture) -> &'static str {
    match mechanism {
        ServerArchitecture::Coroutines => "tokio",
        ServerArchitecture::Iterative => "pool",
        ServerArchitecture::Hybrid => "epoll",
        other => other.word(),
    }
}

/// Whether there were more processes with more connections.
fn grew(rows: &[&ServerGrowth]) -> bool {
    ratio(rows, |row| row.processes as f64).is_some_and(|each| each >= 0.5)
}

/// How much more there is for each connection: from the moment with the fewest to that with the most. The
/// first connections include costs that a server pays once, so our levels count if there are two of them.
fn ratio(rows: &[&ServerGrowth], value: impl Fn(&ServerGrowth) -> f64) -> Option<f64> {
    let most = rows.iter().max_by_key(|row| row.connections)?;
    let fewer: Vec<_> =
        rows.iter().filter(|row| row.connections + CONNECTIONS_APART <= most.connections).collect();
    let held = fewer.iter().filter(|row| row.held.is_some()).min_by_key(|row| row.connections);
    let fewest = held.or_else(|| fewer.iter().min_by_key(|row| row.connections))?;
    let each = (value(most) - value(fewest)) / (most.connections - fewest.connections) as f64;
    each.is_finite().then_some(each)
}

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
