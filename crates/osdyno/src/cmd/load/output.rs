//! The destinations of a load's result: the terminal, and files in the formats of their names.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use ::report::Style;
use ::report::document::terminal::{self, Length};
use ::report::document::{markdown_writer, page};
use net::load::LoadSettings;
use serde_json::Value;

use super::answer::LoadAnswer;
use super::args::{Args, LoadFormat};
use super::csv;
use crate::cmd::limits;
use crate::cmd::{print_place, refuse_existing, warn, write_file, write_json};
use crate::console::{Console, results};
use crate::failure::Failure;

/// The files to write.
pub(super) struct Outputs {
    format: LoadFormat,
    files: Vec<(PathBuf, FileFormat)>,
    force: bool,
}

/// The content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileFormat {
    Page,
    Text,
    Json,
    Csv,
    Markdown,
    HdrLog,
}

impl FileFormat {
    /// The format by the name of a file.
    fn from_name(path: &Path) -> Result<FileFormat, Failure> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        Ok(match ending.as_deref() {
            Some("html" | "htm") => FileFormat::Page,
            Some("json") => FileFormat::Json,
            Some("csv") => FileFormat::Csv,
            Some("md") => FileFormat::Markdown,
            Some("txt") => FileFormat::Text,
            Some("hlog") => FileFormat::HdrLog,
            _ => {
                return Err(Failure::Usage(format!(
                    "the name {} says no format: end it in .html (a page), .json, .csv, .md, .txt or .hlog \
                     (an HdrHistogram log)",
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
    pub(super) fn write(&self, answer: &LoadAnswer) -> Result<(), Failure> {
        let levels = answer.levels.iter().map(|judged| &judged.level);
        for (path, format) in &self.files {
            write_file(path, self.force, |out| match format {
                FileFormat::Page => page::write(&answer.document(), out),
                FileFormat::Text => {
                    terminal::write(&answer.document(), Length::Short, &Style::default(), out)
                }
                FileFormat::Json => write_json(answer, out),
                FileFormat::Csv => csv::write(answer, out),
                FileFormat::Markdown => markdown_writer::write(&answer.document(), out),
                FileFormat::HdrLog => net::load::write_interval_log(levels.clone(), out),
            })?;
            if *format == FileFormat::Json {
                warn_of_credentials(answer, &path.display().to_string());
            }
        }
        Ok(())
    }

    /// Prints the answer, and which files have it.
    pub(super) fn print(&self, answer: &LoadAnswer, console: &Console) -> Result<(), Failure> {
        let mut out = BufWriter::new(results());
        match self.format {
            LoadFormat::Text => console.print(&answer.document(), Length::Short)?,
            LoadFormat::Json => write_json(answer, &mut out)?,
            LoadFormat::Csv => csv::write(answer, &mut out)?,
            LoadFormat::Markdown => markdown_writer::write(&answer.document(), &mut out)?,
        }
        out.flush()?;
        if self.format == LoadFormat::Json && !console.terminal {
            warn_of_credentials(answer, "the JSON on standard output");
        }
        for (path, format) in self.files.iter().filter(|_| self.format == LoadFormat::Text) {
            print_place(name_of(*format), path)?;
        }
        Ok(())
    }
}

impl Outputs {
    /// Prints the decisions on limits, the last lines of the verb; beside output for a program, on standard
    /// error.
    pub(super) fn print_limits(&self, answer: &LoadAnswer, console: &Console) -> Result<(), Failure> {
        if answer.limits.is_empty() {
            return Ok(());
        }
        let repeat: Vec<String> =
            command().iter().skip(1).map(|word| ::report::shell::quoted(word)).collect();
        let document = limits::document(&answer.limits, &format!("osdyno {}", repeat.join(" ")));
        match self.format {
            LoadFormat::Text => console.print(&document, Length::All)?,
            _ => console.tell(&document),
        }
        Ok(())
    }
}

fn name_of(format: FileFormat) -> &'static str {
    match format {
        FileFormat::Page => "page",
        FileFormat::HdrLog => "log",
        FileFormat::Text | FileFormat::Json | FileFormat::Csv | FileFormat::Markdown => "result",
    }
}

/// Warns where credentials of the command line can be read from now on.
fn warn_of_credentials(answer: &LoadAnswer, place: &str) {
    let names = names_of_credentials(&answer.settings);
    if !names.is_empty() {
        warn(&format!(
            "{place} holds the value of {}; others may read it there, and in the list of processes: put the \
             field into a file, and name that with -H @FILE",
            names.join(" and ")
        ));
    }
}

/// The command line, without the values of its header fields, which may be credentials.
pub(super) fn command() -> Vec<String> {
    let mut is_header = false;
    let shown = |word: String| {
        let is_value = std::mem::replace(&mut is_header, matches!(word.as_str(), "-H" | "--header"));
        let attached = ["--header=", "-H"].iter().any(|name| word.starts_with(name) && word != *name);
        match word.split_once(':') {
            Some((name, _)) if is_value || attached => format!("{name}: …"),
            _ => word,
        }
    };
    std::env::args().map(shown).collect()
}

/// Fields of RFC 9110 and RFC 6265, and parts of names that others use, as in `X-Api-Key`.
const SECRET: [&str; 6] = ["authorization", "cookie", "key", "token", "secret", "password"];

/// The names of the fields on the command line whose values give access.
fn names_of_credentials(settings: &LoadSettings) -> Vec<String> {
    let client = serde_json::to_value(&settings.client).unwrap_or_default();
    let fields = client.pointer("/settings/fields").and_then(Value::as_array).cloned().unwrap_or_default();
    let name = |field: &Value| field.as_str()?.split_once(':').map(|(name, _)| name.to_owned());
    fields.iter().filter_map(name).filter(|name| is_secret(name)).collect()
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    !name.starts_with('@') && SECRET.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_give_access_are_known() {
        for name in ["Authorization", "proxy-authorization", "Cookie", "X-Api-Key", "X-Auth-Token"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["Host", "Accept", "@token", "User-Agent"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
