//! Memory: pages, file mappings, arrays whose pages are touched before timing, and the shared region in which
//! the measurements outlive a crash of the trial.

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

#[cfg(target_os = "linux")]
mod program_break;
mod refusal;
#[cfg(target_os = "linux")]
mod region;

use std::io;
use std::mem::MaybeUninit;

#[cfg(target_os = "linux")]
pub use program_break::ProgramBreak;
pub use refusal::{Allocator, explain_abort};
#[cfg(target_os = "linux")]
pub use region::{MemoryRegion, PagePolicy};

pub use platform::{Mapping, Private, Shared, keep_freed, mapping_granularity, page_bytes};

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
        target_os = "linux" => { kernel::bytes() }
        _ => { Err(crate::Unsupported("memory of the kernel is read on Linux only").into()) }
    }
}

/// Memory that the Linux kernel uses itself: /proc/meminfo (proc_meminfo(5)).
/// Bytes of one kernel object of that name, slabinfo(5). Only root may read it.
#[cfg(target_os = "linux")]
pub fn kernel_object_bytes(name: &str) -> Option<u64> {
    let table = crate::pseudo_file::text("/proc/slabinfo")?;
    let mut rows = table.lines().map(str::split_whitespace);
    // Name, active objects, all objects, bytes.
    rows.find_map(|mut words| (words.next()? == name).then(|| words.nth(2)?.parse().ok()).flatten())
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::io;

    use crate::pseudo_file::{field_bytes, text};

    /// Objects, stacks of tasks, and tables of pages. Other memory of vmalloc cannot be separated from the
    /// stacks, and is left out.
    const PARTS: [&str; 3] = ["Slab", "KernelStack", "PageTables"];

    pub(super) fn bytes() -> io::Result<u64> {
        let memory = text("/proc/meminfo").ok_or_else(|| io::Error::other("/proc/meminfo cannot be read"))?;
        let parts: Option<Vec<u64>> = PARTS.iter().map(|part| field_bytes(&memory, part)).collect();
        let parts = parts.ok_or_else(|| io::Error::other("/proc/meminfo lacks the memory of the kernel"))?;
        Ok(parts.iter().sum())
    }
}
