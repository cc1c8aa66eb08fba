//! Processes: the families that a workload forks, and what keeps every process of a trial within reach.

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

use std::process::ExitStatus;

pub use platform::{
    Child, Family, adopt_orphans, die_with_parent, kill_descendants, kill_group, lead_group, parent,
    reap_orphans,
};

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
