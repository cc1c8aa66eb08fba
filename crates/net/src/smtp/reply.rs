//! Replies (RFC 5321, section 4.2), of one or more lines, the extensions that the reply to EHLO lists, and
//! lines, whose bytes come cut anywhere.

use std::borrow::Cow;
use std::io::Write as _;

use memchr::memchr;

/// The longest line of a reply that is read, in octets. RFC 5321, section 4.5.3.1.5, allows 512 with CR LF;
/// there are servers that send more.
const REPLY_LINE_BYTES_MAX: usize = 4096;

/// The longest reply that is read, in octets. 128 lines of 512.
const REPLY_BYTES_MAX: usize = 64 << 10;

/// The longest line that is written, without CR LF.
const WRITTEN_LINE_BYTES_MAX: usize = 510;

/// An enhanced status code: class, subject, detail (RFC 3463).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnhancedCode(pub u8, pub u16, pub u16);

/// A reply that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    code: u16,
    /// Without codes; lines are separated by LF.
    lines: &'a [u8],
}

impl<'a> Reply<'a> {
    /// Its code, from 200 to 599.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// Its enhanced status code, if it begins with one of the class of its code (RFC 2034, section 4).
    pub fn enhanced(&self) -> Option<EnhancedCode> {
        enhanced(self.lines, self.code).map(|(code, _)| code)
    }

    /// The text of each line, as it was sent, without reply codes and without enhanced status codes.
    pub fn lines(&self) -> impl Iterator<Item = &'a [u8]> {
        let code = self.code;
        self.lines.split(|&byte| byte == b'\n').map(move |line| match enhanced(line, code) {
            Some((_, rest)) => rest,
            None => line,
        })
    }

    /// Its text in one line, with `�` for bytes that are not UTF-8 and a space for control characters.
    pub fn text(&self) -> String {
        let lines: Vec<Cow<'_, str>> = self.lines().map(String::from_utf8_lossy).collect();
        lines.join(" ").replace(char::is_control, " ")
    }
}

/// The enhanced status code at the beginning of a line, and the rest.
fn enhanced(line: &[u8], code: u16) -> Option<(EnhancedCode, &[u8])> {
    let (class, rest) = number(line, 1)?;
    let (subject, rest) = number(rest.strip_prefix(b".")?, 3)?;
    let (detail, rest) = number(rest.strip_prefix(b".")?, 3)?;
    let is_ended = matches!(rest.first(), None | Some(b' ' | b'\n'));
    let is_of_class = class == code / 100 && matches!(class, 2 | 4 | 5);
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    (is_ended && is_of_class).then_some((EnhancedCode(class as u8, subject, detail), rest))
}

/// A decimal number of at most this many digits, and the rest.
fn number(text: &[u8], digits_max: usize) -> Option<(u16, &[u8])> {
    let digits = text.iter().take(digits_max).take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(digits);
    let value = digits.iter().fold(0, |value, digit| value * 10 + u16::from(digit - b'0'));
    (!digits.is_empty()).then_some((value, rest))
}

/// How a server broke the protocol of replies. The connection cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// A line does not end.
    #[error("a reply has {0}")]
    Line(#[from] LineTooLong),
    /// There are too many lines.
    #[error("a reply is longer than {REPLY_BYTES_MAX} octets")]
    TooLong,
    /// A line does not begin with a code from 200 to 599 and a space, a hyphen or nothing more.
    #[error("a line of a reply does not begin with a code of three digits")]
    NoCode,
    /// The lines of one reply have different codes.
    #[error("a reply begins with code {first} and goes on with {then}")]
    CodeChanged {
        /// The code of the first line.
        first: u16,
        /// The code of a later line.
        then: u16,
    },
}

/// Reads replies from bytes that come cut anywhere, into a buffer that all of them use.
#[derive(Clone, Debug, Default)]
pub struct ReplyParser {
    line: LineBuffer,
    /// The lines of the reply that have come, without their codes.
    lines: Vec<u8>,
    /// The code of the reply whose last line has not come; 0 between replies.
    code: u16,
}

