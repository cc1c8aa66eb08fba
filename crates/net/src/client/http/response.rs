//! Responses: the end and the content of a head, and the check of status and body against the first good
//! response of the path.

use std::ops::RangeInclusive;

use memchr::memchr;

use crate::Error;
use crate::client::ResponseError;

/// Where the head ends, behind its empty line, if that comes after `from`.
pub fn head_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = memchr(b'\n', &bytes[at..]) {
        at += found + 1;
        match bytes.get(at..)? {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
    None
}

/// The content of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// How the end of the body is found.
    pub framing: Framing,
    /// The server closes the connection behind the body.
    pub last: bool,
}

/// How the end of the body is found (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// It is the end of the connection.
    #[default]
    UntilClose,
    /// The length of the body in bytes.
    Length(u64),
    /// Each piece is preceded by its length.
    Chunked,
}

impl Head {
    /// Reads a head, with its empty line or without.
    ///
    /// # Errors
    /// [`ResponseError::Malformed`].
    pub fn parse(head: &[u8]) -> Result<Head, ResponseError> {
        let mut lines =
            head.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let (minor, status) = parse_status_line(lines.next().unwrap_or_default())?;
        let (mut length, mut coded, mut chunked) = (None, false, false);
        let (mut close, mut keep) = (false, false);
        for line in lines.filter(|line| !line.is_empty()) {
            let colon = memchr(b':', line).ok_or(ResponseError::Malformed)?;
            let (name, value) = (&line[..colon], &line[colon + 1..]);
            if name.eq_ignore_ascii_case(b"content-length") {
                for value in tokens(value) {
                    let value = parse_length(value)?;
                    if length.is_some_and(|length| length != value) {
                        return Err(ResponseError::Malformed);
                    }
                    length = Some(value);
                }
            } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
                for coding in tokens(value) {
                    coded = true;
                    chunked = coding.eq_ignore_ascii_case(b"chunked");
                }
            } else if name.eq_ignore_ascii_case(b"connection") {
                close |= tokens(value).any(|option| option.eq_ignore_ascii_case(b"close"));
                keep |= tokens(value).any(|option| option.eq_ignore_ascii_case(b"keep-alive"));
            }
        }
        let framing = match (coded, chunked, length) {
            (true, true, _) => Framing::Chunked,
            (false, _, Some(length)) => Framing::Length(length),
            _ => Framing::UntilClose,
        };
        Ok(Head { status, framing, last: close || (minor == b'0' && !keep) })
    }
}

/// The minor version and the status.
fn parse_status_line(line: &[u8]) -> Result<(u8, u16), ResponseError> {
    let rest = line.strip_prefix(b"HTTP/1.").ok_or(ResponseError::Malformed)?;
    match *rest {
        [minor @ (b'0' | b'1'), b' ', a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', ref rest @ ..]
            if matches!(rest, [] | [b' ', ..]) =>
        {
            let digit = |byte: u8| u16::from(byte - b'0');
            Ok((minor, digit(a) * 100 + digit(b) * 10 + digit(c)))
        }
        _ => Err(ResponseError::Malformed),
    }
}

pub(super) fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

fn parse_length(value: &[u8]) -> Result<u64, ResponseError> {
    if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
        return Err(ResponseError::Malformed);
    }
    Ok(value.iter().fold(0, |number, byte| number * 10 + u64::from(byte - b'0')))
}

/// The status and the body of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) status: u16,
    pub(super) body: Body,
}

/// The properties by which bodies are compared. Where bodies are not compared, all of them are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) length: u64,
    pub(super) crc: u32,
}

/// Statuses that are right.
#[derive(Clone, Debug)]
pub(super) struct Statuses(Vec<RangeInclusive<u16>>);

impl Statuses {
    /// Reads texts such as `200`, `2xx` and `200,304`. An empty list is every success.
    pub(super) fn parse(texts: &[String]) -> Result<Statuses, Error> {
        let parts = texts.iter().flat_map(|text| text.split(',')).map(str::trim);
        let ranges = parts.map(|part| {
            parse_status(part).ok_or_else(|| {
                Error::Settings(format!("{part:?} is no status; write 200, 2xx, or a list such as 200,304"))
            })
        });
        let ranges = ranges.collect::<Result<Vec<_>, _>>()?;
        Ok(Statuses(if ranges.is_empty() { vec![200..=299] } else { ranges }))
    }

    fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }
}

fn parse_status(text: &str) -> Option<RangeInclusive<u16>> {
    let class = text.strip_suffix("xx").or_else(|| text.strip_suffix("XX"));
    let (first, last) = match class {
        Some(class) => {
            let first = class.parse::<u16>().ok()?.checked_mul(100)?;
            (first, first.checked_add(99)?)
        }
        None => (text.parse().ok()?, text.parse().ok()?),
    };
    // Other statuses are interim, or none.
    (first >= 200 && last <= 999).then_some(first..=last)
}

/// The fault of a response, compared with `known`, if it has one: the first right response of its status is
/// kept there.
#[cold]
pub(super) fn compare(known: &mut Vec<Seen>, statuses: &Statuses, seen: Seen) -> Option<ResponseError> {
    if !statuses.contains(seen.status) {
        return Some(ResponseError::Status(seen.status));
    }
    match known.iter().find(|known| known.status == seen.status) {
        Some(known) => (known.body != seen.body).then_some(ResponseError::Content),
        None => {
            known.push(seen);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_numbers_and_classes() {
        let contains = |text: &str, status| Statuses::parse(&[text.to_owned()]).unwrap().contains(status);
        assert!(contains("2xx", 200) && contains("2xx", 299) && !contains("2xx", 300));
        assert!(contains("200, 404", 404) && !contains("200,404", 204));
        assert!(Statuses::parse(&[]).unwrap().contains(204));
        for wrong in ["", "ok", "20", "1xx", "100", "70000", "200,", "xx", "99xx", "655xx"] {
            assert!(Statuses::parse(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
