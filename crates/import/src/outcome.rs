//! The outcome of reading a file: entries with names and times and those that are left out, lines that cannot
//! be used, or why it cannot be read at all.

use std::collections::HashMap;
use std::{fmt, io};

use record::words::{count, list};
use serde::Serialize;

use crate::name::Name;

/// So many bad lines, or names left out of a file, are reported one by one; the others are counted.
pub const NAMED_MAX: usize = 20;
/// Why values with a small n are left out.
const BELOW: &str = "--from";

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

    pub(crate) fn too_large(name: &str, reason: &str) -> Error {
        Error::Unknown { name: name.to_owned(), found: format!("is too large: {reason}") }
    }
}

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

/// Values of one benchmark: times, if its name has no other figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) name: Name,
    pub(crate) values: Vec<f64>,
}

/// Which of the times of a file make one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trials {
    /// Each time comes from a process of its own.
    Processes,
    /// Each entry comes from a process of its own, and its times are parts of one measurement.
    Entries,
    /// Each time is a repetition in one process; the program was started once.
    Repetitions,
    /// All times are parts of one measurement in one process.
    Files,
}

impl Trials {
    /// A remark for the user about files with such trials.
    pub(crate) fn remark(self) -> &'static str {
        match self {
            Trials::Processes => "; each time is of a process, and a trial",
            Trials::Entries => "; a process is a trial",
            Trials::Repetitions => {
                "; repetitions in one process count as trials. Differences between processes, such as \
                 the placement of memory, are not in the intervals: files of ten executions have them"
            }
            Trials::Files => {
                "; the times of a file come from one process, so it is one trial of each series. Ten files \
                 are recommended"
            }
        }
    }
}

/// An entry, with facts of its file.
#[derive(Debug)]
pub(crate) struct FileEntry {
    pub(crate) file: usize,
    pub(crate) format: &'static str,
    pub(crate) trials: Trials,
    pub(crate) entry: Entry,
}

/// The result of reading a file.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) entries: Vec<Entry>,
    /// Values that cannot be judged, by name, with the reason.
    pub(crate) left_out: Vec<(String, String)>,
    /// Figures that the program computed of others, such as means.
    pub(crate) computed: u64,
    /// How many of them should have been judged.
    pub(crate) failed: u64,
    /// Lines that cannot be used, with their numbers.
    pub(crate) bad_lines: Vec<(u64, String)>,
    /// Lines without a result.
    pub(crate) other_lines: u64,
    /// Other remarks for the user.
    pub(crate) remarks: Vec<String>,
}

impl Taken {
    /// Takes values, or leaves out those that are none.
    pub(crate) fn take(&mut self, name: Name, values: impl IntoIterator<Item = Result<f64, String>>) {
        let mut taken = Vec::new();
        for value in values {
            match value {
                Ok(value) if value.is_finite() => taken.push(value),
                Ok(_) => self.leave_out(&name.text, "it has no finite value"),
                Err(reason) => self.leave_out(&name.text, reason),
            }
        }
        if !taken.is_empty() {
            self.entries.push(Entry { name, values: taken });
        }
    }

    /// Leaves out an entry that failed, or that has no time where one is expected.
    pub(crate) fn leave_out(&mut self, name: &str, reason: impl Into<String>) {
        self.failed += 1;
        self.pass_over(name, reason);
    }

    /// Leaves out an entry that is not judged and did not fail.
    pub(crate) fn pass_over(&mut self, name: &str, reason: impl Into<String>) {
        self.left_out.push((name.to_owned(), reason.into()));
    }

    /// Times that are judged.
    pub(crate) fn values(&self) -> u64 {
        self.entries.iter().map(|entry| entry.values.len() as u64).sum()
    }
}

/// A file that was read, with counts of its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileRead {
    /// The file.
    pub file: String,
    /// Its format.
    pub format: &'static str,
    /// Those that are judged.
    pub values: u64,
    /// Figures that its program computed.
    ///
    /// They are not judged.
    pub computed: u64,
    /// Lines that could not be used.
    pub bad_lines: u64,
    /// Lines before, between and behind the results.
    pub other_lines: u64,
    /// Values that are not judged.
    pub left_out: Vec<LeftOut>,
}

