//! The conclusions from a record: findings, rankings, comparisons, and whether more trials would help.
//!
//! - [`Findings`] judges every series of a recording once; [`Judgements`] keeps them while a run adds trials.
//! - [`compare`] compares the variants of a workload, or systems.
//! - [`bisect`] finds the first of an ordered list of systems from which a cost differs.
//! - [`noise_floor`] computes the noise floor of a system that was measured against itself.
//! - [`undecided()`] says whether more trials would decide more.
//! - [`verdict`] derives the statements that a verdict supports beside its class.
//! - [`Growth`] is the growth of a series from its smallest n to its largest.
//! - [`GrowthWindows`] are the n between which a cost grows, for `blame`.
//! - [`gate`] decides the claims that let a build fail.
//! - [`Fleet`] folds a run over the hosts of a fleet.
//! - [`hints`] finds numbers of the system near a place of n.
//! - [`Highlight`] is a growth that a report shows first.
//!
//! Must never: measure, know a workload, look at this machine, or speak in sentences; words belong to
//! `report`.

#![forbid(unsafe_code)]

pub mod bisect;
pub mod bounds;
pub mod compare;
pub mod environment;
mod finding;
mod findings;
mod fleet;
pub mod gate;
pub mod generator;
mod growth;
pub mod hints;
pub mod noise_floor;
pub mod reduction;
mod scaling;
pub mod series;
mod stops;
mod undecided;
pub mod verdict;

pub use bounds::LimitedLevels;
pub use environment::Difference;
pub use finding::{ALPHA, Finding, MARGIN, Remark, SEED, series_labels};
pub use findings::{Findings, Judgements, Note, SystemBackground};
pub use fleet::{
    ClaimCounts, ClassOnHosts, FactChange, Fleet, FleetHostState, FleetOutlier, FleetRatio, FleetSeries,
    HostLeftOut, HostLeftOutReason, HostRatio, HostValue, JudgedHost, LostCause, SharedFact,
};
pub use generator::{LoadVerdict, load_verdict, part_verdict};
pub use growth::{
    Growth, GrowthEnd, GrowthWindows, Highlight, Place, can_be_sampled, highlights, improves,
    worse_before_the_end, worsens, worst,
};
pub use reduction::compact;
pub use scaling::NotScaled;
pub use stops::{Cause, Stop};
pub use undecided::{MeasuredVariant, Settlement, undecided};
