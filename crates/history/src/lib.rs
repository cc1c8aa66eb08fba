//! The history of a folder of run files: which costs changed, and since which run.
//!
//! - [`Store`] is the folder: its runs in the order of time, its tags, and a cache of their summaries.
//! - [`RunSummary`] is one run: its machine, and the cost of each series in cells of n.
//! - [`history()`] finds the changes of each series over the runs of each machine.
//! - [`MachineKey`] is where costs can be compared.
//!
//! Must never: measure, or speak in sentences; words belong to `report`.

#![forbid(unsafe_code)]

mod answer;
mod course;
mod decide;
mod error;
mod index;
mod lineage;
mod machine;
mod store;
mod summary;

pub use answer::{
    Boundary, BoundaryKind, CostChange, CostDrift, HistoryAnswer, HistorySegment, LeftOutRun,
    LeftOutRunReason, MachineHistory, Night, SeriesHistory, SuspectedSeries,
};
pub use decide::{before_confirming, history};
pub use error::Error;
pub use index::{FileState, StoredRun};
pub use machine::{MachineKey, Surroundings};
pub use store::{ReadProgress, Store, StoredCheck};
pub use summary::{RunSummary, SeriesSummary, SystemSummary};