impl ReplyParser {
    /// Takes one reply from the beginning of the input, and leaves the rest. `None` if its end has not come:
    /// then all of the input was taken.
    ///
    /// # Errors
    /// [`ReplyError`].
    pub fn parse(&mut self, input: &mut &[u8]) -> Result<Option<Reply<'_>>, ReplyError> {
        loop {
            let Some(line) = self.line.take(input, REPLY_LINE_BYTES_MAX)? else { return Ok(None) };
            let ReplyLine { code, is_last, text } = ReplyLine::parse(line)?;
            let is_first = self.code == 0;
            if !is_first && self.code != code {
                return Err(ReplyError::CodeChanged { first: self.code, then: code });
            }
            if is_first {
                self.lines.clear();
            } else {
                self.lines.push(b'\n');
            }
            if self.lines.len() + text.len() > REPLY_BYTES_MAX {
                return Err(ReplyError::TooLong);
            }
            self.lines.extend_from_slice(text);
            self.code = if is_last { 0 } else { code };
            if is_last {
                return Ok(Some(Reply { code, lines: &self.lines }));
            }
        }
    }

    /// Whether the beginning of a reply has come, and its end has not.
    pub fn is_within_reply(&self) -> bool {
        self.code != 0 || self.line.is_within_line()
    }
}

struct ReplyLine<'a> {
    code: u16,
    is_last: bool,
    text: &'a [u8],
}

impl ReplyLine<'_> {
    fn parse(line: &[u8]) -> Result<ReplyLine<'_>, ReplyError> {
        let (code, rest) = number(line, 3).ok_or(ReplyError::NoCode)?;
        let (is_last, text) = match rest {
            [] => (true, rest),
            [b' ', text @ ..] => (true, text),
            [b'-', text @ ..] => (false, text),
            _ => return Err(ReplyError::NoCode),
        };
        if !(200..600).contains(&code) {
            return Err(ReplyError::NoCode);
        }
        Ok(ReplyLine { code, is_last, text })
    }
}

/// Writes a reply. LF in the text separates lines; other control characters become `?`, because a text may
/// repeat what a client sent. Lines that RFC 5321 does not allow to be so long become several.
pub fn write_reply(output: &mut Vec<u8>, code: u16, enhanced: Option<EnhancedCode>, text: &str) {
    let prefix = match enhanced {
        Some(EnhancedCode(class, subject, detail)) => format!("{class}.{subject}.{detail} "),
        None => String::new(),
    };
    // Code and separator.
    let most = WRITTEN_LINE_BYTES_MAX - 4 - prefix.len();
    let mut lines = text.split('\n').flat_map(|line| pieces(line, most)).peekable();
    while let Some(line) = lines.next() {
        let separator = if lines.peek().is_some() { '-' } else { ' ' };
        // A vector takes everything.
        let _ = write!(output, "{code}{separator}{prefix}");
        output.extend(line.bytes().map(|byte| if byte.is_ascii_control() { b'?' } else { byte }));
        output.extend_from_slice(b"\r\n");
    }
}

/// A text in pieces of at most this many bytes, at least one.
fn pieces(text: &str, most: usize) -> impl Iterator<Item = &str> {
    let mut left = Some(text);
    std::iter::from_fn(move || {
        let text = left?;
        let (piece, rest) = text.split_at(text.floor_char_boundary(most));
        left = (!rest.is_empty()).then_some(rest);
        Some(piece)
    })
}

/// The extensions of a server that osdyno uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// Commands may be sent before the replies to others (RFC 2920).
    pub pipelining: bool,
    /// The largest message in octets, 0 if no limit is known (RFC 1870); `None` without the extension.
    pub size_max: Option<u64>,
    /// Messages may have octets beyond 127 (RFC 6152).
    pub eight_bit_mime: bool,
    /// Addresses may have characters beyond ASCII (RFC 6531).
    pub smtp_utf8: bool,
    /// Replies have enhanced status codes (RFC 2034).
    pub enhanced_status_codes: bool,
    /// Messages may be sent by BDAT (RFC 3030).
    pub chunking: bool,
    /// The connection can be encrypted (RFC 3207).
    pub start_tls: bool,
}

