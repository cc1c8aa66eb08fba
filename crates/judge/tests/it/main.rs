//! The tests of `judge`, one program.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

mod bisect;
mod fleet;
mod gate;
mod references;
mod undecided;
