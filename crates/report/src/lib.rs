//! What a run found, for people and for programs: in a terminal, as a page, as JSON, and compared.
//!
//! - [`Findings`] judges every series of a recording once; everything else speaks through it.
//! - [`table`] is the table in a terminal.
//! - [`html`] is one page with every point of every trial.
//! - [`json`] is the same findings for a program.
//! - [`import`] makes a recording of numbers that were measured elsewhere.
//! - [`noise_floor`] is what a system showed against itself.
//! - [`rivals`] ranks the variants of a workload.
//! - [`compare`] sets systems side by side.
//!
//! May import: record, stats. Must never: measure, know a workload, or look at this machine.

#![forbid(unsafe_code)]

pub mod compare;
mod environment;
pub mod export;
mod findings;
mod generator;
pub mod hints;
pub mod html;
pub mod import;
pub mod json;
pub mod noise_floor;
pub mod rivals;
pub mod sentences;
mod spark;
mod stops;
pub mod table;
mod text;
pub mod words;

pub use environment::Difference;
pub use findings::{ALPHA, Finding, Findings, MARGIN, SEED};
pub use generator::Limited;
pub use stops::{Cause, Stop};
pub use text::{Style, Tone, printable};
