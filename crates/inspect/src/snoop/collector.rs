//! Collects evidence: looks at the processes of a server, again and again for a few seconds. Nothing
//! is stopped or attached to. It keeps its priority: at nice 19 or `SCHED_IDLE` it held up its server longer,
//! 16 and 24 ms instead of 10.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sys::process_table::{self, DescriptorKind, EpollWatch, SocketEntry, SocketState, WaitSource, is_gone};

use super::evidence::{
    ConnectionEvidence, DescriptorCounts, EpollEvidence, Missing, Moment, ProcessEvidence, ServerEvidence,
    Stage, TaskEvidence,
};
use super::server::{ObservedServer, Reading, Scan, SnoopError, ended_or};

/// Threads whose waits are sampled in every round: of a process, and of all.
const TASKS_OF_A_PROCESS: usize = 64;
const TASKS_OF_ALL: usize = 192;
/// Threads that are sampled once beside those, of all processes.
const GLANCES: usize = 2048;
/// How often a moment looks.
const ROUNDS: u32 = 12;
/// Processes whose memory is read.
const MEMORIES: usize = 32;
/// Up to this much of all processes, the kernel is asked how much of it is shared, for which it walks all
/// pages and holds a lock on the memory of the process: with 64 MiB for a millisecond or two.
const WALKED_BYTES: u64 = 64 << 20;
/// The same while connections of ours are held.
const WALKED_BYTES_HELD: u64 = 1 << 30;
/// Connections of a process that are asked whether they send signals.
const SIGNALS_READ: usize = 4;

/// Looks at one server.
pub struct Collector {
    server: ObservedServer,
    evidence: ServerEvidence,
    /// Processes that had nothing to do with the server at the first look.
    strangers: BTreeSet<(u32, u64)>,
}

/// The sockets of the server's network that are its own.
struct OwnSockets {
    connections: BTreeSet<u64>,
    unaccepted: u64,
}

impl Collector {
    /// A collector without evidence.
    pub fn new(server: ObservedServer) -> Collector {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let evidence = ServerEvidence { root: server.root, processors, ..ServerEvidence::default() };
        Collector { strangers: server.strangers.clone(), server, evidence }
    }

    /// The evidence so far.
    pub fn evidence(&self) -> &ServerEvidence {
        &self.evidence
    }

    /// Looks at the server for so long.
    ///
    /// # Errors
    /// [`SnoopError::Ended`] where none of its processes is left.
    pub fn look(&mut self, stage: Stage, duration: Duration) -> Result<&Moment, SnoopError> {
        // The entries that found the server a moment ago are not read again.
        let reading = self.server.reading.take().map_or_else(|| self.read().map(Arc::new), Ok)?;
        let scan = &reading.scan;
        if !scan.processes.contains_key(&self.server.root) {
            return Err(SnoopError::Ended);
        }
        let own = self.own_sockets(&reading.sockets);
        let members = self.members(scan, &own);
        let mut processes: Vec<ProcessEvidence> =
            members.iter().filter_map(|pid| self.process(scan, *pid, &own)).collect();
        let mut missing = Missing {
            descriptors: members.iter().filter(|pid| scan.kept.contains(pid)).count(),
            strangers: scan.kept.len(),
            is_hidden: process_table::hides_others(),
            ..Missing::default()
        };
        choose_tasks(&mut processes, &mut missing);
        sample(&mut processes, duration, &mut missing);
        // Connections of ours disturb it more.
        let walked_bytes = if matches!(stage, Stage::Held(_)) { WALKED_BYTES_HELD } else { WALKED_BYTES };
        read_memory(&mut processes, walked_bytes);
        self.evidence.missing = worst(self.evidence.missing, missing);
        // A connection that waits only for a moment is accepted soon.
        let still_unaccepted = self.connections().map_or(0, |(_, unaccepted)| unaccepted as u64);
        let unaccepted = own.unaccepted.min(still_unaccepted);
        self.evidence.moments.push(Moment { stage, processes, unaccepted });
        self.evidence.moments.last().ok_or(SnoopError::Ended)
    }

    /// The processes that may belong to the server, and the sockets of its network.
    fn read(&self) -> Result<Reading, SnoopError> {
        let all = process_table::processes()?;
        let strangers = &self.strangers;
        let scan = Scan::of(all, |process| !strangers.contains(&(process.pid, process.started_ticks)))?;
        Ok(Reading { scan, sockets: process_table::sockets(self.server.root).map_err(ended_or)? })
    }

