//! Memory: pages, file mappings, arrays whose pages are touched before timing, and the shared region in which
//! the measurements outlive a crash of the trial; and an allocator that explains a refusal.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

#[cfg(target_os = "linux")]
pub use linux::{MemoryRegion, PagePolicy, ProgramBreak, kernel_object_bytes};
pub(crate) use platform::MappedRange;
use platform::MemoryHandle;
#[cfg(unix)]
pub use platform::Private;
pub use platform::{keep_freed, mapping_granularity, page_bytes};

/// A part of a file, mapped shared and read-only.
#[derive(Debug)]
pub struct Mapping(MappedRange);

impl Mapping {
    /// Maps `bytes` of the file from `offset`, which must be a multiple of [`mapping_granularity`]. On
    /// Windows the file must be that long; a file mapping object is made, then the view, and the object is
    /// closed.
    ///
    /// # Errors
    /// Those of mmap(2), of which `ENOMEM` also means that the process has too many mappings; those of
    /// CreateFileMappingW and MapViewOfFile.
    #[inline]
    pub fn read_only(file: &File, offset: u64, bytes: usize) -> io::Result<Mapping> {
        MappedRange::read_only(file, offset, bytes).map(Mapping)
    }

    /// Reads the first byte, which brings the page in if it is not there.
    #[inline]
    pub fn first_byte(&self) -> u8 {
        // SAFETY: the mapping is at least one byte long and lives as long as self. Volatile: another
        // process may write the file, and the read must happen.
        unsafe { self.0.start.as_ptr().read_volatile() }
    }

    /// Reads the byte at `offset`; zero beyond the mapping's end.
    pub fn byte(&self, offset: usize) -> u8 {
        if offset >= self.0.bytes {
            return 0;
        }
        // SAFETY: within the mapping, by the line above; volatile as in `first_byte`.
        unsafe { self.0.start.as_ptr().add(offset).read_volatile() }
    }

    /// Writes all of it to the file, by write(2), or WriteFile.
    ///
    /// # Errors
    /// Those of the call.
    pub fn write_to(&self, file: &File) -> io::Result<()> {
        self.0.write_to(file)
    }

    /// How many of its pages are in memory: mincore(2).
    ///
    /// # Errors
    /// Those of mincore(2); unsupported where the system does not report it.
    pub fn resident_pages(&self) -> io::Result<usize> {
        self.0.resident_pages()
    }

    /// Removes the mapping.
    ///
    /// # Errors
    /// Those of munmap(2), or UnmapViewOfFile.
    #[inline]
    pub fn unmap(self) -> io::Result<()> {
        self.0.unmap()
    }
}

/// Numbers that a child process writes and its parent can still read when the child has crashed.
#[derive(Debug)]
pub struct Shared {
    range: MappedRange,
    slots: usize,
    memory: Option<MemoryHandle>,
}

// SAFETY: the mapping is of the process, not of a thread, and is reached through atomics only.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Makes a region of `slots` zeros whose descriptor or handle a child inherits.
    ///
    /// # Errors
    /// Those of memfd_create(2) or shm_open(3), ftruncate(2) and mmap(2); those of CreateFileMappingW and
    /// MapViewOfFile.
    pub fn create(slots: usize) -> io::Result<Shared> {
        Shared::map(platform::shared_memory(bytes_of(slots))?, slots)
    }

    /// Opens the region that the parent handed down under the number `inherited`, and touches every page.
    ///
    /// # Errors
    /// `EBADF` or `ERROR_INVALID_HANDLE` when there is no such number; those of fcntl(2) and mmap(2), or of
    /// MapViewOfFile.
    pub fn open(inherited: i32, slots: usize) -> io::Result<Shared> {
        let mut region = Shared::join(inherited, slots)?;
        // The measured process then has one descriptor less.
        region.memory = None;
        for slot in region.slots() {
            slot.store(0, Ordering::Relaxed);
        }
        Ok(region)
    }

    /// Opens the region that other processes go on using: the numbers keep their values.
    ///
    /// # Errors
    /// As for [`Shared::open`].
    pub fn join(inherited: i32, slots: usize) -> io::Result<Shared> {
        Shared::map(platform::inherited_memory(inherited)?, slots)
    }

    fn map(memory: MemoryHandle, slots: usize) -> io::Result<Shared> {
        let range = MappedRange::writable(&memory, bytes_of(slots))?;
        Ok(Shared { range, slots, memory: Some(memory) })
    }

    /// The number that `open` takes in the child; `None` in the child itself.
    pub fn inheritable(&self) -> Option<i32> {
        self.memory.as_ref().map(platform::number)
    }

    /// The numbers.
    pub fn slots(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page-aligned, holds `slots` numbers and lives as long as self; every
        // process reaches it through atomics only.
        unsafe { std::slice::from_raw_parts(self.range.start.as_ptr().cast::<AtomicU64>(), self.slots) }
    }
}

