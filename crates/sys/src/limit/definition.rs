//! The limits of a process, the resources that a sweep uses up, and the bounds between them, as values.

use std::fmt;

use crate::Unsupported;

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

/// The table of resources: the name in a record, words for a reader, and the error at its limit where that
/// has another meaning elsewhere, such as a full disk or too many processes.
macro_rules! resources {
    ($($(#[$doc:meta])* $resource:ident = $name:literal, $words:literal $(, $refusal:literal)?;)*) => {
        /// A resource that a sweep uses up.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Resource {
            $($(#[$doc])* $resource,)*
        }

        impl Resource {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$resource),*];

            /// Its name in a record.
            pub fn name(self) -> &'static str {
                match self { $(Self::$resource => $name,)* }
            }

            pub(super) fn refusal(self) -> Option<&'static str> {
                match self { $(Self::$resource => None::<&str>$(.or(Some($refusal)))?,)* }
            }

            pub(super) fn unreadable(self) -> Unsupported {
                Unsupported(match self {
                    $(Self::$resource => concat!("no limit on ", $words, " can be read here"),)*
                })
            }
        }

        impl fmt::Display for Resource {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$resource => $words,)* })
            }
        }
    };
}

resources! {
    /// Descriptors of one process.
    Descriptors = "descriptors", "descriptors";
    /// Processes alive at once.
    Processes = "processes", "processes";
    /// Threads of one process.
    Threads = "threads", "threads";
    /// Memory mappings of one process.
    Mappings = "mappings", "mappings";
    /// Bytes of memory.
    MemoryBytes = "memory", "bytes of memory";
    /// Local ports that the system hands out by itself, for one local address and one peer.
    LocalPorts = "ports", "local ports";
    /// Descriptors that the user's epoll sets watch together.
    EpollWatches = "epoll_watches", "descriptors watched by epoll", "ENOSPC";
    /// Files and folders that the user watches by inotify(7).
    InotifyWatches = "inotify_watches", "watched files", "ENOSPC";
    /// Instances of inotify(7) of the user.
    InotifyInstances = "inotify_instances", "inotify instances";
    /// Connections of one listening socket that wait to be accepted.
    Backlog = "backlog", "connections that wait to be accepted";
    /// Connections that the packet filter keeps track of.
    TrackedConnections = "tracked_connections", "tracked connections";
    /// Descriptors of the user that were sent over sockets and not received yet.
    DescriptorsInFlight = "descriptors_in_flight", "descriptors in flight";
    /// Files and folders that the user marks by fanotify(7).
    FanotifyMarks = "fanotify_marks", "files marked by fanotify", "ENOSPC";
    /// Signals of the user that are queued, or may be: each timer of POSIX keeps one.
    PendingSignals = "pending_signals", "queued signals", "EAGAIN";
    /// Pages in pipes of the user.
    PipePages = "pipe_pages", "pages of pipes";
    /// Segments of shared memory, shmget(2).
    SharedSegments = "shared_segments", "shared memory segments", "ENOSPC";
    /// Pages in all segments of shared memory, shmget(2).
    SharedPages = "shared_pages", "pages of shared memory segments", "ENOSPC";
    /// Message queues of System V, msgget(2).
    MessageQueues = "message_queues", "message queues", "ENOSPC";
    /// Message queues of POSIX, mq_overview(7).
    PosixQueues = "posix_queues", "POSIX message queues", "ENOSPC";
    /// Bytes in message queues of POSIX of the user.
    PosixQueueBytes = "posix_queue_bytes", "bytes of POSIX message queues";
    /// Messages in one message queue of POSIX.
    PosixMessages = "posix_messages", "messages in a POSIX queue", "EAGAIN";
    /// Bytes, and messages, in one message queue of System V.
    QueueBytes = "queue_bytes", "bytes in a message queue", "EAGAIN";
    /// Pseudo-terminals, pty(7).
    Terminals = "terminals", "pseudo-terminals", "ENOSPC";
    /// Mounts of one mount namespace.
    Mounts = "mounts", "mounts", "ENOSPC";
    /// Mount namespaces of the user.
    MountNamespaces = "mount_namespaces", "mount namespaces", "ENOSPC";
    /// Network namespaces of the user.
    NetworkNamespaces = "network_namespaces", "network namespaces", "ENOSPC";
    /// IPC namespaces of the user.
    IpcNamespaces = "ipc_namespaces", "IPC namespaces", "ENOSPC";
    /// UTS namespaces of the user.
    UtsNamespaces = "uts_namespaces", "UTS namespaces", "ENOSPC";
}

/// A resource of the file system that a workload's folder is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderResource {
    /// Bytes on the disk.
    DiskBytes,
    /// Inodes: files and folders.
    Inodes,
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
