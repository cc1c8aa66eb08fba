//! Files: the calls that are timed, copies made by the kernel, and access to files below the folder of a
//! server. Everything else is from std.

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

use std::fs::File;
use std::io;
use std::path::PathBuf;

use crate::error::unsupported;
pub use platform::{
    Name, Path, Root, changed_ns, close, create_new, evict, free, identity, link, names, number, open_flush,
    open_folder, open_read, read_at, read_some_at, remove_folder, rename, standard_output, status,
    sync_folder, unlink, write_at, write_back,
};
#[cfg(target_os = "linux")]
pub use platform::{evict_range, read_nothing_ahead};

/// Free space of a file system.
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

/// Unsupported on some systems, and by some file systems of Linux.
const UNNAMED: &str = "files without a name";

/// The least that a file takes, on most file systems.
const BLOCK_BYTES: u64 = 4 << 10;

/// One copy_file_range(2) of at most `bytes`; returns how many were copied, 0 at the end of the source.
///
/// # Errors
/// Those of copy_file_range(2); unsupported where there is no such call.
pub fn copy_range(source: &File, target: &File, bytes: u64) -> io::Result<u64> {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => {
            Ok(rustix::fs::copy_file_range(source, None, target, None, bounded(bytes))? as u64)
        }
        _ => { unsupported("copy_file_range(2) is used on Linux only", (source, target, bytes)) }
    }
}

/// One sendfile(2) of at most `bytes` from file to file; returns how many were copied, 0 at the end of the
/// source.
///
/// # Errors
/// Those of sendfile(2); unsupported where it writes to sockets only.
pub fn send(source: &File, target: &File, bytes: u64) -> io::Result<u64> {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => {
            Ok(rustix::fs::sendfile(target, source, None, bounded(bytes))? as u64)
        }
        _ => { unsupported("sendfile(2) copies from file to file on Linux only", (source, target, bytes)) }
    }
}

/// Makes the target share all blocks of the source: ioctl_ficlone(2).
///
/// # Errors
/// Those of ioctl_ficlone(2), `EOPNOTSUPP` where the file system cannot; unsupported on systems without it.
pub fn share_blocks(source: &File, target: &File) -> io::Result<()> {
    cfg_select! {
        all(target_os = "linux", not(target_arch = "sparc64")) => {
            Ok(rustix::fs::ioctl_ficlone(target, source)?)
        }
        _ => { unsupported("files share blocks by FICLONE on Linux only", (source, target)) }
    }
}

/// Creates a file that must not exist. Its writes bypass the cache, if the file system allows it (open(2),
/// `O_DIRECT`): then buffers, offsets and lengths must be multiples of 4096.
///
/// # Errors
/// Those of open(2); unsupported.
pub fn create_direct(path: &std::path::Path) -> io::Result<File> {
    cfg_select! {
        target_os = "linux" => {
            use std::os::unix::fs::OpenOptionsExt;
            File::options().write(true).create_new(true).mode(0o600).custom_flags(libc::O_DIRECT).open(path)
        }
        _ => { unsupported("writes past the cache are made on Linux only", path) }
    }
}

/// A file in that folder that has no name, for reading and writing; its permissions are `mode` without the
/// bits of the umask.
///
/// # Errors
/// Those of open(2); unsupported where the system, or the file system, has no such files (`O_TMPFILE`), or
/// /proc is missing, through which they are named.
pub fn unnamed(folder: &std::path::Path, mode: u32) -> io::Result<File> {
    cfg_select! {
        target_os = "linux" => {
            use rustix::fs::{Mode, OFlags};
            use rustix::io::Errno;

            use crate::Unsupported;

            let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
            let opened = rustix::fs::open(folder, flags, Mode::from_raw_mode(mode));
            let file = opened.map(File::from).map_err(|error| match error {
                // A kernel that does not know the flag sees a folder that is opened for writing.
                Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL => io::Error::from(Unsupported(UNNAMED)),
                error => error.into(),
            })?;
            if path_of(&file).exists() { Ok(file) } else { unsupported(UNNAMED, ()) }
        }
        _ => { unsupported(UNNAMED, (folder, mode)) }
    }
}

