//! The platform: every facility of an operating system that osdyno uses, under one name each.
//!
//! Each subject is a file with a module per system inside, or a folder where systems differ much: `mod.rs` is
//! its interface, and beside it is one file per system. A facility that a system lacks is [`Unsupported`]
//! with a reason, never a zero and never absent; the macro `missing` declares its functions.
//!
//! Must never: know a workload, keep a statistic, print. This is the only crate with `unsafe`; each use says
//! why it is sound.

#![allow(unsafe_code)]

// Before the others, which use its macro.
#[macro_use]
pub mod error;

pub mod activity;
pub mod address;
pub mod alarm;
#[cfg(unix)]
pub mod channel;
pub mod clock;
#[cfg(target_os = "linux")]
pub mod control_group;
pub mod cpu;
#[cfg(unix)]
pub mod datagram;
pub mod environment;
pub mod event;
pub mod file;
#[cfg(target_os = "linux")]
pub mod futex;
pub mod handle;
pub mod init;
pub mod kernel_counter;
pub mod limit;
pub mod lock;
pub mod memory;
#[cfg(target_os = "linux")]
pub mod message_queue;
pub mod mount;
#[cfg(target_os = "linux")]
pub mod namespace;
#[cfg(unix)]
pub mod openssl;
pub mod persistent;
pub mod process;
pub mod process_table;
pub mod profile;
#[cfg(target_os = "linux")]
mod pseudo_file;
pub mod ring;
#[cfg(target_os = "linux")]
pub mod route;
#[cfg(target_os = "linux")]
pub mod seccomp;
#[cfg(target_os = "linux")]
pub mod shared_memory;
pub mod signal;
pub mod socket;
pub mod tcp;
#[cfg(target_os = "linux")]
pub mod terminal;
pub mod thread;
#[cfg(target_os = "linux")]
pub mod timer;
pub mod tunable;
#[cfg(target_os = "linux")]
pub mod watch;
#[cfg(windows)]
mod winsock;

pub use error::Unsupported;
