//! A disk that is full at some byte, or does not finish.

use std::io::{self, Write};
use std::sync::Arc;

use record::Storage;

use super::world::Shared;

/// A write of more bytes is large.
const LARGE: usize = 300;

/// A file on the disk, and the faults of the disk.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    pub(crate) bytes: Vec<u8>,
    /// It is full when it holds so much.
    pub(crate) capacity: Option<usize>,
    /// Nothing is safe on it in the end.
    pub(crate) fails_to_sync: bool,
    /// Planted: it leaves out a byte of a large write and says nothing.
    pub(crate) is_forgetful: bool,
}

/// The file, opened for writing.
pub(crate) struct OpenFile(pub(crate) Arc<Shared<Disk>>);

impl Write for OpenFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut disk = self.0.borrow_mut();
        let room = disk.capacity.map_or(usize::MAX, |capacity| capacity.saturating_sub(disk.bytes.len()));
        if room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(room);
        disk.bytes.extend_from_slice(&bytes[..taken]);
        if disk.is_forgetful && taken > LARGE {
            disk.bytes.pop();
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Storage for OpenFile {
    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.0.borrow_mut().bytes.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.0.borrow().fails_to_sync { Err(io::Error::other("the disk is gone")) } else { Ok(()) }
    }
}
