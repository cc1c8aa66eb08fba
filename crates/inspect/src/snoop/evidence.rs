//! The evidence about a server: its processes and their waits, at some moments.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sys::process_table::{EpollWatch, ProcessMemory, ThreadUse, ThreadWait, WaitCall};

/// The evidence about one server.
#[derive(Clone, Debug, Default)]
pub struct ServerEvidence {
    /// The process that started the others.
    pub root: u32,
    /// How many processors the machine has.
    pub processors: usize,
    /// The moments of observation, in the order of time.
    pub moments: Vec<Moment>,
    /// The evidence that is missing.
    pub missing: Missing,
}

/// The load at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// As it was found.
    Found,
    /// With so many connections of ours.
    Held(u64),
    /// After ours were closed.
    After,
}

/// The evidence that is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Processes of the server whose descriptors this user may not read.
    #[serde(rename = "processes_without_descriptors")]
    pub descriptors: usize,
    /// Processes of other users that may belong to the server.
    #[serde(rename = "processes_of_others")]
    pub strangers: usize,
    /// Threads whose waits this user may not read.
    #[serde(rename = "threads_without_wait")]
    pub waits: usize,
    /// Threads with a known wait channel, but without the call's arguments.
    #[serde(rename = "threads_without_arguments")]
    pub arguments: usize,
    /// Threads that were counted and not sampled, because there are so many.
    #[serde(rename = "threads_not_sampled")]
    pub threads: u64,
    /// Whether /proc hides the processes of others.
    #[serde(rename = "is_hidepid")]
    pub is_hidden: bool,
}

/// A server at one moment.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The load.
    pub stage: Stage,
    /// Its processes.
    pub processes: Vec<ProcessEvidence>,
    /// Connections that no process has accepted, at its begin and at its end.
    pub unaccepted: u64,
}

/// A process of the server.
#[derive(Clone, Debug, Default)]
pub struct ProcessEvidence {
    /// Its number.
    pub pid: u32,
    /// That of its parent.
    pub parent: u32,
    /// When it started, in ticks.
    pub started_ticks: u64,
    /// Its name; untrusted text.
    pub name: String,
    /// Its program; untrusted text.
    pub program: Option<String>,
    /// The words of its command line; untrusted text.
    pub command: Vec<String>,
    /// How many threads it has.
    pub threads: u64,
    /// Whether children of it have run and ended.
    pub has_ended_children: bool,
    /// The inodes of the server's listening sockets that it holds.
    pub listening: Vec<u64>,
    /// Whether a signal says that a connection arrives.
    pub listening_sends_signals: bool,
    /// Connections to the server that it holds.
    pub connections: Vec<ConnectionEvidence>,
    /// Its epoll(7) sets.
    pub epolls: Vec<EpollEvidence>,
    /// Its descriptors by kind.
    pub descriptors: DescriptorCounts,
    /// Its memory, where that was read.
    pub memory: Option<ProcessMemory>,
    /// Its threads, or some of them where there are many.
    pub tasks: Vec<TaskEvidence>,
}

/// A connection that a process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionEvidence {
    /// Its descriptor there.
    pub descriptor: i32,
    /// The inode of its socket.
    pub inode: u64,
    /// Whether a signal says that it is ready; `None` where that was not checked.
    pub sends_signals: Option<bool>,
}

/// An epoll(7) set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EpollEvidence {
    /// Its descriptor.
    pub descriptor: i32,
    /// The listening sockets that it watches.
    pub listening: Vec<EpollWatch>,
    /// The connections that it watches.
    pub connections: Vec<EpollWatch>,
}

/// How many descriptors of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DescriptorCounts {
    /// All.
    pub all: usize,
    /// Sockets of any kind.
    pub sockets: usize,
    /// Pipes.
    pub pipes: usize,
    /// epoll(7) sets.
    pub epolls: usize,
    /// io_uring(7).
    pub rings: usize,
    /// eventfd(2).
    pub event_counters: usize,
    /// timerfd_create(2).
    pub timers: usize,
    /// signalfd(2).
    pub signals: usize,
}

/// A thread.
#[derive(Clone, Debug, Default)]
pub struct TaskEvidence {
    /// Its number.
    pub thread: u32,
    /// The processor time and the waits so far.
    pub used: ThreadUse,
    /// Whether it was sampled in every round; otherwise once.
    pub is_followed: bool,
    /// The waits in which it was seen, and how often.
    pub waits: BTreeMap<ThreadWait, u32>,
}

impl TaskEvidence {
    /// The wait in which it was most of the time.
    pub(super) fn usual_wait(&self) -> Option<&ThreadWait> {
        self.waits.iter().max_by_key(|(_, times)| **times).map(|(wait, _)| wait)
    }

    /// Whether it was seen in that call.
    pub(super) fn was_in(&self, call: &WaitCall) -> bool {
        self.waits.keys().any(|wait| wait.call == *call)
    }
}

impl ProcessEvidence {
    /// Whether it holds that socket or connection under this descriptor.
    pub(super) fn holds_connection(&self, descriptor: i32) -> bool {
        self.connections.iter().any(|connection| connection.descriptor == descriptor)
    }

    /// The different connections that it holds.
    pub(super) fn connection_count(&self) -> usize {
        self.connections.iter().map(|connection| connection.inode).collect::<BTreeSet<_>>().len()
    }

    /// Threads that were counted and not sampled.
    pub(super) fn threads_not_seen(&self) -> u64 {
        self.threads.saturating_sub(self.tasks.len() as u64)
    }

    /// Each sampled thread represents so many.
    pub(super) fn weight(&self) -> f64 {
        (self.threads as f64 / self.tasks.len().max(1) as f64).max(1.0)
    }

    /// Threads that usually wait in that call.
    pub(super) fn tasks_in(&self, call: &WaitCall) -> impl Iterator<Item = &TaskEvidence> {
        self.tasks.iter().filter(move |task| task.usual_wait().is_some_and(|wait| wait.call == *call))
    }
}

impl Moment {
    /// The different connections that the server holds.
    pub fn connections(&self) -> usize {
        let all = self.processes.iter().flat_map(|process| &process.connections);
        all.map(|connection| connection.inode).collect::<BTreeSet<_>>().len()
    }

    /// Processes with a connection.
    pub fn owners(&self) -> impl Iterator<Item = &ProcessEvidence> {
        self.processes.iter().filter(|process| !process.connections.is_empty())
    }

    /// All threads.
    pub fn threads(&self) -> u64 {
        self.processes.iter().map(|process| process.threads).sum()
    }

    /// All descriptors.
    pub fn descriptors(&self) -> usize {
        self.processes.iter().map(|process| process.descriptors.all).sum()
    }

    /// Memory of all processes, with shared pages counted once; where that may not be read it is the resident
    /// memory, which counts them several times. Processes that were left out count like the others.
    pub fn memory_bytes(&self) -> Option<f64> {
        let bytes = self.processes.iter().filter_map(|process| process.memory);
        let bytes: Vec<u64> =
            bytes.map(|memory| memory.proportional_bytes.unwrap_or(memory.resident_bytes)).collect();
        let mean = bytes.iter().sum::<u64>() as f64 / bytes.len() as f64;
        (!bytes.is_empty()).then_some(mean * self.processes.len() as f64)
    }

    /// The process of that number, if it was there.
    pub fn process(&self, pid: u32, started_ticks: u64) -> Option<&ProcessEvidence> {
        self.processes.iter().find(|process| process.pid == pid && process.started_ticks == started_ticks)
    }
}
