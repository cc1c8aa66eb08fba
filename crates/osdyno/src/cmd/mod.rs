//! One file per verb, and the parts that verbs share: the formats of their output, its printing, and the
//! files that they read and write.

pub(crate) mod blame;
mod command_line;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod dns;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod export;
mod gate;
pub(crate) mod hidden;
pub(crate) mod history;
pub(crate) mod hosts;
pub(crate) mod impact;
pub(crate) mod judge;
pub(crate) mod lab;
mod limits;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod mail;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod selftest;
pub(crate) mod serve;
pub(crate) mod snoop;
pub(crate) mod tune;
pub(crate) mod view;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use ::judge::Findings;
use ::judge::compare::{Comparison, Refusal};
use ::report::RunAnswer;
use ::report::document::terminal::Length;
use ::report::document::{Document, markdown_writer};
use ::report::formats::{self, BuildResults, OutputFormat};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use record::Recording;
use serde::Serialize;

use crate::console::{Console, Failure, results, tell, write_results};

type Done = Result<ExitCode, Failure>;

/// Format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table
    Text,
    /// JSON; docs/answers.md describes the fields
    Json,
    /// Markdown, for a comment or the summary of a build
    Markdown,
}

/// Format of a measurement or comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultFormat {
    /// One that every verb has.
    Shared(Format),
    /// One for a build, by its place in the list.
    Build(usize),
}

impl ValueEnum for ResultFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static VARIANTS: LazyLock<Vec<ResultFormat>> = LazyLock::new(|| {
            let shared = Format::value_variants().iter().map(|format| ResultFormat::Shared(*format));
            shared.chain((0..formats::ALL.len()).map(ResultFormat::Build)).collect()
        });
        &VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            ResultFormat::Shared(format) => format.to_possible_value(),
            ResultFormat::Build(place) => {
                formats::ALL.get(*place).map(|format| PossibleValue::new(format.name).help(format.summary))
            }
        }
    }
}

impl ResultFormat {
    /// The shared format that treats files and remarks alike: those of a build are for programs.
    fn shared(self) -> Format {
        match self {
            ResultFormat::Shared(format) => format,
            ResultFormat::Build(_) => Format::Json,
        }
    }

    /// The format of a build.
    fn build(self) -> Option<&'static OutputFormat> {
        match self {
            ResultFormat::Shared(_) => None,
            ResultFormat::Build(place) => formats::ALL.get(place),
        }
    }
}

/// Reads a run file. Damaged parts are reported, and the rest is used.
fn read(path: &Path) -> Result<Recording, Failure> {
    let (recording, losses) = record::read(path)?;
    for loss in losses {
        warn(&format!("{}: {loss}", path.display()));
    }
    if recording.end.is_none() {
        warn(&format!(
            "{} has no end: the run was killed; all trials that finished are in the file",
            path.display()
        ));
    }
    Ok(recording)
}

fn warn(text: &str) {
    tell(&format!("warning: {}", ::report::printable(text)));
}

/// Writes a file atomically: it gets its name when all of it is written. Other files than regular ones, such
/// as pipes, are written directly.
fn write_file(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    refuse_existing(path, force)?;
    // A link stays a link, to the written file.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let attempt = || -> io::Result<()> {
        if target.exists() && !target.is_file() {
            let mut out = BufWriter::new(OpenOptions::new().write(true).open(&target)?);
            write(&mut out)?;
            return out.flush();
        }
        let fill = |mut file: &File| {
            let mut out = BufWriter::new(&mut file);
            write(&mut out)?;
            out.flush()?;
            drop(out);
            file.sync_all()
        };
        match sys::file::unnamed(folder_of(&target), MODE) {
            Ok(file) => {
                fill(&file)?;
                if !target.exists() {
                    return sys::file::give_name(&file, &target);
                }
                // Only a rename replaces a file, and only a name can be renamed.
                let named =
                    unfinished().make_in(folder_of(&target), |path| sys::file::give_name(&file, path))?;
                named.persist(&target).map(drop).map_err(|error| error.error)
            }
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                let named = unfinished().tempfile_in(folder_of(&target))?;
                fill(named.as_file())?;
                named.persist(&target).map(drop).map_err(|error| error.error)
            }
            Err(error) => Err(error),
        }
    };
    attempt().map_err(Failure::writing(path))
}

