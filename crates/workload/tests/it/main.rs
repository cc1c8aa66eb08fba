//! Trials of each form of workload, by experiments made up here.

mod curve;
mod job;
mod levels;
