//! The tools of the house: what CI runs and what a person runs before a commit.
//!
//! Each verb is a file with a `run`; [`tidy`] is also a test.

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
pub mod readme;
pub mod release;
mod skips;
pub mod test;
pub mod tidy;
pub mod truths;
pub mod wine;
mod workspace;

/// What went wrong, in words for a person.
pub type AnyError = Box<dyn std::error::Error>;
