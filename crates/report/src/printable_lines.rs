//! Text on its way to a terminal.

use std::io::{Result, Write};

use crate::text::{CODES, printable};

/// Passes on written text line by line, each made [`printable`]: no name in it reaches the terminal as a
/// control sequence. The last line is passed on by [`Write::flush`] at the latest.
#[derive(Debug)]
pub struct PrintableLines<W> {
    out: W,
    line: Vec<u8>,
    /// The exceptions.
    codes: &'static [&'static str],
}

impl<W: Write> PrintableLines<W> {
    /// To this output.
    pub fn new(out: W) -> PrintableLines<W> {
        PrintableLines { out, line: Vec::new(), codes: &[] }
    }

    /// To this output, with the colours that [`Style`](crate::Style) may ask for.
    pub fn in_colour(out: W) -> PrintableLines<W> {
        PrintableLines { codes: &CODES, ..PrintableLines::new(out) }
    }

    fn end_line(&mut self) -> Result<()> {
        let text = String::from_utf8_lossy(&self.line);
        let mut rest = &*text;
        while let Some(place) = rest.find('\u{1b}') {
            let (before, code) = rest.split_at(place);
            let own = self.codes.iter().find(|own| code.starts_with(**own));
            let (code, after) = code.split_at(own.map_or(1, |own| own.len()));
            let shown = if own.is_some() { code.into() } else { printable(code) };
            self.out.write_all(printable(before).as_bytes())?;
            self.out.write_all(shown.as_bytes())?;
            rest = after;
        }
        self.out.write_all(printable(rest).as_bytes())?;
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

    #[test]
    fn colours_pass_where_they_may_and_nothing_else_does() -> Result<()> {
        let text = "\u{1b}[1mbold\u{1b}[0m \u{1b}[8mhidden \u{1b}]0;title\u{7} \u{9b}31m\n";
        let kept = "\u{1b}[1mbold\u{1b}[0m \\u{1b}[8mhidden \\u{1b}]0;title\\u{7} \\u{9b}31m\n";
        let mut out = Vec::new();
        PrintableLines::in_colour(&mut out).write_all(text.as_bytes())?;
        assert_eq!(out, kept.as_bytes());
        out.clear();
        PrintableLines::new(&mut out).write_all(text.as_bytes())?;
        assert!(!out.contains(&0x1b), "{out:?}");
        Ok(())
    }
}
