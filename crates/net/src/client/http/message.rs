//! Messages of HTTP: requests in the form that is sent, for HTTP/1.1 and HTTP/2, and the order of the paths,
//! all made once, before the load begins; and of responses the end and the content of a head, and the check
//! of status and body against the first good response of the path.

use std::ops::RangeInclusive;

use memchr::memchr;

use super::HttpClientSettings;
use crate::Error;
use crate::client::ResponseError;
use crate::http2::{OF_CONNECTIONS, Request, parse_length};

/// A header field that a user gave.
struct Field<'a> {
    /// Its text.
    text: &'a str,
    name: &'a str,
    value: &'a str,
}

impl<'a> Field<'a> {
    fn parse(text: &'a str) -> Result<Field<'a>, Error> {
        if text.bytes().any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
            return Err(refused("a field holds no control characters", text));
        }
        let (name, value) = text.split_once(':').unwrap_or_default();
        if !is_token(name) {
            return Err(refused("a field is written as Name: value", text));
        }
        Ok(Field { text, name, value: value.trim() })
    }

    fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    fn requests_close(&self) -> bool {
        self.is("Connection")
            && tokens(self.value.as_bytes()).any(|option| option.eq_ignore_ascii_case(b"close"))
    }
}

/// The fields that a user gave. Those of a file are read each time: settings, and results that have them,
/// hold the name of the file alone.
fn given_fields(settings: &HttpClientSettings) -> Result<Vec<String>, Error> {
    let mut fields = Vec::new();
    for text in &settings.fields {
        match text.strip_prefix('@') {
            Some(path) => fields.extend(fields_of_file(path)?),
            None => fields.push(text.clone()),
        }
    }
    Ok(fields)
}

/// One field in each line. An error does not repeat the line, which may hold a secret.
fn fields_of_file(path: &str) -> Result<Vec<String>, Error> {
    let refuse = |why: String| Error::Settings(format!("cannot read header fields from {path}: {why}"));
    let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let field = |(number, line): (usize, &str)| match Field::parse(line) {
        Ok(_) => Ok(line.to_owned()),
        Err(_) => Err(refuse(format!("line {} is not written as Name: value", number + 1))),
    };
    lines.map(field).collect()
}

/// Whether the fields of a user make the server close after each response.
pub(super) fn fields_request_close(settings: &HttpClientSettings) -> bool {
    let fields = given_fields(settings).unwrap_or_default();
    fields.iter().filter_map(|text| Field::parse(text).ok()).any(|field| field.requests_close())
}

/// The method: the one that was chosen, or the one that suits the other settings.
pub(super) fn method(settings: &HttpClientSettings) -> Result<&str, Error> {
    match (&settings.method, settings.head) {
        (None, true) => Ok("HEAD"),
        (None, false) if settings.body.is_some() => Ok("POST"),
        (None, false) => Ok("GET"),
        (Some(method), true) if method != "HEAD" => {
            Err(Error::Settings(format!("--head and --method {method} contradict each other")))
        }
        (Some(method), _) if method == "CONNECT" => {
            Err(Error::Settings("the method CONNECT opens a tunnel, which is no load".to_owned()))
        }
        (Some(method), _) if is_token(method) => Ok(method),
        (Some(method), _) => Err(refused("a method is a word such as PUT", method)),
    }
}

/// A request, before it has the form of a version.
struct Message<'a> {
    method: &'a str,
    /// The fields, each as `Name: value`.
    fields: Vec<String>,
    body: &'a [u8],
}

/// A request for a path, to its last byte.
pub(super) fn compose(settings: &HttpClientSettings, path: &str) -> Result<Vec<u8>, Error> {
    let Message { method, fields, body } = message(settings, path)?;
    let mut request = format!("{method} {path} HTTP/1.1\r\n");
    for field in fields {
        request.push_str(&field);
        request.push_str("\r\n");
    }
    request.push_str("\r\n");
    Ok([request.as_bytes(), body].concat())
}

/// The request for a path, in no version's form.
///
/// A field that the user gives takes the place of ours; without a value it only removes ours.
fn message<'a>(settings: &'a HttpClientSettings, path: &str) -> Result<Message<'a>, Error> {
    if !path.starts_with('/') || path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Err(refused("a path begins with / and holds neither spaces nor control characters", path));
    }
    let host = format!("Host: {}", settings.host);
    Field::parse(&host)?;
    let given = given_fields(settings)?;
    let given = given.iter().map(|text| Field::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let method = method(settings)?;
    let body = settings.body.as_ref().map_or(&[][..], |body| body.bytes());
    let mut own = vec![host, "User-Agent: osdyno".to_owned()];
    if settings.close {
        if let Some(other) = given.iter().find(|field| field.is("Connection") && !field.requests_close()) {
            let text = format!("{:?} contradicts connections for one request each", other.text);
            return Err(Error::Settings(text));
        }
        own.push("Connection: close".to_owned());
    }
    // A server expects a length where a method has a body, even if it is empty (RFC 9110, section 8.6).
    let has_body = settings.body.is_some() || matches!(method, "POST" | "PUT" | "PATCH");
    if has_body && !given.iter().any(|field| field.is("Transfer-Encoding")) {
        own.push(format!("Content-Length: {}", body.len()));
    }
    let own = own.iter().map(|text| Field::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let is_replaced = |own: &Field<'_>| given.iter().any(|field| field.is(own.name));
    let is_removal = |field: &Field<'_>| field.value.is_empty() && own.iter().any(|own| own.is(field.name));
    let kept = own.iter().filter(|own| !is_replaced(own));
    let fields = kept.chain(given.iter().filter(|field| !is_removal(field)));
    Ok(Message { method, fields: fields.map(|field| field.text.to_owned()).collect(), body })
}

/// RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let is_mark = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
}