    fn own_sockets(&self, sockets: &[SocketEntry]) -> OwnSockets {
        let connections: Vec<&SocketEntry> =
            sockets.iter().filter(|entry| self.server.is_connection(entry)).collect();
        let is_own = |entry: &&SocketEntry| self.server.listening.contains(&entry.inode);
        let listening = sockets.iter().filter(|entry| entry.state == SocketState::Listening).filter(is_own);
        OwnSockets {
            unaccepted: listening.map(|entry| entry.queued).sum(),
            connections: connections.iter().map(|entry| entry.inode).filter(|inode| *inode != 0).collect(),
        }
    }

    /// Connections that the server has now, and those that no process of it has accepted.
    ///
    /// # Errors
    /// [`SnoopError::Ended`].
    pub fn connections(&self) -> Result<(usize, usize), SnoopError> {
        let sockets = process_table::sockets(self.server.root).map_err(ended_or)?;
        let own = self.own_sockets(&sockets);
        Ok((own.connections.len(), own.unaccepted as usize))
    }

    /// The processes of the server: the root and its descendants, and all that hold one of its sockets.
    fn members(&mut self, scan: &Scan, own: &OwnSockets) -> Vec<u32> {
        let holds =
            |pid: u32| scan.holds_any(pid, &self.server.listening) || scan.holds_any(pid, &own.connections);
        let family = scan.family(self.server.root);
        // The system's first process starts everything; only its children that serve are a part of the
        // server.
        let is_member = |pid: u32| match self.server.root {
            1 => pid == 1 || holds(pid),
            _ => family.contains(&pid) || (pid != 1 && holds(pid)),
        };
        let own_pid = std::process::id();
        let (members, others): (Vec<u32>, Vec<u32>) =
            scan.processes.keys().copied().filter(|pid| *pid != own_pid).partition(|pid| is_member(*pid));
        self.strangers
            .extend(others.iter().filter_map(|pid| Some((*pid, scan.processes.get(pid)?.started_ticks))));
        members
    }

    fn process(&self, scan: &Scan, pid: u32, own: &OwnSockets) -> Option<ProcessEvidence> {
        let process = scan.processes.get(&pid)?;
        let descriptors = scan.descriptors(pid);
        let mut counts = DescriptorCounts { all: descriptors.len(), ..DescriptorCounts::default() };
        let mut evidence = ProcessEvidence {
            pid,
            parent: process.parent,
            started_ticks: process.started_ticks,
            name: process.name.clone(),
            program: process_table::program(pid).ok(),
            command: process_table::command(pid).unwrap_or_default(),
            threads: process.threads,
            has_ended_children: process.has_ended_children,
            ..ProcessEvidence::default()
        };
        for descriptor in descriptors {
            let number = descriptor.number;
            match descriptor.kind {
                DescriptorKind::Socket(inode) => {
                    counts.sockets += 1;
                    if self.server.listening.contains(&inode) {
                        evidence.listening.push(inode);
                        evidence.listening_sends_signals |=
                            process_table::sends_signals(pid, number).unwrap_or(false);
                    } else if own.connections.contains(&inode) {
                        let is_read = evidence.connections.len() < SIGNALS_READ;
                        let sends = || process_table::sends_signals(pid, number).ok();
                        let sends_signals = if is_read { sends() } else { None };
                        evidence.connections.push(ConnectionEvidence {
                            descriptor: number,
                            inode,
                            sends_signals,
                        });
                    }
                }
                DescriptorKind::Pipe(_) => counts.pipes += 1,
                DescriptorKind::Epoll => {
                    counts.epolls += 1;
                    let watches = process_table::epoll_watches(pid, number).unwrap_or_default();
                    evidence.epolls.push(self.epoll(number, &watches, descriptors, own));
                }
                DescriptorKind::Ring => counts.rings += 1,
                DescriptorKind::EventCounter => counts.event_counters += 1,
                DescriptorKind::Timer => counts.timers += 1,
                DescriptorKind::Signals => counts.signals += 1,
                DescriptorKind::Anonymous(_) | DescriptorKind::File => {}
            }
        }
        evidence.descriptors = counts;
        Some(evidence)
    }

    fn epoll(
        &self,
        descriptor: i32,
        watches: &[EpollWatch],
        descriptors: &[process_table::Descriptor],
        own: &OwnSockets,
    ) -> EpollEvidence {
        let inode = |watch: &EpollWatch| {
            // Older kernels report only the descriptor.
            watch.inode.or_else(|| {
                descriptors.iter().find_map(|one| match one.kind {
                    DescriptorKind::Socket(inode) if one.number == watch.descriptor => Some(inode),
                    _ => None,
                })
            })
        };
        let of = |wanted: &BTreeSet<u64>| {
            let watched = |watch: &&EpollWatch| inode(watch).is_some_and(|inode| wanted.contains(&inode));
            watches.iter().filter(watched).copied().collect()
        };
        EpollEvidence { descriptor, listening: of(&self.server.listening), connections: of(&own.connections) }
    }
}

