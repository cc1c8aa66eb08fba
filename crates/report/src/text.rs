//! Text for a terminal: safe to print, in the characters and colours that it has, and a curve in eight of
//! them.

use std::borrow::Cow;
use std::io::{Result, Write};

use stats::Verdict;

use crate::document::{Tone, terminal};
use crate::words::{GAP, NO_BREAK};

/// All that a terminal receives besides text: the colours of the tones, and their end.
pub(crate) const CODES: [&str; 6] = ["\x1b[34m", "\x1b[33m", "\x1b[35m", "\x1b[2m", "\x1b[1m", "\x1b[0m"];
const GLYPHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The full height is at least this share of the lowest value, so that a flat cost looks flat.
const SPAN_MIN: f64 = 0.30;
/// From this factor on the height is logarithmic.
const LOGARITHMIC_FROM: f64 = 4.0;

/// The style of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns there are.
    pub width: usize,
    /// Whether colour may be used.
    pub colour: bool,
    /// Whether more than ASCII may be used.
    pub unicode: bool,
    /// Whether thousands stand apart, for people; a program reads digits only.
    pub grouped: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style { width: 100, colour: false, unicode: true, grouped: true }
    }
}

/// Makes a string from a file safe to print: control characters, and the marks that reorder a line, are shown
/// in escaped form. A terminal must not obey them.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().map(|c| match c {
        '\n' | '\t' => " ".to_string(),
        c if acts(c) => c.escape_unicode().to_string(),
        c => c.to_string(),
    });
    Cow::Owned(shown.collect())
}

/// Breaks a line at its spaces; lines after the first are indented.
pub fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let lines = terminal::wrapped(&[(text.to_owned(), Tone::Plain)], width, indent);
    lines.into_iter().map(|line| line.into_iter().map(|(text, _)| text).collect()).collect()
}

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

/// The block medians over n, relative to the first blocks, as a line of at most eight glyphs.
pub(crate) fn spark(verdict: &Verdict) -> String {
    spark_of_heights(&spark_heights(verdict, GLYPHS.len()))
}

/// A glyph for each height between 0 and 1.
pub(crate) fn spark_of_heights(heights: &[f64]) -> String {
    heights.iter().map(|h| GLYPHS[(h * 7.0).round().clamp(0.0, 7.0) as usize]).collect()
}

/// Heights between 0 and 1 at no more than `columns` places.
pub(crate) fn spark_heights(verdict: &Verdict, columns: usize) -> Vec<f64> {
    let values: Vec<f64> =
        verdict.blocks.iter().map(|b| b.relative.value).filter(|v| v.is_finite() && *v > 0.0).collect();
    let values = gathered(&values, columns);
    let low = values.iter().copied().fold(1.0, f64::min);
    let high = values.iter().copied().fold(1.0, f64::max);
    if high / low >= LOGARITHMIC_FROM {
        let span = (high / low).ln();
        return values.iter().map(|v| (v / low).ln() / span).collect();
    }
    let span = (high - low).max(SPAN_MIN * low);
    values.iter().map(|v| (v - low) / span).collect()
}

/// Numbers with nothing between their digits.
pub(crate) fn ungrouped(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_digit = |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(char::is_ascii_digit);
    let is_between = |at: usize| letters[at] == GAP && is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
    (0..letters.len()).filter(|at| !is_between(*at)).map(|at| letters[at]).collect()
}

/// The nearest ASCII; a character without one becomes a question mark.
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii() || c == GAP || c == NO_BREAK => out.push(c),
            'µ' => out.push('u'),
            '×' => out.push('x'),
            '–' | '−' | '—' => out.push('-'),
            '·' => out.push('|'),
            '→' => out.push_str("->"),
            '…' => out.push_str("..."),
            '“' | '”' => out.push('"'),
            '’' => out.push('\''),
            '\u{2009}' => out.push(' '),
            '▁' => out.push('_'),
            '▂' => out.push('.'),
            '▃' => out.push(':'),
            '▄' => out.push('-'),
            '▅' => out.push('='),
            '▆' => out.push('+'),
            '▇' => out.push('*'),
            '█' => out.push('#'),
            _ => out.push('?'),
        }
    }
    out
}

/// Control characters, bidirectional overrides and invisible marks, among them the tags that spell words.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Neighbours put together by their geometric mean until there are no more than `columns`.
fn gathered(values: &[f64], columns: usize) -> Vec<f64> {
    let columns = columns.min(values.len());
    let bin = |i: usize| {
        let bin = &values[i * values.len() / columns..(i + 1) * values.len() / columns];
        (bin.iter().map(|v| v.ln()).sum::<f64>() / bin.len() as f64).exp()
    };
    (0..columns).map(bin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_a_file_acts_on_the_terminal() {
        assert_eq!(printable("bind\u{1b}[2J\r"), "bind\\u{1b}[2J\\u{d}");
        assert_eq!(printable("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(printable("one\ntwo"), "one two");
        assert!(matches!(printable("größer"), Cow::Borrowed(_)));
    }

    #[test]
    fn digits_alone_are_for_programs() {
        assert_eq!(ungrouped("×2\u{202f}600 at 14\u{202f}116\u{202f}µs"), "×2600 at 14116\u{202f}µs");
        assert_eq!(ungrouped("\u{202f}1 000"), "\u{202f}1 000");
    }

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrapped("one two three", 8, 2), ["one two", "  three"]);
        assert_eq!(wrapped("unbreakable", 4, 2), ["unbreakable"]);
    }

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
