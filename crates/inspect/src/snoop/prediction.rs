//! The growth of a server, and the prediction from that.

use super::answer::{ConnectionScaling, Prediction, Recognition, ServerArchitecture, ServerGrowth};
use super::evidence::{Moment, ServerEvidence, Stage};

/// The number of connections that is predicted for.
const CONNECTIONS: u64 = 10_000;
/// A difference of so many connections shows the memory of each.
const CONNECTIONS_APART: usize = 10;

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
pub(super) fn of(answer: &Recognition) -> Option<Prediction> {
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
