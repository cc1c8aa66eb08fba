//! Writes the fields of the few requests of a load, each in the forms that a connection can need.
//!
//! The fields that all requests share, in the same order, enter the table of the server with the first
//! request of a connection; from the second on it is a number. So a request is a copy of bytes.

use super::{
    ENTRY_BYTES, Form, INDEXED, SIZE_UPDATE, STATIC, STRING, TABLE_BYTES, WITH_INDEXING, WITHOUT_INDEXING,
};

/// The header block of a request.
pub(in crate::http2) struct Blocks {
    /// For the first request on a connection,
    first: Box<[u8]>,
    /// of later ones,
    later: Box<[u8]>,
    /// and of all where the server keeps too small a table.
    plain: Box<[u8]>,
}

/// How the requests of a connection are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::http2) enum Indexing {
    #[default]
    Begins,
    Shared,
    Never,
}

type Field = (String, String);

impl Blocks {
    /// The blocks of each of several requests, and the size of the table that their shared fields need.
    pub(in crate::http2) fn encode(requests: &[&[Field]]) -> (Vec<Blocks>, usize) {
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
    pub(in crate::http2) fn of_next(&self, indexing: &mut Indexing) -> &[u8] {
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

/// Tells the server how much of its table is used.
pub(in crate::http2) fn write_size(block: &mut Vec<u8>, size: usize) {
    write_number(block, &SIZE_UPDATE, size);
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
    use super::super::Decoder;
    use super::*;

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
