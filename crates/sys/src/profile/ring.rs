//! The memory into which the kernel writes the records of an event.

use std::io;
use std::os::fd::AsFd;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags};

/// Where `data_head` and `data_tail` are in the first page: `struct perf_event_mmap_page`.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// Pages of records, a power of two: 512 KiB, the default of `kernel.perf_event_mlock_kb` for every user, and
/// less where that is refused.
const PAGES: [usize; 4] = [128, 64, 16, 4];

/// The mapping. It ends with the value.
#[derive(Debug)]
pub(super) struct Ring {
    start: *mut u8,
    page: usize,
    data: usize,
}

// SAFETY: the mapping belongs to this value alone, and any thread may read it.
unsafe impl Send for Ring {}

impl Ring {
    pub(super) fn map(event: impl AsFd) -> io::Result<Ring> {
        let page = rustix::param::page_size();
        let mut last = io::Error::from(io::ErrorKind::OutOfMemory);
        for pages in PAGES {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            let length = (1 + pages) * page;
            // SAFETY: a new mapping, where the kernel has room for it.
            match unsafe {
                rustix::mm::mmap(ptr::null_mut(), length, protection, MapFlags::SHARED, &event, 0)
            } {
                Ok(start) => return Ok(Ring { start: start.cast(), page, data: pages * page }),
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }

    /// The unread bytes, which are then given back to the kernel.
    pub(super) fn take(&self, bytes: &mut Vec<u8>) {
        bytes.clear();
        let head = self.position(HEAD).load(Ordering::Acquire);
        let tail = self.position(TAIL).load(Ordering::Relaxed);
        let unread = usize::try_from(head.wrapping_sub(tail)).unwrap_or(0).min(self.data);
        let from = (tail % self.data as u64) as usize;
        let first = unread.min(self.data - from);
        for (from, length) in [(from, first), (0, unread - first)] {
            // SAFETY: the range is inside the data pages, behind the first one, and the kernel writes nothing
            // between tail and head.
            let part = unsafe { std::slice::from_raw_parts(self.start.add(self.page + from), length) };
            bytes.extend_from_slice(part);
        }
        self.position(TAIL).store(head, Ordering::Release);
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page holds an aligned number there, which both sides access atomically.
        unsafe { AtomicU64::from_ptr(self.start.add(offset).cast()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `map` with this length, and no reference into it lives.
        let _ = unsafe { rustix::mm::munmap(self.start.cast(), self.page + self.data) };
    }
}
