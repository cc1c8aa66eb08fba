//! Processes: the children that a workload forks, and the means to kill every process of a trial.

use std::path::PathBuf;
use std::{env, fs, io};

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

#[cfg(unix)]
mod confine;
#[cfg(unix)]
mod execution;
#[cfg(unix)]
mod fork;
#[cfg(target_os = "linux")]
mod process_tree_usage;
#[cfg(unix)]
mod set;
#[cfg(unix)]
mod spawn;
#[cfg(unix)]
mod user;
#[cfg(windows)]
use platform as fork;
#[cfg(windows)]
use platform as user;

use std::process::ExitStatus;

#[cfg(unix)]
pub use confine::{confine, confined_user, pin, quit, terminate};
#[cfg(unix)]
pub use execution::{Amount, Executed, ExecutionUsage, Making, ProgramLauncher, RunningProgram};
#[cfg(unix)]
pub use fork::try_fork;
pub use fork::{PANICKED, bequeath, end_now, ended_child, fork, fork_in_two, inherited, kill};
#[cfg(unix)]
pub use platform::leave_terminal;
#[cfg(windows)]
pub use platform::process_tree_usage;
#[cfg(target_os = "linux")]
pub use process_tree_usage::process_tree_usage;
#[cfg(unix)]
pub use set::{ProcessWatch, probe_group};
#[cfg(unix)]
pub use spawn::{SpawnMeans, SpawnedProgram};
pub use user::{become_user, is_root};

pub use platform::{
    Child, Family, adopt_orphans, await_end, die_with, die_with_parent, kill_descendants, kill_group,
    lead_group, parent, reap_orphans, replace_by,
};

/// The usage of a program with all its processes.
#[derive(Clone, Copy, Debug)]
pub struct ProcessTreeUsage {
    /// How many there are.
    pub processes: u64,
    /// User memory; what several processes share counts once.
    pub memory_bytes: u64,
    /// Processor time, of those that have ended and were waited for too.
    pub cpu_seconds: f64,
}

/// The present usage of this process and its descendants.
///
/// # Errors
/// Unsupported.
#[cfg(not(any(target_os = "linux", windows)))]
pub fn process_tree_usage() -> std::io::Result<ProcessTreeUsage> {
    Err(crate::Unsupported("the usage of a tree of processes is read on Linux only").into())
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
