//! Roles behind commands and in guests, and every fault of these.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

mod common;
mod faults;
mod guest;
