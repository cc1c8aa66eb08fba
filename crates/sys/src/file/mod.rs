//! Files: what std has is used as it is; this room holds the one bare call that is timed.

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

pub use platform::{Path, close, open_read, read_at, write_back};
