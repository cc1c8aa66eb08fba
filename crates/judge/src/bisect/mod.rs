//! From which system of an ordered list a cost differs.
//!
//! [`Search`] says which of the list to measure together; [`Steps`] says what such a run shows of each and
//! the one before it, and whether more boots would show more.

mod search;
mod steps;

pub use search::{ListPart, Round, RoundAnswers, Search};
pub use steps::{SeriesStep, SeriesSteps, Steps, unsettled};