/// Gives such a file a name, which must be free.
///
/// # Errors
/// Those of linkat(2).
pub fn give_name(file: &File, path: &std::path::Path) -> io::Result<()> {
    cfg_select! {
        target_os = "linux" => {
            use rustix::fs::{AtFlags, CWD};
            Ok(rustix::fs::linkat(CWD, path_of(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
        }
        _ => { unsupported(UNNAMED, (file, path)) }
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
            // Without the flag that closes it in a child.
            let file = rustix::fs::memfd_create("osdyno", rustix::fs::MemfdFlags::empty())?;
            let mut file = File::from(file);
            file.write_all(content)?;
            let path = path_of(&file);
            Ok((file, path))
        }
        _ => { unsupported("files without a name are made on Linux only", content) }
    }
}

/// The pieces in which a file lies on the disk: extents that follow each other in the file, with a gap of at
/// most so many bytes on the disk, are one piece. Unwritten data is written first. See the kernel's
/// documentation of the FIEMAP ioctl.
///
/// # Errors
/// Those of the ioctl; unsupported where the file system cannot say, and on systems without it.
pub fn pieces(file: &File, gap_bytes: u64) -> io::Result<u64> {
    cfg_select! {
        target_os = "linux" => { map::pieces(file, gap_bytes) }
        _ => { unsupported("where a file is on the disk can be read on Linux only", (file, gap_bytes)) }
    }
}

/// Removes a range from the middle of a file: the rest, which must not be empty, moves to its place without
/// being copied. Offset and length are multiples of the block size of the file system. See fallocate(2).
///
/// # Errors
/// Those of fallocate(2), `EOPNOTSUPP` where the file system cannot; unsupported on systems without it.
pub fn collapse(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    cfg_select! {
        target_os = "linux" => {
            Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::COLLAPSE_RANGE, offset, bytes)?)
        }
        _ => { unsupported("a range is removed from a file on Linux only", (file, offset, bytes)) }
    }
}

/// Extended attributes of files, xattr(7).
#[cfg(target_os = "linux")]
pub mod attribute {
    use std::ffi::CString;
    use std::fs::File;
    use std::io;

    use rustix::fs::XattrFlags;

    /// The name of an attribute with its name space, as the system takes it.
    #[derive(Clone, Debug)]
    pub struct AttributeName(CString);

    /// The name in the form that the system takes.
    ///
    /// # Errors
    /// `InvalidInput` for a zero byte.
    pub fn name(name: &str) -> io::Result<AttributeName> {
        Ok(AttributeName(CString::new(name)?))
    }

    /// One fsetxattr(2) of an attribute that the file does not have.
    ///
    /// # Errors
    /// Those of fsetxattr(2): `ENOSPC` where no room is left, `EOPNOTSUPP` where the file system has none.
    #[inline]
    pub fn set(file: &File, name: &AttributeName, value: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::fsetxattr(file, name.0.as_c_str(), value, XattrFlags::CREATE)?)
    }

    /// One fgetxattr(2). Returns the length of the value.
    ///
    /// # Errors
    /// Those of fgetxattr(2).
    #[inline]
    pub fn get(file: &File, name: &AttributeName, value: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::fs::fgetxattr(file, name.0.as_c_str(), value)?)
    }

    /// One flistxattr(2). Returns the length of the names, each of which ends with a zero byte.
    ///
    /// # Errors
    /// Those of flistxattr(2).
    #[inline]
    pub fn list(file: &File, names: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::fs::flistxattr(file, names)?)
    }

    /// One fremovexattr(2).
    ///
    /// # Errors
    /// Those of fremovexattr(2).
    #[inline]
    pub fn remove(file: &File, name: &AttributeName) -> io::Result<()> {
        Ok(rustix::fs::fremovexattr(file, name.0.as_c_str())?)
    }
}

/// The most that the kernel takes in one call.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn bounded(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX).min(1 << 30)
}

