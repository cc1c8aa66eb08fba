//! Why a file cannot be read at all.

use std::{fmt, io};

/// Why a file cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused.
    #[error("cannot read {name}: {source}")]
    Read {
        /// The file.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The first line is no header of ours.
    #[error(
        "{name} {found}; its first line must name the columns series, trial, n and value, and direction \
         where n goes both ways: in any order, separated by commas, semicolons or tabs; --series, --trial, \
         --n and --value name columns that are called otherwise"
    )]
    Header {
        /// The file.
        name: String,
        /// The text that is there instead.
        found: String,
    },
    /// Numbers of a table are written with a decimal comma, or with separators of thousands.
    #[error(
        "{name} line {line}: {found}; numbers have a decimal point and no separators of thousands, such as \
         1234.5"
    )]
    Separator {
        /// The file.
        name: String,
        /// Counts from 1.
        line: u64,
        /// The text of the number.
        found: String,
    },
    /// It is an unusable file of another program.
    #[error("{name} {found}; docs/judge.md lists the formats")]
    Unknown {
        /// The file.
        name: String,
        /// The text that is there instead.
        found: String,
    },
    /// An option says nothing of the files that were given.
    #[error("no effect of {option}: {why}")]
    Option {
        /// The options, as they are typed.
        option: String,
        /// The format of the files, and the use of the option.
        why: String,
    },
    /// It is a run file of osdyno.
    #[error("{0} is a run file; osdyno report judges it")]
    RunFile(String),
}

impl Error {
    pub(crate) fn reading(name: &str) -> impl Fn(io::Error) -> Error {
        move |source| Error::Read { name: name.to_owned(), source }
    }
}

/// So many bad lines are named; the others are counted.
pub const NAMED_MAX: usize = 20;

/// A line that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// The file.
    pub file: String,
    /// Counts from 1.
    pub line: u64,
    /// The fault of the line.
    pub reason: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}: {}", self.file, self.line, self.reason)
    }
}

/// Lines that cannot be used: the first [`NAMED_MAX`], and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadLines {
    /// The first of them.
    pub named: Vec<BadLine>,
    /// All of them.
    pub count: u64,
}

impl BadLines {
    pub(crate) fn add(&mut self, file: &str, line: u64, reason: impl fmt::Display) {
        self.count += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(BadLine { file: file.to_owned(), line, reason: reason.to_string() });
        }
    }
}
