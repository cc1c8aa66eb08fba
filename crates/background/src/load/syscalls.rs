//! System calls: the shortest that the kernel counts of a process, a read(2) of /dev/null.

use std::fs::File;
use std::io::{self, Read};

use sys::kernel_counter::ProcessIo;

use super::work::{Means, Work, failed};

/// A look at the counter is a read(2) too; with so many calls at once it is a small part of them.
const AT_ONCE_SECONDS: f64 = 0.005;

pub(super) struct Syscalls {
    null: File,
    io: ProcessIo,
    grain: f64,
}

impl Syscalls {
    pub(super) fn new(rate: f64) -> Result<Syscalls, String> {
        let null = File::open("/dev/null").map_err(failed("open /dev/null"))?;
        let io = ProcessIo::open().map_err(failed("read how many calls the kernel counts"))?;
        Ok(Syscalls { null, io, grain: (rate * AT_ONCE_SECONDS).max(1.0) })
    }
}

impl Work for Syscalls {
    fn work(&mut self, amount: f64) -> io::Result<()> {
        for _ in 0..amount.min(1e6) as u64 {
            let _ = self.null.read(&mut [0])?;
        }
        Ok(())
    }

    fn counted(&mut self) -> io::Result<f64> {
        Ok(self.io.read_calls()? as f64)
    }

    fn means(&self) -> Means {
        Means { grain: self.grain, counter: "/proc/PID/io syscr", system_counter: "" }
    }
}
