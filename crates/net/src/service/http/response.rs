//! Responses: the part of a page that is wanted (preconditions, ranges and codings: RFC 9110, sections 12 to
//! 14), pages that were made ready, short responses written on the spot, their dates, and the lines of the
//! access log.

use std::cell::Cell;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use super::files::{Entry, Miss};
use super::page::{Body, DATE_AT, Page, Version};
use super::request::{Fields, Method, Request, decimal};
use crate::output::Output;

/// The response, for the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) body_bytes: u64,
}

/// Whether the connection stays, and whether the response must say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Staying {
    /// The default of HTTP/1.1.
    Stays,
    /// As a client of HTTP/1.0 requested.
    IsKept,
    Ends,
}

impl Staying {
    pub(super) fn from_request(request: &Request<'_>) -> Staying {
        match (request.keep, request.old) {
            (false, _) => Staying::Ends,
            (true, false) => Staying::Stays,
            (true, true) => Staying::IsKept,
        }
    }

    fn field(self) -> &'static [u8] {
        match self {
            Staying::Stays => b"",
            Staying::IsKept => b"Connection: keep-alive\r\n",
            Staying::Ends => b"Connection: close\r\n",
        }
    }
}

#[inline]
pub(super) fn entry(
    request: &Request<'_>,
    staying: Staying,
    entry: &Entry,
    now: &Now,
    output: &mut Output,
) -> Answered {
    let page = match (&entry.gzip, request.fields.accept_encoding) {
        (Some(gzip), Some(accepted)) if accepts_gzip(accepted) => gzip,
        _ => &entry.plain,
    };
    match wanted(request.method, &request.fields, page) {
        Wanted::Whole => whole(request.method, staying, page, now, output),
        Wanted::Part { offset, count } => part(staying, page, offset, count, now, output),
        Wanted::Nothing => {
            let out = output.bytes();
            begin(304, now, out);
            out.extend_from_slice(&page.validators);
            end(staying, out);
            Answered { status: 304, body_bytes: 0 }
        }
        Wanted::Other => text(request.method, staying, 412, "the file is another by now", "", now, output),
        Wanted::Beyond => {
            let field = format!("Content-Range: bytes */{}\r\n", page.length);
            text(request.method, staying, 416, "the file is shorter", &field, now, output)
        }
    }
}

#[inline]
fn whole(method: Method, staying: Staying, page: &Page, now: &Now, output: &mut Output) -> Answered {
    let is_get = method == Method::Get;
    let answered = Answered { status: 200, body_bytes: if is_get { page.length } else { 0 } };
    let may_copy = output.is_short();
    let out = output.bytes();
    let date_at = out.len() + DATE_AT;
    match page.whole() {
        Some(whole) if is_get && staying == Staying::Stays && may_copy => {
            out.extend_from_slice(whole);
            out[date_at..date_at + DATE_BYTES].copy_from_slice(&now.text);
        }
        _ => {
            out.extend_from_slice(page.head());
            out[date_at..date_at + DATE_BYTES].copy_from_slice(&now.text);
            end(staying, out);
            if is_get {
                match &page.body {
                    Body::Memory(bytes) => output.shared(Arc::clone(bytes)),
                    Body::File(file) => output.file(Arc::clone(file), 0, page.length),
                }
            }
        }
    }
    answered
}

fn part(staying: Staying, page: &Page, offset: u64, count: u64, now: &Now, output: &mut Output) -> Answered {
    let out = output.bytes();
    begin(206, now, out);
    // Writing to memory does not fail.
    let _ = write!(
        out,
        "Content-Length: {count}\r\nContent-Range: bytes {offset}-{}/{}\r\n",
        offset + count - 1,
        page.length
    );
    out.extend_from_slice(&page.reading);
    out.extend_from_slice(&page.validators);
    end(staying, out);
    match &page.body {
        Body::Memory(bytes) => {
            output.shared_range(Arc::clone(bytes), offset as usize..(offset + count) as usize);
        }
        Body::File(file) => output.file(Arc::clone(file), offset, count),
    }
    Answered { status: 206, body_bytes: count }
}

/// Answers that a path leads to no file.
pub(super) fn miss(
    request: &Request<'_>,
    staying: Staying,
    miss: Miss,
    now: &Now,
    output: &mut Output,
) -> Answered {
    let (method, out) = (request.method, output);
    match miss {
        Miss::Refused(refusal) => text(method, staying, refusal.status, refusal.why, "", now, out),
        Miss::Status(status) => text(method, staying, status, "", "", now, out),
        Miss::Moved(path) => {
            // Both are visible ASCII: the path was encoded, the query came in a target.
            let (path, query) = (String::from_utf8_lossy(&path), String::from_utf8_lossy(request.query));
            let field = format!("Location: {path}{query}\r\n");
            text(method, staying, 301, "a folder's path ends with a slash", &field, now, out)
        }
    }
}

