//! `osdyno judge`: judges measurements of other programs.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::report::import::{BadLines, ColumnNames, Error, Import, Options, Program};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use judge::Findings;
use record::Unit;

use super::{
    Detail, Done, Format, print_findings, print_places, refuse_existing, refuse_input, warn, write_file,
};
use crate::console::Console;
use crate::failure::{Failure, INCOMPLETE};

const FILES: &str = "\
A CSV file has a header that names the columns series, trial, n and value, and direction (up or down) \
where n goes both ways. Columns may be in any order, separated by commas, semicolons or tabs. Several \
files are read as one table; a table without a column for trials is one trial.

The output of google-benchmark, hyperfine, pytest-benchmark (JSON), criterion.rs (raw.csv, sample.json) and \
go test -bench (text) is recognised by its content.

A file of bare numbers, with one line for every object that was added, is one trial; each column is a series.

Unusable lines are reported on standard error; all other lines are judged, and the exit code is 3. \
docs/judge.md describes all formats.";

/// Judge measurements of other programs: CSV files, or the output of other benchmarks
#[derive(clap::Args)]
#[command(after_help = FILES)]
pub(crate) struct Args {
    /// Files to read; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: JudgeFormat,
    /// HTML page to write with --format html
    ///
    /// Without this option the page goes to standard output if that is a file or a pipe; on a terminal it
    /// goes to a file named like the first input file, with .html.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite the page
    #[arg(long)]
    force: bool,
    /// The smallest growth that matters
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = super::report::parse_percent)]
    margin: f64,
    /// Unit of the values; without a unit they are printed as bare numbers
    #[arg(long, value_enum, default_value = "none")]
    unit: FileUnit,
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
    /// Column with the number of objects
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
enum JudgeFormat {
    /// A table
    Text,
    /// JSON; docs/report.md describes the fields
    Json,
    /// An HTML page with every point of every trial; see --out
    Html,
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

pub(crate) fn judge(args: &Args, console: &Console) -> Done {
    let page = if args.format == JudgeFormat::Html { page(args, console) } else { None };
    if let Some(page) = &page {
        refuse_input(page, &args.files)?;
        refuse_existing(page, args.force)?;
    }
    let (unit, scale) = args.unit.unit_and_scale();
    let program = args.program.map(|Bench(program)| program);
    let columns = ColumnNames {
        series: args.series.clone(),
        trial: args.trial.clone(),
        reference: args.reference.clone(),
        n: args.n.clone(),
        value: args.value.clone(),
    };
    let mut import = Import::new(Options { scale, unit, from: args.from, program, columns });
    for file in &args.files {
        read(&mut import, file)?;
    }
    let imported = import.finish();
    imported.remarks.iter().for_each(|remark| warn(remark));
    tell_bad_lines(&imported.bad_lines);
    let recording = &imported.recording;
    let findings = Findings::of_import(recording, args.margin / 100.0);
    match args.format {
        JudgeFormat::Text => print_findings(&findings, None, Detail::Everything, Format::Text, console)?,
        JudgeFormat::Json => print_findings(&findings, None, Detail::Everything, Format::Json, console)?,
        JudgeFormat::Html => match &page {
            Some(page) => {
                write_file(page, args.force, |out| ::report::html::write(recording, &findings, None, out))?;
                print_places(&[("report", page)], Format::Text)?;
            }
            None => {
                let mut out = BufWriter::new(io::stdout().lock());
                ::report::html::write(recording, &findings, None, &mut out)?;
                out.flush()?;
            }
        },
    }
    Ok(if imported.bad_lines.count == 0 { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) })
}

/// Where the page is to stand; `None` for standard output.
fn page(args: &Args, console: &Console) -> Option<PathBuf> {
    let of_first = || match args.files.first() {
        Some(first) if !is_standard_input(first) => first.with_extension("html"),
        _ => PathBuf::from("judge.html"),
    };
    args.out.clone().or_else(|| console.terminal.then(of_first))
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn read(import: &mut Import, path: &Path) -> Result<(), Failure> {
    let done = if is_standard_input(path) {
        import.read("standard input", io::stdin().lock())
    } else {
        let open =
            File::open(path).map_err(|source| Error::Read { name: path.display().to_string(), source });
        open.and_then(|file| import.read(&path.to_string_lossy(), BufReader::with_capacity(1 << 16, file)))
    };
    done.map_err(|error| match error {
        // The path as it was given: a folder is opened, and only then cannot be read.
        Error::Read { source, .. } if !is_standard_input(path) => {
            Failure::Refused(Error::Read { name: path.display().to_string(), source }.to_string())
        }
        Error::Read { .. } => Failure::Refused(error.to_string()),
        Error::Header { .. } | Error::Separator { .. } | Error::Unknown { .. } | Error::RunFile(_) => {
            Failure::Usage(error.to_string())
        }
    })
}

fn tell_bad_lines(bad: &BadLines) {
    bad.named.iter().for_each(|line| warn(&line.to_string()));
    let more = bad.count - bad.named.len() as u64;
    if more > 0 {
        warn(&format!("{more} more lines cannot be used"));
    }
}
