//! The tests of `judge`, one program.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

mod bisect;
mod fleet;
mod gate;
mod references;
mod undecided;

use record::{Recording, parse_line};
use serde_json::Value;

/// The run with these lines of a record, read as a reader does.
fn recording(lines: &[Value]) -> Recording {
    Recording::new(lines.iter().map(|line| parse_line(&line.to_string()).unwrap())).unwrap()
}
