//! The roles of trials, through the programs.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

mod program;
mod remote;