impl Extensions {
    /// Those of a reply to EHLO: each of its lines but the first is a keyword, in any case, with parameters.
    /// Unknown keywords, and those with unknown parameters, are left out.
    pub fn parse(reply: &Reply<'_>) -> Extensions {
        let mut extensions = Extensions::default();
        for line in reply.lines().skip(1) {
            let mut words = line.split(|byte| b" \t".contains(byte)).filter(|word| !word.is_empty());
            let Some(keyword) = words.next() else { continue };
            match &keyword.to_ascii_uppercase()[..] {
                b"PIPELINING" => extensions.pipelining = true,
                b"SIZE" => extensions.size_max = size(words.next()),
                b"8BITMIME" => extensions.eight_bit_mime = true,
                b"SMTPUTF8" => extensions.smtp_utf8 = true,
                b"ENHANCEDSTATUSCODES" => extensions.enhanced_status_codes = true,
                b"CHUNKING" => extensions.chunking = true,
                b"STARTTLS" => extensions.start_tls = true,
                _ => {}
            }
        }
        extensions
    }

    /// Writes the reply to EHLO of a server of that name.
    pub fn write(&self, host: &str, output: &mut Vec<u8>) {
        let mut text = host.as_bytes().to_vec();
        let keywords = [
            (self.pipelining, "PIPELINING"),
            (self.eight_bit_mime, "8BITMIME"),
            (self.smtp_utf8, "SMTPUTF8"),
            (self.enhanced_status_codes, "ENHANCEDSTATUSCODES"),
            (self.chunking, "CHUNKING"),
            (self.start_tls, "STARTTLS"),
        ];
        for (_, keyword) in keywords.iter().filter(|(is_offered, _)| *is_offered) {
            text.push(b'\n');
            text.extend_from_slice(keyword.as_bytes());
        }
        if let Some(most) = self.size_max {
            // A vector takes everything.
            let _ = write!(text, "\nSIZE {most}");
        }
        write_reply(output, 250, None, &String::from_utf8_lossy(&text));
    }
}

/// An unreadable limit does not count.
fn size(word: Option<&[u8]>) -> Option<u64> {
    let digits = word.and_then(|word| std::str::from_utf8(word).ok());
    Some(digits.and_then(|digits| digits.parse().ok()).unwrap_or(0))
}

/// Collects a line. Lines that were not cut are given out without a copy, and need no memory.
#[derive(Clone, Debug, Default)]
pub struct LineBuffer {
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    /// Whether `partial` is a line that was given out.
    is_taken: bool,
}

/// A line is longer than allowed. Its beginning was dropped, and the rest counts as a further line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line is longer than {0} octets")]
pub struct LineTooLong(pub usize);

