//! `osdyno judge`: judges measurements of other programs; and how these files are read, also for `compare`.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ::report::RunAnswer;
use ::report::document::markdown_writer;
use ::report::formats::BuildResults;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use import::{BadLines, ColumnNames, Import, Imported, Options, Program};
use judge::Findings;
use record::Unit;

use super::gate::{Decided, GateArgs};
use super::{
    Detail, Done, Format, ResultFormat, gated, print_findings, print_places, refuse_existing, refuse_input,
    warn, write_file, write_json,
};
use crate::console::{Console, Failure, completion, write_results};

const FILES: &str = "\
A CSV file has a header that names the columns series, trial, n and value, and direction (up or down) \
where n goes both ways. Columns may be in any order, separated by commas, semicolons or tabs. Several \
files are read as one table; a table without a column for trials is one trial.

The output of google-benchmark, pytest-benchmark, hyperfine, criterion.rs, go test -bench, JMH, \
BenchmarkDotNet, k6, fio, pgbench, lmbench and will-it-scale is recognised by its content, wherever in the \
file that stands.

A file of bare numbers, with one line for every object that was added, is one trial; each column is a \
series. With --n \"column 1\" --value \"column 2\" it is a table.

Unusable lines are reported on standard error, entries that failed as remarks; all others are judged, and \
the exit code is 3. docs/judge.md describes all formats.";

/// Judge measurements of other programs: CSV files, or the output of other benchmarks
#[derive(clap::Args)]
#[command(after_help = FILES)]
pub(crate) struct Args {
    /// Files to read; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Output format; without it the one that the name of --out ends in, or a table
    #[arg(long, value_enum)]
    format: Option<JudgeFormat>,
    /// File to write: a page if its name ends in .html, JSON if in .json,
    /// Markdown if in .md
    ///
    /// Without this option a page goes to standard output if that is a file or a pipe; on a terminal it
    /// goes to a file named like the first input file, with .html.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long)]
    force: bool,
    /// The smallest growth that matters
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = super::report::margin)]
    margin: f64,
    #[command(flatten)]
    gate: GateArgs,
    #[command(flatten)]
    import: ImportArgs,
}

/// How files of other programs are read, by this verb and `compare`.
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
    /// The part that both share is noise, and is removed where that makes verdicts more precise.
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
        static ALL: LazyLock<Vec<Bench>> = LazyLock::new(|| Program::ALL.into_iter().map(Bench).collect());
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

/// A format of every verb, or a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JudgeFormat {
    Result(ResultFormat),
    Html,
}

const TEXT: JudgeFormat = JudgeFormat::Result(ResultFormat::Shared(Format::Text));
const JSON: JudgeFormat = JudgeFormat::Result(ResultFormat::Shared(Format::Json));
const MARKDOWN: JudgeFormat = JudgeFormat::Result(ResultFormat::Shared(Format::Markdown));

impl ValueEnum for JudgeFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<JudgeFormat>> = LazyLock::new(|| {
            let results = ResultFormat::value_variants().iter().map(|format| JudgeFormat::Result(*format));
            results.chain([JudgeFormat::Html]).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            JudgeFormat::Result(format) => format.to_possible_value(),
            JudgeFormat::Html => Some(
                PossibleValue::new("html").help("An HTML page with every point of every trial; see --out"),
            ),
        }
    }
}

pub(crate) fn judge(args: &Args, console: &Console) -> Done {
    let format = format(args)?;
    let file = file(args, format, console);
    match &file {
        Some(file) => {
            refuse_input(file, &args.files)?;
            refuse_existing(file, args.force)?;
        }
        None if args.force => {
            return Err(Failure::Usage(
                "--force overwrites a file, and none is written; --out names one".into(),
            ));
        }
        None => {}
    }
    let mut import = Import::new(args.import.options());
    for file in &args.files {
        read_into(&mut import, file)?;
    }
    let imported = import.finish().map_err(|error| import_failure(error, None))?;
    // A table ends with them.
    if format != TEXT {
        imported.remarks.iter().for_each(|remark| warn(remark));
    }
    tell_bad_lines(&imported.bad_lines);
    let findings = Findings::from_import(&imported.recording, args.margin);
    let gate = args.gate.decide(Some((&imported.recording, &findings)), None)?;
    match (format, &file) {
        (JudgeFormat::Result(of_result), None) if of_result.build().is_some() || format == TEXT => {
            print_findings(&findings, None, gate.as_ref(), (Detail::Everything, of_result), console)?;
        }
        _ => write(format, (&imported, &findings), gate.as_ref(), file.as_deref(), args.force)?,
    }
    let is_complete = imported.bad_lines.count == 0 && imported.failed == 0;
    let code = completion(is_complete);
    let of_gate = if format == TEXT { Format::Text } else { Format::Json };
    super::gate::end(gate.as_ref(), code, of_gate, console)
}

