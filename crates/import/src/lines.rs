//! The lines of a file, one at a time and never a long one, with their numbers.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, Read};

/// Bytes that a line may have; a longer one is no line of numbers.
pub const LINE_BYTES_MAX: usize = 1 << 20;

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

    /// A digest of the lines so far.
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

/// Whether a line is blank.
pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
