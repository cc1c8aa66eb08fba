//! The tools of the house: what CI runs and what a person runs before a commit.
//!
//! Each verb is a file with a `run`; [`tidy`] is also a test.

mod apt;
pub mod bench;
mod build_std;
pub mod check_systems;
mod command;
pub mod docs;
mod in_usr;
pub mod link_systems;
pub mod mail_servers;
mod packages;
pub mod pictures;
pub mod readme;
pub mod release;
mod rust_src;
mod skips;
#[cfg(target_os = "linux")]
pub mod soak;
pub mod test;
pub mod tidy;
pub mod truths;
pub mod wine;
mod workspace;

/// What went wrong, in words for a person.
pub type AnyError = Box<dyn std::error::Error>;
