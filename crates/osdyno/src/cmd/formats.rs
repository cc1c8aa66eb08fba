//! `--format` of measurements and comparisons: the formats of every verb, and those that build systems read.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};

use ::report::document::{Document, markdown_writer};
use ::report::formats::{ALL, BuildResults, OutputFormat};
use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::Format;
use super::gate::Decided;
use crate::console::results;
use crate::failure::Failure;

/// Format of a measurement or comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultFormat {
    /// One that every verb has.
    Shared(Format),
    /// One for a build, by its place in the list.
    Build(usize),
}

/// Formats that every verb has.
const SHARED: [Format; 3] = [Format::Text, Format::Json, Format::Markdown];

impl ValueEnum for ResultFormat {
    fn value_variants<'a>() -> &'a [Self] {
        const VARIANTS: [ResultFormat; SHARED.len() + ALL.len()] = {
            let mut variants = [ResultFormat::Build(0); SHARED.len() + ALL.len()];
            let mut place = 0;
            while place < variants.len() {
                variants[place] = match place < SHARED.len() {
                    true => ResultFormat::Shared(SHARED[place]),
                    false => ResultFormat::Build(place - SHARED.len()),
                };
                place += 1;
            }
            variants
        };
        &VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            ResultFormat::Shared(format) => format.to_possible_value(),
            ResultFormat::Build(place) => {
                ALL.get(*place).map(|format| PossibleValue::new(format.name).help(format.summary))
            }
        }
    }
}

impl ResultFormat {
    /// The shared format that treats files and remarks alike: those of a build are for programs.
    pub(crate) fn shared(self) -> Format {
        match self {
            ResultFormat::Shared(format) => format,
            ResultFormat::Build(_) => Format::Json,
        }
    }

    /// The format of a build.
    pub(crate) fn build(self) -> Option<&'static OutputFormat> {
        match self {
            ResultFormat::Shared(_) => None,
            ResultFormat::Build(place) => ALL.get(place),
        }
    }
}

/// The format whose document is also the summary of a step.
const GITHUB: &str = "github";
/// The variable that names the file of that summary.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The same with the decisions of the gate, and the command that repeats it.
pub(crate) fn gated(of: BuildResults, gate: Option<&Decided>) -> BuildResults {
    BuildResults {
        gate: gate.map(|gate| gate.answer.clone()),
        repeat: super::command_line::to_repeat(),
        ..of
    }
}

/// Writes a measurement or comparison in a format of a build system, on standard output.
pub(crate) fn print(
    format: &OutputFormat,
    of: BuildResults,
    gate: Option<&Decided>,
    document: &Document,
) -> Result<(), Failure> {
    let of = gated(of, gate);
    let mut out = BufWriter::new(results());
    (format.write)(&of, &mut out)?;
    out.flush()?;
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
    let path = std::path::PathBuf::from(path);
    let append = OpenOptions::new().append(true).create(true).open(&path);
    append.and_then(|mut file| file.write_all(&summary)).map_err(Failure::writing(&path))
}
