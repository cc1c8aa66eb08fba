//! One line of the stream as text.

use std::io;

use serde::{Deserialize, Deserializer};
use thiserror::Error;

use crate::{Line, Trial, rules};

/// Most bytes of a line that is not a series. Such lines become trees, which may take thirty times the memory
/// of their text, and their content is short.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// Why a text is not a [`Line`].
#[derive(Debug, Error)]
pub enum LineError {
    /// A line of a type that this version does not know; readers skip it.
    #[error("unknown line type {0:?}")]
    Unknown(String),
    /// Not a series, and longer than [`LINE_BYTES_MAX`].
    #[error("a line of {0} bytes that is not a series")]
    TooLong(usize),
    /// Not JSON, or not the fields of its type.
    #[error("not a line of a record: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Several lines of text.
    #[error("a line of a record over several lines of text")]
    Several,
    /// Its fields contradict a rule of the format; which line, and which rule.
    #[error("{0}")]
    Broken(String),
}

/// Writes one line as JSON, with its line feed.
///
/// Floats get their shortest form that reads back as the same value; those that are not finite have no
/// form in JSON, become `null`, and are refused on reading.
///
/// # Errors
/// Those of `out`.
pub fn write_line(line: &Line, out: &mut impl io::Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// A line with its text, if it was received: unless it is changed, it is written as it came.
#[derive(Clone, Debug)]
pub struct SentLine {
    line: Line,
    text: Option<Vec<u8>>,
}

impl SentLine {
    /// Reads a line that was sent without a line feed.
    ///
    /// # Errors
    /// Those of [`parse_line`], and [`LineError::Several`].
    pub fn parse(text: Vec<u8>) -> Result<SentLine, LineError> {
        let line = parse_bytes(&text)?;
        if text.contains(&b'\n') {
            return Err(LineError::Several);
        }
        Ok(SentLine { line, text: Some(text) })
    }

    /// The line.
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// The line, to be changed.
    pub fn line_mut(&mut self) -> &mut Line {
        self.text = None;
        &mut self.line
    }

    /// The trial, to be changed, where this is its own line.
    pub fn trial_mut(&mut self) -> Option<&mut Trial> {
        match self.line {
            Line::Trial(_) => match self.line_mut() {
                Line::Trial(trial) => Some(trial),
                _ => None,
            },
            _ => None,
        }
    }

    /// Writes it with a line feed.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl io::Write) -> io::Result<()> {
        match &self.text {
            Some(text) => {
                out.write_all(text)?;
                out.write_all(b"\n")
            }
            None => write_line(&self.line, out),
        }
    }
}

impl From<Line> for SentLine {
    fn from(line: Line) -> SentLine {
        SentLine { line, text: None }
    }
}

impl From<SentLine> for Line {
    fn from(sent: SentLine) -> Line {
        sent.line
    }
}

/// Reads one line of JSON; a line feed at its end does no harm.
///
/// # Errors
/// [`LineError::Unknown`] for a type of line that this version does not know, [`LineError::TooLong`],
/// [`LineError::Malformed`], [`LineError::Broken`].
pub fn parse_line(text: &str) -> Result<Line, LineError> {
    parse_bytes(text.as_bytes())
}

/// [`parse_line`] for bytes that are perhaps not UTF-8.
pub(crate) fn parse_bytes(text: &[u8]) -> Result<Line, LineError> {
    let line = parse_fields(text)?;
    rules::check(&line).map_err(LineError::Broken)?;
    Ok(line)
}

/// The line, whatever its fields say.
///
/// Serde would first copy a tagged line into a tree to look for its tag, which takes a long series twice
/// the time and five times the memory. The tag is therefore looked up first, the body read after.
fn parse_fields(text: &[u8]) -> Result<Line, LineError> {
    let scanned;
    let tag = match leading_tag(text) {
        Some(tag) => tag,
        None => {
            scanned = serde_json::from_slice::<Tag>(text)?.name;
            scanned.as_bytes()
        }
    };
    Ok(match tag {
        b"series" => Line::Series(serde_json::from_slice(text)?),
        b"run" | b"system" | b"workload" | b"trial" | b"generator" | b"limited" | b"histogram"
        | b"profile" | b"judged" | b"noise-floor" | b"end"
            if text.len() > LINE_BYTES_MAX =>
        {
            return Err(LineError::TooLong(text.len()));
        }
        b"run" => Line::Run(serde_json::from_slice(text)?),
        b"system" => Line::System(serde_json::from_slice(text)?),
        b"workload" => Line::Workload(serde_json::from_slice(text)?),
        b"trial" => Line::Trial(serde_json::from_slice(text)?),
        b"generator" => Line::Generator(serde_json::from_slice(text)?),
        b"limited" => Line::Limited(serde_json::from_slice(text)?),
        b"histogram" => Line::Histogram(serde_json::from_slice(text)?),
        b"profile" => Line::Profile(serde_json::from_slice(text)?),
        b"judged" => Line::Judged(serde_json::from_slice(text)?),
        b"noise-floor" => Line::NoiseFloor(serde_json::from_slice(text)?),
        b"end" => Line::End(serde_json::from_slice(text)?),
        // Damage also looks like an unknown type; only valid JSON is a line of a later version.
        _ => return Err(LineError::Unknown(serde_json::from_slice::<Tag>(text)?.name)),
    })
}

/// Our own writer puts the tag first in the line. Other tools, such as `jq -S`, sort the keys.
fn leading_tag(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(br#"{"type":""#)?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    let tag = &rest[..end];
    tag.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'-').then_some(tag)
}

/// Any line, as far as its type.
#[derive(Deserialize)]
struct Tag {
    #[serde(rename = "type")]
    name: String,
}

/// Reads a seed that other tools may have changed. It has 64 bits, and `jq` before 1.7 rounds it to a double,
/// perhaps beyond 64 bits. The seed is then lost, but the rest of the file need not be.
pub(crate) fn seed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Seed {
        Exact(u64),
        Rounded(f64),
    }
    Ok(match Seed::deserialize(deserializer)? {
        Seed::Exact(seed) => seed,
        Seed::Rounded(seed) => seed as u64,
    })
}
