//! Files: the calls that are timed, copies made by the kernel, and access to files below the folder of a
//! server. Everything else is from std.

mod copy;
mod direct;
mod in_memory;
mod layout;
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
mod unnamed;

pub use copy::{copy_range, send, share_blocks};
pub use direct::create_direct;
pub use in_memory::in_memory;
pub use layout::{collapse, pieces};
pub use platform::{
    Path, close, create_new, evict, free, open_flush, open_folder, open_read, read_at, read_some_at, rename,
    standard_output, status, sync_folder, unlink, write_back,
};
pub use root::{Name, Root, changed_ns, identity, names, number};
pub use unnamed::{give_name, unnamed};

/// What is free on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Free {
    /// Bytes.
    pub bytes: u64,
    /// Files and folders that can still be made; `None` where only the bytes limit them.
    pub inodes: Option<u64>,
}

impl Free {
    /// How many files of that size fit, each in whole blocks.
    #[must_use]
    pub fn files_of(&self, bytes: u64) -> u64 {
        let by_bytes = self.bytes / bytes.next_multiple_of(BLOCK_BYTES).max(BLOCK_BYTES);
        self.inodes.map_or(by_bytes, |inodes| inodes.min(by_bytes))
    }
}

/// What a file takes at least, on most file systems.
const BLOCK_BYTES: u64 = 4 << 10;
