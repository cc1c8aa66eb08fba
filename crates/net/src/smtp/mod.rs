//! SMTP (RFC 5321) without a socket and without a clock: the parts that its client and its server share.
//!
//! - here are lines, whose bytes come cut anywhere, and the text of a message between DATA and its reply;
//! - `reply` replies, written and read, and the extensions that a server lists;
//! - `command` commands, written and read;
//! - `mailbox` addresses.
//!
//! A field that holds a control character does not exist here: [`Mailbox`] and [`ArgumentText`] refuse it,
//! and commands are made of these. So an address cannot smuggle in a command. No input of the other end
//! causes a panic, or takes more memory than a limit: `fuzz/fuzz_targets/smtp_*.rs`.
//!
//! Lines of commands and replies end in LF, with or without CR before it, as in most servers. The lines of a
//! message do not, because a server that accepts LF as their end could be sent a second message inside the
//! first ("SMTP smuggling", CVE-2023-51764): see [`DotDecoder`].

mod command;
mod mailbox;
mod reply;

pub use command::{ArgumentText, COMMAND_BYTES_MAX, Command, CommandError};
pub use mailbox::{Mailbox, MailboxError};
pub use reply::{EnhancedCode, Extensions, Reply, ReplyError, ReplyParser, write_reply};

use memchr::{memchr, memchr_iter};

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

/// Writes a message in the form of DATA (RFC 5321, section 4.5.2): lines that end in CR LF, with a dot before
/// each dot that begins one, and a dot alone behind the last. LF alone becomes CR LF, and CR alone is left
/// out, because a client must send neither (section 2.3.8); the last line is ended.
pub fn dot_stuffed(message: &[u8], output: &mut Vec<u8>) {
    output.reserve(message.len() + message.len() / 32 + 5);
    for line in message.split_inclusive(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let begin = output.len();
        let mut pieces = line.split(|&byte| byte == b'\r');
        output.extend_from_slice(pieces.next().unwrap_or_default());
        pieces.for_each(|piece| output.extend_from_slice(piece));
        if output.get(begin) == Some(&b'.') {
            output.insert(begin, b'.');
        }
        output.extend_from_slice(b"\r\n");
    }
    output.extend_from_slice(b".\r\n");
}

/// Reads a message from the input behind DATA, whose bytes come cut anywhere.
///
/// Only CR LF ends a line, and only CR LF . CR LF the message. CR alone and LF alone are bytes of the message
/// like others, so that no message can contain an end that only some servers see.
#[derive(Clone, Copy, Debug, Default)]
pub struct DotDecoder {
    state: DotState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DotState {
    /// Behind CR LF, or at the beginning.
    #[default]
    LineBegin,
    /// In a line.
    Text,
    /// Behind a CR in a line.
    Cr,
    /// Behind a dot that begins a line. It is not part of the message.
    Dot,
    /// Behind that dot and a CR.
    DotCr,
    Ended,
}

impl DotDecoder {
    /// Takes input up to the end of the message, leaves the rest, and passes on the message. Returns whether
    /// the message has ended.
    pub fn decode(&mut self, input: &mut &[u8], content: &mut impl FnMut(&[u8])) -> bool {
        while self.state != DotState::Ended {
            let Some(&next) = input.first() else { return false };
            self.state = match (self.state, next) {
                (DotState::LineBegin, b'.') => self.skip(input, DotState::Dot),
                (DotState::Dot, b'\r') => self.skip(input, DotState::DotCr),
                (DotState::DotCr, b'\n') => self.skip(input, DotState::Ended),
                (DotState::DotCr, _) => {
                    content(b"\r");
                    DotState::Text
                }
                (DotState::Cr, b'\n') => {
                    content(b"\n");
                    self.skip(input, DotState::LineBegin)
                }
                _ => {
                    let (text, state) = text(input);
                    content(text);
                    *input = &input[text.len()..];
                    state
                }
            };
        }
        true
    }

    fn skip(&self, input: &mut &[u8], next: DotState) -> DotState {
        *input = &input[1..];
        next
    }
}

/// The bytes up to the next dot that begins a line, and their ending. The first byte is no such dot.
fn text(input: &[u8]) -> (&[u8], DotState) {
    for end in memchr_iter(b'\n', input) {
        if input[end + 1..].first() == Some(&b'.') && input[..end].last() == Some(&b'\r') {
            return (&input[..=end], DotState::LineBegin);
        }
    }
    match input {
        [.., b'\r', b'\n'] => (input, DotState::LineBegin),
        [.., b'\r'] => (input, DotState::Cr),
        _ => (input, DotState::Text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// The message, whether it ended, and the rest, of a stream in pieces of that length.
    fn decoded(stream: &[u8], cut: usize) -> (Vec<u8>, bool, Vec<u8>) {
        let (mut decoder, mut message, mut left) = (DotDecoder::default(), Vec::new(), Vec::new());
        let mut ended = false;
        for mut input in stream.chunks(cut) {
            ended = decoder.decode(&mut input, &mut |piece| message.extend_from_slice(piece));
            left.extend_from_slice(input);
        }
        (message, ended, left)
    }

    #[test]
    fn a_message_ends_at_a_dot_alone_however_it_is_cut() {
        let stream = b"a\r\n..b\r\n.c\r\n\r\n...\r\n.\r\nQUIT\r\n";
        for cut in 1..=stream.len() {
            let (message, ended, left) = decoded(stream, cut);
            assert_eq!(message, b"a\r\n.b\r\nc\r\n\r\n..\r\n");
            assert!(ended);
            assert_eq!(left, b"QUIT\r\n");
        }
        assert_eq!(decoded(b".\r\n", 1), (Vec::new(), true, Vec::new()));
    }

    #[test]
    fn no_other_line_end_ends_a_message() {
        for end in ["\n.\n", "\n.\r\n", "\r.\r", "\r.\r\n", "\r\n.\n", "\r\n.\r", "\r\n.\r\r\n", "\r\n.\r\n"]
        {
            let stream = format!("a{end}b\r\n");
            for cut in 1..=stream.len() {
                assert_eq!(decoded(stream.as_bytes(), cut).1, end == "\r\n.\r\n", "{end:?}");
            }
        }
        assert_eq!(decoded(b"a\n.\nb\r\r\n.\r.\r\n.\r\n", 3).0, b"a\n.\nb\r\r\n\r.\r\n");
    }

    #[test]
    fn lines_are_written_with_crlf() {
        let written = |message: &[u8]| {
            let mut output = Vec::new();
            dot_stuffed(message, &mut output);
            output
        };
        assert_eq!(written(b"a\n.b\r\n.\nc"), b"a\r\n..b\r\n..\r\nc\r\n.\r\n");
        assert_eq!(written(b"a\r\r\n\r.b"), b"a\r\n..b\r\n.\r\n");
        assert_eq!(written(b""), b".\r\n");
    }
}
