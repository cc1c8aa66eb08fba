//! Trials of each form of workload, by experiments made up here.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

mod curve;
mod job;
mod levels;
