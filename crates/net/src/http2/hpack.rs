//! The compression of header fields (HPACK, RFC 7541): a decoder for the fields of responses, and the blocks
//! of requests, which are written once, before the load begins.
//!
//! The fields that all requests share, in the same order, enter the table of the server with the first
//! request of a connection; from the second on each is a number. So a request is a copy of bytes.

use std::collections::VecDeque;

use super::huffman::{self, Broken};

/// One direction of a connection.
pub(super) struct Decoder {
    table: Dynamic,
    /// Name and value of the field that is read.
    field: Vec<u8>,
}

impl Decoder {
    pub(super) fn new() -> Decoder {
        Decoder { table: Dynamic::new(), field: Vec::new() }
    }

    /// Hands on each field of a whole block.
    pub(super) fn decode(
        &mut self,
        block: &[u8],
        mut on_field: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Broken> {
        let mut rest = Rest(block);
        let mut may_resize = true;
        while let Some(&first) = rest.0.first() {
            if first & INDEXED.pattern != 0 {
                let (name, value) = self.entry(rest.number(&INDEXED)?)?;
                on_field(name, value);
            } else if first & WITH_INDEXING.pattern != 0 {
                let name_bytes = self.read_field(&mut rest, &WITH_INDEXING)?;
                let (name, value) = self.field.split_at(name_bytes);
                on_field(name, value);
                self.table.insert(name, value);
            } else if first & SIZE_UPDATE.pattern != 0 {
                let size = rest.number(&SIZE_UPDATE)?;
                if !may_resize || size > TABLE_BYTES {
                    return Err(Broken);
                }
                self.table.resize(size);
                continue;
            } else {
                let name_bytes = self.read_field(&mut rest, &WITHOUT_INDEXING)?;
                let (name, value) = self.field.split_at(name_bytes);
                on_field(name, value);
            }
            may_resize = false;
        }
        Ok(())
    }

    fn entry(&self, number: usize) -> Result<(&[u8], &[u8]), Broken> {
        match STATIC.get(number.checked_sub(1).ok_or(Broken)?) {
            Some((name, value)) => Ok((name.as_bytes(), value.as_bytes())),
            None => self.table.get(number - 1 - STATIC.len()).ok_or(Broken),
        }
    }

    /// Reads a field that is written out, at least its value; how long its name is.
    fn read_field(&mut self, rest: &mut Rest<'_>, form: &Form) -> Result<usize, Broken> {
        let mut field = std::mem::take(&mut self.field);
        field.clear();
        let read = match rest.number(form)? {
            0 => rest.string(&mut field),
            number => self.entry(number).map(|(name, _)| field.extend_from_slice(name)),
        };
        let name_bytes = field.len();
        let read = read.and_then(|()| rest.string(&mut field));
        self.field = field;
        read.map(|()| name_bytes)
    }
}

/// The header block of a request.
pub(super) struct Blocks {
    /// For the first request on a connection,
    first: Box<[u8]>,
    /// of later ones,
    later: Box<[u8]>,
    /// and of all where the server keeps too small a table.
    plain: Box<[u8]>,
}

/// How the requests of a connection are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Indexing {
    #[default]
    Begins,
    Shared,
    Never,
}

type Field = (String, String);

impl Blocks {
    /// The blocks of each of several requests, and the size of the table that their shared fields need.
    pub(super) fn encode(requests: &[&[Field]]) -> (Vec<Blocks>, usize) {
        let shared = shared(requests);
        let size: usize = shared.iter().map(|(name, value)| name.len() + value.len() + ENTRY_BYTES).sum();
        let blocks = requests.iter().map(|&fields| {
            let plain = written(fields, |_| None, &WITHOUT_INDEXING);
            if size > TABLE_BYTES {
                return Blocks { first: plain.clone(), later: plain.clone(), plain };
            }
            let place = |field: &Field| shared.iter().position(|shared| *shared == field);
            // The newest entry has the first number behind the static ones.
            let number = |field: &Field| Some(STATIC.len() + shared.len() - place(field)?);
            let mut first = Vec::new();
            for (at, field) in fields.iter().enumerate() {
                let is_new = place(field).is_some() && !fields[..at].contains(field);
                write(&mut first, field, if is_new { &WITH_INDEXING } else { &WITHOUT_INDEXING });
            }
            Blocks { first: first.into(), later: written(fields, number, &WITHOUT_INDEXING), plain }
        });
        (blocks.collect(), size)
    }

