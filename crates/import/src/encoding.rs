//! Encodings: every file is read as UTF-8, without a byte order mark.
//!
//! PowerShell writes UTF-16 with a mark where `>` is typed, and many programs of Windows put a mark before
//! UTF-8. A mark is no part of the text.

use std::io::{self, BufRead, Cursor, Read};

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16_LITTLE_MARK: &[u8] = b"\xff\xfe";
const UTF16_BIG_MARK: &[u8] = b"\xfe\xff";
const UTF32_MARKS: [&[u8]; 2] = [b"\xff\xfe\0\0", b"\0\0\xfe\xff"];

/// The input behind its byte order mark, as UTF-8. Text that violates the encoding of its mark is
/// an error of [`io::ErrorKind::InvalidData`].
pub(crate) fn decoded<'a>(mut input: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut begin = Vec::new();
    input.by_ref().take(4).read_to_end(&mut begin)?;
    let little = begin.starts_with(UTF16_LITTLE_MARK);
    if UTF32_MARKS.contains(&begin.as_slice()) {
        return Err(unreadable("it is in UTF-32; save it as UTF-8"));
    }
    if little || begin.starts_with(UTF16_BIG_MARK) {
        let mut bytes = begin.split_off(2);
        input.read_to_end(&mut bytes)?;
        return Ok(Box::new(Cursor::new(from_utf16(&bytes, little)?.into_bytes())));
    }
    if matches!(begin.as_slice(), [first, 0, _, 0] | [0, first, 0, _] if first.is_ascii_graphic()) {
        return Err(unreadable("it looks like UTF-16 without a byte order mark; save it as UTF-8"));
    }
    let begin = begin.strip_prefix(UTF8_MARK).map(<[u8]>::to_vec).unwrap_or(begin);
    Ok(Box::new(Cursor::new(begin).chain(input)))
}

fn from_utf16(bytes: &[u8], little: bool) -> io::Result<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(unreadable("it begins as UTF-16 and ends inside a character"));
    }
    let unit = if little { u16::from_le_bytes } else { u16::from_be_bytes };
    char::decode_utf16(pairs.iter().map(|pair| unit(*pair)))
        .collect::<Result<String, _>>()
        .map_err(|_| unreadable("it begins as UTF-16 and is damaged; save it as UTF-8"))
}

fn unreadable(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<String, String> {
        let mut text = String::new();
        let mut input = decoded(bytes).map_err(|error| error.to_string())?;
        input.read_to_string(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    }

    fn utf16(text: &str, mark: &[u8], bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        [mark, &text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>()].concat()
    }

    #[test]
    fn a_mark_is_no_part_of_the_text() {
        for text in ["", "n", "n,value\r\n", "µs ✓ 𝄞\n"] {
            assert_eq!(read(text.as_bytes()).as_deref(), Ok(text));
            assert_eq!(read(&[UTF8_MARK, text.as_bytes()].concat()).as_deref(), Ok(text));
            assert_eq!(read(&utf16(text, UTF16_LITTLE_MARK, u16::to_le_bytes)).as_deref(), Ok(text));
            assert_eq!(read(&utf16(text, UTF16_BIG_MARK, u16::to_be_bytes)).as_deref(), Ok(text));
        }
    }

    #[test]
    fn what_cannot_be_decoded_says_what_to_do() {
        for bytes in [
            b"\xff\xfe\0\0n\0\0\0".as_slice(),
            b"n\0,\0v\0",
            b"\0n\0,\0v",
            b"\xff\xfe\x00\xd8n\0",
            b"\xff\xfen\0,",
        ] {
            assert!(read(bytes).is_err_and(|error| error.contains("UTF-")), "{bytes:?}");
        }
    }
}
