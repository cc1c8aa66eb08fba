//! Where the result of a load goes: to the terminal, and to files in the formats that their names say.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use report::Style;

use super::args::{Args, LoadFormat};
use super::result::LoadResult;
use super::{credentials, csv, json, page, text};
use crate::cmd::{print_place, refuse_existing, warn, write_file};
use crate::console::{Console, results};
use crate::failure::Failure;

/// What is written where.
pub(super) struct Outputs {
    format: LoadFormat,
    files: Vec<(PathBuf, FileFormat)>,
    force: bool,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileFormat {
    Page,
    Text,
    Json,
    Csv,
    HdrLog,
}

impl FileFormat {
    /// The format that the name of a file says.
    fn from_name(path: &Path) -> Result<FileFormat, Failure> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        Ok(match ending.as_deref() {
            Some("html" | "htm") => FileFormat::Page,
            Some("json") => FileFormat::Json,
            Some("csv") => FileFormat::Csv,
            Some("txt") => FileFormat::Text,
            Some("hlog") => FileFormat::HdrLog,
            _ => {
                return Err(Failure::Usage(format!(
                    "the name {} says no format: end it in .html (a page), .json, .csv, .txt or .hlog (an \
                     HdrHistogram log)",
                    path.display()
                )));
            }
        })
    }
}

impl Outputs {
    /// Refuses, before time is spent on them, files that could not be written.
    pub(super) fn new(args: &Args) -> Result<Outputs, Failure> {
        let named = |path: &PathBuf| Ok((path.clone(), FileFormat::from_name(path)?));
        let mut files = args.out.iter().map(named).collect::<Result<Vec<_>, Failure>>()?;
        files.extend(args.hdr.iter().map(|path| (path.clone(), FileFormat::HdrLog)));
        for (path, _) in &files {
            refuse_existing(path, args.force)?;
        }
        Ok(Outputs { format: args.format, files, force: args.force })
    }

    /// Writes the files.
    pub(super) fn write(&self, result: &LoadResult<'_>) -> Result<(), Failure> {
        for (path, format) in &self.files {
            write_file(path, self.force, |out| match format {
                FileFormat::Page => page::write(result, out),
                FileFormat::Text => text::write(result, &Style::default(), out),
                FileFormat::Json => json::write(result, out),
                FileFormat::Csv => csv::write(result, out),
                FileFormat::HdrLog => net::load::write_interval_log(&result.measured.levels, out),
            })?;
            if *format == FileFormat::Json {
                warn_of_credentials(result, &path.display().to_string());
            }
        }
        Ok(())
    }

    /// Prints the result, and which files have it.
    pub(super) fn print(&self, result: &LoadResult<'_>, console: &Console) -> Result<(), Failure> {
        let mut out = BufWriter::new(results());
        match self.format {
            LoadFormat::Text => text::write(result, &console.style, &mut out)?,
            LoadFormat::Json => json::write(result, &mut out)?,
            LoadFormat::Csv => csv::write(result, &mut out)?,
        }
        out.flush()?;
        if self.format == LoadFormat::Json && !console.terminal {
            warn_of_credentials(result, "the JSON on standard output");
        }
        for (path, format) in self.files.iter().filter(|_| self.format == LoadFormat::Text) {
            print_place(name_of(*format), path)?;
        }
        Ok(())
    }
}

fn name_of(format: FileFormat) -> &'static str {
    match format {
        FileFormat::Page => "page",
        FileFormat::HdrLog => "log",
        FileFormat::Text | FileFormat::Json | FileFormat::Csv => "result",
    }
}

/// Says where credentials of the command line can be read from now on.
fn warn_of_credentials(result: &LoadResult<'_>, place: &str) {
    let names = credentials::names(result.settings);
    if !names.is_empty() {
        warn(&format!(
            "{place} holds the value of {}; others may read it there, and in the list of processes: put the \
             field into a file, and name that with -H @FILE",
            names.join(" and ")
        ));
    }
}
