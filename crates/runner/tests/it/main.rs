//! The runner without a kernel: a simulated world, the declarations of workloads, the carried programs.

mod declarations;
mod programs;
mod simulation;
