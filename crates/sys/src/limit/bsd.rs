//! The BSDs, macOS and illumos: the limits of the process and, where sysctl(3) has names, those of the
//! system.

use super::definition::{Bound, DESCRIPTORS_RESERVED, Kind, Resource};
use super::unix::get;

/// Processes left over, so that an administrator can still log in and stop us.
const PROCESSES_SPARED: u64 = 64;

pub(super) fn bounds(resource: Resource) -> Vec<Bound> {
    let bounds = match resource {
        Resource::Descriptors => vec![
            descriptors_of_process(),
            of_system(c"kern.maxfilesperproc", DESCRIPTORS_RESERVED),
            of_system(c"kern.maxfiles", DESCRIPTORS_RESERVED),
        ],
        Resource::Processes => vec![
            processes_of_user(),
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

fn descriptors_of_process() -> Option<Bound> {
    let value = get(Kind::Descriptors).ok()?.soft?;
    let usable = value.saturating_sub(DESCRIPTORS_RESERVED);
    Some(Bound { usable, limit: "RLIMIT_NOFILE".into(), value, advice: "raise it with `ulimit -n`".into() })
}

fn processes_of_user() -> Option<Bound> {
    let value = get(Kind::Processes).ok()?.soft?;
    let usable = value.saturating_sub(PROCESSES_SPARED);
    Some(Bound { usable, limit: "RLIMIT_NPROC".into(), value, advice: "raise it with `ulimit -u`".into() })
}

fn of_system(name: &std::ffi::CStr, reserved: u64) -> Option<Bound> {
    let value = crate::tunable::sysctl::number(name)?;
    let limit = name.to_string_lossy().into_owned();
    let advice = format!("raise it as root with `sysctl {limit}={}`", value * 2);
    Some(Bound { usable: value.saturating_sub(reserved), limit, value, advice })
}

/// The installed memory. These systems have no common name for free memory, so half of it is left alone.
fn memory_of_system() -> Option<Bound> {
    let value =
        [c"hw.memsize", c"hw.physmem64", c"hw.physmem"].into_iter().find_map(crate::tunable::sysctl::number)?;
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
        let value = (crate::tunable::sysctl::number(last)? + 1).checked_sub(crate::tunable::sysctl::number(first)?)?;
        let limit = first.to_string_lossy().into_owned();
        let advice = format!("lower it as root with `sysctl {limit}=1024`");
        Some(Bound { usable: value, limit, value, advice })
    })
}
