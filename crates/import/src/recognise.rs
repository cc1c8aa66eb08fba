//! Recognises output of other benchmarks: documents or lines of a known format, anywhere in a text.

use std::ops::Range;

use crate::documents::{self, Documents};
use crate::entries::Taken;
use crate::formats::{ALL, Format, FormatForm, Place};

/// The origin of a text.
pub(crate) enum Recognised<'a> {
    /// Of other benchmarks, each with its format.
    Read(Vec<(&'a Format, Taken)>),
    /// Perhaps of one, with its fault.
    Damaged(String),
    /// Of none.
    Nothing,
}

/// Whether a line could be of a known format, by the beginning of a file.
pub(crate) fn may_be_foreign(head: &str) -> bool {
    head.lines().any(|line| documents::is_begin(line) || of_line(line).is_some())
}

/// Reads a text. `Err` describes the content instead of times.
pub(crate) fn read(text: &str, place: &Place<'_>) -> Result<Recognised<'static>, String> {
    let documents = documents::find(text);
    let mut parts = Vec::new();
    let mut known = Vec::new();
    for (document, range) in &documents.found {
        let format = ALL.into_iter().find_map(|format| match format.form {
            FormatForm::Document { is_this, read } if is_this(document) => Some((format, read)),
            _ => None,
        });
        let Some((format, read)) = format else { continue };
        let mut taken = Taken::default();
        read(document, place, &mut taken)?;
        known.push(range.clone());
        parts.push((format, taken));
    }
    if let Some((_, taken)) = parts.first_mut() {
        taken.other_lines += lines_beside(text, &known);
        return Ok(Recognised::Read(parts));
    }
    if let Some((format, read)) = text.lines().find_map(of_line) {
        let mut taken = Taken::default();
        read(text, place, &mut taken);
        return Ok(Recognised::Read(vec![(format, taken)]));
    }
    let is_json = documents::is_begin(text);
    Ok(match documents {
        Documents { found, damage: Some(error) } if is_json && found.is_empty() => {
            Recognised::Damaged(format!("begins as JSON and is damaged: {error}"))
        }
        _ if is_json => Recognised::Damaged("is JSON of no benchmark that is known".into()),
        _ => Recognised::Nothing,
    })
}

type ReadLines = fn(&str, &Place<'_>, &mut Taken);

/// The format that a line is of.
fn of_line(line: &str) -> Option<(&'static Format, ReadLines)> {
    ALL.into_iter().find_map(|format| match format.form {
        FormatForm::Lines { is_this, read } if is_this(line) => Some((format, read)),
        _ => None,
    })
}

/// How many lines have something beside these parts of a text.
fn lines_beside(text: &str, parts: &[Range<usize>]) -> u64 {
    let lines = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count() as u64;
    let (mut at, mut beside) = (0, 0);
    for part in parts {
        beside += lines(&text[at..part.start]);
        at = part.end;
    }
    beside + lines(&text[at..])
}
