//! How a server grew, and what that predicts.

use super::answer::{Prediction, ServerArchitecture, ServerGrowth, SnoopAnswer};
use super::evidence::{Moment, ServerEvidence, Stage};

/// The number of connections that is predicted for.
const CONNECTIONS: u64 = 10_000;
/// A difference of so many connections says how much memory each takes.
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

pub(super) fn of(answer: &SnoopAnswer) -> Prediction {
    let rows: Vec<&ServerGrowth> = answer.growth.iter().filter(|row| !row.is_after).collect();
    let mut prediction = Prediction { connections: CONNECTIONS, ..Prediction::default() };
    let Some(peak) = rows.iter().max_by_key(|row| row.connections) else { return prediction };
    let (processes, threads) = (peak.processes as f64, peak.threads as f64);
    let missing = (CONNECTIONS as f64 - peak.connections as f64).max(0.0);
    let mechanism = answer.mechanism;
    let mut at_most = |serving: usize| {
        prediction.at_most = (peak.unaccepted > 0).then_some(peak.connections.max(serving) as u64);
    };
    match mechanism {
        ServerArchitecture::Inetd | ServerArchitecture::Fork => {
            // Some architectures have several processes for each connection.
            let each = ratio(&rows, |row| row.processes as f64).unwrap_or(1.0).max(1.0);
            prediction.processes = Some(processes + missing * each);
            prediction.threads = prediction.processes;
        }
        ServerArchitecture::Thread => {
            prediction.processes = Some(processes);
            prediction.threads = Some(threads + missing);
        }
        ServerArchitecture::Prefork if peak.unaccepted == 0 && grew(&rows) => {
            prediction.processes = Some(processes + missing);
            prediction.threads = prediction.processes;
        }
        ServerArchitecture::Prefork | ServerArchitecture::Pool | ServerArchitecture::Iterative => {
            at_most(1);
            prediction.processes = Some(processes);
            prediction.threads = Some(threads);
        }
        _ => {
            prediction.processes = Some(processes);
            prediction.threads = Some(threads);
        }
    }
    let each = ratio(&rows, |row| row.memory_bytes.unwrap_or(f64::NAN));
    prediction.is_memory_seen = each.is_some();
    // Pages that were there before may hold what connections take.
    prediction.connection_bytes = each.filter(|bytes| *bytes >= 1.0);
    if prediction.at_most.is_none() {
        prediction.memory_bytes = prediction
            .connection_bytes
            .and_then(|each| Some(peak.memory_bytes? + each * missing))
            .filter(|bytes| bytes.is_finite());
    }
    prediction
}

/// Whether there were more processes with more connections.
fn grew(rows: &[&ServerGrowth]) -> bool {
    ratio(rows, |row| row.processes as f64).is_some_and(|each| each >= 0.5)
}

/// How much more there is for each connection: from the moment with the fewest to that with the most. The
/// first connections bring what a server makes once, so levels of ours count where there are two of them.
fn ratio(rows: &[&ServerGrowth], value: impl Fn(&ServerGrowth) -> f64) -> Option<f64> {
    let most = rows.iter().max_by_key(|row| row.connections)?;
    let fewer: Vec<_> =
        rows.iter().filter(|row| row.connections + CONNECTIONS_APART <= most.connections).collect();
    let held = fewer.iter().filter(|row| row.held.is_some()).min_by_key(|row| row.connections);
    let fewest = held.or_else(|| fewer.iter().min_by_key(|row| row.connections))?;
    let each = (value(most) - value(fewest)) / (most.connections - fewest.connections) as f64;
    each.is_finite().then_some(each)
}