/// By which this process can open a file that has no name.
#[cfg(target_os = "linux")]
fn path_of(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// The map of a file on its disk: the FIEMAP ioctl of Linux.
#[cfg(target_os = "linux")]
mod map {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;

    use crate::Unsupported;
    use crate::error::means_unsupported;

    // <linux/fiemap.h>, <linux/fs.h>
    const FS_IOC_FIEMAP: libc::Ioctl = 0xC020_660B_u32 as libc::Ioctl;
    const FIEMAP_FLAG_SYNC: u32 = 1;
    const FIEMAP_EXTENT_LAST: u32 = 1;

    /// Extents that one call returns at most.
    const EXTENTS: usize = 128;

    /// `struct fiemap_extent`.
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Extent {
        logical: u64,
        physical: u64,
        length: u64,
        reserved: [u64; 2],
        flags: u32,
        reserved_too: [u32; 3],
    }

    /// `struct fiemap` with room for extents.
    #[repr(C)]
    struct Map {
        start: u64,
        length: u64,
        flags: u32,
        mapped: u32,
        count: u32,
        reserved: u32,
        extents: [Extent; EXTENTS],
    }

    const _: () = assert!(size_of::<Map>() == 32 + EXTENTS * 56, "linux/fiemap.h");

    const NO_EXTENT: Extent =
        Extent { logical: 0, physical: 0, length: 0, reserved: [0; 2], flags: 0, reserved_too: [0; 3] };

    pub(super) fn pieces(file: &File, gap_bytes: u64) -> io::Result<u64> {
        let (mut pieces, mut start, mut next) = (0, 0, None);
        loop {
            let mut map = Map {
                start,
                length: u64::MAX - start,
                flags: FIEMAP_FLAG_SYNC,
                mapped: 0,
                count: EXTENTS as u32,
                reserved: 0,
                extents: [NO_EXTENT; EXTENTS],
            };
            // SAFETY: the argument is the structure that this request reads and fills, with the room for
            // extents that its count states, and nothing else refers to it.
            let mapped = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut map) };
            if mapped < 0 {
                let error = io::Error::last_os_error();
                let reason = "this file system, like tmpfs, does not say where its files lie";
                return Err(if means_unsupported(&error) { Unsupported(reason).into() } else { error });
            }
            let extents = &map.extents[..(map.mapped as usize).min(EXTENTS)];
            for extent in extents {
                let follows = |(logical, physical): (u64, u64)| {
                    logical == extent.logical && (physical..=physical + gap_bytes).contains(&extent.physical)
                };
                pieces += u64::from(!next.is_some_and(follows));
                next = Some((extent.logical + extent.length, extent.physical + extent.length));
                start = extent.logical + extent.length;
            }
            if extents.last().is_none_or(|last| last.flags & FIEMAP_EXTENT_LAST != 0) {
                return Ok(pieces);
            }
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
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

    #[test]
    fn a_file_is_in_more_pieces_once_every_second_block_is_removed() {
        const BYTES: usize = 64 << 10;
        let path = std::env::temp_dir().join(format!("osdyno-pieces-{}", std::process::id()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
        std::fs::remove_file(path).expect("its name removed");
        assert!(matches!(pieces(&file, 0), Ok(0) | Err(_)), "an empty file");
        file.write_all(&vec![7; 16 * BYTES]).expect("written");
        let before = match pieces(&file, 0) {
            Ok(pieces) => pieces,
            Err(error) => return println!("skipped: no FIEMAP here: {error}"),
        };
        assert!(before >= 1);
        file.set_len(15 * BYTES as u64).expect("the last block removed");
        for number in (0..7).rev() {
            let offset = (2 * number + 1) * BYTES as u64;
            if let Err(error) = collapse(&file, offset, BYTES as u64) {
                assert!(crate::error::means_unsupported(&error), "{error}");
                return println!("skipped: no range can be removed here: {error}");
            }
        }
        assert_eq!(file.metadata().expect("its size").len(), 8 * BYTES as u64);
        assert!(pieces(&file, 0).expect("again") >= 8);
        assert!(pieces(&file, BYTES as u64 - 1).expect("again") >= 8, "less than lies between them");
        assert!(pieces(&file, BYTES as u64).expect("again") <= before, "as much as lies between them");
    }
}
