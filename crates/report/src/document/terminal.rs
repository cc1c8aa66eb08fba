//! A document in a terminal: wrapped at its width, in columns where these fit, and no longer than its screen.

use std::cmp::Reverse;
use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::{Document, Element, Form, Names, Table, Text, Tone, Yields, columns};
use crate::text::{Style, ascii, printable, ungrouped};
use crate::words::{GAP, NO_BREAK};

/// Columns beyond which lines of prose are hard to read.
const PROSE_MOST: usize = 100;
/// Columns that a section, and a line after the first, stand further in.
pub(super) const INDENT: usize = 2;

/// How much of a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// All of it, including folds.
    All,
    /// The rows that a table shows at first, without folds.
    Short,
    /// The same in so many lines, as far as its tables can give up rows.
    Screen(usize),
}

impl Length {
    /// All of it where that is wanted.
    pub fn of(verbose: bool) -> Length {
        if verbose { Length::All } else { Length::Short }
    }
}

/// Writes a document.
///
/// # Errors
/// Those of `out`.
pub fn write(document: &Document, extent: Length, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let style = match document.is_prose {
        true => Style { width: style.width.min(PROSE_MOST), ..*style },
        false => *style,
    };
    let mut layout = Layout { style, extent, is_prose: document.is_prose, pieces: Vec::new() };
    layout.blocks(&document.blocks, 0);
    let mut pieces = layout.pieces;
    if let Length::Screen(lines) = extent {
        fit(&mut pieces, lines, &style);
    }
    let mut is_first = true;
    for piece in pieces.iter().filter(|piece| !piece.lines.is_empty()) {
        if piece.is_apart && !is_first {
            writeln!(out)?;
        }
        is_first = false;
        piece.lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(())
}

/// A block as it will stand.
struct Piece<'a> {
    /// An empty line stands before it.
    is_apart: bool,
    indent: usize,
    lines: Vec<String>,
    /// A table that can give up rows, with those that it shows.
    table: Option<(&'a Table, usize)>,
}

impl Piece<'_> {
    fn height(&self) -> usize {
        if self.lines.is_empty() { 0 } else { self.lines.len() + usize::from(self.is_apart) }
    }

    /// The table that yields before all others, as far as it has a row to give.
    fn yields(&self) -> Option<Yields> {
        let (table, shown) = self.table?;
        table.yields.filter(|yields| shown > yields.rows_min)
    }
}

/// Takes rows from the tables that can give them up, in their order and from the longest of equal ones, until
/// all fits.
fn fit(pieces: &mut [Piece<'_>], lines: usize, style: &Style) {
    loop {
        let height: usize = pieces.iter().map(Piece::height).sum();
        if height <= lines {
            return;
        }
        let next = pieces.iter_mut().filter(|piece| piece.yields().is_some());
        let order = |piece: &&mut Piece<'_>| {
            let shown = piece.table.map_or(0, |(_, shown)| shown);
            (piece.yields().map(|yields| yields.order), Reverse(shown))
        };
        let Some(piece) = next.min_by_key(order) else { return };
        if let Some((table, shown)) = &mut piece.table {
            *shown -= 1;
            piece.lines = columns::lines(table, *shown, piece.indent, style);
        }
    }
}

/// Lays blocks out, one below the other.
struct Layout<'a> {
    style: Style,
    extent: Length,
    is_prose: bool,
    pieces: Vec<Piece<'a>>,
}

impl<'a> Layout<'a> {
    fn blocks(&mut self, blocks: &'a [Element], indent: usize) {
        let mut before: Option<&Element> = None;
        for block in blocks {
            let is_apart = match before {
                Some(before) if indent == 0 => self.are_apart(before, block),
                Some(before) => {
                    (has_headings(before) || has_headings(block)) && self.are_apart(before, block)
                }
                // In prose a heading too has an empty line below it.
                None => indent == 0 && self.is_prose,
            };
            let from = self.pieces.len();
            self.block(block, indent, is_apart);
            // A hidden fold, or a drawing, is no neighbour.
            if self.pieces[from..].iter().any(|piece| !piece.lines.is_empty()) {
                before = Some(block);
            }
        }
    }

    /// Whether an empty line stands between two blocks: paragraphs, names, and rows without headings keep
    /// together.
    fn are_apart(&self, before: &Element, block: &Element) -> bool {
        let is_line = |block: &Element| match block {
            Element::Paragraph(_) | Element::Names(_) => true,
            block => matches!(block, Element::Table(_)) && !has_headings(block),
        };
        let keeps = match (before, block) {
            (Element::Paragraph(_), Element::Items { .. }) | (Element::Section(_), Element::Names(_)) => true,
            // The caption of a table.
            (Element::Table(_), Element::Paragraph(text)) => {
                text.0.iter().all(|span| span.tone == Tone::Faint)
            }
            _ => false,
        };
        !keeps && (self.is_prose || !is_line(before) || !is_line(block))
    }

