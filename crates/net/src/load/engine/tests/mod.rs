//! The loop in simulated time: against a network in which nothing is certain, and against a calm one.

mod simulated;
mod timed;
