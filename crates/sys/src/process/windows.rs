//! Processes on Windows: there is no fork, and process groups are not implemented yet.

use std::fs::File;
use std::io;
use std::process::{Command, ExitStatus};

use crate::Unsupported;

const NO_FORK: Unsupported = Unsupported("Windows has no fork");
const NO_HEIRS: Unsupported = Unsupported("leaving open files to other programs waits for the port");

/// The number of the parent; there is no such call.
pub fn parent() -> i32 {
    0
}

/// Forked children.
#[derive(Debug)]
pub struct Family(());

/// A child of a [`Family`].
#[derive(Debug)]
pub struct Child(());

impl Family {
    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn new() -> io::Result<Family> {
        Err(NO_FORK.into())
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn fork(&self) -> io::Result<Child> {
        Err(NO_FORK.into())
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn fork_telling(&self, _byte: &u8) -> io::Result<(Child, u8)> {
        Err(NO_FORK.into())
    }
}

impl Child {
    /// There is no child.
    pub fn number(&self) -> u32 {
        0
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn reap(self) -> io::Result<()> {
        Err(NO_FORK.into())
    }
}

/// Nothing to do: a console's Ctrl-C is handled by the runner.
pub fn lead_group(_command: &mut Command) {}

/// Nothing to do: job objects wait for the port.
pub fn kill_group(_leader: u32) {}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn await_end(_child: u32) -> io::Result<()> {
    Err(Unsupported("waiting for a process by its number waits for the port").into())
}

/// Nothing to do: job objects wait for the port.
pub fn adopt_orphans() {}

/// Nothing to do: job objects wait for the port.
pub fn kill_descendants() {}

/// Nothing to do: Windows has no zombies.
pub fn reap_orphans() {}

/// Nothing to do: job objects wait for the port.
pub fn die_with_parent() {}

/// Unsupported.
pub fn replace_by(_command: &mut Command) -> io::Error {
    crate::Unsupported("no program takes the place of another on this system").into()
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn fork(_work: impl FnOnce() -> u8) -> io::Result<u32> {
    Err(NO_FORK.into())
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn fork_in_two() -> io::Result<Option<u32>> {
    Err(NO_FORK.into())
}

/// Ends the process.
pub fn end_now(code: u8) -> ! {
    std::process::exit(i32::from(code))
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn ended_child() -> io::Result<Option<(u32, ExitStatus)>> {
    Err(NO_FORK.into())
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn kill(_process: u32) -> io::Result<()> {
    Err(NO_FORK.into())
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn bequeath(_file: &File) -> io::Result<i32> {
    Err(NO_HEIRS.into())
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn inherited(_number: i32) -> io::Result<File> {
    Err(NO_HEIRS.into())
}

/// Not known here.
pub fn is_root() -> bool {
    false
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn become_user(_name: &str) -> io::Result<()> {
    Err(Unsupported("becoming another user waits for the port").into())
}

/// What a worker ends with that panicked.
pub const PANICKED: u8 = 255;
