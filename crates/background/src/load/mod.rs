//! The loads, in files by resource: their work, and how the kernel counts it.

mod disk;
mod network;
mod processor;

use std::io;
use std::path::Path;

use crate::spec::{FixedLoad, Kind};

/// Prepares a load on this system. `processor` is the one that this process is bound to, and `folder` has the
/// files.
///
/// # Errors
/// The attempt, and the reason of its failure.
pub(crate) fn prepare(
    load: &FixedLoad,
    processor: Option<u32>,
    folder: &Path,
) -> Result<Box<dyn Work>, String> {
    Ok(match load.kind {
        Kind::Cpu => Box::new(processor::Cpu::new(processor)),
        Kind::Net => Box::new(network::Net::new(load.rate)?),
        Kind::Disk => Box::new(disk::Disk::new(load.rate, folder)?),
        Kind::Memory(bytes) => Box::new(processor::Memory::new(bytes)?),
        Kind::Connections(count) => Box::new(network::Connections::new(count)?),
        Kind::Syscalls => Box::new(processor::Syscalls::new(load.rate)?),
    })
}

/// A load at work, in this process.
pub(crate) trait Work {
    /// Does about this amount of it, or less where that would take long.
    ///
    /// # Errors
    /// Those of the system.
    fn work(&mut self, amount: f64) -> io::Result<()>;

    /// The kernel's count for this process until now.
    ///
    /// # Errors
    /// Those of the system.
    fn counted(&mut self) -> io::Result<f64>;

    /// The kernel's count for the whole system, where it has one.
    fn counted_of_system(&mut self) -> Option<f64> {
        None
    }

    /// The amount that is held, where the load holds something.
    fn holds(&mut self) -> Option<f64> {
        None
    }

    /// How it is counted.
    fn means(&self) -> Means;
}

/// How a load is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Means {
    /// The least work at once.
    pub(crate) grain: f64,
    /// The kernel's counter for this process; empty where the process counts itself.
    pub(crate) counter: &'static str,
    /// The kernel's counter for the whole system; may be empty.
    pub(crate) system_counter: &'static str,
}

/// An error with the attempt.
pub(crate) fn failed(attempted: &str) -> impl Fn(io::Error) -> String {
    move |error| match sys::error::advice(&error) {
        "" => format!("cannot {attempted}: {error}"),
        advice => format!("cannot {attempted}: {error}; {advice}"),
    }
}

/// `1.5 GB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
