//! Memory that the Linux kernel uses itself: /proc/meminfo (proc_meminfo(5)).

use std::io;

use crate::pseudo_file::{field_bytes, text};

/// Objects, stacks of tasks, and tables of pages. What vmalloc holds beyond the stacks is not told apart from
/// them, and is left out.
const PARTS: [&str; 3] = ["Slab", "KernelStack", "PageTables"];

pub(super) fn bytes() -> io::Result<u64> {
    let memory = text("/proc/meminfo").ok_or_else(|| io::Error::other("/proc/meminfo cannot be read"))?;
    let parts: Option<Vec<u64>> = PARTS.iter().map(|part| field_bytes(&memory, part)).collect();
    let parts = parts.ok_or_else(|| io::Error::other("/proc/meminfo lacks what the kernel has taken"))?;
    Ok(parts.iter().sum())
}
