//! Lines that cannot be used, with their numbers.

use std::fmt;

/// So many bad lines are named; the others are counted.
pub const NAMED_MAX: usize = 20;

/// A line that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// The file.
    pub file: String,
    /// Counts from 1.
    pub line: u64,
    /// What is wrong with it.
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
    pub(super) fn add(&mut self, file: &str, line: u64, reason: impl fmt::Display) {
        self.count += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(BadLine { file: file.to_owned(), line, reason: reason.to_string() });
        }
    }
}
