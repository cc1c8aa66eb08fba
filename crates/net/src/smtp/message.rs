//! The text of a message between DATA and its reply: lines that end in CR LF, with a dot before each dot that
//! begins one, and a dot alone behind the last (RFC 5321, section 4.5.2).

use memchr::memchr_iter;

/// Writes a message in the form of DATA, with the dot that ends it. LF alone becomes CR LF, and CR alone is
/// left out, because a client must send neither (section 2.3.8); the last line is ended.
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
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
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
        while self.state != State::Ended {
            let Some(&next) = input.first() else { return false };
            self.state = match (self.state, next) {
                (State::LineBegin, b'.') => self.skip(input, State::Dot),
                (State::Dot, b'\r') => self.skip(input, State::DotCr),
                (State::DotCr, b'\n') => self.skip(input, State::Ended),
                (State::DotCr, _) => {
                    content(b"\r");
                    State::Text
                }
                (State::Cr, b'\n') => {
                    content(b"\n");
                    self.skip(input, State::LineBegin)
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

    fn skip(&self, input: &mut &[u8], next: State) -> State {
        *input = &input[1..];
        next
    }
}

/// The bytes up to the next dot that begins a line, and their ending. The first byte is no such dot.
fn text(input: &[u8]) -> (&[u8], State) {
    for end in memchr_iter(b'\n', input) {
        if input[end + 1..].first() == Some(&b'.') && input[..end].last() == Some(&b'\r') {
            return (&input[..=end], State::LineBegin);
        }
    }
    match input {
        [.., b'\r', b'\n'] => (input, State::LineBegin),
        [.., b'\r'] => (input, State::Cr),
        _ => (input, State::Text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
