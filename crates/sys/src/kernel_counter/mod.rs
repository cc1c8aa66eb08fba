//! Counts that the kernel keeps of a process and of the whole system.

use std::io;
use std::path::Path;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(not(target_os = "linux"))]
use other as system;

/// The kernel's counters of reads and writes of this process. The file stays open, so that a reading is one
/// call.
#[derive(Debug)]
pub struct ProcessIo(system::ProcessIo);

impl ProcessIo {
    /// Opens the counters of the calling process.
    ///
    /// # Errors
    /// Those of open(2), where the kernel has no such counters; unsupported.
    pub fn open() -> io::Result<ProcessIo> {
        system::ProcessIo::open().map(ProcessIo)
    }

    /// Calls of read(2) and its relatives, including those that read this counter.
    ///
    /// # Errors
    /// Those of pread(2).
    pub fn read_calls(&self) -> io::Result<u64> {
        self.0.field("syscr")
    }

    /// Bytes that went to a device, or will; without those that a file system keeps in memory.
    ///
    /// # Errors
    /// Those of pread(2).
    pub fn written_bytes(&self) -> io::Result<u64> {
        self.0.field("write_bytes")
    }
}

/// Processor time of one processor that was not idle, of all processes and the kernel, in nanoseconds; most
/// kernels sample it at their ticks.
///
/// # Errors
/// There is no such processor; unsupported.
pub fn processor_busy_ns(processor: u32) -> io::Result<u64> {
    system::processor_busy_ns(processor)
}

/// Bytes that the loopback interface of this network namespace has sent, with their headers.
///
/// # Errors
/// Unsupported.
pub fn loopback_bytes() -> io::Result<u64> {
    system::loopback_bytes()
}

/// TCP connections that were opened from this network namespace.
///
/// # Errors
/// Unsupported.
pub fn connections_opened() -> io::Result<u64> {
    system::connections_opened()
}

/// Bytes that were written to the device which has the folder.
///
/// # Errors
/// The file system of the folder is on no device of its own; unsupported.
pub fn device_written_bytes(folder: &Path) -> io::Result<u64> {
    system::device_written_bytes(folder)
}

/// Memory of this process that is resident, in bytes.
///
/// # Errors
/// Unsupported.
pub fn resident_bytes() -> io::Result<u64> {
    system::resident_bytes()
}

/// Memory that can be taken without swapping, in bytes.
///
/// # Errors
/// Unsupported.
pub fn available_bytes() -> io::Result<u64> {
    system::available_bytes()
}

/// Systems whose counters are not read yet.
#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;
    use std::path::Path;

    use crate::Unsupported;

    const REASON: Unsupported = Unsupported("this counter of the kernel is read on Linux only");

    #[derive(Debug)]
    pub(super) enum ProcessIo {}

    impl ProcessIo {
        pub(super) fn open() -> io::Result<ProcessIo> {
            Err(REASON.into())
        }

        pub(super) fn field(&self, _name: &str) -> io::Result<u64> {
            match *self {}
        }
    }

    pub(super) fn processor_busy_ns(_processor: u32) -> io::Result<u64> {
        Err(REASON.into())
    }

    pub(super) fn loopback_bytes() -> io::Result<u64> {
        Err(REASON.into())
    }

    pub(super) fn connections_opened() -> io::Result<u64> {
        Err(REASON.into())
    }

    pub(super) fn device_written_bytes(_folder: &Path) -> io::Result<u64> {
        Err(REASON.into())
    }

    pub(super) fn resident_bytes() -> io::Result<u64> {
        Err(REASON.into())
    }

    pub(super) fn available_bytes() -> io::Result<u64> {
        Err(REASON.into())
    }
}
