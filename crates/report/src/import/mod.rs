//! Numbers that were measured elsewhere, as a recording: what judges our own runs then judges them.
//!
//! [`Import::read`] takes one file after another, line by line, and [`Import::finish`] makes the recording. A
//! file is CSV with a header, or the columns of numbers that a bench program of 2003 printed; its first line
//! tells. `docs/judge.md` is the specification for users.

mod columns;
mod csv;
mod fields;
mod gather;
mod lines;
mod options;

use std::fmt;
use std::io::{self, BufRead};

use record::Recording;

pub use gather::SERIES_MAX;
pub use lines::LINE_BYTES_MAX;
pub use options::{Options, Program};

use crate::words::count;
use gather::Gather;
use lines::Lines;

/// So many bad lines are named; the others are counted.
pub const NAMED_MAX: usize = 20;

/// Why a file cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused.
    #[error("cannot read {name}: {source}")]
    Read {
        /// The file.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// The first line is no header of ours.
    #[error(
        "{name} {found}; its first line must name the columns series, trial, n and value, and direction \
         where n goes both ways: in any order, separated by commas, semicolons or tabs"
    )]
    Header {
        /// The file.
        name: String,
        /// What is there instead.
        found: String,
    },
    /// It is what osdyno itself recorded.
    #[error("{0} is a run file; osdyno report judges it")]
    RunFile(String),
}

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
    fn add(&mut self, file: &str, line: u64, reason: impl fmt::Display) {
        self.count += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(BadLine { file: file.to_owned(), line, reason: reason.to_string() });
        }
    }
}

/// What came of the files.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Every series is a workload of its own, and the files together are the system.
    pub recording: Recording,
    /// What could not be used.
    pub bad_lines: BadLines,
    /// What else a user should know, each a sentence.
    pub remarks: Vec<String>,
}

/// Files on their way into a recording.
#[derive(Debug, Default)]
pub struct Import {
    options: Options,
    gather: Gather,
    names: Vec<String>,
    bad_lines: BadLines,
    remarks: Vec<String>,
    /// Files that each program printed: every one is a trial.
    printed: Vec<(Option<Program>, u32)>,
}

impl Import {
    /// Nothing yet.
    pub fn new(options: Options) -> Self {
        Import { options, ..Import::default() }
    }

    /// Reads one file to its end. Lines that cannot be used are kept aside, with their numbers.
    pub fn read(&mut self, name: &str, input: impl BufRead) -> Result<(), Error> {
        let unreadable = |source| Error::Read { name: name.to_owned(), source };
        self.names.push(name.to_owned());
        let mut lines = Lines::new(input);
        let Some(first) = lines.first().map_err(unreadable)? else {
            return Err(Error::Header { name: name.to_owned(), found: "is empty".into() });
        };
        if first.starts_with(ZSTD_MAGIC) || first.starts_with(RUN_LINE) {
            return Err(Error::RunFile(name.to_owned()));
        }
        let bad = &mut self.bad_lines;
        if let Some(header) = csv::Header::of(&first) {
            self.remarks.extend(header.ignored(name));
            csv::read(&header, &mut lines, &self.options, &mut self.gather, |line, reason| {
                bad.add(name, line, reason);
            })
            .map_err(unreadable)
        } else if columns::is_row(&first) {
            let program = self.options.program.or_else(|| Program::of_file(name));
            if program.is_none() {
                self.remarks.push(format!(
                    "{name}: n is the number of the line; --program says which program printed it, if one of \
                     2003 did."
                ));
            }
            let trial = trial_of(&mut self.printed, program);
            let file = columns::File { program, trial, first: &first };
            columns::read(&file, &mut lines, &self.options, &mut self.gather, |line, reason| {
                bad.add(name, line, reason);
            })
            .map_err(unreadable)
        } else {
            Err(Error::Header { name: name.to_owned(), found: csv::found_instead(&first) })
        }
    }

    /// The recording of all that was read.
    pub fn finish(self) -> Imported {
        let Import { options, gather, names, bad_lines, mut remarks, .. } = self;
        if gather.is_empty() {
            remarks.push("There is no series in it: a header, and no line that could be used.".into());
        }
        let mut warnings = Vec::new();
        if bad_lines.count > 0 {
            let (are, lines) = if bad_lines.count == 1 { ("was", "line") } else { ("were", "lines") };
            warnings.push(format!("{} {lines} {are} not used.", count(bad_lines.count)));
        }
        let recording = gather.into_recording(&crate::words::list(&names), warnings, options.unit);
        Imported { recording, bad_lines, remarks }
    }
}

const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const RUN_LINE: &[u8] = br#"{"type":"run""#;

/// The number of the next trial of a program.
fn trial_of(printed: &mut Vec<(Option<Program>, u32)>, program: Option<Program>) -> u32 {
    if let Some((_, trials)) = printed.iter_mut().find(|(of, _)| *of == program) {
        *trials += 1;
        return *trials;
    }
    printed.push((program, 1));
    1
}
