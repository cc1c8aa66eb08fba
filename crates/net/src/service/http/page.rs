//! One file, or the listing of a folder, made ready to be sent: all of a response but its date is written
//! beforehand; and the media types of files.

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::request::encode_path;
use super::response::{DATE_BYTES, Now, format_date};

/// Up to this much a body is kept in memory, and all connections send the same bytes.
const MEMORY_BYTES: u64 = 64 << 10;

/// Up to this much a body is copied behind its head: a copy is then cheaper than a second piece of a
/// writev(2).
const COPY_BYTES: usize = 4 << 10;

/// The place of the date in a response, right behind the status line.
pub(super) const DATE_AT: usize = b"HTTP/1.1 200 OK\r\nDate: ".len();

/// A representation: the content of one file, or of its compressed neighbour.
#[derive(Debug)]
pub(super) struct Page {
    /// The whole response, with the body where that is small.
    ready: Box<[u8]>,
    /// The bytes of it before the empty line.
    head_bytes: usize,
    /// Whether the body is in it.
    is_copied: bool,
    pub(super) body: Body,
    pub(super) length: u64,
    /// Fields by which caches know it, for responses that are not the whole.
    pub(super) validators: Box<[u8]>,
    /// Fields that describe its form.
    pub(super) reading: Box<[u8]>,
    /// Without the parts of one response.
    pub(super) version: Option<Version>,
}

#[derive(Debug)]
pub(super) enum Body {
    Memory(Arc<[u8]>),
    File(Arc<File>),
}

/// The identity by which an unchanged file is recognised.
#[derive(Debug)]
pub(super) struct Version {
    /// A strong entity tag, with its quotes.
    pub(super) tag: Box<[u8]>,
    /// Seconds since 1970.
    pub(super) modified: u64,
}

/// The properties of a file that are known without reading it: while they are the same, so is its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    number: u64,
    length: u64,
    modified: SystemTime,
    /// The number may be given to another file, of the same length, and `modified` be set back.
    changed_ns: i128,
}

impl Identity {
    pub(super) fn from_metadata(metadata: &Metadata) -> Identity {
        Identity {
            number: sys::file::number(metadata),
            length: metadata.len(),
            modified: metadata.modified().unwrap_or(UNIX_EPOCH),
            changed_ns: sys::file::changed_ns(metadata),
        }
    }

    pub(super) fn is_older_than(&self, other: &Identity) -> bool {
        self.modified < other.modified
    }

    /// Seconds since 1970.
    fn modified_second(&self) -> u64 {
        self.modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
    }

    /// The second of its last change of any kind, since 1970.
    pub(super) fn last_second(&self) -> u64 {
        self.modified_second().max(u64::try_from(self.changed_ns / 1_000_000_000).unwrap_or(0))
    }

    /// A time of the future would make no sense to caches (RFC 9110, section 8.8.2.1).
    fn version(&self, now: &Now) -> Version {
        let tag = format!("\"{:x}-{:x}-{:x}\"", self.number, self.length, self.changed_ns);
        Version { tag: tag.into_bytes().into(), modified: self.modified_second().min(now.second) }
    }
}

/// How a file is to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) kind: &'static str,
    pub(super) is_gzip: bool,
    /// Whether there is the same in another coding.
    pub(super) varies: bool,
}

impl Page {
    /// Makes an open file ready, which was seen to be that.
    pub(super) fn of_file(file: File, identity: &Identity, reading: Reading, now: &Now) -> io::Result<Page> {
        let (body, length) = read(file, identity.length)?;
        Ok(Page::new(body, length, Some(identity.version(now)), reading))
    }

    /// Makes a text ready that stands in no file.
    pub(super) fn of_text(text: Vec<u8>) -> Page {
        let length = text.len() as u64;
        let reading = Reading { kind: "text/html; charset=utf-8", is_gzip: false, varies: false };
        Page::new(Body::Memory(text.into()), length, None, reading)
    }

    fn new(body: Body, length: u64, version: Option<Version>, reading: Reading) -> Page {
        let (validators, reading) = fields(version.as_ref(), reading);
        let mut ready = b"HTTP/1.1 200 OK\r\nDate: ".to_vec();
        ready.extend_from_slice(&[b'-'; DATE_BYTES]);
        // Writing to memory does not fail.
        let _ = write!(ready, "\r\nContent-Length: {length}\r\n");
        ready.extend_from_slice(&reading);
        ready.extend_from_slice(&validators);
        let head_bytes = ready.len();
        ready.extend_from_slice(b"\r\n");
        let small = match &body {
            Body::Memory(bytes) if bytes.len() <= COPY_BYTES => &bytes[..],
            _ => &[],
        };
        ready.extend_from_slice(small);
        Page {
            head_bytes,
            is_copied: small.len() as u64 == length,
            ready: ready.into(),
            body,
            length,
            validators: validators.into(),
            reading: reading.into(),
            version,
        }
    }

    /// The head of the response without the empty line; its date is yet to be set.
    #[inline]
    pub(super) fn head(&self) -> &[u8] {
        &self.ready[..self.head_bytes]
    }

    /// The whole response, where the body is small enough to be copied.
    #[inline]
    pub(super) fn whole(&self) -> Option<&[u8]> {
        self.is_copied.then_some(&*self.ready)
    }
}