pub(super) fn options(staying: Staying, now: &Now, output: &mut Output) -> Answered {
    let out = output.bytes();
    begin(200, now, out);
    out.extend_from_slice(ALLOW.as_bytes());
    out.extend_from_slice(b"Content-Length: 0\r\n");
    end(staying, out);
    Answered { status: 200, body_bytes: 0 }
}

/// The methods that a file has.
pub(super) const ALLOW: &str = "Allow: GET, HEAD, OPTIONS\r\n";

/// Answers with the status in words, and why. `fields` are whole lines.
pub(super) fn text(
    method: Method,
    staying: Staying,
    status: u16,
    why: &str,
    fields: &str,
    now: &Now,
    output: &mut Output,
) -> Answered {
    let (separator, phrase) = (if why.is_empty() { "" } else { ": " }, phrase(status));
    let length = "NNN ".len() + phrase.len() + separator.len() + why.len() + "\n".len();
    let out = output.bytes();
    begin(status, now, out);
    let _ = write!(out, "Content-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n{fields}");
    end(staying, out);
    if method == Method::Head {
        return Answered { status, body_bytes: 0 };
    }
    let _ = writeln!(out, "{status} {phrase}{separator}{why}");
    Answered { status, body_bytes: length as u64 }
}

pub(super) fn begin(status: u16, now: &Now, out: &mut Vec<u8>) {
    let _ = write!(out, "HTTP/1.1 {status} {}\r\nDate: ", phrase(status));
    out.extend_from_slice(&now.text);
    out.extend_from_slice(b"\r\n");
}

#[inline]
pub(super) fn end(staying: Staying, out: &mut Vec<u8>) {
    out.extend_from_slice(staying.field());
    out.extend_from_slice(b"\r\n");
}

/// A status in words (RFC 9110, section 15).
fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        301 => "Moved Permanently",
        303 => "See Other",
        304 => "Not Modified",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Internal Server Error",
    }
}

/// The most bytes of each part that a client chose.
const PART_BYTES_MAX: usize = 2048;

/// The client's own words in the log.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Said<'a> {
    /// The first line of the request, or as much as there was.
    pub(super) line: &'a [u8],
    pub(super) referer: Option<&'a [u8]>,
    pub(super) user_agent: Option<&'a [u8]>,
}

/// Adds a line to the access log, in the combined format. The address of the client may be unknown.
pub(super) fn write_log(
    peer: Option<SocketAddr>,
    said: Said<'_>,
    answered: Answered,
    now: &Now,
    log: &mut Vec<u8>,
) {
    // Writing to memory does not fail.
    let _ = match peer {
        Some(peer) => write!(log, "{}", peer.ip()),
        None => write!(log, "-"),
    };
    // `Sun, 06 Nov 1994 08:49:37 GMT` becomes `06/Nov/1994:08:49:37 +0000`.
    let date = &now.text;
    for part in
        [b" - - [", &date[5..7], b"/", &date[8..11], b"/", &date[12..16], b":", &date[17..25], b" +0000] "]
    {
        log.extend_from_slice(part);
    }
    quote(said.line, log);
    let _ = write!(log, " {} {} ", answered.status, answered.body_bytes);
    quote(said.referer.unwrap_or(b"-"), log);
    log.push(b' ');
    quote(said.user_agent.unwrap_or(b"-"), log);
    log.push(b'\n');
}

/// Characters that could end the quotes or the line, or control a terminal, are written as `\xHH`.
fn quote(text: &[u8], log: &mut Vec<u8>) {
    log.push(b'"');
    for byte in text.iter().take(PART_BYTES_MAX) {
        match byte {
            b' '..=b'~' if !matches!(byte, b'"' | b'\\') => log.push(*byte),
            _ => drop(write!(log, "\\x{byte:02X}")),
        }
    }
    log.push(b'"');
}

/// The part of a page to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// All of it.
    Whole,
    /// `count` bytes from `offset`; at least one.
    Part { offset: u64, count: u64 },
    /// Nothing, because the client has it: 304.
    Nothing,
    /// Nothing, because the page is not the one that the client expects: 412.
    Other,
    /// A part that does not exist: 416.
    Beyond,
}

/// Evaluates the fields in the order of RFC 9110, section 13.2.2.
#[inline]
fn wanted(method: Method, fields: &Fields<'_>, page: &Page) -> Wanted {
    let Some(version) = &page.version else { return Wanted::Whole };
    if let Some(tags) = fields.if_match {
        if !names(tags, version, false) {
            return Wanted::Other;
        }
    } else if let Some(moment) = fields.if_unmodified_since.and_then(parse_date)
        && version.modified > moment
    {
        return Wanted::Other;
    }
    if let Some(tags) = fields.if_none_match {
        if names(tags, version, true) {
            return Wanted::Nothing;
        }
    } else if let Some(moment) = fields.if_modified_since.and_then(parse_date)
        && version.modified <= moment
    {
        return Wanted::Nothing;
    }
    match fields.range {
        Some(range) if method == Method::Get && fields.if_range.is_none_or(|is| is_that(is, version)) => {
            requested_range(range, page.length)
        }
        _ => Wanted::Whole,
    }
}

