//! The platform: everything osdyno asks of an operating system, behind one name each.
//!
//! A room is a folder: `mod.rs` is its face, and beside it stands one file per system or family of
//! systems. What a system lacks is [`Unsupported`] with a reason, never a zero and never absent.
//!
//! May import: rustix, libc. Must never: know a workload, keep a statistic, print. This is the only crate
//! with `unsafe`; each use says why it is sound.

#![allow(unsafe_code)]

pub mod clock;
pub mod error;
pub mod file;
pub mod memory;
pub mod process;
pub mod socket;
pub mod thread;
mod unsupported;

pub use unsupported::Unsupported;
