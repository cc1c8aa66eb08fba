//! One file per verb.

pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod list;
pub(crate) mod report;
pub(crate) mod run;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use ::report::Findings;
use clap::ValueEnum;
use record::Recording;

use crate::console::Console;
use crate::failure::Failure;

type Done = Result<ExitCode, Failure>;

/// The form of a result on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people
    Text,
    /// For programs; docs/report.md has the fields
    Json,
}

/// Reads a run file; what is lost of it is told, and the rest is used.
fn read(path: &Path) -> Result<Recording, Failure> {
    let (recording, losses) = record::read(path)?;
    for loss in losses {
        warn(&format!("{}: {loss}", path.display()));
    }
    if recording.end.is_none() {
        warn(&format!(
            "{} has no end: the run was killed; every trial that was finished is here",
            path.display()
        ));
    }
    Ok(recording)
}

fn warn(text: &str) {
    eprintln!("warning: {}", ::report::printable(text));
}

/// Makes a file, whole or not at all: it is written under another name and then renamed.
fn write_file(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    refuse_existing(path, force)?;
    let unfinished = path.with_added_extension("unfinished");
    let attempt = || -> io::Result<()> {
        let mut out = BufWriter::new(File::create(&unfinished)?);
        write(&mut out)?;
        out.into_inner()?.sync_all()?;
        std::fs::rename(&unfinished, path)
    };
    attempt().map_err(|error| {
        let _ = std::fs::remove_file(&unfinished);
        Failure::writing(path)(error)
    })
}

fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    if path.exists() && !force { Err(Failure::Exists(path.to_owned())) } else { Ok(()) }
}

/// Whether a file can be made there: found out before time is spent on what is to stand in it.
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

/// Prints where the files are.
fn print_places(places: &[(&str, &Path)], format: Format) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    if format == Format::Text {
        for (name, path) in places {
            writeln!(out, "  {name:<9}{}", ::report::printable(&path.to_string_lossy()))?;
        }
    }
    Ok(())
}
