//! Tests that `cargo xtask verify` runs: those beside other systems and programs (guests, Wine, mail servers,
//! daemons), and those that work for long.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

#[macro_use]
#[path = "../common/mod.rs"]
mod common;

mod ansible;
mod blame;
mod fleet;
mod hostile;
mod kill_objects;
mod lab;
mod lab_native;
mod mail_interop;
mod many_processors;
#[path = "../../../history/tests/it/simulated.rs"]
mod nights;
mod page;
mod search;
mod slow_kernel;
mod slurm;
mod small_systems;
mod snoop;
mod wine;
