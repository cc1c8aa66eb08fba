//! The compression of header fields (HPACK, RFC 7541).
//!
//! - here are the fields that have a number: the static table, and the dynamic one of a connection (section
//!   2.3);
//! - `decoder` reads the fields of responses;
//! - `encoder` writes the fields of requests, once, before the load begins.

mod decoder;
mod encoder;

pub(super) use self::decoder::Decoder;
pub(super) use self::encoder::{Blocks, Indexing, write_size};

use std::collections::VecDeque;

/// The first byte of each representation of a field (section 6): its pattern, and the bits of the number
/// behind it.
struct Form {
    pattern: u8,
    bits: u8,
}

const INDEXED: Form = Form { pattern: 0x80, bits: 7 };
const WITH_INDEXING: Form = Form { pattern: 0x40, bits: 6 };
const SIZE_UPDATE: Form = Form { pattern: 0x20, bits: 5 };
const WITHOUT_INDEXING: Form = Form { pattern: 0, bits: 4 };
/// Length of a string, whose first bit says that it is compressed.
const STRING: Form = Form { pattern: 0, bits: 7 };

/// Bytes of the dynamic table that both ends begin with (RFC 9113, section 6.5.2).
pub(in crate::http2) const TABLE_BYTES: usize = 4096;
/// Bytes that an entry counts for besides its own (section 4.1).
const ENTRY_BYTES: usize = 32;
/// Bytes that may lie before the oldest entry until they are given up.
const GONE_MAX: usize = 4 * TABLE_BYTES;

/// Appendix A; the first has the number 1.
#[rustfmt::skip]
const STATIC: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""),
    ("cache-control", ""), ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""),
    ("content-length", ""), ("content-location", ""), ("content-range", ""), ("content-type", ""),
    ("cookie", ""), ("date", ""), ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
    ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
    ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""),
    ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""),
    ("retry-after", ""), ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""),
    ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
];

/// The fields that were sent before on a connection, the newest first.
struct Dynamic {
    /// Names and values of the entries, the oldest first, behind those of entries that are gone.
    bytes: Vec<u8>,
    /// Where the next entry begins, counted from the first byte that was ever held.
    end: usize,
    entries: VecDeque<Entry>,
    size: usize,
    size_max: usize,
}

struct Entry {
    begin: usize,
    name_bytes: usize,
    value_bytes: usize,
}

impl Entry {
    fn size(&self) -> usize {
        self.name_bytes + self.value_bytes + ENTRY_BYTES
    }
}

impl Dynamic {
    fn new() -> Dynamic {
        Dynamic { bytes: Vec::new(), end: 0, entries: VecDeque::new(), size: 0, size_max: TABLE_BYTES }
    }

    /// Name and value of an entry; the newest is number 0.
    fn get(&self, number: usize) -> Option<(&[u8], &[u8])> {
        let entry = self.entries.get(number)?;
        let begin = entry.begin - (self.end - self.bytes.len());
        let (name, rest) = self.bytes[begin..].split_at(entry.name_bytes);
        Some((name, &rest[..entry.value_bytes]))
    }

    /// Has another entry, for which the oldest ones go; one that is larger than the table empties it.
    fn insert(&mut self, name: &[u8], value: &[u8]) {
        let entry = Entry { begin: self.end, name_bytes: name.len(), value_bytes: value.len() };
        let size = entry.size();
        self.shrink_to(self.size_max.saturating_sub(size));
        if size > self.size_max {
            return;
        }
        self.size += size;
        self.end += name.len() + value.len();
        self.entries.push_front(entry);
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        let held = self.entries.back().map_or(0, |oldest| self.end - oldest.begin);
        let gone = self.bytes.len() - held;
        if gone > GONE_MAX {
            self.bytes.drain(..gone);
        }
    }

    fn resize(&mut self, size_max: usize) {
        self.size_max = size_max;
        self.shrink_to(size_max);
    }

    fn shrink_to(&mut self, size: usize) {
        while self.size > size {
            let Some(oldest) = self.entries.pop_back() else { return };
            self.size -= oldest.size();
        }
    }
}
