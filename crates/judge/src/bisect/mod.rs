//! Finds the system of an ordered list from which a cost differs.
//!
//! [`Search`] selects the systems to measure together; [`Steps`] compares each with the one before it in such
//! a run, and says whether more boots would help.

mod search;
mod steps;

pub use search::{ListPart, Round, RoundAnswers, Search};
pub use steps::{SeriesStep, SeriesSteps, Steps, unsettled};
