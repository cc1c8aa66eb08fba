//! The lines of a file, one at a time and never a long one, with their numbers.

use std::io::{self, BufRead, Read};

/// Bytes that a line may have; a longer one is no line of numbers.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// The byte order mark that some programs put before UTF-8.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// A file, line by line.
pub(super) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
    /// The first line that says anything is looked at twice.
    again: bool,
}

/// What stands between two line ends.
pub(super) enum Line<'a> {
    /// The line, with the line feed at its end.
    Text(&'a [u8]),
    /// It has more than [`LINE_BYTES_MAX`] bytes.
    TooLong,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Lines { input, line: Vec::new(), number: 0, again: false }
    }

    /// The first line that is not blank, without line end and byte order mark; [`Lines::next`] gives it once
    /// more. Its first bytes where it is too long; `None` in an empty file.
    pub(super) fn first(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            match self.next()? {
                None => return Ok(None),
                Some((_, Line::Text(text))) if is_blank(text.strip_prefix(BOM).unwrap_or(text)) => {}
                Some(_) => break,
            }
        }
        if self.number == 1 && self.line.starts_with(BOM) {
            self.line.drain(..BOM.len());
        }
        self.again = true;
        Ok(Some(self.line.trim_ascii_end().to_vec()))
    }

    /// The next line and its number, from 1.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        if !std::mem::take(&mut self.again) {
            self.line.clear();
            let most = LINE_BYTES_MAX as u64 + 1;
            if self.input.by_ref().take(most).read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if !self.line.ends_with(b"\n") {
                if self.line.len() > LINE_BYTES_MAX {
                    self.input.skip_until(b'\n')?;
                    return Ok(Some((self.number, Line::TooLong)));
                }
                self.line.push(b'\n');
            }
        }
        Ok(Some((self.number, Line::Text(&self.line))))
    }
}

/// Whether nothing is to be seen on a line.
pub(super) fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_and_none_is_long() {
        let long = vec![b'x'; 3 * LINE_BYTES_MAX];
        let file = [b"\xef\xbb\xbf\na\n".as_slice(), &long, b"\nlast"].concat();
        let mut lines = Lines::new(file.as_slice());
        assert_eq!(lines.first().expect("memory"), Some(b"a".to_vec()));
        let mut seen = Vec::new();
        while let Some((number, line)) = lines.next().expect("memory") {
            seen.push((number, matches!(line, Line::Text(_))));
        }
        assert_eq!(seen, [(2, true), (3, false), (4, true)]);
    }
}