impl LineBuffer {
    /// Takes a line from the beginning of the input, without LF or CR LF. `None` if its end has not
    /// come: then all of the input was taken.
    ///
    /// # Errors
    /// [`LineTooLong`] if the line has more than `most` octets, CR included.
    #[inline]
    pub fn take<'a, 'input: 'a>(
        &'a mut self,
        input: &mut &'input [u8],
        most: usize,
    ) -> Result<Option<&'a [u8]>, LineTooLong> {
        if self.is_taken {
            self.partial.clear();
            self.is_taken = false;
        }
        let end = memchr(b'\n', input);
        let (piece, rest) = match end {
            Some(end) => (&input[..end], &input[end + 1..]),
            None => (*input, &input[input.len()..]),
        };
        *input = rest;
        if self.partial.len() + piece.len() > most {
            self.partial = Vec::new();
            return Err(LineTooLong(most));
        }
        if end.is_some() && self.partial.is_empty() {
            return Ok(Some(without_cr(piece)));
        }
        self.partial.extend_from_slice(piece);
        self.is_taken = end.is_some();
        Ok(if self.is_taken { Some(without_cr(&self.partial)) } else { None })
    }

    /// Whether the beginning of a line has come, and its end has not.
    pub(crate) fn is_within_line(&self) -> bool {
        !self.is_taken && !self.partial.is_empty()
    }

    /// Gives memory back unless a line has begun.
    pub fn release(&mut self) {
        if !self.is_within_line() {
            *self = LineBuffer::default();
        }
    }
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes and texts of the replies in a stream that is cut at these places, and how it ended.
    fn parsed(stream: &[u8], cut: usize) -> (Vec<(u16, String)>, Option<ReplyError>) {
        let (mut parser, mut replies) = (ReplyParser::default(), Vec::new());
        for mut input in stream.chunks(cut) {
            loop {
                match parser.parse(&mut input) {
                    Ok(Some(reply)) => replies.push((reply.code(), reply.text())),
                    Ok(None) => break,
                    Err(error) => return (replies, Some(error)),
                }
            }
        }
        (replies, None)
    }

    #[test]
    fn replies_are_the_same_however_they_are_cut() {
        let begin = b"220 here\r\n250-one\r\n250-\r\n250 three\r\n354\r\n421 4.3.2 gone\n";
        let stream = [&begin[..], b"550-5.1.1 no\r\n550 5.1.1 one"].concat();
        let expected: Vec<(u16, String)> = [(220, "here"), (250, "one  three"), (354, ""), (421, "gone")]
            .map(|(code, text)| (code, text.to_owned()))
            .into();
        for cut in 1..=stream.len() {
            assert_eq!(parsed(&stream, cut), (expected.clone(), None));
        }
        assert_eq!(parsed(&[&stream[..], b"\r\n"].concat(), 7).0[4], (550, "no one".to_owned()));
    }

    #[test]
    fn bytes_behind_a_reply_are_left() {
        let (mut parser, mut input) = (ReplyParser::default(), &b"250 a\r\n250-b"[..]);
        assert!(parser.parse(&mut input).unwrap().is_some());
        assert_eq!(input, b"250-b");
        assert!(!parser.is_within_reply());
        assert!(parser.parse(&mut input).unwrap().is_none());
        assert!(parser.is_within_reply() && input.is_empty());
    }

    #[test]
    fn an_enhanced_code_is_of_the_class_of_its_reply() {
        let of = |line: &[u8]| ReplyParser::default().parse(&mut &line[..]).unwrap().unwrap().enhanced();
        assert_eq!(of(b"250 2.1.5 ok\r\n"), Some(EnhancedCode(2, 1, 5)));
        assert_eq!(of(b"550 5.7.509\r\n"), Some(EnhancedCode(5, 7, 509)));
        for line in
            ["250 ok\r\n", "250 5.1.1 ok\r\n", "250 2.1 ok\r\n", "250 2.1.5ok\r\n", "354 3.0.0 go\r\n"]
        {
            assert_eq!(of(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn what_is_no_reply_is_an_error() {
        for line in
            ["\r\n", "25 a\r\n", "2500 a\r\n", "250_a\r\n", "150 a\r\n", "600 a\r\n", "SSH-2.0\r\n", "25o\n"]
        {
            assert_eq!(parsed(line.as_bytes(), 99).1, Some(ReplyError::NoCode), "{line}");
        }
        let changed = ReplyError::CodeChanged { first: 250, then: 550 };
        assert_eq!(parsed(b"250-a\r\n550 b\r\n", 99).1, Some(changed));
        assert!(matches!(parsed(&[b'2'; 5000], 99).1, Some(ReplyError::Line(_))));
        assert_eq!(parsed(&b"250-aaaa\r\n".repeat(20_000), 999).1, Some(ReplyError::TooLong));
    }

    #[test]
    fn a_text_is_written_in_lines_that_a_client_can_read() {
        let mut output = Vec::new();
        write_reply(&mut output, 550, Some(EnhancedCode(5, 1, 1)), "no\nsuch\rone\0");
        assert_eq!(output, b"550-5.1.1 no\r\n550 5.1.1 such?one?\r\n");
        output.clear();
        write_reply(&mut output, 250, None, &"ä".repeat(600));
        assert!(output.split_inclusive(|&byte| byte == b'\n').all(|line| line.len() <= 512));
        assert_eq!(parsed(&output, 11).0[0].1.replace(' ', ""), "ä".repeat(600));
        output.clear();
        write_reply(&mut output, 250, None, "");
        assert_eq!(output, b"250 \r\n");
    }

    fn parsed_extensions(text: &[u8]) -> Extensions {
        Extensions::parse(&ReplyParser::default().parse(&mut &text[..]).unwrap().unwrap())
    }

    #[test]
    fn what_is_written_is_read() {
        for bits in 0..128_u64 {
            let is = |bit: u64| bits & (1 << bit) != 0;
            let extensions = Extensions {
                pipelining: is(0),
                size_max: is(1).then_some(bits * 1000),
                eight_bit_mime: is(2),
                smtp_utf8: is(3),
                enhanced_status_codes: is(4),
                chunking: is(5),
                start_tls: is(6),
            };
            let mut output = Vec::new();
            extensions.write("mx.test", &mut output);
            assert_eq!(parsed_extensions(&output), extensions);
        }
    }

    #[test]
    fn a_keyword_is_read_in_any_case_and_not_in_the_first_line() {
        let reply =
            b"250-PIPELINING\r\n250-size\r\n250-\r\n250-AUTH=LOGIN\r\n250-X8BITMIME\r\n250 Chunking \r\n";
        let expected = Extensions { size_max: Some(0), chunking: true, ..Extensions::default() };
        assert_eq!(parsed_extensions(reply), expected);
        assert_eq!(parsed_extensions(b"250-h\r\n250 SIZE many\r\n").size_max, Some(0));
        assert_eq!(parsed_extensions(b"250 PIPELINING\r\n"), Extensions::default());
    }

    fn lines(pieces: &[&[u8]], most: usize) -> Vec<Result<Vec<u8>, LineTooLong>> {
        let (mut buffer, mut lines) = (LineBuffer::default(), Vec::new());
        for mut input in pieces.iter().copied() {
            loop {
                match buffer.take(&mut input, most) {
                    Ok(Some(line)) => lines.push(Ok(line.to_vec())),
                    Ok(None) => break,
                    Err(error) => lines.push(Err(error)),
                }
            }
        }
        lines
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let text = b"one\r\n\r\ntwo\nthree\rfour\r\nrest";
        let expected: Vec<_> =
            [&b"one"[..], b"", b"two", b"three\rfour"].map(|line| Ok(line.to_vec())).into();
        assert_eq!(lines(&[text], 100), expected);
        assert_eq!(lines(&text.chunks(1).collect::<Vec<_>>(), 100), expected);
        for cut in 0..text.len() {
            assert_eq!(lines(&[&text[..cut], &text[cut..]], 100), expected);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_refused_whether_or_not_it_ends() {
        assert_eq!(lines(&[b"12345\n1\n"], 4), [Err(LineTooLong(4)), Ok(b"1".to_vec())]);
        assert_eq!(lines(&[b"12", b"345"], 4), [Err(LineTooLong(4))]);
        assert_eq!(lines(&[b"1234\n"], 4), [Ok(b"1234".to_vec())]);
    }

    #[test]
    fn memory_is_given_back() {
        let mut buffer = LineBuffer::default();
        assert!(matches!(buffer.take(&mut &b"abc"[..], 10), Ok(None)) && buffer.is_within_line());
        buffer.release();
        assert!(matches!(buffer.take(&mut &b"\n"[..], 10), Ok(Some(b"abc"))) && !buffer.is_within_line());
        buffer.release();
        assert_eq!(buffer.partial.capacity(), 0);
    }
}
