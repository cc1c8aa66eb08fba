//! Measurements of other programs as input of a verb: the options that say how to read them, and the reading.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use import::{BadLines, ColumnNames, Error, Import, Options, Program};
use record::Unit;

use super::warn;
use crate::failure::Failure;

/// How files of other programs are read.
#[derive(clap::Args)]
#[command(next_help_heading = "Files of other programs")]
pub(super) struct ImportArgs {
    /// Unit of the values; without a unit they are printed as bare numbers
    #[arg(long, value_enum)]
    unit: Option<FileUnit>,
    /// Leave out measurements below this n, where caches are still cold
    #[arg(long, value_name = "N", default_value_t = 0)]
    from: u64,
    /// Program that printed the bare numbers, if the file name does not contain its name
    #[arg(long, value_name = "PROGRAM")]
    program: Option<Bench>,
    /// Column of a table with the names of the series
    #[arg(long, value_name = "COLUMN")]
    series: Option<String>,
    /// Column with the numbers or names of the trials; without one each file is a trial
    #[arg(long, value_name = "COLUMN")]
    trial: Option<String>,
    /// Column with the number of objects; for other benchmarks, the part of names that is n
    #[arg(long, value_name = "COLUMN")]
    n: Option<String>,
    /// Column with the cost
    #[arg(long, value_name = "COLUMN")]
    value: Option<String>,
    /// Column with the cost of an operation that cannot depend on n, measured beside the other
    ///
    /// What both share is noise, and is removed where that makes verdicts more precise.
    #[arg(long, value_name = "COLUMN")]
    reference: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FileUnit {
    /// Seconds
    S,
    /// Milliseconds
    Ms,
    /// Microseconds
    Us,
    /// Nanoseconds
    Ns,
    /// Anything else
    None,
}

impl FileUnit {
    /// The unit of the output, and the factor that converts a value to it.
    fn unit_and_scale(self) -> (Unit, f64) {
        match self {
            FileUnit::S => (Unit::Seconds, 1.0),
            FileUnit::Ms => (Unit::Seconds, 1e-3),
            FileUnit::Us => (Unit::Seconds, 1e-6),
            FileUnit::Ns => (Unit::Seconds, 1e-9),
            FileUnit::None => (Unit::None, 1.0),
        }
    }
}

/// The programs of 2003, by their names.
#[derive(Clone, Copy, Debug)]
struct Bench(Program);

impl ValueEnum for Bench {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [Bench; Program::ALL.len()] = {
            let mut all = [Bench(Program::Bindbench); Program::ALL.len()];
            let mut i = 0;
            while i < all.len() {
                all[i] = Bench(Program::ALL[i]);
                i += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()))
    }
}

impl ImportArgs {
    /// Whether any of the options stands on the command line.
    pub(super) fn is_given(&self) -> bool {
        let columns = [&self.series, &self.trial, &self.n, &self.value, &self.reference];
        columns.into_iter().any(Option::is_some)
            || self.unit.is_some()
            || self.from > 0
            || self.program.is_some()
    }

    /// How the files are to be read.
    pub(super) fn options(&self) -> Options {
        let unit = self.unit.map(FileUnit::unit_and_scale);
        let columns = ColumnNames {
            series: self.series.clone(),
            trial: self.trial.clone(),
            reference: self.reference.clone(),
            n: self.n.clone(),
            value: self.value.clone(),
        };
        Options {
            scale: unit.map_or(1.0, |(_, scale)| scale),
            unit: unit.map(|(unit, _)| unit),
            from: self.from,
            program: self.program.map(|Bench(program)| program),
            columns,
        }
    }
}

/// Whether a file is the standard input of osdyno.
pub(super) fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether a file is a run of osdyno. Standard input is taken as measurements of another program.
pub(super) fn is_run_file(path: &Path) -> Result<bool, Failure> {
    if is_standard_input(path) {
        return Ok(false);
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut head));
    read.map_err(|source| Failure::Refused(format!("cannot read {}: {source}", path.display())))?;
    Ok(import::is_run_file(&head))
}

/// Reads one more file.
pub(super) fn read(import: &mut Import, path: &Path) -> Result<(), Failure> {
    let done = if is_standard_input(path) {
        import.read("standard input", io::stdin().lock())
    } else {
        let open =
            File::open(path).map_err(|source| Error::Read { name: path.display().to_string(), source });
        let beside = |name: &str| fs::read(path.with_file_name(name)).ok();
        open.and_then(|file| {
            let file = BufReader::with_capacity(1 << 16, file);
            import.read_beside(&path.to_string_lossy(), file, &beside)
        })
    };
    done.map_err(|error| failure(error, Some(path).filter(|path| !is_standard_input(path))))
}

/// An error for a user, with the path as it was given: a folder can be opened, and then not read.
pub(super) fn failure(error: Error, path: Option<&Path>) -> Failure {
    match (error, path) {
        (Error::Read { source, .. }, Some(path)) => {
            Failure::Refused(Error::Read { name: path.display().to_string(), source }.to_string())
        }
        (error @ Error::Read { .. }, None) => Failure::Refused(error.to_string()),
        (error, _) => Failure::Usage(error.to_string()),
    }
}

/// Warns of lines that cannot be used.
pub(super) fn tell_bad_lines(bad: &BadLines) {
    bad.named.iter().for_each(|line| warn(&line.to_string()));
    let more = bad.count - bad.named.len() as u64;
    if more > 0 {
        warn(&format!("{more} more lines cannot be used"));
    }
}
