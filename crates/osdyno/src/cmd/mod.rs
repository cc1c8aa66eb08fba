//! One file per verb.

pub(crate) mod compare;
pub(crate) mod completions;
mod declared;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod janitor;
pub(crate) mod judge;
pub(crate) mod list;
#[cfg(unix)]
pub(crate) mod load;
#[cfg(not(unix))]
#[path = "load/elsewhere.rs"]
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod selftest;
pub(crate) mod serve;

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::judge::Findings;
use clap::ValueEnum;
use record::Recording;

use crate::console::{Console, tell};
use crate::failure::Failure;

type Done = Result<ExitCode, Failure>;

/// Format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table
    Text,
    /// JSON; docs/report.md describes the fields
    Json,
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

/// Writes a file atomically: it is written under another name and then renamed. What is not a regular file,
/// such as a pipe, is written directly.
fn write_file(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    refuse_existing(path, force)?;
    // A link stays a link, to what is written.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let attempt = || -> io::Result<()> {
        if target.exists() && !target.is_file() {
            let mut out = BufWriter::new(OpenOptions::new().write(true).open(&target)?);
            write(&mut out)?;
            return out.flush();
        }
        let unfinished = target.with_added_extension("unfinished");
        remove_leftover(&unfinished)?;
        let mut out = BufWriter::new(OpenOptions::new().write(true).create_new(true).open(&unfinished)?);
        let written = write(&mut out).and_then(|()| out.into_inner()?.sync_all());
        let written = written.and_then(|()| std::fs::rename(&unfinished, &target));
        written.inspect_err(|_| drop(std::fs::remove_file(&unfinished)))
    };
    attempt().map_err(Failure::writing(path))
}

/// Removes what a process left that was killed while it wrote.
fn remove_leftover(unfinished: &Path) -> io::Result<()> {
    match std::fs::remove_file(unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
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

/// Fails if no file can be written there. Called before time is spent on its content.
fn refuse_unwritable(path: &Path) -> Result<(), Failure> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(Failure::writing(path))?;
    std::fs::remove_file(path).map_err(Failure::writing(path))
}

/// Prints the findings on standard output.
fn print(findings: &Findings, format: Format, console: &Console) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match format {
        Format::Text => ::report::table::write(findings, &console.style, &mut out)?,
        Format::Json => ::report::json::write(findings, &mut out)?,
    }
    Ok(out.flush()?)
}

/// Prints the paths of the files that were written.
fn print_places(places: &[(&str, &Path)], format: Format) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    if format == Format::Text {
        for (name, path) in places {
            writeln!(out, "  {name:<9}{}", ::report::printable(&path.to_string_lossy()))?;
        }
    }
    Ok(())
}
