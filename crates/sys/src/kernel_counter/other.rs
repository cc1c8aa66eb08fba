//! Systems whose counters are not read yet.

use std::io;
use std::path::Path;

use crate::Unsupported;

const REASON: Unsupported = Unsupported("what the kernel counts of it is read on Linux only");

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
