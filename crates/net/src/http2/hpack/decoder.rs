//! Reads the fields of a response (RFC 7541, sections 3 and 6).

use super::huffman::{self, Broken};
use super::table::{Dynamic, STATIC, TABLE_BYTES};
use super::{Form, INDEXED, SIZE_UPDATE, STRING, WITH_INDEXING, WITHOUT_INDEXING};

/// One direction of a connection.
pub(in crate::http2) struct Decoder {
    table: Dynamic,
    /// Name and value of the field that is read.
    field: Vec<u8>,
}

impl Decoder {
    pub(in crate::http2) fn new() -> Decoder {
        Decoder { table: Dynamic::new(), field: Vec::new() }
    }

    /// Hands on each field of a whole block.
    pub(in crate::http2) fn decode(
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

/// What of a block is not read yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    /// A number behind the pattern of a form (section 5.1); none of them needs more than 28 bits.
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

    /// Appendix C.6 of RFC 7541 in part: compressed responses, one of which uses fields of the one before.
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
}
