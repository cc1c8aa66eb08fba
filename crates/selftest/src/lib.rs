//! Error rates of the verdicts: simulated sweeps whose true cost is known, judged by `stats`.
//!
//! Must never: measure, read a clock or a file, or hold a rule of judgement of its own; it only counts.

#![forbid(unsafe_code)]

pub mod cells;
pub mod counts;
pub mod machine;
mod noises;
mod outside;
mod promises;
pub mod rate;
mod replicate;
mod rivals;
pub mod run;
pub mod scalings;
pub mod sheets;
mod suites;
pub mod table;
pub mod text;
mod truths;
pub mod years;
