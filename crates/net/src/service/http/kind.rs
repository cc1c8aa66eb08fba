//! What is in a file, by the end of its name: a table of what the web is made of, for a list of a thousand
//! types would be searched for the same forty. Text is taken to be UTF-8.

/// The media type of a name; `application/octet-stream` where nothing is known.
pub(super) fn of(name: &[u8]) -> &'static str {
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