fn refused(why: &str, text: &str) -> Error {
    Error::Settings(format!("{text:?} cannot stand in a request: {why}"))
}

/// A request of HTTP/2 for a path (RFC 9113, section 8): the same one in another form.
pub(super) fn compose_http2(
    settings: &HttpClientSettings,
    path: &str,
    is_secure: bool,
) -> Result<Request, Error> {
    let Message { method, fields, body } = message(settings, path)?;
    let field = |name: &str, value: &str| (name.to_owned(), value.trim().to_owned());
    let scheme = if is_secure { "https" } else { "http" };
    let mut head = vec![field(":method", method), field(":scheme", scheme)];
    let mut rest = Vec::new();
    for text in &fields {
        let (name, value) = text.split_once(':').unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "host" => head.push(field(":authority", value)),
            "te" if value.trim() != "trailers" => {
                return Err(refused("of HTTP/2 it may only name trailers", text));
            }
            name if OF_CONNECTIONS.contains(&name.as_bytes()) => {
                return Err(refused("HTTP/2 has no such field; leave it out", text));
            }
            name => rest.push(field(name, value)),
        }
    }
    head.push(field(":path", path));
    head.extend(rest);
    Ok(Request { fields: head, body: body.to_vec() })
}

/// A longer order is more exact than any load can show.
const TURNS_MAX: u64 = 10_000;

/// The order in which paths are requested, as their places; it is repeated. Each path has as many turns as
/// its weight says, evenly spread; without weights each has one.
pub(super) fn turns(paths: usize, weights: &[String]) -> Result<Vec<u32>, Error> {
    if weights.is_empty() {
        return Ok((0..paths as u32).collect());
    }
    let weights = parse_weights(weights)?;
    if weights.len() != paths {
        let text = format!("--weights has {} weights for {paths} paths; give one for each", weights.len());
        return Err(Error::Settings(text));
    }
    let divisor = weights.iter().copied().fold(0, greatest_common_divisor);
    let weights: Vec<u64> = weights.iter().map(|weight| weight / divisor).collect();
    let total: u64 = weights.iter().sum();
    if total > TURNS_MAX {
        let text = format!("--weights add up to {total}, and to {TURNS_MAX} at most; use smaller numbers");
        return Err(Error::Settings(text));
    }
    Ok(spread(&weights, total))
}

fn parse_weights(weights: &[String]) -> Result<Vec<u64>, Error> {
    let parts = weights.iter().flat_map(|text| text.split(',')).map(str::trim);
    let weight = |part: &str| part.parse::<u32>().ok().filter(|&weight| weight > 0).map(u64::from);
    let weights =
        parts.map(|part| weight(part).ok_or_else(|| Error::Settings(format!("{part:?} is no weight"))));
    weights.collect()
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

/// Each turn goes to the path that is furthest behind its share.
fn spread(weights: &[u64], total: u64) -> Vec<u32> {
    let mut credits = vec![0_i64; weights.len()];
    let turn = |_| {
        credits.iter_mut().zip(weights).for_each(|(credit, &weight)| *credit += weight as i64);
        let furthest = (0..credits.len()).max_by_key(|&place| (credits[place], std::cmp::Reverse(place)));
        let furthest = furthest.unwrap_or(0);
        credits[furthest] -= total as i64;
        furthest as u32
    };
    (0..total).map(turn).collect()
}

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
                    let value = parse_length(value).ok_or(ResponseError::Malformed)?;
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

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
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

    fn weighted(paths: usize, weights: &str) -> Option<Vec<u32>> {
        turns(paths, &[weights.to_owned()]).ok()
    }

    #[test]
    fn weights_are_shares_that_are_spread() {
        assert_eq!(turns(3, &[]).ok(), Some(vec![0, 1, 2]));
        assert_eq!(weighted(2, "3,1"), Some(vec![0, 0, 1, 0]));
        assert_eq!(weighted(2, "300,100"), weighted(2, "3,1"));
        assert_eq!(weighted(3, "2,2,2"), Some(vec![0, 1, 2]));
        for wrong in ["1", "1,0", "1,x", "1,2,3", "10000,1", ""] {
            assert_eq!(weighted(2, wrong), None, "{wrong}");
        }
    }

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
