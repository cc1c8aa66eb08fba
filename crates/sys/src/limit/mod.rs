//! Limits that end a sweep: those of the process, of its control group and of the system.
//!
//! Each limit has a name and advice, so that a report names the limit that ended the sweep and the remedy,
//! instead of an errno alone.

#[cfg(target_os = "linux")]
mod linux;

use std::fmt;
use std::io;
use std::path::Path;

use crate::Unsupported;

#[cfg(all(unix, not(target_os = "linux")))]
use bsd as bound;
#[cfg(target_os = "linux")]
use linux as bound;
#[cfg(not(unix))]
use other as bound;
#[cfg(not(unix))]
pub use other::{get, raise_soft_to_hard};
#[cfg(unix)]
pub use unix::{get, raise_soft_to_hard};

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
    pub stopped_by: Option<io::Error>,
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

            fn refusal(self) -> Option<&'static str> {
                match self { $(Self::$resource => None::<&str>$(.or(Some($refusal)))?,)* }
            }

            fn unreadable(self) -> Unsupported {
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

/// All the limits that bound a resource, the tightest first. Read anew at every call, since usage changes;
/// call it after [`raise_soft_to_hard`], because the soft limits bind.
///
/// # Errors
/// [`Unsupported`] where this system names no limit for the resource.
pub fn bounds(resource: Resource) -> Result<Vec<Bound>, Unsupported> {
    let mut bounds = bound::bounds(resource);
    bounds.sort_by_key(|bound| bound.usable);
    if bounds.is_empty() {
        return Err(resource.unreadable());
    }
    Ok(bounds)
}

/// The tightest of the [`bounds`]: how far n can go, and the limit that stops it.
///
/// # Errors
/// [`Unsupported`] where this system names no limit for the resource.
pub fn ceiling(resource: Resource) -> Result<Bound, Unsupported> {
    Ok(bounds(resource)?.swap_remove(0))
}

/// The tightest limit on these resources at which the system refuses with this error, if there is one.
pub fn refusing(error: &io::Error, resources: impl Iterator<Item = Resource>) -> Option<Bound> {
    let name = crate::error::name(error);
    let refusing = resources.filter(|resource| resource.refusal() == Some(&*name));
    refusing.filter_map(|resource| ceiling(resource).ok()).min_by_key(|bound| bound.usable)
}

const ADVICE: &str = "remove files, or choose a larger file system with --scratch DIR";

/// The limit on a resource of the file system that the folder is on. A tenth stays free: file systems become
/// slow when they are nearly full.
///
/// # Errors
/// [`Unsupported`] where the file system does not report it, because it makes inodes when it needs them.
pub fn bound_of_folder(resource: FolderResource, folder: &Path) -> Result<Bound, Unsupported> {
    let free = crate::file::free(folder).map_err(|_| Unsupported("the free space cannot be read here"))?;
    let (limit, value) = match resource {
        FolderResource::DiskBytes => ("free space", Some(free.bytes)),
        FolderResource::Inodes => ("number of free inodes", free.inodes),
    };
    let value = value.ok_or(Unsupported("this file system has no fixed number of inodes"))?;
    Ok(Bound { usable: value - value / 10, limit: limit.into(), value, advice: ADVICE.into() })
}

/// The limits of a process on POSIX systems: getrlimit(2), setrlimit(2).
#[cfg(unix)]
mod unix {
    use std::io;

    use rustix::process::{Resource as Rlimit, getrlimit, setrlimit};

    use super::{Kind, Limit, Raise};
    use crate::Unsupported;

    fn rlimit(kind: Kind) -> Result<Rlimit, Unsupported> {
        match kind {
            Kind::Descriptors => Ok(Rlimit::Nofile),
            Kind::Stack => Ok(Rlimit::Stack),
            #[cfg(not(any(target_os = "solaris", target_os = "illumos")))]
            Kind::Processes => Ok(Rlimit::Nproc),
            #[cfg(not(any(target_os = "solaris", target_os = "illumos")))]
            Kind::LockedMemory => Ok(Rlimit::Memlock),
            #[cfg(not(any(target_os = "openbsd", target_os = "netbsd")))]
            Kind::AddressSpace => Ok(Rlimit::As),
            #[cfg(target_os = "linux")]
            Kind::QueueBytes => Ok(Rlimit::Msgqueue),
            #[allow(unreachable_patterns)]
            _ => Err(Unsupported("this system has no such limit of a process")),
        }
    }

    /// Reads one limit of this process. See getrlimit(2).
    ///
    /// # Errors
    /// [`Unsupported`] where the system has no such limit.
    pub fn get(kind: Kind) -> Result<Limit, Unsupported> {
        let limit = getrlimit(rlimit(kind)?);
        Ok(Limit { soft: limit.current, hard: limit.maximum })
    }

    /// Raises the soft limits of descriptors and processes to their hard limits, as far as the system lets
    /// it. Children inherit them. No privilege is needed, and nothing outside this process changes. See
    /// setrlimit(2).
    ///
    /// # Errors
    /// [`Unsupported`] where processes have no such limits. A refusal is no error but part of the answer.
    pub fn raise_soft_to_hard() -> Result<Vec<Raise>, Unsupported> {
        let mut raises = Vec::new();
        for kind in [Kind::Descriptors, Kind::Processes] {
            let Ok(resource) = rlimit(kind) else { continue };
            let before = get(kind)?;
            let refusal = if before.soft == before.hard { None } else { raise(resource, before.hard).err() };
            raises.push(Raise { kind, before, after: get(kind)?, stopped_by: refusal });
        }
        Ok(raises)
    }

    /// Raises it fully, or to the largest value that the system allows a process.
    fn raise(resource: Rlimit, hard: Option<u64>) -> io::Result<()> {
        let set = |soft| setrlimit(resource, rustix::process::Rlimit { current: soft, maximum: hard });
        let refusal = match set(hard) {
            Ok(()) => return Ok(()),
            Err(refusal) => refusal,
        };
        // macOS calls the hard limit infinite and yet refuses more than a system-wide number.
        #[cfg(target_os = "macos")]
        if let Some(most) = crate::tunable::sysctl::number(match resource {
            Rlimit::Nproc => c"kern.maxprocperuid",
            _ => c"kern.maxfilesperproc",
        }) {
            let _ = set(Some(most));
        }
        Err(refusal.into())
    }
}

/// The BSDs, macOS and illumos: the limits of the process and, where sysctl(3) has names, those of the
/// system.
#[cfg(all(unix, not(target_os = "linux")))]
mod bsd {
    use super::{Bound, DESCRIPTORS_RESERVED, Kind, Resource, get};
    use crate::tunable::sysctl;

    /// Processes left over, so that an administrator can still log in and stop us.
    const PROCESSES_SPARED: u64 = 64;

    pub(super) fn bounds(resource: Resource) -> Vec<Bound> {
        let bounds = match resource {
            Resource::Descriptors => vec![
                of_process(Kind::Descriptors, DESCRIPTORS_RESERVED, "RLIMIT_NOFILE", "-n"),
                of_system(c"kern.maxfilesperproc", DESCRIPTORS_RESERVED),
                of_system(c"kern.maxfiles", DESCRIPTORS_RESERVED),
            ],
            Resource::Processes => vec![
                of_process(Kind::Processes, PROCESSES_SPARED, "RLIMIT_NPROC", "-u"),
                of_system(c"kern.maxprocperuid", PROCESSES_SPARED),
                of_system(c"kern.maxproc", PROCESSES_SPARED),
            ],
            Resource::Threads => vec![
                of_system(c"kern.threads.max_threads_per_proc", PROCESSES_SPARED),
                of_system(c"kern.num_taskthreads", PROCESSES_SPARED),
                of_system(c"kern.maxthread", PROCESSES_SPARED),
            ],
            Resource::MemoryBytes => vec![memory_of_system()],
            Resource::LocalPorts => vec![local_ports()],
            Resource::Backlog => vec![
                of_system(c"kern.ipc.soacceptqueue", 0).or_else(|| of_system(c"kern.ipc.somaxconn", 0)),
                of_system(c"kern.somaxconn", 0),
            ],
            // Facilities of Linux, and limits that have no common name.
            _ => Vec::new(),
        };
        bounds.into_iter().flatten().collect()
    }

    fn of_process(kind: Kind, spared: u64, limit: &str, option: &str) -> Option<Bound> {
        let value = get(kind).ok()?.soft?;
        let advice = format!("raise it with `ulimit {option}`");
        Some(Bound { usable: value.saturating_sub(spared), limit: limit.into(), value, advice })
    }

    fn of_system(name: &std::ffi::CStr, reserved: u64) -> Option<Bound> {
        let value = sysctl::number(name)?;
        let limit = name.to_string_lossy().into_owned();
        let advice = format!("raise it as root with `sysctl {limit}={}`", value * 2);
        Some(Bound { usable: value.saturating_sub(reserved), limit, value, advice })
    }

    /// The installed memory. These systems have no common name for free memory, so half of it is left alone.
    fn memory_of_system() -> Option<Bound> {
        let value = [c"hw.memsize", c"hw.physmem64", c"hw.physmem"].into_iter().find_map(sysctl::number)?;
        let advice = "use a machine with more memory".into();
        Some(Bound { usable: value / 2, limit: "hw.physmem".into(), value, advice })
    }

    fn local_ports() -> Option<Bound> {
        // FreeBSD and macOS call the range one thing, NetBSD another.
        let names = [
            (c"net.inet.ip.portrange.first", c"net.inet.ip.portrange.last"),
            (c"net.inet.ip.anonportmin", c"net.inet.ip.anonportmax"),
        ];
        names.into_iter().find_map(|(first, last)| {
            let value = (sysctl::number(last)? + 1).checked_sub(sysctl::number(first)?)?;
            let limit = first.to_string_lossy().into_owned();
            let advice = format!("lower it as root with `sysctl {limit}=1024`");
            Some(Bound { usable: value, limit, value, advice })
        })
    }
}

/// Systems without POSIX resource limits, such as Windows: handles and processes are bounded by memory only.
#[cfg(not(unix))]
mod other {
    use super::{Bound, Kind, Limit, Raise, Resource};
    use crate::Unsupported;

    missing! {
        "processes have no resource limits on this system";
        pub fn get(kind: Kind) -> Result<Limit, Unsupported>;
        pub fn raise_soft_to_hard() -> Result<Vec<Raise>, Unsupported>;
    }

    pub(super) fn bounds(_: Resource) -> Vec<Bound> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bound_says_its_name_and_what_to_do() {
        for &resource in Resource::ALL {
            let Ok(bounds) = bounds(resource) else { continue };
            assert!(bounds.is_sorted_by_key(|bound| bound.usable), "{resource}");
            for bound in bounds {
                assert!(bound.usable <= bound.value, "{resource}: {bound:?}");
                assert!(!bound.limit.is_empty() && !bound.advice.is_empty(), "{resource}: {bound:?}");
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_has_the_limits_of_its_file_system() {
        let here = std::path::Path::new(".");
        let bound = bound_of_folder(FolderResource::DiskBytes, here).unwrap();
        assert!(bound.usable > 0 && bound.usable <= bound.value, "{bound:?}");
        let nowhere = bound_of_folder(FolderResource::DiskBytes, &here.join("no-such-folder"));
        assert!(nowhere.is_err(), "{nowhere:?}");
        // Some file systems make inodes as they need them.
        if let Ok(bound) = bound_of_folder(FolderResource::Inodes, here) {
            assert!(bound.value > 0, "{bound:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn soft_limits_rise_to_hard_ones_or_say_why_not() {
        for raise in raise_soft_to_hard().unwrap() {
            let risen = raise.after.soft == raise.after.hard;
            assert!(risen != raise.stopped_by.is_some(), "{raise:?}");
            assert_eq!(get(raise.kind).unwrap(), raise.after);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_bounds_every_resource() {
        // Kernels without these facilities have no limits of them, and some limits are not those of root.
        let optional = [
            Resource::TrackedConnections,
            Resource::DescriptorsInFlight,
            Resource::FanotifyMarks,
            Resource::PipePages,
            Resource::SharedSegments,
            Resource::SharedPages,
            Resource::MessageQueues,
            Resource::PosixQueues,
            Resource::PosixMessages,
            Resource::QueueBytes,
            Resource::Terminals,
            Resource::Mounts,
            Resource::MountNamespaces,
            Resource::NetworkNamespaces,
            Resource::IpcNamespaces,
            Resource::UtsNamespaces,
        ];
        for resource in Resource::ALL.iter().copied().filter(|one| !optional.contains(one)) {
            assert!(ceiling(resource).unwrap().usable > 0, "{resource}");
        }
    }
}