/// Values of one name that are not judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Of how many.
    pub of: u64,
    /// The reasons.
    pub reasons: Vec<String>,
}

impl FileRead {
    pub(crate) fn new(file: &str, format: &'static str) -> FileRead {
        FileRead {
            file: file.to_owned(),
            format,
            values: 0,
            computed: 0,
            bad_lines: 0,
            other_lines: 0,
            left_out: Vec::new(),
        }
    }

    pub(crate) fn from_taken(file: &str, format: &'static str, taken: &Taken) -> FileRead {
        let mut judged: HashMap<&str, u64> = HashMap::new();
        for entry in &taken.entries {
            *judged.entry(&entry.name.text).or_default() += entry.values.len() as u64;
        }
        let mut left_out: Vec<LeftOut> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (name, reason) in &taken.left_out {
            let at = *places.entry(name).or_insert_with(|| {
                let of = judged.get(name.as_str()).copied().unwrap_or_default();
                left_out.push(LeftOut { name: name.clone(), count: 0, of, reasons: Vec::new() });
                left_out.len() - 1
            });
            let group = &mut left_out[at];
            (group.count, group.of) = (group.count + 1, group.of + 1);
            if !group.reasons.contains(reason) {
                group.reasons.push(reason.clone());
            }
        }
        let (computed, other_lines) = (taken.computed, taken.other_lines);
        FileRead { values: taken.values(), computed, other_lines, left_out, ..FileRead::new(file, format) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values + self.computed + self.bad_lines == 0 && self.left_out.is_empty()
    }

    /// Leaves out values because their n is small.
    pub(crate) fn leave_out_below(&mut self, from: u64, n: u64) {
        if n > 0 {
            let reasons = vec![BELOW.to_owned()];
            self.left_out.push(LeftOut { name: format!("n < {from}"), count: n, of: n, reasons });
        }
    }

    /// Leaves out all that was to be judged.
    pub(crate) fn leave_out_all(&mut self, name: &str, reason: &str) {
        let n = std::mem::take(&mut self.values);
        let reasons = vec![reason.to_owned()];
        self.left_out.push(LeftOut { name: name.to_owned(), count: n, of: n, reasons });
    }

    /// How many values are.
    pub(crate) fn below(&self) -> u64 {
        self.left_out.iter().filter(|group| group.reasons == [BELOW]).map(|group| group.count).sum()
    }

    /// The values left out, a sentence for each name.
    pub(crate) fn remarks(&self) -> impl Iterator<Item = String> {
        let file = &self.file;
        let named = self.left_out.iter().take(NAMED_MAX);
        let more: Vec<String> =
            self.left_out.iter().skip(NAMED_MAX).map(|group| group.name.clone()).collect();
        let more = (!more.is_empty()).then(|| {
            format!("{file}: {} more names are left out, such as {}.", count(more.len() as u64), more[0])
        });
        named.map(move |group| format!("{file}: {}", group.sentence())).chain(more)
    }
}

impl LeftOut {
    fn sentence(&self) -> String {
        let LeftOut { name, count: n, of, reasons } = self;
        let are = if *n == 1 { "is" } else { "are" };
        let which = match (*n, *of) {
            (1, 1) => format!("{name} "),
            (n, of) if n == of => format!("{name}: all {} ", count(n)),
            (n, of) => format!("{name}: {} of {} ", count(n), count(of)),
        };
        format!("{which}{are} left out: {}.", reasons.join("; "))
    }
}

/// Names of files, few of them.
pub(crate) fn files(names: &[String]) -> String {
    match names {
        [first, others @ ..] if !others.is_empty() && others.iter().all(|other| other == first) => {
            format!("{} files {first}", names.len())
        }
        [first, _, _, _, ..] => format!("{first} and {} more files", names.len() - 1),
        names => list(names),
    }
}

/// Seconds of a unit's name.
pub(crate) fn seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "s" | "sec" | "second" => 1.0,
        "ms" | "msec" => 1e-3,
        "us" | "µs" | "μs" | "usec" => 1e-6,
        "ns" | "nsec" => 1e-9,
        "ps" => 1e-12,
        _ => return None,
    })
}
