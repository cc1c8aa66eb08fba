//! Text for a terminal: safe to print, laid out in columns.

use std::borrow::Cow;
use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use crate::document::Tone;
use crate::words::{GAP, NO_BREAK};

/// How a terminal is to be written to.
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

/// All that a terminal is told besides text: the colours of the tones, and their end.
pub(crate) const CODES: [&str; 6] = ["\x1b[34m", "\x1b[33m", "\x1b[35m", "\x1b[2m", "\x1b[1m", "\x1b[0m"];

/// Makes a string from a file safe to print: control characters, and the marks that reorder a line, are
/// shown as what they are. A terminal must not obey what it is shown.
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

/// Control characters, bidirectional overrides and invisible marks, among them the tags that spell words.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// What stands in one cell of a row: lines, one above the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) lines: Vec<String>,
    pub(crate) tone: Tone,
}

impl Cell {
    pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Cell { lines: vec![text.into()], tone }
    }
}

/// A row of a table: its cells, and lines below them that begin at the second column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    pub(crate) below: Vec<(String, Tone)>,
}

/// The widest line of each column.
fn widths(rows: &[Row]) -> Vec<usize> {
    let count = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let width_of = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.cells.get(column));
        cells.flat_map(|cell| &cell.lines).map(|line| line.width()).max().unwrap_or(0)
    };
    (0..count).map(width_of).collect()
}

/// A column that is wrapped has this width at least.
const NARROWEST: usize = 16;

/// A terminal to write to: knows its width, its colours and its characters.
pub(crate) struct Page<'a> {
    style: Style,
    out: &'a mut dyn Write,
}

impl<'a> Page<'a> {
    pub(crate) fn new(style: Style, out: &'a mut dyn Write) -> Self {
        Page { style, out }
    }

    /// A line of text, wrapped at the width, later lines indented.
    pub(crate) fn paragraph(&mut self, text: &str, indent: usize, tone: Tone) -> io::Result<()> {
        let text = self.shown(text);
        for line in wrapped(&text, self.style.width, indent) {
            let painted = self.painted(&line, tone);
            writeln!(self.out, "{painted}")?;
        }
        Ok(())
    }

    /// Rows in columns, each as wide as its widest cell, two spaces between. The column `gives` is
    /// wrapped when the terminal is too narrow for all.
    pub(crate) fn columns(&mut self, rows: &[Row], gives: usize) -> io::Result<()> {
        let mut rows: Vec<Row> = rows.to_vec();
        for cell in rows.iter_mut().flat_map(|row| &mut row.cells) {
            cell.lines = cell.lines.iter().map(|line| self.shown(line)).collect();
        }
        let natural = widths(&rows);
        let others: usize = natural.iter().enumerate().filter(|(i, _)| *i != gives).map(|(_, w)| w + 2).sum();
        let room = self.style.width.saturating_sub(others).max(NARROWEST);
        for cell in rows.iter_mut().filter_map(|row| row.cells.get_mut(gives)) {
            cell.lines = cell.lines.iter().flat_map(|line| wrapped(line, room, 2)).collect();
        }
        let widths = widths(&rows);
        let second = widths.first().map_or(0, |first| first + 2);
        for row in &rows {
            let height = row.cells.iter().map(|cell| cell.lines.len()).max().unwrap_or(0);
            for y in 0..height {
                let mut line = String::new();
                let mut pending = 0;
                for (cell, width) in row.cells.iter().zip(&widths) {
                    let text = cell.lines.get(y).map_or("", String::as_str);
                    if !text.is_empty() {
                        line.push_str(&" ".repeat(pending));
                        line.push_str(&self.painted(text, cell.tone));
                        pending = 0;
                    }
                    pending += width.saturating_sub(text.width()) + 2;
                }
                // A remark may begin on the line of the name when nothing else stands there.
                if y + 1 < height || row.cells.len() > 1 || row.below.is_empty() {
                    writeln!(self.out, "{line}")?;
                }
            }
            let alone = row.cells.len() == 1;
            for (i, (text, tone)) in row.below.iter().enumerate() {
                let text = self.shown(text);
                for (y, part) in
                    wrapped(&text, self.style.width.saturating_sub(second).max(16), 2).iter().enumerate()
                {
                    let first = alone && i == 0 && y == 0;
                    let name = row.cells.first().and_then(|cell| cell.lines.first()).filter(|_| first);
                    let name = name.map_or("", String::as_str);
                    let margin = second.saturating_sub(name.width());
                    writeln!(
                        self.out,
                        "{}{:margin$}{}",
                        self.painted(name, Tone::Plain),
                        "",
                        self.painted(part, *tone)
                    )?;
                }
            }
        }
        Ok(())
    }

    /// A line as it will stand: nothing in it acts, and nothing is beyond the characters there are.
    fn shown(&self, text: &str) -> String {
        let text = printable(text).replace(" = ", "\u{a0}=\u{a0}");
        let text = if self.style.grouped { text } else { ungrouped(&text) };
        if self.style.unicode { text } else { ascii(&text) }
    }

    /// The last touch: what held a line together becomes an ordinary space, which can be searched for.
    fn painted(&self, text: &str, tone: Tone) -> String {
        let text = text.replace([GAP, NO_BREAK], " ");
        if self.style.colour && tone != Tone::Plain && !text.is_empty() {
            format!("{}{text}\x1b[0m", tone.code())
        } else {
            text
        }
    }
}

/// Writes a line of text, wrapped at the width; lines after the first are indented.
///
/// # Errors
/// Those of `out`.
pub fn write_paragraph(text: &str, indent: usize, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    Page::new(*style, out).paragraph(text, indent, Tone::Plain)
}

/// Writes rows in columns, each as wide as its widest cell, under a heading.
///
/// # Errors
/// Those of `out`.
pub fn write_columns(
    heading: &[&str],
    rows: &[Vec<String>],
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let cells = |tone: Tone| move |text: &String| Cell::toned(text, tone);
    let heading: Vec<String> = heading.iter().map(|&text| text.to_owned()).collect();
    let heading = Row { cells: heading.iter().map(cells(Tone::Faint)).collect(), below: Vec::new() };
    let rows =
        rows.iter().map(|row| Row { cells: row.iter().map(cells(Tone::Plain)).collect(), below: Vec::new() });
    let rows: Vec<Row> = [heading].into_iter().chain(rows).collect();
    // The last column is wrapped where the terminal is too narrow.
    let last = rows.first().map_or(0, |row| row.cells.len().saturating_sub(1));
    Page::new(*style, out).columns(&rows, last)
}

/// Breaks a line at its spaces; lines after the first are indented.
pub fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    if text.width() <= width {
        return vec![text.to_string()];
    }
    let mut lines = vec![String::new()];
    let mut empty = true;
    for word in text.split(' ') {
        let used = lines.last().map_or(0, |line| line.width());
        if !empty && used + 1 + word.width() > width {
            lines.push(" ".repeat(indent));
            empty = true;
        }
        if let Some(line) = lines.last_mut() {
            if !empty {
                line.push(' ');
            }
            line.push_str(word);
        }
        empty = false;
    }
    lines
}

/// Numbers with nothing between their digits.
pub(crate) fn ungrouped(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_digit = |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(char::is_ascii_digit);
    let is_between = |at: usize| letters[at] == GAP && is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
    (0..letters.len()).filter(|at| !is_between(*at)).map(|at| letters[at]).collect()
}

/// The nearest ASCII; what has none becomes a question mark.
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
}
