//! The commands of developers and CI.
//!
//! Each verb is a file with a `run`; [`tidy`] is also a test.

pub mod answers;
mod apt;
pub mod bench;
mod build_std;
pub mod check_systems;
mod command;
pub mod docs;
pub mod link_systems;
pub mod mail_servers;
mod packages;
pub mod pictures;
mod programs;
pub mod pypi;
pub mod readme;
pub mod release;
mod skips;
pub mod test;
pub mod tidy;
pub mod truths;
pub mod wine;
mod workspace;

/// An error with a message for a person.
pub type AnyError = Box<dyn std::error::Error>;
