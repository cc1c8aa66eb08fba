//! The tests of `stats`, one program.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

mod any_input;
mod comparison;
mod fleet;
mod history;
mod references;
mod shapes;
mod simulation;
mod verdict;
