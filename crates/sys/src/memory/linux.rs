//! Memory on Linux: that of the kernel, the end of the data segment, and anonymous memory whose pages and
//! protection are changed.

use std::io;

use rustix::mm::{Advice, MprotectFlags, ProtFlags, madvise, mprotect};

use super::page_bytes;
use super::platform::MappedRange;
use crate::pseudo_file::{field_bytes, text};

/// Objects, stacks of tasks, and tables of pages. Other memory of vmalloc cannot be separated from the
/// stacks, and is left out.
const PARTS: [&str; 3] = ["Slab", "KernelStack", "PageTables"];

/// Memory that the kernel uses itself: /proc/meminfo (proc_meminfo(5)).
pub(super) fn kernel_bytes() -> io::Result<u64> {
    let memory = text("/proc/meminfo").ok_or_else(|| io::Error::other("/proc/meminfo cannot be read"))?;
    let parts: Option<Vec<u64>> = PARTS.iter().map(|part| field_bytes(&memory, part)).collect();
    let parts = parts.ok_or_else(|| io::Error::other("/proc/meminfo lacks the memory of the kernel"))?;
    Ok(parts.iter().sum())
}

/// Bytes of one kernel object of that name, slabinfo(5). Only root may read it.
pub fn kernel_object_bytes(name: &str) -> Option<u64> {
    let table = text("/proc/slabinfo")?;
    let mut rows = table.lines().map(str::split_whitespace);
    // Name, active objects, all objects, bytes.
    rows.find_map(|mut words| (words.next()? == name).then(|| words.nth(2)?.parse().ok()).flatten())
}

/// The allocator may take so much more from below while a break is in use. Large allocations are mappings,
/// which need nothing of it.
const GAP_BYTES: usize = 16 << 20;

/// The end of the data segment, which brk(2) moves, as the allocator of the C library does: a place far above
/// the memory of the allocator, to and from which it is moved. Nothing accesses the memory below it, so the
/// gap takes address space only. It stays there: the allocator may have moved the break meanwhile, so that no
/// other place is known to be right.
///
/// The allocator computes a new end from its own last one, which is lower: it takes the gap, and the next
/// [`ProgramBreak::raise`] restores it.
#[derive(Clone, Copy, Debug)]
pub struct ProgramBreak {
    bottom: usize,
}

impl ProgramBreak {
    /// Moves the break to a place of its own. Threads and forked processes may use the value too.
    ///
    /// # Errors
    /// `ENOMEM` where the limits of the process or the mappings above leave no room.
    pub fn above_heap() -> io::Result<ProgramBreak> {
        // SAFETY: no process has a data segment that begins at 0, so this moves nothing.
        let end = unsafe { libc::syscall(libc::SYS_brk, 0) } as usize;
        let bottom = (end + GAP_BYTES).next_multiple_of(page_bytes());
        let own = ProgramBreak { bottom };
        own.move_to(bottom)?;
        Ok(own)
    }

    /// Moves it so many pages above its place, by one brk(2).
    ///
    /// # Errors
    /// `ENOMEM`, as [`ProgramBreak::above_heap`].
    #[inline]
    pub fn raise(&self, pages: usize) -> io::Result<()> {
        self.move_to(self.bottom + pages * page_bytes())
    }

    /// Moves it back, by one brk(2).
    ///
    /// # Errors
    /// `ENOMEM`, as [`ProgramBreak::above_heap`].
    #[inline]
    pub fn lower(&self) -> io::Result<()> {
        self.move_to(self.bottom)
    }

    #[inline]
    fn move_to(&self, to: usize) -> io::Result<()> {
        // SAFETY: `to` is not below `bottom`, which is above all memory of the allocator, see `GAP_BYTES`, so
        // no memory in use is unmapped; nothing refers to memory above.
        let moved = unsafe { libc::syscall(libc::SYS_brk, to) } as usize;
        // The system call returns the end as it is now; that of the C library returns no error number.
        if moved == to { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ENOMEM)) }
    }
}

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

/// A mapping of memory that is zero until it is written: mmap(2), madvise(2), mprotect(2).
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
        let advised = unsafe { madvise(self.0.start.as_ptr().cast(), self.0.bytes, advice) };
        match advised {
            // There are small pages only, as was wanted.
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
        // SAFETY: the page is inside of the mapping, which is writable by the caller's promise; otherwise the
        // system ends the process by a signal.
        unsafe { self.place(page).write_volatile(byte) };
    }

    /// The first byte of a page.
    ///
    /// # Panics
    /// When the region has no such page.
    #[inline]
    pub fn read(&self, page: usize) -> u8 {
        // SAFETY: the page is inside of the mapping, which is readable.
        unsafe { self.place(page).read_volatile() }
    }

    /// Gives the memory of all pages back, which are zero again, by one madvise(2).
    ///
    /// # Errors
    /// Those of madvise(2).
    pub fn discard(&mut self) -> io::Result<()> {
        // SAFETY: the range is ours alone, and zero is valid content.
        unsafe { madvise(self.0.start.as_ptr().cast(), self.0.bytes, Advice::LinuxDontNeed)? };
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
        let protection =
            if is_writable { MprotectFlags::READ | MprotectFlags::WRITE } else { MprotectFlags::READ };
        // SAFETY: the page is ours alone, and stays readable.
        unsafe { mprotect(self.place(page).cast(), page_bytes(), protection)? };
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

    /// Where a page begins.
    #[inline]
    fn place(&self, page: usize) -> *mut u8 {
        assert!(page * page_bytes() < self.0.bytes, "no page {page}");
        // SAFETY: the page is inside of the mapping.
        unsafe { self.0.start.as_ptr().add(page * page_bytes()) }
    }
}