fn bytes_of(slots: usize) -> usize {
    slots.max(1) * size_of::<u64>()
}

/// An empty vector of the given capacity whose pages have all been touched, so that filling it takes no
/// page fault.
pub fn touched_vec<T>(capacity: usize) -> Vec<T> {
    let mut vec = Vec::with_capacity(capacity);
    // No further: a vector of a zero-sized type has unlimited capacity.
    let pages = &mut vec.spare_capacity_mut()[..capacity];
    pages.fill_with(MaybeUninit::zeroed);
    // Without this the compiler may remove the stores, because nothing reads them.
    std::hint::black_box(pages);
    vec
}

/// Memory that the kernel uses itself, on behalf of any process: its objects, the stacks of tasks, the tables
/// of pages.
///
/// # Errors
/// Unsupported.
pub fn kernel_bytes() -> io::Result<u64> {
    cfg_select! {
        target_os = "linux" => { linux::kernel_bytes() }
        _ => { Err(crate::Unsupported("memory of the kernel is read on Linux only").into()) }
    }
}

/// The allocator of the system, which remembers the last refusal. `try_reserve` returns an error, as ever.
/// Other callers cannot go on, and Rust aborts the program: [`explain_abort`] makes it say why in words that
/// help, and end like any other failure.
#[derive(Debug)]
pub struct Allocator;

/// Bytes that were refused last; 0 before that.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

fn remember(place: *mut u8, bytes: usize) -> *mut u8 {
    if place.is_null() {
        REFUSED.store(bytes, Ordering::Relaxed);
    }
    place
}

// SAFETY: every call is passed on to the allocator of the system, which keeps the promises of the trait.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the promises that the other allocator needs.
        remember(unsafe { System.alloc(layout) }, layout.size())
    }

    // SAFETY: as of the trait.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        remember(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    // SAFETY: as of the trait.
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above; `place` is of the other allocator, because all are.
        remember(unsafe { System.realloc(place, layout, bytes) }, bytes)
    }

    // SAFETY: as of the trait.
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }
}

/// Makes an abort after refused memory end the program with a message and exit code 1. Needs [`Allocator`].
pub fn explain_abort() {
    #[cfg(unix)]
    // SAFETY: the handler calls only what signal-safety(7) allows. A signal that it raises again ends the
    // program as if there were no handler.
    let _ = unsafe { crate::signal::set_handler(libc::SIGABRT, on_abort, libc::SA_RESETHAND) };
}

/// Any other SIGABRT, of an abort or of kill(2), ends the program as it always does.
#[cfg(unix)]
extern "C" fn on_abort(_: libc::c_int) {
    const WORDS: &[u8] =
        b"error: the system refused the memory that this takes; free some, raise the limit (ulimit \
        -v, a container's), or give it less: a smaller file, fewer connections or a smaller n\n";
    const FAILED: libc::c_int = 1;
    // SAFETY: the words are there for as long as the program; all calls may be made in a handler.
    unsafe {
        if REFUSED.load(Ordering::Relaxed) == 0 {
            libc::raise(libc::SIGABRT);
            return;
        }
        libc::write(libc::STDERR_FILENO, WORDS.as_ptr().cast(), WORDS.len());
        libc::_exit(FAILED);
    }
}
