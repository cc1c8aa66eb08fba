//! Files that have no name until all of them is written: a kill leaves nothing behind.

use std::fs::File;
use std::io;
use std::path::Path;
use std::path::PathBuf;

/// A file in that folder that has no name, for reading and writing; its permissions are `mode` without the
/// bits of the umask.
///
/// # Errors
/// Those of open(2); unsupported where the system, or the file system, has no such files (`O_TMPFILE`), or
/// /proc is missing, through which they are named.
pub fn unnamed(folder: &Path, mode: u32) -> io::Result<File> {
    cfg_select! {
        target_os = "linux" => { linux::unnamed(folder, mode) }
        _ => { let _ = (folder, mode); Err(unsupported()) }
    }
}

/// Gives such a file a name, which must be free.
///
/// # Errors
/// Those of linkat(2).
pub fn give_name(file: &File, path: &Path) -> io::Result<()> {
    cfg_select! {
        target_os = "linux" => { linux::give_name(file, path) }
        _ => { let _ = (file, path); Err(unsupported()) }
    }
}

fn unsupported() -> io::Error {
    crate::Unsupported("files without a name").into()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

    pub(super) fn unnamed(folder: &Path, mode: u32) -> io::Result<File> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let opened = open(folder, flags, Mode::from_raw_mode(mode));
        let file = opened.map(File::from).map_err(|error| match error {
            // A kernel that does not know the flag sees a folder that is opened for writing.
            rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR | rustix::io::Errno::INVAL => {
                super::unsupported()
            }
            error => error.into(),
        })?;
        if place(&file).exists() { Ok(file) } else { Err(super::unsupported()) }
    }

    pub(super) fn give_name(file: &File, path: &Path) -> io::Result<()> {
        Ok(linkat(CWD, place(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    fn place(file: &File) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }
}

/// A file in memory with this content, and a path by which this process and its children can open or execute
/// it as long as it is open. The system removes it, however they end. See memfd_create(2).
///
/// # Errors
/// Those of memfd_create(2) and write(2); unsupported elsewhere than on Linux.
pub fn in_memory(content: &[u8]) -> io::Result<(File, PathBuf)> {
    cfg_select! {
        target_os = "linux" => {
            use std::io::Write;
            use std::os::fd::AsRawFd;
            // Without the flag that closes it in a child.
            let file = rustix::fs::memfd_create("osdyno", rustix::fs::MemfdFlags::empty())?;
            let mut file = File::from(file);
            file.write_all(content)?;
            let path = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
            Ok((file, path))
        }
        _ => {
            let _ = content;
            Err(crate::Unsupported("files without a name are made on Linux only").into())
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_is_there_when_it_has_its_name() {
        let folder = std::env::temp_dir().join(format!("osdyno-unnamed-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        let count = || std::fs::read_dir(&folder).expect("the folder").count();
        let made = unnamed(&folder, 0o600).map(|mut file| {
            file.write_all(b"all of it").expect("it can be written");
            assert_eq!(count(), 0, "a kill here leaves nothing");
            give_name(&file, &folder.join("a")).expect("a name");
            assert_eq!(std::fs::read(folder.join("a")).expect("the file"), b"all of it");
            let taken = give_name(&file, &folder.join("a")).expect_err("the name is taken");
            assert_eq!((taken.kind(), count()), (io::ErrorKind::AlreadyExists, 1));
        });
        std::fs::remove_dir_all(&folder).expect("the folder");
        if let Err(error) = made {
            assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{error}");
            println!("skipped: {error}");
        }
    }
}
