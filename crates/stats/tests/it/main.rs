//! The tests of `stats`, one program.

mod any_input;
mod comparison;
mod references;
mod shapes;
mod simulation;
mod verdict;
