//! Linux: the limits of the process, its control groups, and the sysctls of the kernel
//! (proc(5), cgroups(7), capabilities(7)).

use super::{Bound, DESCRIPTORS_RESERVED, Kind, Resource, get};
use crate::control_group;
use crate::pseudo_file::{field, field_bytes, in_first_pid_namespace, number, text};

/// The kernel keeps the low process numbers for itself: `RESERVED_PIDS` in kernel/pid.c.
const PIDS_RESERVED: u64 = 300;
/// Processes left over, so that an administrator can still log in and stop us.
const PROCESSES_SPARED: u64 = 64;
/// Mappings of the program itself: code, libraries, stacks, heap.
const MAPPINGS_RESERVED: u64 = 256;
/// Open files left to the rest of the system.
const FILES_SPARED: u64 = 1024;
/// Ports of listening sockets, and some that a connection before has not given back yet.
const PORTS_SPARED: u64 = 4;
/// Mounts that a workload needs beside those that it counts.
const MOUNTS_SPARED: u64 = 8;
/// A thread has a stack and a guard page below it, each a mapping.
const MAPPINGS_PER_THREAD: u64 = 2;

const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_SYS_RESOURCE: u64 = 1 << 24;

pub(super) fn bounds(resource: Resource) -> Vec<Bound> {
    let bounds = match resource {
        Resource::Descriptors => vec![descriptors_of_process(), descriptors_of_kernel(), files_of_system()],
        Resource::Processes => tasks().into(),
        Resource::Threads => {
            let mut bounds = Vec::from(tasks());
            bounds
                .push(mappings().map(|bound| Bound { usable: bound.usable / MAPPINGS_PER_THREAD, ..bound }));
            bounds
        }
        Resource::Mappings => vec![mappings()],
        Resource::MemoryBytes => vec![memory_of_system(), memory_of_group(), address_space()],
        Resource::LocalPorts => vec![local_ports()],
        Resource::EpollWatches => vec![plain("fs.epoll.max_user_watches")],
        // The second is that of the user namespace.
        Resource::InotifyWatches => {
            vec![plain("fs.inotify.max_user_watches"), plain("user.max_inotify_watches")]
        }
        Resource::InotifyInstances => {
            vec![plain("fs.inotify.max_user_instances"), plain("user.max_inotify_instances")]
        }
        Resource::Backlog => vec![plain("net.core.somaxconn"), plain("net.ipv4.tcp_max_syn_backlog")],
        Resource::TrackedConnections => vec![tracked_connections()],
        Resource::DescriptorsInFlight => vec![descriptors_in_flight()],
        Resource::FanotifyMarks => {
            vec![plain("fs.fanotify.max_user_marks"), plain("user.max_fanotify_marks")]
        }
        Resource::PendingSignals => vec![pending_signals()],
        Resource::PipePages => vec![pipe_pages()],
        Resource::SharedSegments => vec![system_v("kernel.shmmni", "shm", |_| Some(1))],
        Resource::SharedPages => vec![system_v("kernel.shmall", "shm", pages_of_segment)],
        Resource::MessageQueues => vec![system_v("kernel.msgmni", "msg", |_| Some(1))],
        Resource::PosixQueues => vec![plain("fs.mqueue.queues_max").filter(|_| !capable(CAP_SYS_RESOURCE))],
        Resource::PosixQueueBytes => vec![posix_queue_bytes()],
        Resource::PosixMessages => vec![posix_messages()],
        Resource::QueueBytes => vec![plain("kernel.msgmnb")],
        Resource::Terminals => vec![terminals()],
        Resource::Mounts => vec![mounts()],
        Resource::MountNamespaces => vec![plain("user.max_mnt_namespaces")],
        Resource::NetworkNamespaces => vec![plain("user.max_net_namespaces")],
        Resource::IpcNamespaces => vec![plain("user.max_ipc_namespaces")],
        Resource::UtsNamespaces => vec![plain("user.max_uts_namespaces")],
    };
    bounds.into_iter().flatten().collect()
}

