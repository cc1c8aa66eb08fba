//! The system under test: its facts, limits, processors and noise floor, and reasons to doubt its figures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::SeriesKey;

/// One system under test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// `local` unless the user gave it a name.
    pub name: String,
    /// The command in front of the trial program; empty for this machine.
    pub prefix: Vec<String>,
    /// Facts by dotted key, such as `kernel.release` or `cpu.model`; unreadable ones are absent.
    pub environment: BTreeMap<String, String>,
    /// The warnings of the readiness check, each a whole sentence.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The limits on n there, by [`resource`], the tightest first.
    #[serde(default)]
    pub limits: BTreeMap<String, Vec<ResourceLimit>>,
    /// Its processors; `None` where they could not be counted.
    #[serde(default)]
    pub processors: Option<Processors>,
    /// The smallest difference that a comparison on this system can support, where it was ever measured.
    #[serde(default)]
    pub noise_floor: Option<NoiseFloor>,
    /// Its place in a fleet; `None` where the run measures no fleet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetPlace>,
}

/// The place of a system in a fleet: hosts on which one run measures the same configurations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetPlace {
    /// Name of the host.
    pub host: String,
    /// The configuration, which has one name on all hosts; empty where each host has a single one.
    #[serde(default)]
    pub configuration: String,
}

impl System {
    /// How many workers have a processor each, all the time: no more than the usable processors, and than
    /// `cpu.count`, which a quota limits too. `None` where the processors could not be counted.
    pub fn workers_at_once(&self) -> Option<u64> {
        let usable = self.processors.as_ref()?.usable.len().max(1) as u64;
        let count = self.environment.get("cpu.count").and_then(|count| count.parse::<u64>().ok());
        Some(count.map_or(usable, |count| usable.min(count.max(1))))
    }
}

/// The resources that a sweep uses up: the keys of [`System::limits`].
pub mod resource {
    /// Descriptors of one process.
    pub const DESCRIPTORS: &str = "descriptors";
    /// Processes alive at once.
    pub const PROCESSES: &str = "processes";
    /// Threads of one process.
    pub const THREADS: &str = "threads";
    /// Memory mappings of one process.
    pub const MAPPINGS: &str = "mappings";
    /// Bytes of memory.
    pub const MEMORY: &str = "memory";
    /// Local ports that the system assigns, for one local address and one peer.
    pub const PORTS: &str = "ports";
    /// Descriptors that the user's epoll sets watch together.
    pub const EPOLL_WATCHES: &str = "epoll_watches";
    /// Files and folders that the user watches by inotify(7).
    pub const INOTIFY_WATCHES: &str = "inotify_watches";
    /// Instances of inotify(7) of the user.
    pub const INOTIFY_INSTANCES: &str = "inotify_instances";
    /// Connections of one listening socket that wait to be accepted.
    pub const BACKLOG: &str = "backlog";
    /// Connections that the packet filter keeps track of.
    pub const TRACKED: &str = "tracked_connections";
    /// Descriptors of the user that were sent over sockets and not received yet.
    pub const IN_FLIGHT: &str = "descriptors_in_flight";
    /// Files and folders that the user marks by fanotify(7).
    pub const FANOTIFY_MARKS: &str = "fanotify_marks";
    /// Signals of the user that are queued, or may be: each timer of POSIX keeps one.
    pub const PENDING_SIGNALS: &str = "pending_signals";
    /// Pages in pipes of the user.
    pub const PIPE_PAGES: &str = "pipe_pages";
    /// Segments of shared memory, shmget(2).
    pub const SHARED_SEGMENTS: &str = "shared_segments";
    /// Pages in all segments of shared memory, shmget(2).
    pub const SHARED_PAGES: &str = "shared_pages";
    /// Message queues of System V, msgget(2).
    pub const MESSAGE_QUEUES: &str = "message_queues";
    /// Message queues of POSIX, mq_overview(7).
    pub const POSIX_QUEUES: &str = "posix_queues";
    /// Bytes in message queues of POSIX of the user.
    pub const POSIX_QUEUE_BYTES: &str = "posix_queue_bytes";
    /// Messages in one message queue of POSIX.
    pub const POSIX_MESSAGES: &str = "posix_messages";
    /// Bytes, and messages, in one message queue of System V.
    pub const QUEUE_BYTES: &str = "queue_bytes";
    /// Pseudo-terminals, pty(7).
    pub const TERMINALS: &str = "terminals";
    /// Mounts of one mount namespace.
    pub const MOUNTS: &str = "mounts";
    /// Mount namespaces of the user.
    pub const MOUNT_NAMESPACES: &str = "mount_namespaces";
    /// Network namespaces of the user.
    pub const NETWORK_NAMESPACES: &str = "network_namespaces";
    /// IPC namespaces of the user.
    pub const IPC_NAMESPACES: &str = "ipc_namespaces";
    /// UTS namespaces of the user.
    pub const UTS_NAMESPACES: &str = "uts_namespaces";
    /// Bytes on the disk, of the file system that the workloads' files are on.
    pub const DISK: &str = "disk";
    /// Files and folders, of the same file system.
    pub const INODES: &str = "inodes";
    /// Processors; [`Processors`](super::Processors) has their number, and the limits have no entry for them.
    pub const PROCESSORS: &str = "processors";
}