/// Small files are read as they are now; for a larger one the length is that at its opening.
fn read(file: File, length: u64) -> io::Result<(Body, u64)> {
    if length <= MEMORY_BYTES {
        let mut bytes = Vec::with_capacity(length as usize + 1);
        (&file).take(MEMORY_BYTES + 1).read_to_end(&mut bytes)?;
        let read = bytes.len() as u64;
        if read <= MEMORY_BYTES {
            return Ok((Body::Memory(bytes.into()), read));
        }
        return Ok((Body::File(Arc::new(file)), read));
    }
    Ok((Body::File(Arc::new(file)), length))
}

/// The fields that identify it, and those that describe its form.
fn fields(version: Option<&Version>, reading: Reading) -> (Vec<u8>, Vec<u8>) {
    let mut validators = Vec::new();
    let mut how = Vec::new();
    let _ = write!(how, "Content-Type: {}\r\n", reading.kind);
    if reading.is_gzip {
        how.extend_from_slice(b"Content-Encoding: gzip\r\n");
    }
    if let Some(version) = version {
        how.extend_from_slice(b"Accept-Ranges: bytes\r\n");
        for part in
            [b"Last-Modified: ", &format_date(version.modified)[..], b"\r\nETag: ", &version.tag, b"\r\n"]
        {
            validators.extend_from_slice(part);
        }
    }
    if reading.varies {
        validators.extend_from_slice(b"Vary: Accept-Encoding\r\n");
    }
    (validators, how)
}

/// The media type of a file by the end of its name; `application/octet-stream` for unknown ends. A table of a
/// thousand types would be searched for the same forty. Text counts as UTF-8.
pub(super) fn media_type(name: &[u8]) -> &'static str {
    let Some(dot) = memchr::memrchr(b'.', name) else { return UNKNOWN };
    let ending = name[dot + 1..].to_ascii_lowercase();
    KINDS.iter().find(|(known, _)| known.as_bytes() == ending).map_or(UNKNOWN, |(_, kind)| kind)
}

const UNKNOWN: &str = "application/octet-stream";

/// Registered with IANA, but for those that have an `x-`.
const KINDS: &[(&str, &str)] = &[
    ("html", "text/html; charset=utf-8"),
    ("htm", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("txt", "text/plain; charset=utf-8"),
    ("log", "text/plain; charset=utf-8"),
    ("md", "text/markdown; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("ics", "text/calendar; charset=utf-8"),
    ("vtt", "text/vtt; charset=utf-8"),
    ("xml", "text/xml; charset=utf-8"),
    ("json", "application/json"),
    ("map", "application/json"),
    ("jsonld", "application/ld+json"),
    ("webmanifest", "application/manifest+json"),
    ("xhtml", "application/xhtml+xml"),
    ("atom", "application/atom+xml"),
    ("rss", "application/rss+xml"),
    ("wasm", "application/wasm"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("tgz", "application/gzip"),
    ("zst", "application/zstd"),
    ("xz", "application/x-xz"),
    ("bz2", "application/x-bzip2"),
    ("tar", "application/x-tar"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("svg", "image/svg+xml"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("ico", "image/vnd.microsoft.icon"),
    ("bmp", "image/bmp"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("ttf", "font/ttf"),
    ("otf", "font/otf"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("wav", "audio/wav"),
    ("flac", "audio/flac"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
    ("mpeg", "video/mpeg"),
];

/// The page of a folder with more names says that there are more.
const NAMES_MAX: usize = 10_000;

/// The names in an open folder as a page of HTML; `path` is below the root.
pub(super) fn listing(path: &[u8], folder: &File) -> io::Result<Vec<u8>> {
    let mut names = sys::file::names(folder, NAMES_MAX)?;
    let is_cut = names.len() == NAMES_MAX;
    names.retain(|name| !name.bytes.starts_with(b"."));
    names.sort();
    let mut page = b"<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>/".to_vec();
    escape(path, &mut page);
    page.extend_from_slice(b"</title></head><body>\n<h1>/");
    escape(path, &mut page);
    page.extend_from_slice(b"</h1>\n<ul>\n");
    if !path.is_empty() {
        page.extend_from_slice(b"<li><a href=\"../\">../</a></li>\n");
    }
    for name in &names {
        let slash: &[u8] = if name.is_folder { b"/" } else { b"" };
        // Without the dot, a name with a colon would be read as a scheme.
        page.extend_from_slice(b"<li><a href=\"./");
        encode_path(&name.bytes, &mut page);
        page.extend_from_slice(slash);
        page.extend_from_slice(b"\">");
        escape(&name.bytes, &mut page);
        page.extend_from_slice(slash);
        page.extend_from_slice(b"</a></li>\n");
    }
    page.extend_from_slice(b"</ul>\n");
    if is_cut {
        page.extend_from_slice(b"<p>There are more.</p>\n");
    }
    page.extend_from_slice(b"</body></html>\n");
    Ok(page)
}

fn escape(text: &[u8], page: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b'&' => page.extend_from_slice(b"&amp;"),
            b'<' => page.extend_from_slice(b"&lt;"),
            b'>' => page.extend_from_slice(b"&gt;"),
            b'"' => page.extend_from_slice(b"&quot;"),
            b'\'' => page.extend_from_slice(b"&#39;"),
            _ => page.push(*byte),
        }
    }
}