/// The umask applies to the permissions, as for every file; those of a temporary file would be for its owner
/// only.
const MODE: u32 = 0o666;

/// Makes files, removed unless they get a name that stays. Their own names are like no other, because two
/// commands may write the same page at the same time.
fn unfinished() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".osdyno-").suffix(".unfinished");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(MODE));
    builder
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Measurements are never overwritten, not even with --force.
fn refuse_input(output: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    let same = |input: &&PathBuf| {
        input.canonicalize().is_ok_and(|input| output.canonicalize().is_ok_and(|o| o == input))
    };
    match inputs.iter().find(same) {
        Some(input) => {
            let text =
                format!("{} contains the measurements; choose another name with --out", input.display());
            Err(Failure::Usage(text))
        }
        None => Ok(()),
    }
}

fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    if path.exists() && !force { Err(Failure::Exists(path.to_owned())) } else { Ok(()) }
}

/// Fails if no file can be written there. Called before time is spent on its content. Where the system has
/// files without a name, the attempt makes one, so that a kill leaves nothing behind.
fn refuse_unwritable(path: &Path) -> Result<(), Failure> {
    match path.symlink_metadata() {
        Ok(_) => return Err(Failure::Exists(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(Failure::writing(path)(error)),
    }
    tempfile::tempfile_in(folder_of(path)).map(drop).map_err(Failure::writing(path))
}

/// Set by SIGINT and SIGTERM, for work that then ends in good order.
fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stop.clone()).map_err(Failure::Print)?;
    }
    Ok(stop)
}

/// The amount of findings that is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    /// One screen.
    Overview,
    /// The same, below the machine and its warnings.
    OverviewAfterMachine,
    /// All of it.
    Everything,
}

impl Detail {
    fn of(verbose: bool) -> Detail {
        if verbose { Detail::Everything } else { Detail::Overview }
    }
}

/// Prints an answer on standard output: for a program as it is, else as a document.
fn print_answer<A: Serialize>(
    answer: &A,
    document: impl FnOnce(&A) -> Document,
    extent: Length,
    format: Format,
    console: &Console,
) -> Result<(), Failure> {
    match format {
        Format::Text => Ok(console.print(&document(answer), extent)?),
        Format::Json => Ok(write_results(|out| write_json(answer, out))?),
        Format::Markdown => Ok(write_results(|out| markdown_writer::write(&document(answer), out))?),
    }
}

/// Prints the counters of a server at its end: text on standard error, like all that it says, and answers for
/// programs on standard output.
fn print_counters<A: Serialize>(
    answer: &A,
    document: impl FnOnce(&A) -> Document,
    format: Format,
    console: &Console,
) -> Result<(), Failure> {
    match format {
        Format::Text => console.tell(&document(answer)),
        Format::Json | Format::Markdown => print_answer(answer, document, Length::Short, format, console)?,
    }
    Ok(())
}

/// Writes an answer for a program.
fn write_json(answer: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, answer)?;
    writeln!(out)
}

/// Prints the findings on standard output, with the comparison of several systems: the more important ones on
/// one screen unless all are wanted.
fn print_findings(
    findings: &Findings,
    systems: Option<&Comparison>,
    gate: Option<&gate::Decided>,
    (detail, format): (Detail, ResultFormat),
    console: &Console,
) -> Result<(), Failure> {
    if let Some(format) = format.build() {
        let results = BuildResults::from_findings(findings, systems);
        return print_for_build(format, results, gate, &findings_document(findings, systems, detail));
    }
    let extent = if detail == Detail::Everything { Length::All } else { ::report::overview::SCREEN };
    let document = |_: &RunAnswer<'_>| findings_document(findings, systems, detail);
    let answer = RunAnswer { gate: gate.map(|gate| &gate.answer), ..RunAnswer::new(findings) };
    print_answer(&answer, document, extent, format.shared(), console)
}