/// The requested format, or that of the output's name.
fn format(args: &Args) -> Result<JudgeFormat, Failure> {
    let of_name = match &args.out {
        None => return Ok(args.format.unwrap_or(TEXT)),
        Some(out) => match out.extension().and_then(|end| end.to_str()).map(str::to_lowercase).as_deref() {
            Some("html" | "htm") => Some(JudgeFormat::Html),
            Some("json") => Some(JSON),
            Some("md") => Some(MARKDOWN),
            _ => None,
        },
    };
    match (args.format, of_name) {
        (Some(TEXT), _) => Err(Failure::Usage(
            "--format text goes to standard output; --out is for a page, JSON or Markdown".into(),
        )),
        (Some(format), Some(of_name)) if format != of_name => {
            Err(Failure::Usage("--format and the name of --out do not agree; leave one out".into()))
        }
        (format, of_name) => format.or(of_name).ok_or_else(|| {
            Failure::Usage(
                "the name of --out ends neither in .html, .json nor .md; --format says which it is".into(),
            )
        }),
    }
}

/// Writes a page, JSON or Markdown, to a file or to standard output.
fn write(
    format: JudgeFormat,
    (imported, findings): (&Imported, &Findings),
    gate: Option<&Decided>,
    file: Option<&Path>,
    force: bool,
) -> Result<(), Failure> {
    let write = |out: &mut dyn Write| match format {
        JudgeFormat::Html => ::report::html::write(&imported.recording, findings, None, out),
        JSON => {
            let gate = gate.map(|gate| &gate.answer);
            write_json(&RunAnswer { gate, ..RunAnswer::of_files(findings, &imported.files) }, out)
        }
        MARKDOWN => markdown_writer::write(&::report::table::document(findings), out),
        JudgeFormat::Result(other) => match other.build() {
            Some(format) => (format.write)(&gated(BuildResults::from_findings(findings, None), gate), out),
            None => Ok(()),
        },
    };
    match file {
        Some(file) => {
            write_file(file, force, write)?;
            print_places(
                &[(if format == JudgeFormat::Html { "report" } else { "answer" }, file)],
                Format::Text,
            )
        }
        None => Ok(write_results(write)?),
    }
}

/// The path of the output; `None` for standard output.
fn file(args: &Args, format: JudgeFormat, console: &Console) -> Option<PathBuf> {
    let of_first = || match args.files.first() {
        Some(first) if !is_standard_input(first) => first.with_extension("html"),
        _ => PathBuf::from("judge.html"),
    };
    let is_page = format == JudgeFormat::Html;
    args.out.clone().or_else(|| (is_page && console.terminal).then(of_first))
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
pub(super) fn read_into(import: &mut Import, path: &Path) -> Result<(), Failure> {
    let done = if is_standard_input(path) {
        import.read("standard input", io::stdin().lock())
    } else {
        let open = File::open(path)
            .map_err(|source| import::Error::Read { name: path.display().to_string(), source });
        let beside = |name: &str| fs::read(path.with_file_name(name)).ok();
        open.and_then(|file| {
            let file = BufReader::with_capacity(1 << 16, file);
            import.read_beside(&path.to_string_lossy(), file, &beside)
        })
    };
    done.map_err(|error| import_failure(error, Some(path).filter(|path| !is_standard_input(path))))
}

/// An error for a user, with the path as it was given: a folder can be opened, and then not read.
pub(super) fn import_failure(error: import::Error, path: Option<&Path>) -> Failure {
    match (error, path) {
        (import::Error::Read { source, .. }, Some(path)) => {
            Failure::Refused(import::Error::Read { name: path.display().to_string(), source }.to_string())
        }
        (error @ import::Error::Read { .. }, None) => Failure::Refused(error.to_string()),
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