impl Bound {
    /// The same with so many in use, or kept for others.
    fn less(self, count: u64) -> Bound {
        Bound { usable: self.usable.saturating_sub(count), ..self }
    }
}

fn sysctl_advice(name: &str, value: impl std::fmt::Display) -> String {
    format!("raise it as root with `sysctl -w {name}={value}`")
}

fn descriptors_of_process() -> Option<Bound> {
    let limit = get(Kind::Descriptors).ok()?;
    let value = limit.soft?;
    let advice = match limit.hard {
        Some(hard) if hard > value => format!("raise it with `ulimit -n {hard}`"),
        _ => "raise it as root with `ulimit -n`, or with LimitNOFILE= of the service that starts this".into(),
    };
    let usable = value.saturating_sub(DESCRIPTORS_RESERVED);
    Some(Bound { usable, limit: "RLIMIT_NOFILE".into(), value, advice })
}

fn descriptors_of_kernel() -> Option<Bound> {
    plain("fs.nr_open").map(|bound| bound.less(DESCRIPTORS_RESERVED))
}

/// Linux counts those of a user against the limit on open ones, unless it is privileged: `too_many_unix_fds`
/// in net/unix/af_unix.c.
fn descriptors_in_flight() -> Option<Bound> {
    let is_exempt = capable(CAP_SYS_RESOURCE) || capable(CAP_SYS_ADMIN);
    descriptors_of_process().filter(|_| !is_exempt)
}

fn files_of_system() -> Option<Bound> {
    if capable(CAP_SYS_ADMIN) {
        return None;
    }
    let used = number(file_of("fs.file-nr"))?;
    plain("fs.file-max").map(|bound| bound.less(used).less(FILES_SPARED))
}

/// Processes and threads are both tasks to the kernel and share their limits.
fn tasks() -> [Option<Bound>; 4] {
    let alive = tasks_alive();
    let limit = get(Kind::Processes).ok().and_then(|limit| limit.soft);
    let of_user = limit.filter(|_| !exempt_from_process_limit()).map(|value| Bound {
        // Where the user's tasks cannot be told apart, counting all errs to the safe side.
        usable: value.saturating_sub(tasks_of_user().unwrap_or(alive)),
        limit: "RLIMIT_NPROC".into(),
        value,
        advice: "raise it with `ulimit -u`, or with LimitNPROC= of the service that starts this".into(),
    });
    let numbers = plain("kernel.pid_max").map(|bound| Bound {
        advice: sysctl_advice("kernel.pid_max", 4_194_304),
        // It is that of the PID namespace (since Linux 6.14), which has fewer tasks than the system.
        ..bound.less(tasks_of_namespace().unwrap_or(alive)).less(PIDS_RESERVED)
    });
    let of_system = plain("kernel.threads-max").map(|bound| bound.less(alive));
    let of_group = control_group::pids().map(|cap| Bound {
        usable: cap.limit.saturating_sub(cap.used),
        limit: "pids.max".into(),
        value: cap.limit,
        advice: format!(
            "raise {}, or TasksMax= of the service, or --pids-limit of the container",
            cap.file.display()
        ),
    });
    [of_user, numbers, of_system, of_group].map(|bound| bound.map(|bound| bound.less(PROCESSES_SPARED)))
}

fn mappings() -> Option<Bound> {
    let bound = plain("vm.max_map_count")?.less(MAPPINGS_RESERVED);
    let advice = sysctl_advice("vm.max_map_count", 1_048_576.max(bound.value * 2));
    Some(Bound { advice, ..bound })
}

/// A tenth stays free: a machine driven into its last page measures the page daemon, or the OOM killer ends a
/// process.
fn less_a_tenth(bytes: u64) -> u64 {
    bytes - bytes / 10
}

fn memory_of_system() -> Option<Bound> {
    let value = field_bytes(&text("/proc/meminfo")?, "MemAvailable")?;
    let advice =
        "stop other programs, or use a machine with more memory (a guest of osdyno lab: --memory)".into();
    Some(Bound { usable: less_a_tenth(value), limit: "MemAvailable".into(), value, advice })
}

