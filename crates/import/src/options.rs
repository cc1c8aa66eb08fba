//! How a file of numbers is to be read.

use record::{Direction, Unit};

/// How the numbers are to be read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Factor from a value of the file to the unit.
    pub scale: f64,
    /// The unit of values after that; `None` if unknown.
    pub unit: Option<Unit>,
    /// Smaller n are left out.
    pub from: u64,
    /// The program that printed files without a header; recognised by the name of the file if `None`.
    pub program: Option<Program>,
    /// Names of the columns of a table.
    pub columns: ColumnNames,
}

/// The names of the columns of a table; `None` for the usual ones.
#[derive(Clone, Debug, Default)]
pub struct ColumnNames {
    /// The column with the name of the series.
    pub series: Option<String>,
    /// The column with the number or the name of the trial.
    pub trial: Option<String>,
    /// The column with the number of objects; in a file of another benchmark the part of names that is n.
    pub n: Option<String>,
    /// The column with the cost.
    pub value: Option<String>,
    /// The column with the cost of an operation that cannot depend on n, measured beside the other.
    pub reference: Option<String>,
}

impl ColumnNames {
    /// Those that are given.
    pub(crate) fn all(&self) -> impl Iterator<Item = &String> {
        [&self.series, &self.trial, &self.n, &self.value, &self.reference].into_iter().flatten()
    }

    /// The options for columns that only a table has.
    pub(crate) fn of_tables(&self) -> Vec<&'static str> {
        let options = [
            ("--series", &self.series),
            ("--trial", &self.trial),
            ("--value", &self.value),
            ("--reference", &self.reference),
        ];
        options.into_iter().filter(|(_, name)| name.is_some()).map(|(option, _)| option).collect()
    }
}

impl Default for Options {
    fn default() -> Self {
        Options { scale: 1.0, unit: None, from: 0, program: None, columns: ColumnNames::default() }
    }
}

/// A bench program of 2003.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `socket bind`, while sockets pile up.
    Bindbench,
    /// `fork`, while processes pile up, and the end of one, from the oldest on: its first line has all
    /// alive.
    Forkbench,
    /// The same, linked statically.
    Forksbench,
    /// `thread`, while threads pile up.
    Pthreadbench,
    /// `mmap touch`, while mappings of one file pile up.
    Mmapbench,
    /// `open mmap touch`, while open and mapped files pile up.
    Manymapbench,
    /// `clat CONNECT`, while idle connections pile up, and `sample CONNECT REQUEST` between.
    Httpbench,
}

impl Program {
    /// All of them; where one name holds another, the longer one first.
    pub const ALL: [Program; 7] = [
        Program::Manymapbench,
        Program::Mmapbench,
        Program::Forksbench,
        Program::Forkbench,
        Program::Pthreadbench,
        Program::Bindbench,
        Program::Httpbench,
    ];

    /// Its name, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Program::Bindbench => "bindbench",
            Program::Forkbench => "forkbench",
            Program::Forksbench => "forksbench",
            Program::Pthreadbench => "pthreadbench",
            Program::Mmapbench => "mmapbench",
            Program::Manymapbench => "manymapbench",
            Program::Httpbench => "httpbench",
        }
    }

    /// The program whose name is in the name of a file, or its name without `bench`.
    pub(crate) fn of_file(path: &str) -> Option<Program> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_lowercase();
        let names = |program: &Program| name.contains(program.name());
        let hints = |program: &Program| name.contains(program.name().trim_end_matches("bench"));
        Program::ALL.into_iter().find(names).or_else(|| Program::ALL.into_iter().find(hints))
    }

    /// Its columns, with the direction of n in each.
    pub(crate) fn columns(self) -> &'static [(&'static str, Direction)] {
        use Direction::{Down, Up};
        match self {
            Program::Bindbench => &[("socket", Up), ("bind", Up)],
            Program::Forkbench | Program::Forksbench => &[("fork", Up), ("reap", Down)],
            Program::Pthreadbench => &[("thread", Up)],
            Program::Mmapbench => &[("mmap", Up), ("touch", Up)],
            Program::Manymapbench => &[("open", Up), ("mmap", Up), ("touch", Up)],
            Program::Httpbench => &[],
        }
    }
}
