//! Text for a terminal: safe to print, in the characters and colours that it has.

use std::borrow::Cow;

use crate::document::{Tone, terminal};
use crate::words::{GAP, NO_BREAK};

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

/// All that a terminal receives besides text: the colours of the tones, and their end.
pub(crate) const CODES: [&str; 6] = ["\x1b[34m", "\x1b[33m", "\x1b[35m", "\x1b[2m", "\x1b[1m", "\x1b[0m"];

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

/// Control characters, bidirectional overrides and invisible marks, among them the tags that spell words.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Breaks a line at its spaces; lines after the first are indented.
pub fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let lines = terminal::wrapped(&[(text.to_owned(), Tone::Plain)], width, indent);
    lines.into_iter().map(|line| line.into_iter().map(|(text, _)| text).collect()).collect()
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
