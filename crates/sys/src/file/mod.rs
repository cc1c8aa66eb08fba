//! Files: the calls that are timed, copies made by the kernel, and access to files below the folder of a
//! server. Everything else is from std.

#[cfg(unix)]
mod copy;
mod in_memory;
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

#[cfg(unix)]
pub use copy::{copy_range, send, share_blocks};
pub use in_memory::in_memory;
pub use platform::{
    Path, close, free_bytes, open_read, read_at, read_some_at, standard_output, status, write_back,
};
#[cfg(unix)]
pub use platform::{create_new, evict, rename, unlink};
pub use root::{Name, Root, changed_ns, names, number};
