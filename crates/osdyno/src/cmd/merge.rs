//! `osdyno merge`: joins run files that were fetched from hosts into one run of a fleet.

use std::path::{Path, PathBuf};

use ::report::document::terminal::Length;
use ::report::document::{Document, Names, Text, Tone};
use ::report::words::things;
use record::{MergeError, MergeInput, Merged, MergedFile};
use serde::Serialize;

use super::{Done, Format, command_line, print_answer, print_places, refuse_input, warn};
use crate::console::{Console, Failure, completion};

/// Join run files of several hosts into one run of a fleet
///
/// Each file becomes a host that is called like the file. A file with several systems becomes a host with
/// several configurations, and a file that is a fleet already keeps its hosts. The run is read by report,
/// compare and export like one of osdyno run --hosts.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run file to write; it must not exist
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// Run files, one for each host; NAME= gives a host another name than that of its file
    #[arg(value_name = "[NAME=]FILE", required = true)]
    files: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// The answer of `merge`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct MergeAnswer {
    /// Version of this answer.
    schema: u32,
    /// Run file that was written.
    run: String,
    /// How many trials.
    trials: usize,
    /// Run files that were joined.
    files: Vec<MergedFileAnswer>,
}

/// A run file that was joined with others.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct MergedFileAnswer {
    /// Its path.
    file: String,
    /// Its hosts.
    hosts: Vec<String>,
    /// How many trials.
    trials: usize,
    /// Whether its run ended by itself.
    has_end: bool,
    /// Parts that could not be read, in words.
    lost: Vec<String>,
}

/// Version of the answer.
const SCHEMA: u32 = 1;

pub(crate) fn merge(args: &Args, console: &Console) -> Done {
    let inputs: Vec<MergeInput> = args.files.iter().map(|text| input(text)).collect::<Result<_, _>>()?;
    let paths: Vec<PathBuf> = inputs.iter().map(|input| input.path.clone()).collect();
    refuse_input(&args.out, &paths)?;
    let command = command_line::recorded_in(&args.out, &[]);
    let merged = record::merge(&args.out, &inputs, command).map_err(|error| match error {
        MergeError::File(error) => Failure::Record(error),
        other => Failure::Refused(other.to_string()),
    })?;
    for file in &merged.files {
        file.losses.iter().for_each(|loss| warn(&format!("{}: {loss}", file.path.display())));
        if !file.has_end {
            warn(&format!("{} has no end: its run was killed", file.path.display()));
        }
    }
    let answer = MergeAnswer::new(&args.out, &merged);
    print_answer(&answer, document, Length::All, args.format, console)?;
    print_places(&[("run", &args.out)], args.format)?;
    let is_whole = merged.files.iter().all(|file| file.losses.is_empty() && file.has_end);
    Ok(completion(is_whole))
}

/// A file, with the name of its host before it or in it. A file may have `=` in its own name.
fn input(text: &str) -> Result<MergeInput, Failure> {
    let (host, path) = match text.split_once('=') {
        Some((host, path)) if !Path::new(text).exists() => (Some(host), path),
        _ => (None, text),
    };
    let path = PathBuf::from(path);
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let is_named = host.is_some();
    let host = host.map(str::to_owned).or(stem).unwrap_or_default();
    if host.is_empty() || ::report::printable(&host) != host {
        let text = format!("{text:?} names no host; name one, as in n1={}", path.display());
        return Err(Failure::Usage(text));
    }
    Ok(MergeInput { path, host, is_named })
}

impl MergeAnswer {
    fn new(out: &Path, merged: &Merged) -> MergeAnswer {
        let file = |file: &MergedFile| MergedFileAnswer {
            file: file.path.display().to_string(),
            hosts: file.hosts.clone(),
            trials: file.trials,
            has_end: file.has_end,
            lost: file.losses.iter().map(ToString::to_string).collect(),
        };
        MergeAnswer {
            schema: SCHEMA,
            run: out.display().to_string(),
            trials: merged.trials,
            files: merged.files.iter().map(file).collect(),
        }
    }
}

fn document(answer: &MergeAnswer) -> Document {
    let hosts: Vec<String> = answer.files.iter().flat_map(|file| file.hosts.clone()).collect();
    let mut document = Document::default();
    let counts = format!(
        "{} in {}, from {}",
        things(answer.trials, "trial", "trials"),
        things(hosts.len(), "host", "hosts"),
        things(answer.files.len(), "file", "files")
    );
    document.say(Text::toned(counts, Tone::Strong));
    document.push(Names { label: "Hosts".into(), items: hosts, behind: String::new(), lines_max: 2 });
    document
}