/// The format whose document is also the summary of a step.
const GITHUB: &str = "github";
/// The variable that names the file of that summary.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The same with the decisions of the gate, and the command that repeats it.
fn gated(of: BuildResults, gate: Option<&gate::Decided>) -> BuildResults {
    BuildResults { gate: gate.map(|gate| gate.answer.clone()), repeat: command_line::to_repeat(), ..of }
}

/// Writes a measurement or comparison in a format of a build system, on standard output.
fn print_for_build(
    format: &OutputFormat,
    of: BuildResults,
    gate: Option<&gate::Decided>,
    document: &Document,
) -> Result<(), Failure> {
    let of = gated(of, gate);
    write_results(|out| (format.write)(&of, out))?;
    let Some(path) = std::env::var_os(SUMMARY).filter(|path| format.name == GITHUB && !path.is_empty())
    else {
        return Ok(());
    };
    let mut summary = Vec::new();
    if let Some(gate) = &of.gate {
        markdown_writer::write(&::report::gate::document(gate, &of.repeat), &mut summary)?;
        writeln!(summary)?;
    }
    markdown_writer::write(document, &mut summary)?;
    let path = PathBuf::from(path);
    let append = OpenOptions::new().append(true).create(true).open(&path);
    append.and_then(|mut file| file.write_all(&summary)).map_err(Failure::writing(&path))
}

fn findings_document(findings: &Findings, systems: Option<&Comparison>, detail: Detail) -> Document {
    match detail {
        Detail::Overview => ::report::overview::document(findings, systems),
        Detail::OverviewAfterMachine => ::report::overview::document_after_machine(findings, systems),
        Detail::Everything => {
            let mut document = ::report::table::document(findings);
            let systems = systems.map(::report::compare::document);
            document.blocks.extend(systems.into_iter().flat_map(|systems| systems.blocks));
            document
        }
    }
}

/// Compares the systems of a run; `None` where it has only one, or one against itself, and where they are the
/// hosts of a fleet: findings fold those.
fn compare_systems(
    recording: &Recording,
    findings: &Findings,
    file: &Path,
) -> Option<Result<Comparison, Refusal>> {
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let is_fleet = findings.fleet.is_some();
    let differ = recording.systems.len() > 1 && !is_fleet && recording.measured_noise_floor().is_none();
    differ.then(|| Comparison::of_judged(&name, recording, findings))
}

/// Prints the comparison of a system with itself.
fn print_noise_floor(recording: &Recording, format: Format, console: &Console) -> Result<(), Failure> {
    match format {
        Format::Json => Ok(()),
        Format::Text | Format::Markdown => {
            writeln!(results())?;
            let document = |_: &()| ::report::noise_floor::document(recording);
            print_answer(&(), document, Length::All, format, console)
        }
    }
}

/// Warns why the systems of a run cannot be compared.
fn warn_refused(systems: Option<&Result<Comparison, Refusal>>) {
    if let Some(Err(refusal)) = systems {
        warn(&::report::compare::refusal(refusal));
    }
}

/// Prints the paths of the files that were written.
fn print_places(places: &[(&str, &Path)], format: Format) -> Result<(), Failure> {
    match format {
        Format::Text => places.iter().try_for_each(|(name, path)| print_place(name, path)),
        Format::Json | Format::Markdown => Ok(()),
    }
}

fn print_place(name: &str, path: &Path) -> Result<(), Failure> {
    Ok(writeln!(results(), "  {name:<9}{}", path.display())?)
}
