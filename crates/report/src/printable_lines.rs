//! Text from a file on its way to a terminal.

use std::io::{Result, Write};

use crate::text::printable;

/// Passes on what is written line by line, each made [`printable`]: no name in it reaches the terminal as an
/// order. The last line is passed on by [`Write::flush`] at the latest.
#[derive(Debug)]
pub struct PrintableLines<W> {
    out: W,
    line: Vec<u8>,
}

impl<W: Write> PrintableLines<W> {
    /// To this output.
    pub fn new(out: W) -> PrintableLines<W> {
        PrintableLines { out, line: Vec::new() }
    }

    fn end_line(&mut self) -> Result<()> {
        let text = String::from_utf8_lossy(&self.line);
        self.out.write_all(printable(&text).as_bytes())?;
        self.line.clear();
        Ok(())
    }
}

impl<W: Write> Write for PrintableLines<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(end) => {
                    self.line.extend_from_slice(end);
                    self.end_line()?;
                    self.out.write_all(b"\n")?;
                }
                None => self.line.extend_from_slice(piece),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.end_line()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_made_printable_however_they_are_cut() -> Result<()> {
        let text = "system,é\nbind\u{1b}[2J,\u{202e}x\nlast";
        for cut in 0..text.len() {
            let mut out = Vec::new();
            let mut lines = PrintableLines::new(&mut out);
            lines.write_all(&text.as_bytes()[..cut])?;
            lines.write_all(&text.as_bytes()[cut..])?;
            lines.flush()?;
            assert_eq!(out, "system,é\nbind\\u{1b}[2J,\\u{202e}x\nlast".as_bytes(), "cut at {cut}");
        }
        Ok(())
    }
}
