//! The compression of header fields (HPACK, RFC 7541).
//!
//! - `table` fields that have a number: 61 fixed ones, and those that were sent before on a connection;
//! - `decoder` reads the fields of responses, `huffman` their strings;
//! - `encoder` writes the fields of requests, once, before the load begins.

mod decoder;
mod encoder;
mod huffman;
mod table;

pub(super) use self::decoder::Decoder;
pub(super) use self::encoder::{Blocks, Indexing, write_size};
pub(super) use self::table::TABLE_BYTES;

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
