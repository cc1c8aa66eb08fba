//! Recognises output of other benchmarks: documents or lines of a known format, anywhere in a text. Programs
//! print other lines before and behind JSON documents.

use std::ops::Range;

use serde_json::{Deserializer, Value};

use crate::formats::{ALL, Format, FormatForm, Place, ReadLines};
use crate::outcome::Taken;

/// So many lines of a text are tried as the beginning of a document.
const ATTEMPTS_MAX: usize = 1000;

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
    head.lines().any(|line| is_begin(line) || of_line(line).is_some())
}

/// Reads a text. `Err` describes the content instead of times.
pub(crate) fn read(text: &str, place: &Place<'_>) -> Result<Recognised<'static>, String> {
    let documents = find_documents(text);
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
    let is_json = is_begin(text);
    Ok(match documents {
        Documents { found, damage: Some(error) } if is_json && found.is_empty() => {
            Recognised::Damaged(format!("begins as JSON and is damaged: {error}"))
        }
        _ if is_json => Recognised::Damaged("is JSON of no benchmark that is known".into()),
        _ => Recognised::Nothing,
    })
}

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

#[derive(Debug, Default)]
struct Documents {
    /// Each document, and where it stands.
    found: Vec<(Value, Range<usize>)>,
    /// Why the first line that begins like a document begins none.
    damage: Option<String>,
}

/// Whether a line may begin a document.
fn is_begin(line: &str) -> bool {
    line.trim_start().starts_with(['{', '['])
}

/// All documents that begin a line.
fn find_documents(text: &str) -> Documents {
    let mut documents = Documents::default();
    let (mut at, mut attempts) = (0, 0);
    while let Some(line) = text.get(at..).and_then(|rest| rest.split_inclusive('\n').next()) {
        let next = at + line.len();
        if !is_begin(line) || attempts == ATTEMPTS_MAX {
            at = next;
            continue;
        }
        attempts += 1;
        let begin = at + line.len() - line.trim_start().len();
        match parse_document(&text[begin..]) {
            Ok((value, length)) => {
                documents.found.push((value, begin..begin + length));
                at = begin + length;
            }
            Err(error) => {
                documents.damage.get_or_insert(error);
                at = next;
            }
        }
    }
    documents
}

/// The document that a text begins with, and its length.
fn parse_document(text: &str) -> Result<(Value, usize), String> {
    strictly(text).or_else(|error| {
        let finite = without_not_finite(text);
        if finite == text { Err(error) } else { strictly(&finite).map_err(|_| error) }
    })
}

fn strictly(text: &str) -> Result<(Value, usize), String> {
    let mut documents = Deserializer::from_str(text).into_iter::<Value>();
    match documents.next() {
        Some(Ok(value)) => Ok((value, documents.byte_offset())),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("it is empty".into()),
    }
}

/// The text with an empty string for every number that is not finite, such as `NaN`, `-inf` and `Infinity`,
/// which are not JSON, but are written by google-benchmark and Python. All other text keeps its place.
fn without_not_finite(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut in_string) = (0, false);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'-' | b'+' | b'a'..=b'z' | b'A'..=b'Z' if !in_string => {
                let word = &bytes[at..];
                let length = word.iter().take_while(|byte| is_of_word(**byte)).count();
                if is_not_finite(&word[..length]) {
                    bytes[at..at + length].fill(b' ');
                    bytes[at..at + 2].fill(b'"');
                }
                at += length - 1;
            }
            _ => {}
        }
        at += 1;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'+' | b'(' | b')')
}

fn is_not_finite(word: &[u8]) -> bool {
    let word = word.strip_prefix(b"-").or(word.strip_prefix(b"+")).unwrap_or(word).to_ascii_lowercase();
    // With the payload that the C library of Windows adds: `nan(ind)`.
    matches!(word.as_slice(), b"nan" | b"inf" | b"infinity") || word.starts_with(b"nan(")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<Value> {
        find_documents(text).found.into_iter().map(|(value, _)| value).collect()
    }

    #[test]
    fn a_document_is_found_behind_and_before_other_lines() {
        let json = "{\"a\": [1,\n2]}";
        let wanted = serde_json::json!({"a": [1, 2]});
        for text in [
            json.to_owned(),
            format!("starting\n[warning] of a log\n  {json} done\n"),
            format!("{{ no JSON\n{json}\n"),
        ] {
            assert_eq!(values(&text), std::slice::from_ref(&wanted), "{text}");
        }
        assert_eq!(values(&format!("{json}\n{json}")).len(), 2);
        assert_eq!(values("a {\"b\": 1}"), [] as [Value; 0]);
        assert!(find_documents("{\"a\": [1,").damage.is_some_and(|error| error.contains("EOF")));
    }

    #[test]
    fn numbers_that_are_not_finite_are_no_numbers_and_no_damage() {
        for word in ["NaN", "nan", "-nan", "inf", "-inf", "Infinity", "-Infinity", "-nan(ind)"] {
            let text = format!("{{\"cost\": {word}, \"name\": \"a {word} \\\" b\", \"n\": -1e3}}");
            let found = &values(&text)[0];
            assert_eq!(found["cost"].as_f64(), None, "{word}");
            assert_eq!((&found["name"], &found["n"]), (&format!("a {word} \" b").into(), &(-1e3).into()));
        }
        assert_eq!(values("{\"a\": nothing}"), [] as [Value; 0]);
    }
}
