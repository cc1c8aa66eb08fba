//! Numbers that were measured elsewhere, as a recording: what judges our own runs then judges them.
//!
//! [`Import::read`] takes one file after another, and [`Import::finish`] makes the recording. The first line
//! of a file says what it is: a table with a header, the columns of numbers that a bench program of 2003
//! printed, or the output of another benchmark, each with a file of its own here. `docs/judge.md` is the
//! specification for users.

mod columns;
mod criterion;
mod csv;
mod documents;
mod error;
mod fields;
mod gather;
mod go_bench;
mod google_benchmark;
mod header;
mod hyperfine;
mod lines;
mod options;
mod pytest_benchmark;
mod samples;

use std::fmt;
use std::io::BufRead;

use record::{Recording, Unit};

pub use error::Error;
pub use gather::SERIES_MAX;
pub use lines::LINE_BYTES_MAX;
pub use options::{ColumnNames, Options, Program};

use crate::words::count;
use gather::Gather;
use header::Header;
use lines::Lines;
use samples::{Counted, Sample, Trials as SampleTrials};

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
    trials: csv::Trials,
    /// Tables of which each is a trial.
    files_as_trials: u32,
    counted: Counted,
    /// Whether files of other benchmarks were read, which are in seconds, and files in the unit of the user.
    seconds: bool,
    bare: bool,
}

impl Import {
    /// Nothing yet.
    pub fn new(options: Options) -> Self {
        Import { options, ..Import::default() }
    }

    /// Reads one file to its end. Lines that cannot be used are kept aside, with their numbers. The name is
    /// shown; where it is a path, its folders may name a benchmark.
    pub fn read(&mut self, path: &str, mut input: impl BufRead) -> Result<(), Error> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        self.names.push(name.to_owned());
        let begin = input.fill_buf().map_err(Error::reading(name))?;
        let begin = begin.strip_prefix(lines::BOM).unwrap_or(begin).trim_ascii_start();
        if begin.starts_with(ZSTD_MAGIC) || begin.starts_with(RUN_LINE) {
            return Err(Error::RunFile(name.to_owned()));
        }
        if begin.starts_with(b"{") {
            let (samples, trials) = documents::read(path, name, input)?;
            return self.add(name, &samples, trials);
        }
        let mut lines = Lines::new(input);
        let Some(first) = lines.first().map_err(Error::reading(name))? else {
            return Err(Error::Header { name: name.to_owned(), found: "is empty".into() });
        };
        let bad = &mut self.bad_lines;
        if criterion::is_header(&first) {
            let read = criterion::read_table(&mut lines, |line, reason| bad.add(name, line, reason));
            return self.add(name, &read.map_err(Error::reading(name))?, SampleTrials::Files);
        }
        if go_bench::is_first_line(&first) {
            let samples = go_bench::read(&mut lines).map_err(Error::reading(name))?;
            return self.add(name, &samples, SampleTrials::Repetitions);
        }
        if columns::is_row(&first) {
            return self.read_columns(name, &first, &mut lines);
        }
        let header = Header::of(&first, &self.options.columns)
            .map_err(|found| Error::Header { name: name.to_owned(), found })?;
        self.read_table(name, &header, &mut lines)
    }

    /// A table with a header.
    fn read_table(
        &mut self,
        name: &str,
        header: &Header,
        lines: &mut Lines<impl BufRead>,
    ) -> Result<(), Error> {
        self.bare = true;
        self.remarks.extend(header.ignored(name));
        if header.trial.is_none() {
            self.files_as_trials += 1;
            self.remarks
                .push(format!("{name} is one trial: no column names trials; --trial says which does."));
        }
        let into = csv::Into {
            gather: &mut self.gather,
            trials: &mut self.trials,
            file_trial: self.files_as_trials,
        };
        let bad = &mut self.bad_lines;
        csv::read(name, header, lines, &self.options, into, |line, reason| bad.add(name, line, reason))
    }

    /// The columns of a bench program of 2003.
    fn read_columns(
        &mut self,
        name: &str,
        first: &[u8],
        lines: &mut Lines<impl BufRead>,
    ) -> Result<(), Error> {
        self.bare = true;
        let program = self.options.program.or_else(|| Program::of_file(name));
        if program.is_none() {
            self.remarks.push(format!(
                "{name}: n is the number of the line; --program says which program printed it, if one of \
                 2003 did."
            ));
        }
        let trial = trial_of(&mut self.printed, program);
        let file = columns::File { program, trial, first };
        let bad = &mut self.bad_lines;
        let add = |line, reason: &str| bad.add(name, line, reason);
        columns::read(&file, lines, &self.options, &mut self.gather, add).map_err(Error::reading(name))
    }

    /// Values of another program, which are in seconds.
    fn add(&mut self, name: &str, samples: &[Sample], trials: SampleTrials) -> Result<(), Error> {
        self.seconds = true;
        if samples.iter().all(|sample| sample.seconds.is_empty()) {
            return Err(Error::Unknown { name: name.to_owned(), found: "has no times in it".into() });
        }
        self.remarks.extend(trials.remark(name));
        self.counted.add(samples, trials, &self.options, &mut self.gather).map_err(|reason| Error::Unknown {
            name: name.to_owned(),
            found: format!("is too large: {reason}"),
        })
    }

    /// The recording of all that was read.
    pub fn finish(mut self) -> Imported {
        let unit = if self.seconds { Unit::Seconds } else { self.options.unit };
        if self.seconds && self.bare && self.options.unit != Unit::Seconds {
            self.remarks.push(
                "Some of the files are in seconds, and others have no unit; give it with --unit.".into(),
            );
        }
        let Import { gather, names, bad_lines, mut remarks, .. } = self;
        if gather.is_empty() {
            remarks.push("There is no series in it: a header, and no line that could be used.".into());
        }
        let mut warnings = Vec::new();
        if bad_lines.count > 0 {
            let (are, lines) = if bad_lines.count == 1 { ("was", "line") } else { ("were", "lines") };
            warnings.push(format!("{} {lines} {are} not used.", count(bad_lines.count)));
        }
        let recording = gather.into_recording(&crate::words::list(&names), warnings, unit);
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
