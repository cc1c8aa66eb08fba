//! Files: the timed open(2), and access to files below the folder of a server. Everything else is from std.

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
#[cfg(unix)]
mod root;
#[cfg(windows)]
#[path = "root_windows.rs"]
mod root;

pub use platform::{Path, close, open_read, read_at, read_some_at, standard_output, status, write_back};
pub use root::{Name, Root, changed_ns, names, number};