/// One limit of a system, as it bounds one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimit {
    /// Its name as the manual page spells it: `RLIMIT_NOFILE`, `vm.max_map_count`.
    pub name: String,
    /// Its value.
    pub value: u64,
    /// How many a sweep may use: without those in use, and without a reserve.
    pub usable: u64,
    /// How to raise it, as the end of a sentence.
    pub advice: String,
}

/// The processors of a system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processors {
    /// How many are online.
    pub online: u32,
    /// Those that a trial may run on, the best place for a measurement first.
    pub usable: Vec<u32>,
    /// The one that trials are pinned to; `None` where the scheduler chooses.
    pub trial: Option<u32>,
    /// The one that servers on this system are pinned to; `None` where the scheduler chooses, or there are
    /// none.
    pub server: Option<u32>,
    /// Where workers of a scaling, which are spread over cores first, get processors of another kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub borders: Vec<ProcessorBorder>,
}

/// A place in the order in which workers get processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorBorder {
    /// So many workers have processors before it.
    pub after: u32,
    /// The kind of the next processor.
    pub kind: ProcessorKind,
}

/// A kind of processors that share something with those before, or have less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessorKind {
    /// Further threads of cores that are in use.
    Sibling,
    /// Slower cores.
    Slower,
    /// Another memory node.
    Node,
}

/// The noise floor of one system, found by measuring it against itself (`osdyno run --aa`).
///
/// All floors are shares: 0.02 means that two measurements of the same system differ by up to 2 % in 95 % of
/// the cases. No comparison on this system may claim a smaller difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// The floor over all series.
    pub share: f64,
    /// Share of the series that were called different at 5 %, though nothing differed.
    pub false_alarm_rate: f64,
    /// Trials of each side, of the series with the fewest.
    pub trials: u32,
    /// When it was measured: RFC 3339, UTC.
    pub measured_at: String,
    /// The run file that it was measured in, as it was named then; empty for this file itself.
    #[serde(default)]
    pub run: String,
    /// The floor of each series, by [`NoiseFloor::name`].
    #[serde(default)]
    pub series: BTreeMap<String, f64>,
}

impl NoiseFloor {
    /// The name under which a series has its floor: `bind/v6 close down`. Settings that the user chose are
    /// part of it, as in `files create up per-folder=1000`.
    #[must_use]
    pub fn name(key: &SeriesKey, settings: &BTreeMap<String, String>) -> String {
        let settings: String = settings.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        format!("{key} {}{settings}", key.direction)
    }

    /// The floor of this series with these settings, as a share: its own where it has one, else the one over
    /// all series.
    #[must_use]
    pub fn series_share(&self, key: &SeriesKey, settings: &BTreeMap<String, String>) -> f64 {
        self.series.get(&Self::name(key, settings)).copied().unwrap_or(self.share)
    }
}

/// The findings about a system beside its facts and limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Examination {
    /// The conditions that show in figures, in order of weight.
    pub conditions: Vec<Condition>,
    /// How steady a reference operation was; `None` where it was not measured.
    pub steadiness: Option<Steadiness>,
}

/// How much a condition matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionWeight {
    /// Figures describe something other than the system in question.
    Unfit,
    /// Figures are usable, with care.
    Care,
    /// It is part of every figure, and not a fault.
    Note,
}

/// Something about a system that shows in figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Subject, in a word or two.
    pub subject: String,
    /// How much it matters.
    pub weight: ConditionWeight,
    /// A sentence with its value, the consequence and the remedy.
    pub text: String,
}

/// How steady a reference operation was, which depends only on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// Duration.
    pub seconds: f64,
    /// How often it was timed.
    pub samples: u64,
    /// Median.
    pub operation_seconds: f64,
    /// Time in samples far above the median.
    ///
    /// Something else had the processor.
    pub lost_share: f64,
    /// Excess of slower periods over faster ones.
    ///
    /// Something else used caches or memory, or the clock rate changed.
    pub drift_share: f64,
    /// Longest interruption.
    pub longest_seconds: f64,
    /// Time that the hypervisor took.
    ///
    /// A share; `None` where it is not counted.
    pub steal_share: Option<f64>,
    /// Time in which others had the processor.
    ///
    /// The process could have run; a share, `None` where it is not counted.
    pub waited_share: Option<f64>,
    /// How often heat slowed the processors down in that time.
    pub thermal_throttles: u64,
}
