//! Guests: other kernels, booted as systems of a run.
//!
//! A guest is a system behind a command, and this crate makes that command: it turns a process of osdyno into
//! an emulator whose standard input and output are the second serial line of a machine. All that the guest
//! needs is in an initramfs in memory, so no file is left, however the run ends.
//!
//! - `kernel` reads the release of an image; `debian` gets images;
//! - `machine` is an emulated machine, and `accelerator` executes its instructions;
//! - `uml` is a kernel that is a program; `start` starts both; `variant` is a change of a kernel's settings;
//! - `sandbox` has containers and gVisor; `wine` the programs for Windows;
//! - `initramfs` packs the files of a guest.
//!
//! Must never: measure, plan or schedule.

mod accelerator;

mod debian;
mod error;
mod initramfs;
mod kernel;
mod machine;
mod sandbox;
mod start;
mod uml;
mod variant;
mod wine;

pub use accelerator::Accelerator;
pub use debian::Debian;
pub use error::Error;
pub use kernel::release;
pub use machine::EmulatedMachine;
pub use sandbox::{Container, Gvisor};
pub use uml::UserModeLinux;
pub use variant::{KernelVariant, Sysctl};
pub use wine::Wine;

use std::path::PathBuf;

use etcetera::{BaseStrategy, choose_base_strategy};

/// The cache of this user: `osdyno` below `$XDG_CACHE_HOME` or `~/.cache`.
///
/// # Errors
/// [`Error::NoCache`], when there is no home folder.
fn cache_folder() -> Result<PathBuf, Error> {
    let strategy = choose_base_strategy().map_err(|error| Error::NoCache(error.to_string()))?;
    Ok(strategy.cache_dir().join("osdyno"))
}
