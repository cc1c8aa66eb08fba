//! Responses: pages that were made ready, short responses written on the spot, and the lines of the access
//! log.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use super::condition::{self, Wanted};
use super::date::{self, Now};
use super::files::{Entry, Miss};
use super::page::{Body, DATE_AT, Page};
use super::request::{Method, Request};
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

/// Answers with a file.
#[inline]
pub(super) fn entry(
    request: &Request<'_>,
    staying: Staying,
    entry: &Entry,
    now: &Now,
    output: &mut Output,
) -> Answered {
    let page = match (&entry.gzip, request.fields.accept_encoding) {
        (Some(gzip), Some(accepted)) if condition::accepts_gzip(accepted) => gzip,
        _ => &entry.plain,
    };
    match condition::wanted(request.method, &request.fields, page) {
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
            out[date_at..date_at + date::LENGTH].copy_from_slice(&now.text);
        }
        _ => {
            out.extend_from_slice(page.head());
            out[date_at..date_at + date::LENGTH].copy_from_slice(&now.text);
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

/// The response to OPTIONS.
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
