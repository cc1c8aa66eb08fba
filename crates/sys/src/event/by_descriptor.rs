//! A table indexed by descriptor. It stays dense, because the system always allocates the lowest free one.

use std::io;
use std::os::fd::RawFd;

/// The value of each descriptor that was added.
#[derive(Debug)]
pub(super) struct ByDescriptor<T>(Vec<Option<T>>);

impl<T> ByDescriptor<T> {
    pub(super) const fn new() -> ByDescriptor<T> {
        ByDescriptor(Vec::new())
    }

    /// `EEXIST` for one that is there, as epoll_ctl(2) answers.
    pub(super) fn insert(&mut self, descriptor: RawFd, value: T) -> io::Result<()> {
        let index = usize::try_from(descriptor).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
        if index >= self.0.len() {
            self.0.resize_with(index + 1, || None);
        }
        match &mut self.0[index] {
            Some(_) => Err(io::Error::from_raw_os_error(libc::EEXIST)),
            free => {
                *free = Some(value);
                Ok(())
            }
        }
    }

    pub(super) fn get_mut(&mut self, descriptor: RawFd) -> Option<&mut T> {
        self.0.get_mut(usize::try_from(descriptor).ok()?)?.as_mut()
    }

    /// `ENOENT` for one that is not there.
    pub(super) fn known(&mut self, descriptor: RawFd) -> io::Result<&mut T> {
        self.get_mut(descriptor).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }

    /// `ENOENT` for one that is not there.
    pub(super) fn remove(&mut self, descriptor: RawFd) -> io::Result<T> {
        let place = usize::try_from(descriptor).ok().and_then(|index| self.0.get_mut(index));
        place.and_then(Option::take).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }

    /// All that are there.
    #[cfg(target_os = "linux")]
    pub(super) fn iter(&self) -> impl Iterator<Item = (RawFd, &T)> {
        (0..).zip(&self.0).filter_map(|(descriptor, value)| Some((descriptor, value.as_ref()?)))
    }
}
