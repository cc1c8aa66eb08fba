//! `osdyno judge`: judges measurements of other programs.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;

use ::report::RunAnswer;
use ::report::document::markdown_writer;
use ::report::formats::BuildResults;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use import::{Import, Imported};
use judge::Findings;

use super::formats::{self, ResultFormat};
use super::gate::{Decided, GateArgs};
use super::measurements::{ImportArgs, failure, is_standard_input, read, tell_bad_lines};
use super::{
    Detail, Done, Format, print_findings, print_places, refuse_existing, refuse_input, warn, write_file,
    write_json,
};
use crate::console::{Console, results};
use crate::failure::{Failure, INCOMPLETE};

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
        read(&mut import, file)?;
    }
    let imported = import.finish().map_err(|error| failure(error, None))?;
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
    let code = if is_complete { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) };
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
            Some(format) => {
                (format.write)(&formats::gated(BuildResults::from_findings(findings, None), gate), out)
            }
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
        None => {
            let mut out = BufWriter::new(results());
            write(&mut out)?;
            Ok(out.flush()?)
        }
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
