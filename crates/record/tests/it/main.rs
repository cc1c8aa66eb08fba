//! The tests of `record`, one program.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

mod damage;
mod merge;
mod recording;
mod round_trip;
mod sample;
mod units;
mod upgrade;
mod writer;
