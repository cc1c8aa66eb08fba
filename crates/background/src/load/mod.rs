//! The loads, one file per kind: the work, and what the kernel counts of it.

mod connections;
mod cpu;
mod disk;
mod memory;
mod net;
mod syscalls;
mod work;

use std::path::Path;

pub(crate) use work::{Work, failed};

use crate::spec::{FixedLoad, Kind};

/// Prepares a load on this system. `processor` is the one that this process is bound to, and `folder` has the
/// files.
///
/// # Errors
/// What was attempted, and why it failed.
pub(crate) fn prepare(
    load: &FixedLoad,
    processor: Option<u32>,
    folder: &Path,
) -> Result<Box<dyn Work>, String> {
    Ok(match load.kind {
        Kind::Cpu => Box::new(cpu::Cpu::new(processor)),
        Kind::Net => Box::new(net::Net::new(load.rate)?),
        Kind::Disk => Box::new(disk::Disk::new(load.rate, folder)?),
        Kind::Memory(bytes) => Box::new(memory::Memory::new(bytes)?),
        Kind::Connections(count) => Box::new(connections::Connections::new(count)?),
        Kind::Syscalls => Box::new(syscalls::Syscalls::new(load.rate)?),
    })
}