/// The most that was missing at any moment.
fn worst(one: Missing, other: Missing) -> Missing {
    Missing {
        descriptors: one.descriptors.max(other.descriptors),
        strangers: one.strangers.max(other.strangers),
        waits: one.waits.max(other.waits),
        arguments: one.arguments.max(other.arguments),
        threads: one.threads.max(other.threads),
        is_hidden: one.is_hidden || other.is_hidden,
    }
}

/// Chooses the threads to sample: where there are many, an even selection is followed, and the others are
/// sampled once, because work of few threads would be missed otherwise.
fn choose_tasks(processes: &mut [ProcessEvidence], missing: &mut Missing) {
    let (mut left, mut glances) = (TASKS_OF_ALL, GLANCES);
    let all = processes.len();
    for (index, process) in processes.iter_mut().enumerate() {
        // Each of many processes gets its first thread before one gets all of its own.
        let share = |left: usize| (left / (all - index).max(1)).max(1).min(left);
        let most = TASKS_OF_A_PROCESS.min(share(left));
        let mut threads = process_table::threads(process.pid).unwrap_or_default();
        // The first one often waits for connections; it has the number of the process.
        threads.sort_unstable_by_key(|thread| (*thread != process.pid, *thread));
        let stride = threads.len().div_ceil((most + share(glances)).max(1)).max(1);
        let looked_at: Vec<u32> = threads.iter().copied().step_by(stride).collect();
        let stride = looked_at.len().div_ceil(most.max(1)).max(1);
        let chosen = looked_at.iter().enumerate().map(|(place, thread)| {
            let is_followed = most > 0 && place % stride == 0;
            TaskEvidence { thread: *thread, is_followed, ..TaskEvidence::default() }
        });
        process.tasks = chosen.collect();
        let followed = process.tasks.iter().filter(|task| task.is_followed).count();
        left -= followed.min(left);
        glances -= (looked_at.len() - followed).min(glances);
        missing.threads += (threads.len() - looked_at.len()) as u64;
    }
}

/// Samples the wait of each thread, in rounds, and reads its usage at the end.
fn sample(processes: &mut [ProcessEvidence], duration: Duration, missing: &mut Missing) {
    let began = Instant::now();
    let mut sources: BTreeMap<(u32, u32), Option<WaitSource>> = BTreeMap::new();
    for round in 1..=ROUNDS {
        for process in processes.iter_mut() {
            for (place, task) in process.tasks.iter_mut().enumerate() {
                // Threads that are sampled once are spread over the rounds.
                if !task.is_followed && place % ROUNDS as usize != round as usize - 1 {
                    continue;
                }
                match process_table::thread_wait(process.pid, task.thread) {
                    Ok(wait) => {
                        sources.insert((process.pid, task.thread), Some(wait.source));
                        *task.waits.entry(wait).or_insert(0) += 1;
                    }
                    Err(error) if is_gone(&error) => {}
                    Err(_) => drop(sources.entry((process.pid, task.thread)).or_insert(None)),
                }
            }
        }
        let due = began + duration * round / ROUNDS;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    missing.waits = sources.values().filter(|source| source.is_none()).count();
    let without_arguments =
        |source: &&Option<WaitSource>| source.is_some_and(|source| source != WaitSource::SystemCall);
    missing.arguments = sources.values().filter(without_arguments).count();
    for process in processes {
        for task in &mut process.tasks {
            task.used = process_table::thread_use(process.pid, task.thread).unwrap_or_default();
        }
    }
}

/// Reads how much memory processes have, of some that lie evenly among them; of those that are too large
/// together, none but the first.
fn read_memory(processes: &mut [ProcessEvidence], walked_bytes: u64) {
    let stride = processes.len().div_ceil(MEMORIES).max(1);
    let mut left = walked_bytes;
    for process in processes.iter_mut().step_by(stride) {
        let Ok(resident) = process_table::memory(process.pid, false) else { continue };
        if resident.resident_bytes <= left {
            left -= resident.resident_bytes;
            process.memory = Some(process_table::memory(process.pid, true).unwrap_or(resident));
        } else if left == walked_bytes {
            process.memory = Some(resident);
        }
    }
}
