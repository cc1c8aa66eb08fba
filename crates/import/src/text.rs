//! The text of a file: decoded, one line at a time with its number, and the fields of a line.
//!
//! Every file is read as UTF-8, without a byte order mark. PowerShell writes UTF-16 with a mark where `>`
//! is typed, and many programs of Windows put a mark before UTF-8. A mark is no part of the text.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, Cursor, Read};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use record::N_MAX;

/// Bytes that a line may have; a longer one is no line of numbers.
pub const LINE_BYTES_MAX: usize = 1 << 20;

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

/// A file, line by line.
pub(crate) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
    hasher: DefaultHasher,
}

/// The text between two line ends.
pub(crate) enum Line<'a> {
    /// The line, with the line feed at its end.
    Text(&'a [u8]),
    /// It has more than [`LINE_BYTES_MAX`] bytes.
    TooLong,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Lines { input, line: Vec::new(), number: 0, hasher: DefaultHasher::new() }
    }

    pub(crate) fn digest(&self) -> u64 {
        self.hasher.finish()
    }

    /// The next line and its number, from 1.
    pub(crate) fn next(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        self.line.clear();
        let most = LINE_BYTES_MAX as u64 + 1;
        if self.input.by_ref().take(most).read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.line.hash(&mut self.hasher);
        if !self.line.ends_with(b"\n") {
            if self.line.len() > LINE_BYTES_MAX {
                self.input.skip_until(b'\n')?;
                return Ok(Some((self.number, Line::TooLong)));
            }
            self.line.push(b'\n');
        }
        Ok(Some((self.number, Line::Text(&self.line))))
    }
}

pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// A whole number of objects that a run file can hold: `1000`, and also `1e3` and `1000.0`.
pub(crate) fn parse_n(field: &[u8]) -> Option<u64> {
    parse_whole(field).filter(|n| *n <= N_MAX)
}

fn parse_whole(field: &[u8]) -> Option<u64> {
    let mut n: u64 = 0;
    let digits = field.iter().take(20).take_while(|byte| byte.is_ascii_digit()).count();
    if digits == field.len() && digits > 0 {
        for byte in field {
            n = n.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
        }
        return Some(n);
    }
    let n = parse_value(field)?;
    // 2^64 is the first that does not fit, and a float.
    (n >= 0.0 && n.fract() == 0.0 && n < 18_446_744_073_709_551_616.0).then_some(n as u64)
}

/// Any number that Rust's own parser takes; `nan` and `inf` too.
pub(crate) fn parse_value(field: &[u8]) -> Option<f64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Whether a field is a number but for a decimal comma or separators of thousands.
pub(crate) fn has_separator(field: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(field) else { return false };
    let is_separator = |letter: char| matches!(letter, ',' | '\'' | '’' | '_' | ' ' | '\u{a0}' | '\u{202f}');
    let of_number =
        |letter: char| letter.is_ascii_digit() || ".+-eE".contains(letter) || is_separator(letter);
    let is_parted = text.contains(is_separator) || text.matches('.').count() > 1;
    text.contains(|letter: char| letter.is_ascii_digit()) && text.chars().all(of_number) && is_parted
}

/// The text of a field, short enough to be shown.
pub(crate) fn shown(field: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(field);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}

/// Splits lines at a separator.
pub(crate) struct Fields {
    separator: u8,
    reader: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// The fields of one line, trimmed.
pub(crate) struct Split<'a> {
    text: &'a [u8],
    ends: &'a [usize],
}

impl Fields {
    pub(crate) fn new(separator: u8, fields_max: usize) -> Self {
        let reader = ReaderBuilder::new().delimiter(separator).build();
        Fields { separator, reader, text: Vec::new(), ends: vec![0; fields_max] }
    }

    /// The fields of a line, which ends in a line feed and is not blank. With more fields than there may be
    /// it has that many.
    pub(crate) fn split(&mut self, line: &[u8]) -> Result<Split<'_>, String> {
        if self.text.len() < line.len() {
            self.text.resize(line.len().next_power_of_two(), 0);
        }
        if self.separator == b' ' {
            return Ok(self.split_at_spaces(line));
        }
        let (result, read, _, ends) = self.reader.read_record(line, &mut self.text, &mut self.ends);
        let whole = is_blank(&line[read..]);
        let reason = match result {
            ReadRecordResult::Record if whole => {
                return Ok(Split { text: &self.text, ends: &self.ends[..ends] });
            }
            ReadRecordResult::Record => "a carriage return stands inside",
            ReadRecordResult::OutputEndsFull => {
                self.reader.reset();
                return Ok(Split { text: &self.text, ends: &self.ends });
            }
            _ => "a quote is not closed",
        };
        self.reader.reset();
        Err(reason.into())
    }

    fn split_at_spaces(&mut self, line: &[u8]) -> Split<'_> {
        let (mut end, mut count) = (0, 0);
        let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        for (word, place) in words.zip(&mut self.ends) {
            self.text[end..end + word.len()].copy_from_slice(word);
            end += word.len();
            (*place, count) = (end, count + 1);
        }
        Split { text: &self.text, ends: &self.ends[..count] }
    }
}

impl Split<'_> {
    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    /// A field by its place; nothing where there is none.
    pub(crate) fn get(&self, place: usize) -> &[u8] {
        let start = place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(place).copied().unwrap_or(start);
        self.text.get(start..end).unwrap_or_default().trim_ascii()
    }
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

    #[test]
    fn lines_are_counted_and_none_is_long() {
        let long = vec![b'x'; 3 * LINE_BYTES_MAX];
        let file = [b"\na\n".as_slice(), &long, b"\nlast"].concat();
        let mut lines = Lines::new(file.as_slice());
        let mut seen = Vec::new();
        while let Some((number, line)) = lines.next().expect("memory") {
            seen.push((number, matches!(line, Line::Text(_))));
        }
        assert_eq!(seen, [(1, true), (2, true), (3, false), (4, true)]);
    }

    #[test]
    fn numbers_with_separators_are_known() {
        for text in ["0,84", "1,000", "1 000", "1'000", "1.000.000", "-1,5e3", "1_000", "1\u{202f}000"] {
            assert!(has_separator(text.as_bytes()), "{text}");
        }
        for text in ["", ",", "0.84", "1e3", "fast", "a,1", "-2"] {
            assert!(!has_separator(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn n_is_whole_however_it_is_written() {
        for (text, n) in [("0", 0), ("1000", 1000), ("1e4", 10_000), ("1000.0", 1000), ("+5", 5), ("-0", 0)] {
            assert_eq!(parse_n(text.as_bytes()), Some(n), "{text}");
        }
        assert_eq!(parse_n(b"9223372036854775807"), Some(N_MAX));
        for text in [
            "",
            "-1",
            "1.5",
            "1e30",
            "9223372036854775808",
            "18446744073709551616",
            "nan",
            "inf",
            "ten",
            "1 000",
            "0x10",
        ] {
            assert_eq!(parse_n(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn an_open_quote_costs_one_line() {
        let mut fields = Fields::new(b',', 9);
        assert_eq!(fields.split(b"\"a,b\n").err(), Some("a quote is not closed".into()));
        let split = fields.split(b" a ,\"b \"\"c\"\",\",, d\r\n").expect("fields");
        let all: Vec<&[u8]> = (0..split.count()).map(|i| split.get(i)).collect();
        assert_eq!(all, [b"a".as_slice(), b"b \"c\",", b"", b"d"]);
        assert!(fields.split(b"a\rb\n").is_err());
        assert_eq!(fields.split(b"1,2\n").expect("fields").count(), 2);
    }
}
