//! JSON documents, wherever they begin in a text: programs print other lines before and behind them.

use std::ops::Range;

use serde_json::{Deserializer, Value};

/// So many lines of a text are tried as the beginning of a document.
const ATTEMPTS_MAX: usize = 1000;

/// The documents in a text.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    /// Each document, and where it stands.
    pub(crate) found: Vec<(Value, Range<usize>)>,
    /// Why the first line that begins like a document begins none.
    pub(crate) damage: Option<String>,
}

/// Whether a line may begin a document.
pub(crate) fn is_begin(line: &str) -> bool {
    line.trim_start().starts_with(['{', '['])
}

/// All documents that begin a line.
pub(crate) fn find(text: &str) -> Documents {
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
        match parse(&text[begin..]) {
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
fn parse(text: &str) -> Result<(Value, usize), String> {
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
        find(text).found.into_iter().map(|(value, _)| value).collect()
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
        assert!(find("{\"a\": [1,").damage.is_some_and(|error| error.contains("EOF")));
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
