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
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(target_os = "linux")]
pub use linux::{MemoryRegion, PagePolicy, ProgramBreak, kernel_object_bytes};
#[cfg(target_os = "linux")]
pub(crate) use platform::MappedRange;
#[cfg(unix)]
pub use platform::Private;
pub use platform::{Mapping, Shared, keep_freed, mapping_granularity, page_bytes};

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
