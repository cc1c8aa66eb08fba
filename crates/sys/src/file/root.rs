//! Files below a folder, and never one outside it.
//!
//! Linux checks that during path resolution: openat2(2) with `RESOLVE_BENEATH`. Links are followed as long as
//! they stay below the folder. Elsewhere, and where a sandbox forbids the call, each part of the path is
//! opened in turn and links are refused.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// A folder; nothing outside it is opened.
#[derive(Debug)]
pub struct Root {
    folder: OwnedFd,
    /// Whether the kernel keeps the path below the folder.
    kernel_resolves: bool,
}

/// A pipe must not make the open wait for a writer, nor a terminal become ours.
const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

impl Root {
    /// The folder of that path, with which links are followed.
    ///
    /// # Errors
    /// Those of open(2).
    pub fn new(folder: &std::path::Path) -> io::Result<Root> {
        let folder = rustix::fs::open(folder, FLAGS | OFlags::DIRECTORY, Mode::empty())?;
        let kernel_resolves = below(&folder, b".", FLAGS).is_ok();
        Ok(Root { folder, kernel_resolves })
    }

    /// Opens the regular file or the folder at a path below the folder, to be read. An empty path is the
    /// folder itself. Nothing else is opened: opening a pipe wakes its writer, and opening a device can do
    /// anything. Between stat(2) and the opening another file may take the place, so check the metadata
    /// again.
    ///
    /// # Errors
    /// Those of openat2(2), fstat(2) and openat(2); `NotFound` as well where the path would lead out of the
    /// folder or to another kind of file.
    pub fn open(&self, path: &[u8]) -> io::Result<File> {
        let path = if path.is_empty() { b"." } else { path };
        let opened = match self.kernel_resolves {
            true => look_below(&self.folder, path).and_then(|()| below(&self.folder, path, FLAGS)),
            false => walk(&self.folder, path),
        };
        match opened {
            Ok(file) => Ok(file.into()),
            // Ways out of the folder and links, which systems name differently; and sockets, which cannot be
            // opened.
            Err(Errno::XDEV | Errno::LOOP | Errno::MLINK | Errno::NXIO) => {
                Err(io::ErrorKind::NotFound.into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

cfg_select! {
    any(target_os = "linux", target_os = "android") => {
        /// How often a path is resolved anew after something above it was renamed meanwhile.
        const TRIES: u32 = 8;

        /// Whether a regular file or a folder is at the path; nothing is opened for that.
        fn look_below(folder: &OwnedFd, path: &[u8]) -> Result<(), Errno> {
            let place = below(folder, path, OFlags::PATH.union(OFlags::CLOEXEC))?;
            only_served(rustix::fs::fstat(&place)?.st_mode)
        }

        fn below(folder: &OwnedFd, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
            use rustix::fs::ResolveFlags;

            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            let mut opened = Err(Errno::AGAIN);
            for _ in 0..TRIES {
                opened = rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve);
                if !matches!(opened, Err(Errno::AGAIN | Errno::INTR)) {
                    break;
                }
            }
            opened
        }
    }
    _ => {
        fn look_below(_folder: &OwnedFd, _path: &[u8]) -> Result<(), Errno> {
            Err(Errno::NOSYS)
        }

        fn below(_folder: &OwnedFd, _path: &[u8], _flags: OFlags) -> Result<OwnedFd, Errno> {
            Err(Errno::NOSYS)
        }
    }
}

/// Whether a file of this mode is served; otherwise the error of a missing file.
fn only_served(mode: rustix::fs::RawMode) -> Result<(), Errno> {
    let kind = FileType::from_raw_mode(mode);
    if kind.is_file() || kind.is_dir() { Ok(()) } else { Err(Errno::NXIO) }
}

/// Opens one part of the path after the other; no part may be a link or lead upward.
fn walk(folder: &OwnedFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    if path.starts_with(b"/") {
        return Err(Errno::XDEV);
    }
    let mut parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).peekable();
    let mut at = rustix::fs::openat(folder, c".", FLAGS | OFlags::DIRECTORY, Mode::empty())?;
    while let Some(part) = parts.next() {
        if part == b".." {
            return Err(Errno::XDEV);
        }
        let kind = if parts.peek().is_some() { OFlags::DIRECTORY } else { OFlags::empty() };
        if kind.is_empty() {
            let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
            let mode = rustix::fs::statat(&at, part, flags)?.st_mode;
            // The open decides about links.
            if !FileType::from_raw_mode(mode).is_symlink() {
                only_served(mode)?;
            }
        }
        at = rustix::fs::openat(&at, part, FLAGS | OFlags::NOFOLLOW | kind, Mode::empty())?;
    }
    Ok(at)
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// Its bytes, unchanged.
    pub bytes: Vec<u8>,
    /// Whether it is known to be a folder.
    pub is_folder: bool,
}

/// At most so many names of an open folder, in no order, without `.` and `..`.
///
/// # Errors
/// Those of reading a folder.
pub fn names(folder: &File, max: usize) -> io::Result<Vec<Name>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        if matches!(bytes, b"." | b"..") {
            continue;
        }
        if names.len() == max {
            break;
        }
        let is_folder = cfg_select! {
            any(target_os = "solaris", target_os = "illumos") => { false }
            _ => { entry.file_type().is_dir() }
        };
        names.push(Name { bytes: bytes.to_vec(), is_folder });
    }
    Ok(names)
}

/// The number of the file within its file system, which a file put in its place does not share.
pub fn number(metadata: &Metadata) -> u64 {
    metadata.ino()
}

/// File system and inode number of the file at a path; both change when a file system is mounted there or
/// unmounted.
///
/// # Errors
/// Those of stat(2).
pub fn identity(path: &std::path::Path) -> io::Result<(u64, u64)> {
    std::fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// When the file was last changed in any way, in nanoseconds since 1970. Programs can set the
/// time of the last write (utimensat(2)), and many do; they cannot set this one.
pub fn changed_ns(metadata: &Metadata) -> i128 {
    i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Both ways to open: by openat2(2), and part by part.
    fn roots(folder: &std::path::Path) -> Vec<Root> {
        let root = Root::new(folder).unwrap();
        let walking = Root { folder: root.folder.try_clone().unwrap(), kernel_resolves: false };
        vec![root, walking]
    }

    /// The writer of a pipe waits until it is read: a look must not end that wait.
    #[test]
    fn a_pipe_is_not_opened() {
        let folder = std::env::temp_dir().join(format!("osdyno-pipe-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let pipe = folder.join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::write(pipe, "whole").unwrap()
        });
        for root in roots(&folder) {
            assert_eq!(root.open(b"pipe").unwrap_err().kind(), io::ErrorKind::NotFound);
        }
        assert_eq!(std::fs::read_to_string(&pipe).unwrap(), "whole", "nobody else has taken it");
        writer.join().unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn nothing_outside_is_opened() {
        let folder = std::env::temp_dir().join(format!("osdyno-root-{}", std::process::id()));
        let below = folder.join("root/below");
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(folder.join("outside"), "outside").unwrap();
        std::fs::write(below.join("file"), "inside").unwrap();
        symlink(&folder, below.join("up")).unwrap();
        symlink("../../outside", below.join("out")).unwrap();
        symlink("/", below.join("top")).unwrap();
        for root in roots(&folder.join("root")) {
            let mut text = String::new();
            root.open(b"below/file").unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "inside");
            assert!(root.open(b"").unwrap().metadata().unwrap().is_dir());
            let paths: [&[u8]; 9] = [
                b"../outside",
                b"below/../../outside",
                b"below/out",
                b"below/up/outside",
                b"below/top/etc/passwd",
                b"/etc/passwd",
                b"/",
                b"below/file/x",
                b"missing",
            ];
            for path in paths {
                let error = root.open(path).expect_err(&String::from_utf8_lossy(path));
                let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
                assert!(kinds.contains(&error.kind()), "{error}");
            }
            assert!(root.open(b"below/file\0").is_err());
        }
        let all = Root::new(&below).unwrap().open(b"").unwrap();
        let mut found = names(&all, 10).unwrap();
        found.sort();
        let found: Vec<&[u8]> = found.iter().map(|name| &name.bytes[..]).collect();
        assert_eq!(found, [&b"file"[..], b"out", b"top", b"up"]);
        assert_eq!(names(&all, 2).unwrap().len(), 2);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
