//! Raises the settings of a system that are too low for a demand, and puts them back.
//!
//! Only settings that [`doctor`](crate::doctor) named are changed. The old values are written and synced
//! before the first change, so they can be put back however the program ends. A value that is neither the old
//! nor the new one was set by another program or user, and stays.

mod answer;
mod apply;
mod plan;
mod undo;
mod undo_record;

use std::io;
use std::path::PathBuf;

pub use answer::{TuneAnswer, UndoAnswer};
pub use apply::apply;
pub use plan::{PlannedChange, SettingChange, TunePlan};
pub use undo::{Undone, UndoneChange, undo};
pub use undo_record::UndoRecord;

/// Why nothing was changed, or why changes were taken back.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The setting cannot be read.
    #[error("cannot read {name}: {source}; nothing was changed")]
    Read {
        /// Its name.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// Not everything that is to be changed may be changed.
    #[error(
        "this process may not change {name}; run it as root, on the host where this is a container; nothing \
         was changed"
    )]
    NotPermitted {
        /// Its name.
        name: String,
    },
    /// The record of old values could not be written.
    #[error("cannot write the old values to {}: {source}; nothing was changed", path.display())]
    Unwritten {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A change failed, and those before it were taken back.
    #[error("cannot set {name} to {value}: {reason}; {taken_back}")]
    Change {
        /// Its name.
        name: String,
        /// The value that was to be set.
        value: String,
        /// Why.
        reason: String,
        /// The results of the changes before it.
        taken_back: String,
    },
    /// The record cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unread {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no record of old values.
    #[error("{} is no record of `osdyno tune --apply`: {reason}; nothing was changed", path.display())]
    NoRecord {
        /// Its path.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The settings of the network in the record are those of another network namespace.
    #[error(
        "{} holds settings of another network namespace ({there}, here {here}), or of a boot before; run \
         it where --apply ran; nothing was changed", path.display()
    )]
    OtherNamespace {
        /// Its path.
        path: PathBuf,
        /// The namespace of the record.
        there: String,
        /// The namespace of this process.
        here: String,
    },
}