fn memory_of_group() -> Option<Bound> {
    let cap = control_group::memory()?;
    let advice =
        format!("raise {}, or MemoryMax= of the service, or --memory of the container", cap.file.display());
    let usable = less_a_tenth(cap.limit.saturating_sub(cap.used));
    let limit = cap.file.file_name()?.to_string_lossy().into_owned();
    Some(Bound { usable, limit, value: cap.limit, advice })
}

fn address_space() -> Option<Bound> {
    let value = get(Kind::AddressSpace).ok()?.soft?;
    let advice = "raise it with `ulimit -v unlimited`".into();
    Some(Bound { usable: less_a_tenth(value), limit: "RLIMIT_AS".into(), value, advice })
}

fn local_ports() -> Option<Bound> {
    let range = text("/proc/sys/net/ipv4/ip_local_port_range")?;
    let mut ends = range.split_whitespace().filter_map(|end| end.parse::<u64>().ok());
    let (first, last) = (ends.next()?, ends.next()?);
    let value = (last + 1).checked_sub(first)?;
    let advice = "raise it as root with `sysctl -w net.ipv4.ip_local_port_range='1024 65535'`".into();
    let usable = value.saturating_sub(PORTS_SPARED);
    Some(Bound { usable, limit: "net.ipv4.ip_local_port_range".into(), value, advice })
}

/// The value of a limit. For a limit of the user the use by other processes is not counted: only root could
/// read all of it.
fn plain(name: &str) -> Option<Bound> {
    let value = number(file_of(name))?;
    Some(Bound {
        usable: value,
        limit: name.into(),
        value,
        advice: sysctl_advice(name, value.max(1).saturating_mul(2)),
    })
}

/// The kernel drops the packets of connections beyond it: nf_conntrack-sysctl.rst.
fn tracked_connections() -> Option<Bound> {
    let bound = plain("net.netfilter.nf_conntrack_max")?;
    let used = number(file_of("net.netfilter.nf_conntrack_count")).unwrap_or(0);
    Some(bound.less(used))
}

/// A limit on objects of System V in this IPC namespace, less those that exist: sysvipc(7).
fn system_v(name: &str, kind: &str, amount: fn(&str) -> Option<u64>) -> Option<Bound> {
    let bound = plain(name)?;
    let table = text(format!("/proc/sysvipc/{kind}"))?;
    let used: u64 = table.lines().skip(1).filter_map(amount).sum();
    Some(bound.less(used))
}

/// The fourth column of /proc/sysvipc/shm has the bytes.
fn pages_of_segment(line: &str) -> Option<u64> {
    let bytes: u64 = line.split_whitespace().nth(3)?.parse().ok()?;
    Some(bytes.div_ceil(crate::memory::page_bytes() as u64))
}

/// Field `SigQ` of proc_pid_status(5) has the queued signals of the user and the limit on them.
fn pending_signals() -> Option<Bound> {
    let status = text("/proc/self/status")?;
    let (used, limit) = field(&status, "SigQ")?.split_once('/')?;
    let (used, value): (u64, u64) = (used.parse().ok()?, limit.parse().ok()?);
    let advice = "raise it with `ulimit -i`, or with LimitSIGPENDING= of the service that starts this".into();
    Some(Bound { usable: value.saturating_sub(used), limit: "RLIMIT_SIGPENDING".into(), value, advice })
}

/// Pipes beyond the soft limit are small, and none is made beyond the hard one: pipe(7). Zero is no limit.
fn pipe_pages() -> Option<Bound> {
    let is_exempt = capable(CAP_SYS_RESOURCE) || capable(CAP_SYS_ADMIN);
    plain("fs.pipe-user-pages-hard").filter(|bound| bound.value > 0 && !is_exempt)
}

