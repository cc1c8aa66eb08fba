//! Anonymous memory of this process whose pages and protection are changed: mmap(2), madvise(2), mprotect(2).

use std::ffi::c_void;
use std::io;
use std::ptr::{self, NonNull};

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};

use super::page_bytes;

/// The pages that the system may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagePolicy {
    /// As the system is configured.
    System,
    /// The smallest pages only.
    Small,
    /// Huge pages where they fit.
    Huge,
}

/// A mapping of memory that is zero until it is written.
#[derive(Debug)]
pub struct MemoryRegion {
    start: NonNull<c_void>,
    bytes: usize,
}

impl MemoryRegion {
    /// One mmap(2), for reading, and for writing where that is wanted.
    ///
    /// # Errors
    /// Those of mmap(2), `ENOMEM` when there are too many mappings.
    #[inline]
    pub fn map(bytes: usize, is_writable: bool) -> io::Result<MemoryRegion> {
        let protection = if is_writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), bytes, protection, MapFlags::PRIVATE)? };
        let start = NonNull::new(start).ok_or_else(|| io::Error::other("mmap returned the null page"))?;
        Ok(MemoryRegion { start, bytes })
    }

    /// Advises the system which pages to use.
    ///
    /// # Errors
    /// Unsupported where there are no huge pages.
    pub fn advise(&self, policy: PagePolicy) -> io::Result<()> {
        const NONE: crate::Unsupported = crate::Unsupported("this kernel has no transparent huge pages");
        let advice = match policy {
            PagePolicy::System => return Ok(()),
            PagePolicy::Small => Advice::LinuxNoHugepage,
            PagePolicy::Huge => Advice::LinuxHugepage,
        };
        // SAFETY: the range is ours, and the advice changes neither its content nor its place.
        let advised = unsafe { madvise(self.start.as_ptr(), self.bytes, advice) };
        match advised {
            // There are small pages only, which is what was wanted.
            Err(_) if policy == PagePolicy::Small => Ok(()),
            Err(_) => Err(NONE.into()),
            Ok(()) => Ok(()),
        }
    }

    /// Writes a byte into each page. The region must be writable.
    #[inline]
    pub fn touch(&mut self) {
        let pages = self.bytes / page_bytes();
        for page in 0..pages {
            self.write(page, page as u8 | 1);
        }
    }

    /// Writes the first byte of a page. The region must be writable, and so the page.
    ///
    /// # Panics
    /// When the region has no such page.
    #[inline]
    pub fn write(&mut self, page: usize, byte: u8) {
        assert!(page * page_bytes() < self.bytes, "no page {page}");
        // SAFETY: the page is inside of the mapping, which is writable by the caller's promise; otherwise the
        // system ends the process by a signal.
        unsafe { self.start.as_ptr().cast::<u8>().add(page * page_bytes()).write_volatile(byte) };
    }

    /// The first byte of a page.
    ///
    /// # Panics
    /// When the region has no such page.
    #[inline]
    pub fn read(&self, page: usize) -> u8 {
        assert!(page * page_bytes() < self.bytes, "no page {page}");
        // SAFETY: the page is inside of the mapping, which is readable.
        unsafe { self.start.as_ptr().cast::<u8>().add(page * page_bytes()).read_volatile() }
    }

    /// Gives the memory of all pages back, which are zero again, by one madvise(2).
    ///
    /// # Errors
    /// Those of madvise(2).
    pub fn discard(&mut self) -> io::Result<()> {
        // SAFETY: the range is ours alone, and zero is valid content.
        unsafe { madvise(self.start.as_ptr(), self.bytes, Advice::LinuxDontNeed)? };
        Ok(())
    }

    /// Protects a page against writes, or no longer, by one mprotect(2).
    ///
    /// # Errors
    /// Those of mprotect(2), `ENOMEM` when there are too many mappings.
    ///
    /// # Panics
    /// When the region has no such page.
    #[inline]
    pub fn protect(&mut self, page: usize, is_writable: bool) -> io::Result<()> {
        assert!(page * page_bytes() < self.bytes, "no page {page}");
        let protection =
            if is_writable { MprotectFlags::READ | MprotectFlags::WRITE } else { MprotectFlags::READ };
        // SAFETY: the page is inside of the mapping.
        let address = unsafe { self.start.as_ptr().cast::<u8>().add(page * page_bytes()) };
        // SAFETY: the page is ours alone, and stays readable.
        unsafe { mprotect(address.cast(), page_bytes(), protection)? };
        Ok(())
    }

    /// One munmap(2).
    ///
    /// # Errors
    /// Those of munmap(2).
    #[inline]
    pub fn unmap(self) -> io::Result<()> {
        let (start, bytes) = (self.start, self.bytes);
        std::mem::forget(self);
        // SAFETY: the mapping was ours alone and nobody can use it any more.
        unsafe { munmap(start.as_ptr(), bytes)? };
        Ok(())
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        // SAFETY: as in `unmap`. An error could only mean that it is gone already.
        let _ = unsafe { munmap(self.start.as_ptr(), self.bytes) };
    }
}
