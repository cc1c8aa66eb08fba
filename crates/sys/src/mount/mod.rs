//! File systems of this process alone: a mount namespace, images behind loop devices, mounts.

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;

pub use platform::{LoopDevice, expect_unused, mount, own_namespace};
#[cfg(target_os = "linux")]
pub use platform::{MountNumber, bind, describe, mount_memory, number, unmount};

/// Systems where mounts belong to all processes.
#[cfg(not(target_os = "linux"))]
mod platform {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    const REASON: &str = "a process has mounts of its own on Linux only";

    missing! {
        REASON;
        pub fn own_namespace() -> io::Result<()>;
        pub fn mount(source: &Path, folder: &Path, kind: &str, options: &[String]) -> io::Result<()>;
        pub fn expect_unused(device: &Path) -> io::Result<()>;
    }

    missing! {
        REASON;
        pub struct LoopDevice;
        pub fn attach(image: &File) -> io::Result<LoopDevice>;
        pub fn path(&self) -> &Path;
        pub fn is_direct(&self) -> io::Result<bool>;
    }
}

/// The table of mounts (proc_pid_mountinfo(5)).
#[cfg(target_os = "linux")]
pub(crate) mod table {
    use std::path::PathBuf;

    use crate::pseudo_file::text;

    /// A line of the table of mounts that this process sees.
    #[derive(Debug, PartialEq)]
    pub(crate) struct Mount {
        /// Major and minor number: `254:0`. Some kinds, such as btrfs, have numbers of their own.
        pub(crate) device: String,
        /// The folder of its file system that it shows.
        pub(crate) root: String,
        /// Where it is.
        pub(crate) point: PathBuf,
        /// Options of the mount, such as `rw,noatime`.
        pub(crate) options: String,
        /// The kind of file system.
        pub(crate) kind: String,
        /// A device, or the file system's own name for its source.
        pub(crate) source: String,
        /// Options of the file system, which all of its mounts share.
        pub(crate) super_options: String,
    }

    /// All mounts, in the order in which they were mounted.
    pub(crate) fn mounts() -> Vec<Mount> {
        parse(&text("/proc/self/mountinfo").unwrap_or_default())
    }

    /// The lines of such a table; one that is cut short is left out.
    pub(crate) fn parse(table: &str) -> Vec<Mount> {
        let parse = |line: &str| {
            let (place, what) = line.split_once(" - ")?;
            let place: Vec<&str> = place.split(' ').collect();
            let what: Vec<&str> = what.split(' ').collect();
            Some(Mount {
                device: (*place.get(2)?).to_owned(),
                root: (*place.get(3)?).to_owned(),
                // Spaces in a path are written as \040.
                point: PathBuf::from(place.get(4)?.replace("\\040", " ")),
                options: (*place.get(5)?).to_owned(),
                kind: (*what.first()?).to_owned(),
                source: (*what.get(1)?).to_owned(),
                super_options: (*what.get(2)?).to_owned(),
            })
        };
        table.lines().filter_map(parse).collect()
    }
}
