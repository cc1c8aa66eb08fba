//! The runner without a kernel: a simulated world, the declarations of workloads, the carried programs.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

mod declarations;
mod programs;
#[path = "../../../net/tests/common/seeds.rs"]
mod seeds;
mod simulation;
