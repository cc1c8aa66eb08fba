//! The end of the data segment, which brk(2) moves. The allocator of the C library moves it too.

use std::io;

use super::page_bytes;

/// The allocator may take so much more from below while a break is in use. Large allocations are mappings,
/// which need nothing of it.
const GAP_BYTES: usize = 16 << 20;

/// A place far above the memory of the allocator, to and from which the break is moved. Nothing accesses the
/// memory below it, so the gap takes address space only. It stays there: the allocator may have moved the
/// break meanwhile, so that no other place is known to be right.
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