    /// The block of the next request on a connection.
    #[inline]
    pub(super) fn of_next(&self, indexing: &mut Indexing) -> &[u8] {
        match indexing {
            Indexing::Begins => {
                *indexing = Indexing::Shared;
                &self.first
            }
            Indexing::Shared => &self.later,
            Indexing::Never => &self.plain,
        }
    }
}

/// Tells the server how much of its table is used.
pub(super) fn write_size(block: &mut Vec<u8>, size: usize) {
    write_number(block, &SIZE_UPDATE, size);
}

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
pub(super) const TABLE_BYTES: usize = 4096;
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

struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    /// A number behind the pattern of a form (section 5.1); 28 bits are enough for all.
    #[inline]
    fn number(&mut self, form: &Form) -> Result<usize, Broken> {
        let (&first, mut rest) = self.0.split_first().ok_or(Broken)?;
        let most = (1_u8 << form.bits) - 1;
        let mut number = usize::from(first & most);
        if first & most == most {
            let mut shift = 0;
            loop {
                let (&byte, behind) = rest.split_first().ok_or(Broken)?;
                rest = behind;
                if shift > 21 {
                    return Err(Broken);
                }
                number += usize::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
            }
        }
        self.0 = rest;
        Ok(number)
    }

    /// Adds a string (section 5.2).
    #[inline]
    fn string(&mut self, to: &mut Vec<u8>) -> Result<(), Broken> {
        let is_compressed = self.0.first().ok_or(Broken)? & 0x80 != 0;
        let length = self.number(&STRING)?;
        let (string, rest) = self.0.split_at_checked(length).ok_or(Broken)?;
        self.0 = rest;
        if is_compressed {
            return huffman::decode(string, to);
        }
        to.extend_from_slice(string);
        Ok(())
    }
}

/// The fields that all requests have and the static table lacks, in their order.
fn shared<'a>(requests: &[&'a [Field]]) -> Vec<&'a Field> {
    let first: &'a [Field] = requests.first().copied().unwrap_or_default();
    let mut shared: Vec<&'a Field> = Vec::new();
    for field in first {
        let is_everywhere = requests.iter().all(|fields| fields.contains(field));
        if is_everywhere && !shared.contains(&field) && exact(field).is_none() {
            shared.push(field);
        }
    }
    shared
}

fn exact(field: &Field) -> Option<usize> {
    let place = STATIC.iter().position(|(name, value)| *name == field.0 && *value == field.1)?;
    Some(place + 1)
}

/// All fields: as a number, where they have one.
fn written(fields: &[Field], number: impl Fn(&Field) -> Option<usize>, form: &Form) -> Box<[u8]> {
    let mut block = Vec::new();
    for field in fields {
        match exact(field).or_else(|| number(field)) {
            Some(number) => write_number(&mut block, &INDEXED, number),
            None => write(&mut block, field, form),
        }
    }
    block.into()
}

/// One field, as a number if the static table has it.
fn write(block: &mut Vec<u8>, field: &Field, form: &Form) {
    if let Some(number) = exact(field) {
        return write_number(block, &INDEXED, number);
    }
    let name = STATIC.iter().position(|(name, _)| *name == field.0);
    write_number(block, form, name.map_or(0, |place| place + 1));
    if name.is_none() {
        write_string(block, &field.0);
    }
    write_string(block, &field.1);
}

fn write_string(block: &mut Vec<u8>, text: &str) {
    write_number(block, &STRING, text.len());
    block.extend_from_slice(text.as_bytes());
}