    fn block(&mut self, block: &'a Element, indent: usize, is_apart: bool) {
        let style = self.style;
        match block {
            Element::Section(section) if section.title.is_empty() => {
                self.nested(&section.blocks, indent, is_apart);
            }
            Element::Section(section) => {
                self.put(paragraph(&section.title, indent, Tone::Strong, &style), indent, is_apart);
                let inner = if self.is_prose { indent } else { indent + INDENT };
                self.blocks(&section.blocks, inner);
            }
            Element::Paragraph(text) => {
                let hang = if self.is_prose { 0 } else { INDENT };
                self.put(hanging(text, indent, hang, Tone::Plain, &style), indent, is_apart);
            }
            Element::Items { first, items } => self.items(*first, items, indent, is_apart),
            Element::Code(code) => {
                let line = |line: &str| format!("{:indent$}    {}", "", shown(line, &style));
                self.put(code.lines().map(line).collect(), indent, is_apart);
            }
            Element::Names(names) => self.put(self.names(names, indent), indent, is_apart),
            Element::Table(table) => self.table(table, indent, is_apart),
            Element::Figure(figure) => {
                let lines =
                    figure.characters.iter().map(|line| format!("{:indent$}{}", "", shown(line, &style)));
                self.put(lines.collect(), indent, is_apart);
            }
            Element::Fold(fold) if self.extent == Length::All => {
                if !fold.title.is_empty() {
                    self.put(paragraph(&fold.title, indent, Tone::Strong, &style), indent, is_apart);
                }
                self.blocks(&fold.blocks, if fold.title.is_empty() { indent } else { indent + INDENT });
            }
            Element::Fold(_) => {}
            Element::Beside(blocks) | Element::Form(Form { blocks, .. }) => {
                self.nested(blocks, indent, is_apart)
            }
        }
    }

    /// Blocks that stand together, apart from those before them where that is wanted.
    fn nested(&mut self, blocks: &'a [Element], indent: usize, is_apart: bool) {
        let from = self.pieces.len();
        self.blocks(blocks, indent);
        if let Some(piece) = self.pieces[from..].iter_mut().find(|piece| !piece.lines.is_empty()) {
            piece.is_apart = is_apart;
        }
    }

    fn put(&mut self, lines: Vec<String>, indent: usize, is_apart: bool) {
        self.pieces.push(Piece { is_apart, indent, lines, table: None });
    }

    fn table(&mut self, table: &'a Table, indent: usize, is_apart: bool) {
        let most = match (self.extent, table.rows_max) {
            (Length::All, _) | (_, 0) => usize::MAX,
            (_, most) => most,
        };
        let shown = table.rows.len().min(most);
        let lines = columns::lines(table, shown, indent, &self.style);
        self.pieces.push(Piece { is_apart, indent, lines, table: Some((table, shown)) });
    }

    fn items(&mut self, first: Option<u64>, items: &'a [Vec<Element>], indent: usize, is_apart: bool) {
        for (place, item) in items.iter().enumerate() {
            let mark = first.map_or("-".to_owned(), |first| format!("{}.", first + place as u64));
            let from = self.pieces.len();
            self.blocks(item, indent + INDENT + mark.width() + 1);
            for piece in &mut self.pieces[from..] {
                piece.is_apart = false;
            }
            let Some(piece) = self.pieces.get_mut(from) else { continue };
            piece.is_apart = is_apart && place == 0;
            if let Some(line) = piece.lines.first_mut() {
                *line = format!("{:width$}{mark} {}", "", line.trim_start(), width = indent + INDENT);
            }
        }
    }

