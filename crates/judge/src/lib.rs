//! What a record supports: findings, rankings, comparisons, and whether more trials would help.
//!
//! - [`Findings`] judges every series of a recording once.
//! - [`rivals`] ranks the variants of a workload.
//! - [`compare`] compares systems.
//! - [`noise_floor`] computes the noise floor of a system that was measured against itself.
//! - [`undecided`] says whether more trials would decide more.
//! - [`hints`] finds numbers of the system near a place of n.
//!
//! May import: record, stats. Must never: measure, know a workload, look at this machine, or speak in
//! sentences; words belong to `report`.

#![forbid(unsafe_code)]

pub mod compare;
pub mod environment;
mod findings;
pub mod generator;
pub mod hints;
pub mod noise_floor;
pub mod rivals;
pub mod series;
mod stops;
mod undecided;

pub use environment::Difference;
pub use findings::{ALPHA, Finding, Findings, MARGIN, Note, Remark, SEED};
pub use generator::Limited;
pub use stops::{Cause, Stop};
pub use undecided::{MeasuredVariant, undecided};
