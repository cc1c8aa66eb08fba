//! Watches of files: an instance of inotify(7) or fanotify(7) that reports when a watched file is opened.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use rustix::fs::inotify;

use crate::error::checked;
use crate::file::Path;

/// Room for all events that are read at once: a record of fanotify has 24 bytes, one of inotify 16 and a
/// name.
const EVENTS_BYTES: usize = 4096;

/// An instance.
#[derive(Debug)]
pub struct Watcher {
    instance: OwnedFd,
    is_fanotify: bool,
    events: Box<[MaybeUninit<u8>; EVENTS_BYTES]>,
}

/// A watched file, as events name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileWatch(u64);

impl Watcher {
    fn new(instance: OwnedFd, is_fanotify: bool) -> Watcher {
        Watcher { instance, is_fanotify, events: Box::new([MaybeUninit::uninit(); EVENTS_BYTES]) }
    }

    /// An instance of inotify(7). It does not block.
    ///
    /// # Errors
    /// Those of inotify_init(2).
    pub fn inotify() -> io::Result<Watcher> {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        Ok(Watcher::new(inotify::init(flags)?, false))
    }

    /// A group of fanotify(7) whose events carry open files. It does not block.
    ///
    /// # Errors
    /// Those of fanotify_init(2); `EPERM` without CAP_SYS_ADMIN.
    pub fn fanotify() -> io::Result<Watcher> {
        let flags = libc::FAN_CLASS_NOTIF | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK;
        let opened = (libc::O_RDONLY | libc::O_CLOEXEC) as libc::c_uint;
        // SAFETY: it takes numbers only.
        let number = checked(unsafe { libc::fanotify_init(flags, opened) })?;
        // SAFETY: the call has just opened it, and nothing else owns it.
        Ok(Watcher::new(unsafe { OwnedFd::from_raw_fd(number) }, true))
    }

    /// Watches a file, by one inotify_add_watch(2) or fanotify_mark(2).
    ///
    /// # Errors
    /// Those of the call, `ENOSPC` at the limit.
    #[inline]
    pub fn add(&self, path: &Path) -> io::Result<FileWatch> {
        if self.is_fanotify {
            self.mark(libc::FAN_MARK_ADD, path)?;
            return Ok(FileWatch(0));
        }
        let number = inotify::add_watch(&self.instance, path.as_c_str(), inotify::WatchFlags::OPEN)?;
        Ok(FileWatch(u64::from(number.unsigned_abs())))
    }

    /// The name that events have for a file that was added: fanotify(7) names files by their inodes.
    ///
    /// # Errors
    /// Those of stat(2).
    pub fn name(&self, added: FileWatch, path: &Path) -> io::Result<FileWatch> {
        if self.is_fanotify { Ok(FileWatch(rustix::fs::stat(path.as_c_str())?.st_ino)) } else { Ok(added) }
    }

    /// Ends a watch, by one inotify_rm_watch(2) or fanotify_mark(2).
    ///
    /// # Errors
    /// Those of the call.
    #[inline]
    pub fn remove(&self, watch: FileWatch, path: &Path) -> io::Result<()> {
        if self.is_fanotify {
            return self.mark(libc::FAN_MARK_REMOVE, path);
        }
        let number = i32::try_from(watch.0).map_err(io::Error::other)?;
        Ok(inotify::remove_watch(&self.instance, number)?)
    }

    /// Reads the events that wait, by one read(2). [`Watcher::opened`] decodes them.
    ///
    /// # Errors
    /// Those of read(2), `WouldBlock` when there are none.
    #[inline]
    pub fn read(&mut self) -> io::Result<usize> {
        let (read, _) = rustix::io::read(&self.instance, &mut self.events[..])?;
        Ok(read.len())
    }

    /// The files whose opening the first `length` bytes of the last read report.
    ///
    /// # Errors
    /// Those of fstat(2).
    pub fn opened(&self, length: usize) -> io::Result<Vec<FileWatch>> {
        let (mut opened, mut offset) = (Vec::new(), 0);
        while offset < length {
            let (watch, bytes) = if self.is_fanotify { self.marked(offset) } else { self.watched(offset) }?;
            opened.extend(watch);
            offset += bytes;
        }
        Ok(opened)
    }

    /// The file of an event of inotify, unless it reports that a watch ended, and the length of the event.
    fn watched(&self, offset: usize) -> io::Result<(Option<FileWatch>, usize)> {
        let event: libc::inotify_event = self.record(offset)?;
        let is_open = event.mask & libc::IN_OPEN != 0;
        let watch = is_open.then_some(FileWatch(u64::from(event.wd.unsigned_abs())));
        Ok((watch, size_of::<libc::inotify_event>() + event.len as usize))
    }

    /// The file of an event of fanotify, which is closed, and the length of the event.
    fn marked(&self, offset: usize) -> io::Result<(Option<FileWatch>, usize)> {
        let event: libc::fanotify_event_metadata = self.record(offset)?;
        if event.fd < 0 || event.event_len == 0 {
            return Err(io::Error::other("an event of fanotify has no file"));
        }
        // SAFETY: read(2) has opened it for us, and each event is decoded once.
        let file = unsafe { OwnedFd::from_raw_fd(event.fd) };
        let inode = rustix::fs::fstat(&file)?.st_ino;
        Ok((Some(FileWatch(inode)), event.event_len as usize))
    }

    /// A record of the kernel in the buffer.
    fn record<T: Copy>(&self, offset: usize) -> io::Result<T> {
        let bytes = self.events.get(offset..offset + size_of::<T>());
        let bytes = bytes.ok_or_else(|| io::Error::other("an event is cut off"))?;
        // SAFETY: the bytes are inside of the buffer, the kernel has written whole records of integers
        // there, and the read does not need alignment.
        Ok(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
    }

    #[inline]
    fn mark(&self, flags: libc::c_uint, path: &Path) -> io::Result<()> {
        let (instance, path) = (self.instance.as_raw_fd(), path.as_c_str().as_ptr());
        // SAFETY: the descriptor is open, and the path ends with a zero byte and lives as long as the call.
        checked(unsafe { libc::fanotify_mark(instance, flags, libc::FAN_OPEN, libc::AT_FDCWD, path) })
            .map(drop)
    }
}
