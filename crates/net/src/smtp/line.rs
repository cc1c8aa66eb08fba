//! Lines, whose bytes come cut anywhere.

use memchr::memchr;

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
