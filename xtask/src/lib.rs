//! The commands of developers and CI.
//!
//! A verb is a file with a `run`, or a function of `test` or `obtain`; [`tidy`] is also a test.

pub mod answers;
mod apt;
pub mod bench;
mod build_std;
pub mod check_systems;
pub mod docs;
pub mod link_systems;
pub mod obtain;
mod packages;
pub mod pictures;
mod programs;
pub mod readme;
pub mod release;
pub mod test;
pub mod tidy;
pub mod truths;
mod workspace;

/// An error with a message for a person.
pub type AnyError = Box<dyn std::error::Error>;
