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
mod index;
mod store;
mod summary;

use std::io;
use std::path::PathBuf;

pub use answer::{
    Boundary, BoundaryKind, CostChange, CostDrift, HistoryAnswer, HistorySegment, LeftOutRun,
    LeftOutRunReason, MachineHistory, Night, SeriesHistory, SuspectedSeries,
};
pub use decide::{before_confirming, history};
pub use index::{FileState, StoredRun};
pub use store::{ReadProgress, Store, StoredCheck};
pub use summary::{MachineKey, RunSummary, SeriesSummary, Surroundings, SystemSummary};

/// The attempt, its file, and the next step for a user.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder cannot be read.
    #[error("{}: cannot read the folder: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A run file cannot be read.
    #[error(transparent)]
    Record(#[from] record::Error),
    /// A file cannot be written or removed.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// No run has this name.
    #[error("{0}: no run is called {name}; osdyno history list {0} has their names", folder.display())]
    NoRun {
        /// The name.
        name: String,
        /// The folder.
        folder: PathBuf,
    },
    /// Several runs begin with this name.
    #[error("{name} begins the names of {count} runs; write more of it")]
    SeveralRuns {
        /// The name.
        name: String,
        /// How many.
        count: usize,
    },
    /// The folder has no such baseline.
    #[error("{}: {reason}", folder.display())]
    NoBaseline {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A tag with characters that a file name should not have.
    #[error("{tag:?} is no tag: letters, digits and - _ . make one, of 64 characters at most")]
    Tag {
        /// The tag.
        tag: String,
    },
}
