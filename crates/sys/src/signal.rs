//! Signals as flags, for programs that stop gracefully.

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

pub use platform::{ignore_file_size_signal, ignores_hangup, send_nudge, send_stop, watch, watch_nudges};

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);
static REPORTS: AtomicU64 = AtomicU64::new(0);

/// Whether the process was told to stop, by SIGTERM or SIGINT, since [`watch`].
#[inline]
pub fn stop_ordered() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// How often the process was asked for its counters, by SIGUSR1, since [`watch`].
#[inline]
pub fn reports_asked() -> u64 {
    REPORTS.load(Ordering::Relaxed)
}
