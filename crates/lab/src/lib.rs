//! Guests: other kernels, booted as systems of a run.
//!
//! A guest is a system behind a command, and this crate makes that command: it turns a process of osdyno into
//! an emulator whose standard input and output are the second serial line of a machine. All that the guest
//! needs is in an initramfs in memory, so no file is left, however the run ends.
//!
//! - `kernel` what may be booted: an image, and the release that it names; `debian` gets images;
//! - `machine` the emulated machine: its parts; `accelerator` what executes its instructions;
//! - `uml` a kernel that is a program; `start` the start of both; `variant` what differs from the kernel as
//!   it is;
//! - `gvisor` a sandbox; `container` other files; `wine` Windows, as a program serves it;
//! - `initramfs` its files; `libraries` those that a dynamically linked program needs.
//!
//! Must never: measure, plan or schedule.

mod accelerator;
mod cache;
mod container;
mod debian;
mod error;
mod gvisor;
mod initramfs;
mod kernel;
mod libraries;
mod machine;
mod start;
mod uml;
mod variant;
mod wine;

pub use accelerator::Accelerator;
pub use container::Container;
pub use debian::Debian;
pub use error::Error;
pub use gvisor::Gvisor;
pub use kernel::release;
pub use machine::EmulatedMachine;
pub use uml::UserModeLinux;
pub use variant::{KernelVariant, Sysctl};
pub use wine::Wine;