/// Those of other processes of the user are not counted: no file has them.
fn posix_queue_bytes() -> Option<Bound> {
    let value = get(Kind::QueueBytes).ok()?.soft?;
    let advice = "raise it with `ulimit -q`, or with LimitMSGQUEUE= of the service that starts this".into();
    Some(Bound { usable: value, limit: "RLIMIT_MSGQUEUE".into(), value, advice })
}

/// `HARD_MSGMAX` of include/linux/ipc_namespace.h.
const POSIX_MESSAGES_MAX: u64 = 65_536;

/// The privileged may go to the limit of the kernel: mq_overview(7).
fn posix_messages() -> Option<Bound> {
    let bound = plain("fs.mqueue.msg_max")?;
    let usable = if capable(CAP_SYS_RESOURCE) { POSIX_MESSAGES_MAX } else { bound.value };
    Some(Bound { usable, value: usable, ..bound })
}

/// Some are kept for the first mount of devpts: `kernel.pty.reserve`.
fn terminals() -> Option<Bound> {
    let bound = plain("kernel.pty.max")?;
    let used = number(file_of("kernel.pty.nr"))? + number(file_of("kernel.pty.reserve")).unwrap_or(0);
    Some(bound.less(used))
}

/// Those of one mount namespace; a new one begins as a copy of ours.
fn mounts() -> Option<Bound> {
    let bound = plain("fs.mount-max")?;
    let used = text("/proc/self/mountinfo")?.lines().count() as u64;
    Some(bound.less(used).less(MOUNTS_SPARED))
}

fn file_of(sysctl: &str) -> String {
    format!("/proc/sys/{}", sysctl.replace('.', "/"))
}

/// All tasks of the system, from the fourth field of /proc/loadavg: `0.24 0.10 0.03 3/88 27157`.
fn tasks_alive() -> u64 {
    let count = || text("/proc/loadavg")?.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok();
    count().unwrap_or(0)
}

/// Tasks of this user, which the kernel counts against the limit by their real user ID: field `Uid` of
/// proc_pid_status(5). Processes of other users may be hidden, ours are not.
fn tasks_of_user() -> Option<u64> {
    let user = rustix::process::getuid().as_raw().to_string();
    // This process is one of them, unless this /proc is another namespace's.
    tasks_shown(|status| field(status, "Uid").and_then(|ids| ids.split_whitespace().next()) == Some(&user))
}

/// Tasks that this /proc shows, where it is not that of the first PID namespace; there are few then.
fn tasks_of_namespace() -> Option<u64> {
    if in_first_pid_namespace() { None } else { tasks_shown(|_| true) }
}

/// The threads of the processes in /proc that are counted, by their status; `None` where there are none.
fn tasks_shown(is_counted: impl Fn(&str) -> bool) -> Option<u64> {
    let threads = |entry: std::fs::DirEntry| {
        let status = text(entry.path().join("status")).filter(|status| is_counted(status))?;
        field(&status, "Threads")?.parse::<u64>().ok()
    };
    let tasks: u64 = std::fs::read_dir("/proc").ok()?.flatten().filter_map(threads).sum();
    (tasks > 0).then_some(tasks)
}

/// Root of the first user namespace may have any number of processes, and so may holders of two
/// capabilities: `copy_process` in kernel/fork.c.
fn exempt_from_process_limit() -> bool {
    in_first_user_namespace() && rustix::process::getuid().is_root()
        || capable(CAP_SYS_ADMIN)
        || capable(CAP_SYS_RESOURCE)
}

/// Whether the kernel itself, and not only a user namespace, grants us a capability.
fn capable(capability: u64) -> bool {
    let effective = || {
        let status = text("/proc/self/status")?;
        u64::from_str_radix(field(&status, "CapEff")?, 16).ok()
    };
    in_first_user_namespace() && effective().is_some_and(|set| set & capability != 0)
}

fn in_first_user_namespace() -> bool {
    text("/proc/self/uid_map").is_some_and(|map| map.split_whitespace().eq(["0", "0", "4294967295"]))
}
