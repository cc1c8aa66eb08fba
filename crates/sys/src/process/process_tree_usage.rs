//! Processor time and memory of a tree of processes: proc_pid_stat(5), schedstat, smaps_rollup, getrusage(2).

use std::collections::HashMap;
use std::fs;
use std::io;
use std::mem::MaybeUninit;

use super::ProcessTreeUsage;

/// The present usage of this process and its descendants.
///
/// # Errors
/// Those of reading /proc; `PermissionDenied` where a descendant has changed its user.
pub fn process_tree_usage() -> io::Result<ProcessTreeUsage> {
    let relatives = relatives(std::process::id())?;
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    let mut taken = ProcessTreeUsage {
        processes: 1 + relatives.len() as u64,
        memory_bytes: memory_bytes(std::process::id())?,
        cpu_seconds: own_seconds(libc::RUSAGE_SELF)? + own_seconds(libc::RUSAGE_CHILDREN)?,
    };
    for (process, ticks) in relatives {
        // Ticks show nothing of a process that ran for less than a tick, and a pool has many of these.
        let counted_seconds = ticks as f64 / ticks_per_second;
        taken.cpu_seconds += counted_seconds.max(ran_seconds(process).unwrap_or(0.0));
        match memory_bytes(process) {
            Ok(bytes) => taken.memory_bytes += bytes,
            // It has ended meanwhile, and has no memory any more.
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(taken)
}

/// The descendants, each with the processor time of its own and of its children that have ended, in ticks.
fn relatives(own: u32) -> io::Result<Vec<(u32, u64)>> {
    let mut children: HashMap<u32, Vec<(u32, u64)>> = HashMap::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(line) = fs::read_to_string(format!("/proc/{process}/stat")) else { continue };
        // The name of the program, in brackets, may hold anything. Behind it: state, parent, …, and from the
        // twelfth on utime, stime, cutime, cstime.
        let fields: Vec<&str> = line.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let Some(parent) = number(1).and_then(|parent| u32::try_from(parent).ok()) else { continue };
        children.entry(parent).or_default().push((process, (11..15).filter_map(number).sum()));
    }
    let mut found = Vec::new();
    let mut next = children.remove(&own).unwrap_or_default();
    while let Some(process) = next.pop() {
        next.extend(children.remove(&process.0).unwrap_or_default());
        found.push(process);
    }
    Ok(found)
}

/// How long the threads of a process that live have run, to the nanosecond; `None` where the kernel does not
/// count that, or the process has ended.
fn ran_seconds(process: u32) -> Option<f64> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten();
    let ran_ns = threads.filter_map(|thread| {
        let line = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    Some(ran_ns.sum::<u64>() as f64 / 1e9)
}

/// The process's share of memory: a shared page is divided among its processes ("Pss").
fn memory_bytes(process: u32) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    // A process that has ended and was not waited for has none.
    Ok(kib.unwrap_or(0) << 10)
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

fn own_seconds(of: libc::c_int) -> io::Result<f64> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is to memory of that type that lives as long as the call.
    if unsafe { libc::getrusage(of, usage.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded and so has written it.
    let usage = unsafe { usage.assume_init() };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(seconds(usage.ru_utime) + seconds(usage.ru_stime))
}
