//! The limits of a process, the resources that a sweep uses up, and the bounds between them, as values.

use std::fmt;

/// A limit of the process, getrlimit(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Open descriptors, `RLIMIT_NOFILE`.
    Descriptors,
    /// Processes of this user; on Linux its threads count too. `RLIMIT_NPROC`.
    Processes,
    /// Bytes of the main thread's stack, `RLIMIT_STACK`.
    Stack,
    /// Bytes of address space, `RLIMIT_AS`.
    AddressSpace,
    /// Bytes of memory locked against paging, `RLIMIT_MEMLOCK`.
    LockedMemory,
    /// Bytes in message queues of POSIX of this user, `RLIMIT_MSGQUEUE`.
    QueueBytes,
}

/// Both values of one limit; `None` is "unlimited".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The value in force.
    pub soft: Option<u64>,
    /// How far the process itself may raise it.
    pub hard: Option<u64>,
}

/// The result of raising one limit.
#[derive(Debug)]
pub struct Raise {
    /// The limit.
    pub kind: Kind,
    /// Both values before.
    pub before: Limit,
    /// Both values after.
    pub after: Limit,
    /// Why the soft value stays below the hard one; `None` when they are now equal.
    pub stopped_by: Option<std::io::Error>,
}

/// A resource that a sweep uses up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// Descriptors of one process.
    Descriptors,
    /// Processes alive at once.
    Processes,
    /// Threads of one process.
    Threads,
    /// Memory mappings of one process.
    Mappings,
    /// Bytes of memory.
    MemoryBytes,
    /// Local ports that the system hands out by itself, for one local address and one peer.
    LocalPorts,
    /// Descriptors that the user's epoll sets watch together.
    EpollWatches,
    /// Files and folders that the user watches by inotify(7).
    InotifyWatches,
    /// Instances of inotify(7) of the user.
    InotifyInstances,
    /// Connections of one listening socket that wait to be accepted.
    Backlog,
    /// Connections that the packet filter keeps track of.
    TrackedConnections,
    /// Descriptors of the user that were sent over sockets and not received yet.
    DescriptorsInFlight,
    /// Files and folders that the user marks by fanotify(7).
    FanotifyMarks,
    /// Signals of the user that are queued, or may be: each timer of POSIX keeps one.
    PendingSignals,
    /// Pages in pipes of the user.
    PipePages,
    /// Segments of shared memory, shmget(2).
    SharedSegments,
    /// Pages in all segments of shared memory, shmget(2).
    SharedPages,
    /// Message queues of System V, msgget(2).
    MessageQueues,
    /// Message queues of POSIX, mq_overview(7).
    PosixQueues,
    /// Bytes in message queues of POSIX of the user.
    PosixQueueBytes,
    /// Messages in one message queue of POSIX.
    PosixMessages,
    /// Bytes, and messages, in one message queue of System V.
    QueueBytes,
    /// Pseudo-terminals, pty(7).
    Terminals,
    /// Mounts of one mount namespace.
    Mounts,
    /// Mount namespaces of the user.
    MountNamespaces,
    /// Network namespaces of the user.
    NetworkNamespaces,
    /// IPC namespaces of the user.
    IpcNamespaces,
    /// UTS namespaces of the user.
    UtsNamespaces,
}

impl Resource {
    /// All of them.
    pub const ALL: [Self; 28] = [
        Self::Descriptors,
        Self::Processes,
        Self::Threads,
        Self::Mappings,
        Self::MemoryBytes,
        Self::LocalPorts,
        Self::EpollWatches,
        Self::InotifyWatches,
        Self::InotifyInstances,
        Self::Backlog,
        Self::TrackedConnections,
        Self::DescriptorsInFlight,
        Self::FanotifyMarks,
        Self::PendingSignals,
        Self::PipePages,
        Self::SharedSegments,
        Self::SharedPages,
        Self::MessageQueues,
        Self::PosixQueues,
        Self::PosixQueueBytes,
        Self::PosixMessages,
        Self::QueueBytes,
        Self::Terminals,
        Self::Mounts,
        Self::MountNamespaces,
        Self::NetworkNamespaces,
        Self::IpcNamespaces,
        Self::UtsNamespaces,
    ];

    /// The error at its limit where that has a meaning of its own elsewhere: a full disk, or too many
    /// processes.
    pub(super) fn refusal(self) -> Option<&'static str> {
        match self {
            Self::EpollWatches
            | Self::InotifyWatches
            | Self::FanotifyMarks
            | Self::SharedSegments
            | Self::SharedPages
            | Self::MessageQueues
            | Self::PosixQueues
            | Self::Terminals
            | Self::Mounts
            | Self::MountNamespaces
            | Self::NetworkNamespaces
            | Self::IpcNamespaces
            | Self::UtsNamespaces => Some("ENOSPC"),
            Self::PendingSignals | Self::QueueBytes | Self::PosixMessages => Some("EAGAIN"),
            _ => None,
        }
    }
}

/// A resource of the file system that a workload's folder is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderResource {
    /// Bytes on the disk.
    DiskBytes,
    /// Inodes: files and folders.
    Inodes,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descriptors => "descriptors",
            Self::Processes => "processes",
            Self::Threads => "threads",
            Self::Mappings => "mappings",
            Self::MemoryBytes => "bytes of memory",
            Self::LocalPorts => "local ports",
            Self::EpollWatches => "descriptors watched by epoll",
            Self::InotifyWatches => "watched files",
            Self::InotifyInstances => "inotify instances",
            Self::Backlog => "connections that wait to be accepted",
            Self::TrackedConnections => "tracked connections",
            Self::DescriptorsInFlight => "descriptors in flight",
            Self::FanotifyMarks => "files marked by fanotify",
            Self::PendingSignals => "queued signals",
            Self::PipePages => "pages of pipes",
            Self::SharedSegments => "shared memory segments",
            Self::SharedPages => "pages of shared memory segments",
            Self::MessageQueues => "message queues",
            Self::PosixQueues => "POSIX message queues",
            Self::PosixQueueBytes => "bytes of POSIX message queues",
            Self::PosixMessages => "messages in a POSIX queue",
            Self::QueueBytes => "bytes in a message queue",
            Self::Terminals => "pseudo-terminals",
            Self::Mounts => "mounts",
            Self::MountNamespaces => "mount namespaces",
            Self::NetworkNamespaces => "network namespaces",
            Self::IpcNamespaces => "IPC namespaces",
            Self::UtsNamespaces => "UTS namespaces",
        })
    }
}

/// One limit as it bounds one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// How many a sweep may use: the limit less the present use, less a reserve for the program itself and
    /// for the machine around it.
    pub usable: u64,
    /// The limit's name as its manual page spells it: `RLIMIT_NOFILE`, `vm.max_map_count`.
    pub limit: String,
    /// The limit's value.
    pub value: u64,
    /// How to raise it, as the end of a sentence: ``raise it with `ulimit -n 65536` ``.
    pub advice: String,
}

/// Descriptors that a trial needs for itself: the standard three, its clocks, its files, and some to spare.
pub const DESCRIPTORS_RESERVED: u64 = 32;
