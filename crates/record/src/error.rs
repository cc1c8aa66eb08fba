//! Faults of a file: errors, after which nothing is read or written, and losses, the parts that a reader had
//! to drop. The intact parts of a damaged file are read.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::{FRAME_BYTES_MAX, LineError, SCHEMA};

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

/// A reader that met this many losses stops: such a file needs its owner. It also bounds the cost of a
/// hostile file.
pub const LOSSES_MAX: usize = 100;

/// A file unpacks to at most so many times its size, beside the first
/// [`FRAME_BYTES_MAX`](crate::FRAME_BYTES_MAX). Measurements shrink to a third or a fifth, and those of an
/// empty operation, which are nearly all the same, to a fiftieth. Without a bound, a hostile file of 200 kB
/// takes gigabytes of memory.
pub(crate) const UNPACKED_MAX: u64 = 100;

/// Something in the file that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Byte of the file at which the loss begins; the frame's first byte for a line inside a frame.
    pub offset: u64,
    /// How many of its kind: bytes for [`Reason::Foreign`], else frames or lines.
    pub count: u64,
    /// Why.
    pub reason: Reason,
}

/// Why something was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The file ends inside a frame, for the writer was killed or the copy is incomplete.
    #[error("the last frame is cut short")]
    CutShort,
    /// A frame does not decode, or its checksum does not hold.
    #[error("damaged frame ({0})")]
    Damaged(String),
    /// A frame, or a line outside of frames, is larger than [`FRAME_BYTES_MAX`](crate::FRAME_BYTES_MAX).
    #[error("larger than a frame may be")]
    TooLarge,
    /// Bytes that belong to no frame.
    #[error("bytes that belong to no frame")]
    Foreign,
    /// Lines of a type that this version does not know; the type.
    #[error("unknown line type {0:?}")]
    Unknown(String),
    /// Lines that are not JSON, lack a field or are too long; the fault of the first.
    #[error("unreadable line ({0})")]
    Malformed(String),
    /// Lines that break a rule of the format; which line the first is, and its rule.
    #[error("line that breaks the format ({0})")]
    Broken(String),
    /// Another run begins: two files were joined. Reading ends here.
    #[error("a second run begins; it must be a file of its own")]
    SecondRun,
    /// The frames unpack to more than a run of that size can hold. Reading ends here.
    #[error("the file unpacks to more than {UNPACKED_MAX} times its size; nothing was read from here on")]
    Inflated,
    /// [`LOSSES_MAX`] was reached. Reading ends here.
    #[error("too much damage; nothing was read from here on")]
    GaveUp,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.reason)?;
        if self.count > 1 { write!(f, ", {} in all", self.count) } else { Ok(()) }
    }
}

impl From<LineError> for Reason {
    fn from(error: LineError) -> Reason {
        match error {
            LineError::Unknown(kind) => Reason::Unknown(kind),
            LineError::Broken(rule) => Reason::Broken(rule),
            error => Reason::Malformed(error.to_string()),
        }
    }
}

/// Losses in the order of the file, those of lines counted together.
#[derive(Debug, Default)]
pub struct Losses(Vec<Loss>);

impl Losses {
    /// Adds one.
    pub fn add(&mut self, loss: Loss) {
        let same = |known: &Reason| match (known, &loss.reason) {
            (Reason::Unknown(known), Reason::Unknown(new)) => known == new,
            (Reason::Malformed(_), Reason::Malformed(_)) | (Reason::Broken(_), Reason::Broken(_)) => true,
            _ => false,
        };
        match self.0.iter_mut().find(|known| same(&known.reason)) {
            Some(known) => known.count += loss.count,
            None => self.0.push(loss),
        }
    }

    pub(crate) fn too_many(&self) -> bool {
        self.0.len() >= LOSSES_MAX
    }

    /// All of them.
    #[must_use]
    pub fn as_slice(&self) -> &[Loss] {
        &self.0
    }

    pub(crate) fn into_vec(self) -> Vec<Loss> {
        self.0
    }
}
