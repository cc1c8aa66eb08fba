//! The tests of `import`, one program.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

mod foreign;
mod foreign_hostile;
mod tables;
