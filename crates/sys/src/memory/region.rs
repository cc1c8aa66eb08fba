//! Anonymous memory of this process whose pages and protection are changed: mmap(2), madvise(2), mprotect(2).

use std::io;

use rustix::mm::{Advice, MprotectFlags, ProtFlags, madvise, mprotect};

use super::page_bytes;
use super::platform::MappedRange;

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
pub struct MemoryRegion(MappedRange);

impl MemoryRegion {
    /// One mmap(2), for reading, and for writing where that is wanted.
    ///
    /// # Errors
    /// Those of mmap(2), `ENOMEM` when there are too many mappings.
    #[inline]
    pub fn map(bytes: usize, is_writable: bool) -> io::Result<MemoryRegion> {
        let protection = if is_writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        MappedRange::anonymous(bytes, protection).map(MemoryRegion)
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
        let advised = unsafe { madvise(self.0.start.as_ptr(), self.0.bytes, advice) };
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
        let pages = self.0.bytes / page_bytes();
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
        assert!(page * page_bytes() < self.0.bytes, "no page {page}");
        // SAFETY: the page is inside of the mapping, which is writable by the caller's promise; otherwise the
        // system ends the process by a signal.
        unsafe { self.0.start.as_ptr().cast::<u8>().add(page * page_bytes()).write_volatile(byte) };
    }

    /// The first byte of a page.
    ///
    /// # Panics
    /// When the region has no such page.
    #[inline]
    pub fn read(&self, page: usize) -> u8 {
        assert!(page * page_bytes() < self.0.bytes, "no page {page}");
        // SAFETY: the page is inside of the mapping, which is readable.
        unsafe { self.0.start.as_ptr().cast::<u8>().add(page * page_bytes()).read_volatile() }
    }

    /// Gives the memory of all pages back, which are zero again, by one madvise(2).
    ///
    /// # Errors
    /// Those of madvise(2).
    pub fn discard(&mut self) -> io::Result<()> {
        // SAFETY: the range is ours alone, and zero is valid content.
        unsafe { madvise(self.0.start.as_ptr(), self.0.bytes, Advice::LinuxDontNeed)? };
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
        assert!(page * page_bytes() < self.0.bytes, "no page {page}");
        let protection =
            if is_writable { MprotectFlags::READ | MprotectFlags::WRITE } else { MprotectFlags::READ };
        // SAFETY: the page is inside of the mapping.
        let address = unsafe { self.0.start.as_ptr().cast::<u8>().add(page * page_bytes()) };
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
        self.0.unmap()
    }
}
