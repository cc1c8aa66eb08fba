//! Errors of a whole file. Damage inside a readable file is a [`Loss`](crate::Loss) instead.

use std::io;
use std::path::PathBuf;

use crate::{FRAME_BYTES_MAX, SCHEMA};

/// `Result` of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a run file could not be created, written or read. The message has the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A run is never overwritten.
    #[error(
        "{} exists already, and a run is never overwritten: choose another name, or move the file",
        path.display()
    )]
    Exists {
        /// The file asked for.
        path: PathBuf,
    },
    /// The file could not be created.
    #[error("cannot create {}: {source}", path.display())]
    Create {
        /// The file asked for.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A frame could not be written; the file ends with the frame before it and stays readable.
    #[error(
        "cannot write to {0}: {source}; all trials before that are kept in {0}{advice}",
        path.display(),
        advice = advice(source)
    )]
    Write {
        /// The file of this run.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The lines of one trial exceed the limit of one frame.
    #[error(
        "the measurements of one trial take {bytes} bytes, more than the {FRAME_BYTES_MAX} of a frame in {}: \
         use a smaller n; all trials before that are kept",
        path.display()
    )]
    TooLarge {
        /// The file of this run.
        path: PathBuf,
        /// Size of the lines before compression.
        bytes: usize,
    },
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file asked for.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not a run, or lacks the beginning of one.
    #[error("{} is not an osdyno run: {reason}", path.display())]
    NotARun {
        /// The file asked for.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// Written by a newer version.
    #[error(
        "{} has schema {schema}, and this osdyno reads up to {SCHEMA}: \
         use the osdyno that wrote it ({version}), or a newer one",
        path.display()
    )]
    Newer {
        /// The file asked for.
        path: PathBuf,
        /// Schema of the file.
        schema: u64,
        /// Version of the program that wrote it.
        version: String,
    },
}

fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space and run again",
        io::ErrorKind::FileTooLarge => "; raise the limit on file size (ulimit -f) and run again",
        _ => "",
    }
}
