//! Guests: other kernels, booted as systems of a run.
//!
//! A guest is a system behind a command, and this crate makes that command: it turns a process of osdyno into
//! an emulator whose standard input and output are the second serial line of a machine. All that the guest
//! needs is in an initramfs in memory, so no file is left, however the run ends. Agent and programs are there
//! from the start: a shell would need a userland, and the serial line would carry megabytes. They are linked
//! dynamically, with the libraries of this machine, because static programs alone could not measure loads.
//!
//! - `kernel` reads the release of an image, and changes a kernel's settings; `debian` gets images;
//! - `machine` is an emulated machine or User-mode Linux, and `accelerator` executes its instructions;
//! - `start` starts both, and packs the files of the guest;
//! - `sandbox` has containers and gVisor; `wine` the programs for Windows.
//!
//! Must never: measure, plan or schedule.

mod accelerator;
mod debian;
mod kernel;
mod machine;
mod sandbox;
mod start;
mod wine;

use std::io;
use std::path::PathBuf;

use etcetera::{BaseStrategy, choose_base_strategy};

pub use accelerator::Accelerator;
pub use debian::Debian;
pub use kernel::{KernelVariant, Sysctl, release};
pub use machine::{EmulatedMachine, UserModeLinux};
pub use sandbox::{Container, Gvisor};
pub use wine::Wine;

/// The attempt, its object, and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Guests are not booted here.
    #[error("guests are booted on Linux on x86-64 only; measure other systems with --system")]
    Unsupported,
    /// The image cannot be read.
    #[error("cannot read the kernel {}: {source}", path.display())]
    Kernel {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is something else.
    #[error(
        "{} is no kernel that can be booted: a bzImage for x86 is needed, such as /boot/vmlinuz-*",
        path.display()
    )]
    NoKernel {
        /// The file.
        path: PathBuf,
    },
    /// There is no such kernel of Debian.
    #[error(
        "cannot get the kernel debian:{series}: {reason}; a kernel on disk is measured with --kernel PATH"
    )]
    Debian {
        /// The series, as the user wrote it.
        series: String,
        /// Why.
        reason: String,
    },
    /// The text is no setting of a kernel.
    #[error("invalid setting {text:?}: {reason}; it is written as in net.core.somaxconn=64")]
    Sysctl {
        /// The text of the user.
        text: String,
        /// Why it is none.
        reason: &'static str,
    },
    /// There is no place for the cache.
    #[error("there is no folder for a cache: {0}; set XDG_CACHE_HOME")]
    NoCache(String),
    /// There is no emulator.
    #[error(
        "cannot start {emulator}: {reason}; install QEMU (Debian: qemu-system-x86), or name it with --qemu"
    )]
    Emulator {
        /// The program.
        emulator: String,
        /// Why.
        reason: String,
    },
    /// There is no gVisor.
    #[error("cannot start {program}: {reason}; install gVisor's runsc, or name it with --gvisor=COMMAND")]
    NoGvisor {
        /// The program.
        program: String,
        /// Why.
        reason: String,
    },
    /// There is no Wine.
    #[error(
        "cannot start {program}: {reason}; install Wine (Debian: wine64), or name it with --wine=COMMAND"
    )]
    NoWine {
        /// The program.
        program: String,
        /// Why.
        reason: String,
    },
    /// The programs of a system are not there.
    #[error(transparent)]
    Programs(runner::Error),
    /// There is no container.
    #[error("there is no container of {image:?}: {reason}")]
    NoContainer {
        /// The image, or the folder.
        image: String,
        /// Why.
        reason: String,
    },
    /// There is no User-mode Linux.
    #[error(
        "cannot start the User-mode Linux {program}: {reason}; it is a kernel built for ARCH=um, such as \
         linux.uml of Debian's package user-mode-linux"
    )]
    NoUserModeLinux {
        /// The program.
        program: String,
        /// Why.
        reason: String,
    },
    /// Whether KVM works could not be determined.
    #[error("cannot try whether KVM boots a kernel: {0}; --accel tcg does without")]
    Probe(#[source] runner::Error),
    /// The programs of this build do not suffice.
    #[error("a guest needs the statically linked trial program: {reason}")]
    NoProgram {
        /// Why it is not there.
        reason: &'static str,
    },
    /// The files of the guest cannot be put together.
    #[error("cannot make the initramfs of the guest: {0}")]
    Initramfs(#[source] io::Error),
}

/// The cache of this user: `osdyno` below `$XDG_CACHE_HOME` or `~/.cache`.
///
/// # Errors
/// [`Error::NoCache`], when there is no home folder.
fn cache_folder() -> Result<PathBuf, Error> {
    let strategy = choose_base_strategy().map_err(|error| Error::NoCache(error.to_string()))?;
    Ok(strategy.cache_dir().join("osdyno"))
}
