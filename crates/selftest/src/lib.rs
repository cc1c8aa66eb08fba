//! Error rates of the verdicts: simulated sweeps whose true cost is known, judged by `stats`.
//!
//! Must never: measure, read a clock or a file, or hold a rule of judgement of its own; it only counts.

#![forbid(unsafe_code)]

pub mod builds;
mod chance;
pub mod machine;
mod promises;
mod rate;

pub mod cells;
pub mod claims;
pub mod counts;
pub mod designs;
pub mod noises;
pub mod outcome;
pub mod outside;
pub mod races;
pub mod real;
pub mod replicate;
pub mod rivals;
pub mod run;
pub mod scalings;
pub mod sheets;
pub mod suites;
pub mod table;
pub mod text;
pub mod truths;
pub mod years;
