//! Questions about a machine or a run beside its verdicts.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

mod blame;
mod doctor;
mod impact;
mod snoop;
