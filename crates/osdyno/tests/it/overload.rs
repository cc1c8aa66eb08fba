//! Servers and generators when something runs out, is interrupted, killed, or asked for more than it can.
//!
//! Descriptors run out for one process here. For the whole system (`ENFILE`) they cannot be made to without
//! touching the machine's settings, which no test does; both come back from the same calls, and are handled
//! by the same lines.
#![cfg(target_os = "linux")]

mod generators;
mod loaded;
mod servers;

use std::path::Path;
use std::process::Command;

use net::arch::{Architecture, ServedBy};

use crate::common::everywhere::{architectures, each};
use crate::common::osdyno;
use crate::common::served::Served;

pub(crate) const SMALL: &[u8] = b"<p>small</p>\n";
pub(crate) const MEDIUM: usize = 150_000;

/// Processes of a pool, or threads.
const POOL: usize = 12;

/// Workers, where there may be several.
const WORKERS: usize = 2;

/// Servers that are under test at the same time.
const AT_ONCE: usize = 4;

/// A server to start: an architecture, and how many workers it has.
pub(crate) struct Way {
    pub(crate) architecture: &'static Architecture,
    pub(crate) workers: usize,
}

impl Way {
    /// Its words on the command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let (workers, pool) = (self.workers.to_string(), POOL.to_string());
        let words = ["--arch", self.architecture.name, "--workers", &workers, "--pool", &pool];
        words.map(str::to_owned).to_vec()
    }

    pub(crate) fn start(&self, folder: &Path) -> Served {
        self.start_by(osdyno(folder, &[]))
    }

    /// From a command that already has the program.
    pub(crate) fn start_by(&self, command: Command) -> Served {
        Served::start_by(command, &self.words().iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// How many processes a supervisor replaces when they end.
    pub(crate) fn replaced(&self) -> usize {
        match (self.architecture.served_by, self.workers) {
            (ServedBy::PooledProcess, _) => POOL,
            (_, 1) => 0,
            (_, workers) => workers,
        }
    }
}

/// Tests every architecture that this system has, alone and with several workers where it can, and of these
/// the ways that are asked for.
pub(crate) fn everywhere(is_asked: fn(&Way) -> bool, test: impl Fn(&Way) + Sync) {
    let ways = architectures().flat_map(|architecture| {
        let several = (!architecture.accepts.is_empty()).then_some(WORKERS);
        std::iter::once(1).chain(several).map(move |workers| Way { architecture, workers })
    });
    let ways = ways.filter(is_asked).map(|way| (way.words().join(" "), way));
    each(AT_ONCE, ways.collect(), |way| test(&way));
}

pub(crate) fn site() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), SMALL).unwrap();
    std::fs::write(folder.path().join("medium.bin"), vec![b'm'; MEDIUM]).unwrap();
    folder
}

pub(crate) fn interrupt(process: u32, signal: rustix::process::Signal) {
    let process = rustix::process::Pid::from_raw(process.cast_signed()).unwrap();
    rustix::process::kill_process(process, signal).unwrap();
}
