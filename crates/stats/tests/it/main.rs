//! The tests of `stats`, one program.

mod any_input;
mod comparison;
mod references;
mod simulation;
mod verdict;