    /// As many names as fit into the lines, at least one; the others are counted.
    fn names(&self, names: &Names, indent: usize) -> Vec<String> {
        let lines_max = if self.extent == Length::All { usize::MAX } else { names.lines_max.max(1) };
        let mut lines = Vec::new();
        for count in (1..=names.items.len()).rev() {
            let more = match names.items.len() - count {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let text = format!("{}: {}{more}{}", names.label, names.items[..count].join(", "), names.behind);
            lines = paragraph(&text.into(), indent, Tone::Plain, &self.style);
            if lines.len() <= lines_max {
                break;
            }
        }
        lines
    }
}

/// Whether it is a table with a line of headings, which needs room around it.
fn has_headings(block: &Element) -> bool {
    let Element::Table(table) = block else { return false };
    table.columns.iter().any(|column| !column.heading.is_empty())
}

/// A paragraph; words without a tone of their own have this one, and later lines stand further in.
pub(super) fn paragraph(text: &Text, indent: usize, tone: Tone, style: &Style) -> Vec<String> {
    hanging(text, indent, INDENT, tone, style)
}

/// The same, with later lines so far further in.
fn hanging(text: &Text, indent: usize, hang: usize, tone: Tone, style: &Style) -> Vec<String> {
    let inner = style.width.saturating_sub(indent).max(WIDTH_MIN);
    let spans = text.0.iter().map(|span| (shown(&span.text, style), or(span.tone, tone)));
    let lines = wrapped(&spans.collect::<Vec<_>>(), inner, hang);
    lines.iter().map(|line| format!("{:indent$}{}", "", painted(line, style))).collect()
}

/// A terminal narrower than this wraps by itself.
const WIDTH_MIN: usize = 16;

pub(super) fn or(own: Tone, other: Tone) -> Tone {
    if own == Tone::Plain { other } else { own }
}

/// Words of one line, each with its tone.
pub(crate) type Line = Vec<(String, Tone)>;

pub(super) fn width(line: &Line) -> usize {
    line.iter().map(|(text, _)| text.width()).sum()
}

/// Breaks spans at their spaces; lines after the first stand further in.
pub(crate) fn wrapped(spans: &[(String, Tone)], width_max: usize, indent: usize) -> Vec<Line> {
    let mut lines: Vec<Line> = vec![Vec::new()];
    let mut used = 0;
    let mut is_empty = true;
    // Parts of a word in several tones, and the spaces before it.
    let mut word: Line = Vec::new();
    let mut spaces = 0;
    let mut put = |word: &mut Line, spaces: usize| {
        if word.is_empty() {
            return;
        }
        let wide = width(word);
        if !is_empty && used + spaces + wide > width_max {
            lines.push(vec![(" ".repeat(indent), Tone::Plain)]);
            used = indent;
        } else if let Some(line) = lines.last_mut() {
            // Between two words of one tone is a space of that tone.
            let tone =
                line.last().filter(|(_, tone)| *tone == word[0].1).map_or(Tone::Plain, |(_, tone)| *tone);
            line.push((" ".repeat(spaces), tone));
            used += spaces;
        }
        used += wide;
        is_empty = false;
        if let Some(line) = lines.last_mut() {
            line.append(word);
        }
    };
    for (text, tone) in spans {
        for (place, part) in text.split(' ').enumerate() {
            if place > 0 {
                if !word.is_empty() {
                    put(&mut word, spaces);
                    spaces = 0;
                }
                spaces += 1;
            }
            if !part.is_empty() {
                word.push((part.to_owned(), *tone));
            }
        }
    }
    put(&mut word, spaces);
    lines
}

/// Words in their final form: without control characters, and only of the terminal's characters.
pub(super) fn shown(text: &str, style: &Style) -> String {
    let text = printable(text).replace(" = ", "\u{a0}=\u{a0}");
    let text = if style.grouped { text } else { ungrouped(&text) };
    if style.unicode { text } else { ascii(&text) }
}

/// A line in its colours. The spaces that held it together become ordinary ones, which can be searched for.
pub(super) fn painted(line: &Line, style: &Style) -> String {
    let mut out = String::new();
    for same in line.chunk_by(|(_, one), (_, other)| one == other) {
        let tone = same[0].1;
        let text: String = same.iter().map(|(text, _)| text.as_str()).collect();
        let text = text.replace([GAP, NO_BREAK], " ");
        match tone.code() {
            code if style.colour && !code.is_empty() && !text.is_empty() => {
                out.push_str(&format!("{code}{text}\x1b[0m"));
            }
            _ => out.push_str(&text),
        }
    }
    out
}

impl Tone {
    /// Blue and yellow, never green against red.
    pub(crate) fn code(self) -> &'static str {
        let [good, notable, open, faint, strong, _] = crate::text::CODES;
        match self {
            Tone::Plain | Tone::Emphasis | Tone::Code => "",
            Tone::Good => good,
            Tone::Notable => notable,
            Tone::Open => open,
            Tone::Faint => faint,
            Tone::Strong => strong,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(document: &Document, width: usize) -> String {
        let mut out = Vec::new();
        let style = Style { width, ..Style::default() };
        assert!(write(document, Length::Short, &style, &mut out).is_ok());
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn columns_without_room_stand_below() {
        let mut table = Table { is_split: true, ..Table::new(["n", "first", "second", "remark"]) };
        table.push(["10", "1 ms", "2 ms", "slower than the others are"]);
        let document = Document { blocks: vec![table.into()], ..Document::default() };
        assert_eq!(
            written(&document, 22),
            "n   first  second\n10  1 ms   2 ms\nn   remark\n10  slower than the\n      others are\n"
        );
        assert_eq!(written(&document, 60).lines().count(), 2);
    }

    #[test]
    fn blocks_beside_each_other_stand_apart_from_those_before() {
        let mut table = Table::new(["heading"]);
        table.push(["cell"]);
        let beside = Element::Beside(vec![table.clone().into(), table.into()]);
        let document = Document { blocks: vec![Text::from("words").into(), beside], ..Document::default() };
        assert_eq!(written(&document, 60), "words\n\nheading\ncell\n\nheading\ncell\n");
    }
}