fn write_number(block: &mut Vec<u8>, form: &Form, number: usize) {
    let most = (1 << form.bits) - 1;
    if number < most {
        return block.push(form.pattern | number as u8);
    }
    block.push(form.pattern | most as u8);
    let mut rest = number - most;
    while rest >= 0x80 {
        block.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    block.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of blocks that are read one after the other; bytes as hexadecimal digits.
    fn read(blocks: &[&str]) -> Result<Vec<String>, Broken> {
        let mut decoder = Decoder::new();
        let mut fields = Vec::new();
        for block in blocks {
            let digits: Vec<u32> = block.chars().filter_map(|digit| digit.to_digit(16)).collect();
            let bytes: Vec<u8> = digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect();
            decoder.decode(&bytes, |name, value| {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                fields.push(format!("{}={}", text(name), text(value)));
            })?;
        }
        Ok(fields)
    }

    /// Appendix C.6 of RFC 7541 in part: compressed responses; the second uses fields of the first.
    #[test]
    fn fields_are_read_as_in_the_standard() {
        let date = "date=Mon, 21 Oct 2013 20:13:21 GMT";
        let first = "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6
                     2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3";
        let second = "4883 640e ffc1 c0bf";
        let rest = ["cache-control=private", date, "location=https://www.example.com"];
        let expected = [&[":status=302"], &rest[..], &[":status=307"], &rest[..]].concat();
        assert_eq!(read(&[first, second]), Ok(expected.iter().map(|&field| field.to_owned()).collect()));
    }

    #[test]
    fn the_oldest_fields_go_first() {
        // It leaves 64 of the 4096 bytes of the table.
        let large = format!("4001617fa01e{}", "78".repeat(4096 - 64 - 33));
        assert!(read(&[&large, "be"]).is_ok(), "it is there");
        let small = "4001 62 01 79";
        assert!(read(&[&large, small, "be bf"]).is_ok(), "both are there");
        assert_eq!(read(&[&large, small, small, "c0"]), Err(Broken), "the first is gone");
        assert_eq!(read(&[small, "20", "be"]), Err(Broken), "a table of no size holds nothing");
    }

    #[test]
    fn what_is_no_block_is_refused() {
        for block in [
            "80",                        // no field has the number 0
            "be",                        // nor 62 on a new connection
            "00",                        // neither name nor value
            "0001 61",                   // no value
            "0001 61 05 78",             // a value that is cut off
            "7f ffff ffff ffff ff01 00", // a number without end
            "3f e2 1f",                  // a table of 4097 bytes
            "82 20",                     // a new size behind a field
            "0001 61 84 ffff ffff",      // the code of the end
            "0001 61 81 00",             // seven bits of padding that are no ones
        ] {
            assert_eq!(read(&[block]), Err(Broken), "{block}");
        }
    }

    fn fields(path: &str, long: usize) -> Vec<Field> {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        vec![
            field(":method", "GET"),
            field(":scheme", "http"),
            field(":authority", "localhost:8080"),
            field(":path", path),
            field("user-agent", "osdyno"),
            field("x-long", &"x".repeat(long)),
            field("user-agent", "osdyno"),
        ]
    }

    /// A server reads the fields of requests, sent in turn, as they were given.
    #[test]
    fn a_server_reads_what_was_written() {
        for (paths, long) in [(&["/"][..], 1), (&["/a", "/b", "/index.html"], 300), (&["/a", "/b"], 5000)] {
            let requests: Vec<Vec<Field>> = paths.iter().map(|path| fields(path, long)).collect();
            let borrowed: Vec<&[Field]> = requests.iter().map(Vec::as_slice).collect();
            let (blocks, size) = Blocks::encode(&borrowed);
            assert_eq!(size > TABLE_BYTES, long == 5000);
            for indexing in [Indexing::Begins, Indexing::Never] {
                let (mut server, mut indexing) = (Decoder::new(), indexing);
                for number in [0, 0, 1, 2, 1, 0].map(|number| number % paths.len()) {
                    let mut read = Vec::new();
                    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
                    let block = blocks[number].of_next(&mut indexing);
                    server
                        .decode(block, |name, value| read.push((text(name), text(value))))
                        .expect("a block");
                    assert_eq!(read, requests[number]);
                }
            }
            let later = blocks[0].later.len();
            assert!(long == 5000 || later < 12, "{later} bytes for fields that the server knows");
        }
    }
}
