//! JSON files of other benchmarks, which are known by their fields.

use std::io::BufRead;

use serde_json::Value;

use super::error::Error;
use super::samples::{Sample, Trials};
use super::{criterion, google_benchmark, hyperfine, lines, pytest_benchmark};

/// What a file holds, and what a trial is in it.
pub(super) fn read(path: &str, name: &str, mut input: impl BufRead) -> Result<(Vec<Sample>, Trials), Error> {
    let mut text = Vec::new();
    input.read_to_end(&mut text).map_err(Error::reading(name))?;
    let text = text.strip_prefix(lines::BOM).unwrap_or(&text);
    let unknown = |found: String| Error::Unknown { name: name.to_owned(), found };
    let document: Value = serde_json::from_slice(text)
        .map_err(|error| unknown(format!("begins as JSON and is damaged: {error}")))?;
    if google_benchmark::is_this(&document) {
        Ok((google_benchmark::read(&document), Trials::Repetitions))
    } else if pytest_benchmark::is_this(&document) {
        Ok((pytest_benchmark::read(&document), Trials::Files))
    } else if hyperfine::is_this(&document) {
        Ok((hyperfine::read(&document), Trials::Processes))
    } else if criterion::is_this(&document) {
        Ok((criterion::read(&document, path), Trials::Files))
    } else {
        Err(unknown("is JSON of no benchmark that is known".to_owned()))
    }
}
