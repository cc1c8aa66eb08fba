//! Processes: the children that a workload forks, and the means to kill every process of a trial.

#[cfg(unix)]
mod execution;
#[cfg(unix)]
mod fork;
#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
#[cfg(unix)]
mod user;

use std::path::PathBuf;
use std::process::ExitStatus;
use std::{env, fs, io};

#[cfg(windows)]
use platform as fork;
#[cfg(windows)]
use platform as user;

#[cfg(unix)]
pub use execution::{
    Amount, Executed, ExecutionUsage, Making, ProgramLauncher, RunningProgram, SpawnMeans, SpawnedProgram,
};
#[cfg(unix)]
pub(crate) use fork::send_signal;
pub use fork::{PANICKED, bequeath, end_now, ended_child, fork, fork_in_two, inherited, kill};
#[cfg(unix)]
pub use fork::{quit, terminate, try_fork};
#[cfg(windows)]
pub use platform::process_tree_usage;
#[cfg(unix)]
pub use platform::{Child, Family, ProcessWatch, leave_terminal, pin, probe_group};
pub use platform::{
    adopt_orphans, await_end, die_with, die_with_parent, kill_descendants, kill_group, lead_group, parent,
    reap_orphans, replace_by,
};
#[cfg(target_os = "linux")]
pub use tree::process_tree_usage;
pub use user::{become_user, is_root};
#[cfg(unix)]
pub use user::{confine, confined_user};

/// The usage of a program with all its processes.
#[derive(Clone, Copy, Debug)]
pub struct ProcessTreeUsage {
    /// How many there are.
    pub processes: u64,
    /// User memory; pages that several processes share count once.
    pub memory_bytes: u64,
    /// Processor time, of those that have ended and were waited for too.
    pub cpu_seconds: f64,
}

#[cfg(not(any(target_os = "linux", windows)))]
missing! {
    "the usage of a tree of processes is read on Linux only";
    pub fn process_tree_usage() -> io::Result<ProcessTreeUsage>;
}

/// Whether a signal ended the process.
pub fn was_killed(status: ExitStatus) -> bool {
    cfg_select! {
        unix => { std::os::unix::process::ExitStatusExt::signal(&status).is_some() }
        _ => { let _ = status; false }
    }
}

/// Whether the program of a process that has ended was loaded. Only Windows reports it: its loader ends a
/// process with STATUS_DLL_INIT_FAILED, also for a reason that passes, such as a desktop with too many
/// windows.
pub fn was_loaded(status: ExitStatus) -> bool {
    cfg_select! {
        windows => { status.code() != Some(windows_sys::Win32::Foundation::STATUS_DLL_INIT_FAILED) }
        _ => { let _ = status; true }
    }
}

/// How a process ended, in words.
pub fn ending(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = match signal {
            libc::SIGKILL => "SIGKILL",
            libc::SIGSEGV => "SIGSEGV",
            libc::SIGABRT => "SIGABRT",
            libc::SIGBUS => "SIGBUS",
            libc::SIGTERM => "SIGTERM",
            libc::SIGSYS => "SIGSYS",
            libc::SIGXFSZ => "SIGXFSZ",
            _ => return format!("killed by signal {signal}"),
        };
        return format!("killed by {name}");
    }
    match status.code() {
        Some(code) => format!("exit status {code}"),
        None => "ended without a status".to_owned(),
    }
}

/// The folders of packages for servers that users do not execute.
const FOLDERS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// The folders that have one folder for each version of PostgreSQL: Debian, Fedora, the BSDs.
const VERSIONS: [&str; 3] = ["/usr/lib/postgresql", "/usr/pgsql", "/usr/local"];

/// The program of that name, in PATH or in the folders of packages for servers; of several versions that in
/// the folder with the last name.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let listed = env::var_os("PATH").unwrap_or_default();
    let of_path = env::split_paths(&listed).chain(FOLDERS.map(PathBuf::from));
    let versions = VERSIONS.iter().flat_map(|folder| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut bins: Vec<PathBuf> = entries.map(|entry| entry.path().join("bin")).collect();
        bins.sort();
        bins.into_iter().rev()
    });
    of_path.chain(versions).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Where the program of this process is, to start it once more. Where the system does not report it, as Linux
/// without /proc, it is the name in the command line, if that is an absolute path.
///
/// # Errors
/// The error of env::current_exe.
pub fn own_program() -> io::Result<PathBuf> {
    env::current_exe().or_else(|error| {
        let name = env::args_os().next().map(PathBuf::from);
        name.filter(|name| name.is_absolute() && name.is_file()).ok_or(error)
    })
}

/// Processor time and memory of a tree of processes: proc_pid_stat(5), schedstat, smaps_rollup, getrusage(2).
#[cfg(target_os = "linux")]
mod tree {
    use std::collections::HashMap;
    use std::fs;
    use std::io;

    use super::ProcessTreeUsage;
    use crate::activity::usage::{seconds, usage};
    use crate::process_table::is_gone;

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

    /// The descendants, each with the processor time of its own and of its children that have ended, in
    /// ticks.
    fn relatives(own: u32) -> io::Result<Vec<(u32, u64)>> {
        let mut children: HashMap<u32, Vec<(u32, u64)>> = HashMap::new();
        for entry in fs::read_dir("/proc")?.flatten() {
            let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let Ok(line) = fs::read_to_string(format!("/proc/{process}/stat")) else { continue };
            // The name of the program, in brackets, may hold anything. Behind it: state, parent, …, and from
            // the twelfth on utime, stime, cutime, cstime.
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

    /// How long the threads of a process that live have run, to the nanosecond; `None` where the kernel does
    /// not count that, or the process has ended.
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

    fn own_seconds(of: libc::c_int) -> io::Result<f64> {
        let usage = usage(of).ok_or_else(io::Error::last_os_error)?;
        Ok(seconds(usage.ru_utime) + seconds(usage.ru_stime))
    }
}