/// Whether a list of entity tags has ours. None of ours has a comma, so those of others may be cut at one.
fn names(tags: &[u8], version: &Version, weak_too: bool) -> bool {
    tags.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).any(|tag| {
        let strong = tag.strip_prefix(b"W/").filter(|_| weak_too).unwrap_or(tag);
        tag == b"*" || strong == &*version.tag
    })
}

/// If-Range: the same tag, or the same date.
fn is_that(validator: &[u8], version: &Version) -> bool {
    validator == &*version.tag || parse_date(validator) == Some(version.modified)
}

/// One range of bytes. For several, and for a malformed one, the whole file is sent (RFC 9110, section 14.2).
fn requested_range(range: &[u8], length: u64) -> Wanted {
    let Some((unit, set)) = range.split_at_checked(6) else { return Wanted::Whole };
    let Some(dash) = set.iter().position(|byte| *byte == b'-') else { return Wanted::Whole };
    if !unit.eq_ignore_ascii_case(b"bytes=") {
        return Wanted::Whole;
    }
    let (first, last) = (set[..dash].trim_ascii(), set[dash + 1..].trim_ascii());
    let (offset, end) = match (decimal(first), decimal(last)) {
        (None, Some(count)) if first.is_empty() => (length.saturating_sub(count), length),
        (Some(first), None) if last.is_empty() => (first, length),
        (Some(first), Some(last)) if first <= last => (first, length.min(last.saturating_add(1))),
        _ => return Wanted::Whole,
    };
    if offset >= end {
        return Wanted::Beyond;
    }
    Wanted::Part { offset, count: end - offset }
}

/// Whether gzip is as welcome as the file as it is (RFC 9110, section 12.5.3).
fn accepts_gzip(accept_encoding: &[u8]) -> bool {
    let (mut gzip, mut any, mut identity) = (None, None, None);
    for item in accept_encoding.split(|byte| *byte == b',') {
        let mut parameters = item.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let coding = parameters.next().unwrap_or_default();
        let weight = parameters.next().map_or(1000, weight);
        if coding.eq_ignore_ascii_case(b"gzip") || coding.eq_ignore_ascii_case(b"x-gzip") {
            gzip = Some(weight);
        } else if coding.eq_ignore_ascii_case(b"identity") {
            identity = Some(weight);
        } else if coding == b"*" {
            any = Some(weight);
        }
    }
    let gzip = gzip.or(any).unwrap_or(0);
    gzip > 0 && gzip >= identity.unwrap_or(0)
}

/// `q=0.5` in thousandths; 0 if it is invalid.
fn weight(parameter: &[u8]) -> u32 {
    let Some(value) = parameter.strip_prefix(b"q=").or_else(|| parameter.strip_prefix(b"Q=")) else {
        return 0;
    };
    match value {
        [b'1'] | [b'1', b'.', ..] => 1000,
        [b'0'] => 0,
        [b'0', b'.', digits @ ..] if digits.len() <= 3 && digits.iter().all(u8::is_ascii_digit) => {
            let digits = digits.iter().chain(b"000").take(3);
            digits.fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
        }
        _ => 0,
    }
}

/// Length of a date in its fixed form (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(super) const DATE_BYTES: usize = 29;

/// The last second that a year of four digits has; the end of 9999.
const LAST_SECOND: u64 = 253_402_300_799;

/// A moment; each thread writes its form once per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// Since 1970.
    pub(super) second: u64,
    /// In the form of HTTP.
    pub(super) text: [u8; DATE_BYTES],
}

thread_local! {
    static LAST: Cell<Now> = const { Cell::new(Now { second: u64::MAX, text: [b'-'; DATE_BYTES] }) };
}

#[inline]
pub(super) fn now() -> Now {
    let second = sys::clock::unix_seconds();
    let last = LAST.get();
    if last.second == second {
        return last;
    }
    let now = Now { second, text: format_date(second) };
    LAST.set(now);
    now
}

/// Seconds since 1970 in the form of HTTP.
pub(super) fn format_date(second: u64) -> [u8; DATE_BYTES] {
    let mut text = [b' '; DATE_BYTES];
    // The library panics beyond the year 9999, which would not fit.
    let moment = UNIX_EPOCH + Duration::from_secs(second.min(LAST_SECOND));
    let written = httpdate::fmt_http_date(moment);
    let length = written.len().min(DATE_BYTES);
    text[..length].copy_from_slice(&written.as_bytes()[..length]);
    text
}

/// Seconds since 1970 of a date in any of the three forms of HTTP.
fn parse_date(text: &[u8]) -> Option<u64> {
    let moment = httpdate::parse_http_date(std::str::from_utf8(text).ok()?).ok()?;
    Some(moment.duration_since(UNIX_EPOCH).ok()?.as_secs())
}
