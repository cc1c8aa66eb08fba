//! A document in a terminal: wrapped at its width, in columns where these fit, and no longer than its screen.

use std::cmp::Reverse;
use std::io::{self, Write};
use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use super::{Block, Cell, Document, Names, Narrow, Row, Span, Table, Text, Tone, Yields};
use crate::text::{Style, ascii, printable, ungrouped};
use crate::words::{GAP, NO_BREAK, list};

/// Columns beyond which lines of prose are hard to read.
const PROSE_MOST: usize = 100;
/// Columns between two cells.
const BETWEEN: usize = 2;
/// Columns that a section, and a line after the first, stand further in.
const INDENT: usize = 2;

/// How much of a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it, also what is folded.
    All,
    /// The rows that a table shows at first, and nothing that is folded.
    Short,
    /// The same in so many lines, as far as its tables can give way.
    Screen(usize),
}

impl Extent {
    /// All of it where that is wanted.
    pub fn of(verbose: bool) -> Extent {
        if verbose { Extent::All } else { Extent::Short }
    }
}

/// Writes a document.
///
/// # Errors
/// Those of `out`.
pub fn write(document: &Document, extent: Extent, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let style = match document.is_prose {
        true => Style { width: style.width.min(PROSE_MOST), ..*style },
        false => *style,
    };
    let mut layout = Layout { style, extent, is_prose: document.is_prose, pieces: Vec::new() };
    layout.blocks(&document.blocks, 0);
    let mut pieces = layout.pieces;
    if let Extent::Screen(lines) = extent {
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
    /// A table that can give way, with the rows that it shows.
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

/// Takes rows from the tables that give way, the first of them first and of alike ones the longest, until all
/// fits.
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
            piece.lines = table_lines(table, *shown, piece.indent, style);
        }
    }
}

/// Lays blocks out, one below the other.
struct Layout<'a> {
    style: Style,
    extent: Extent,
    is_prose: bool,
    pieces: Vec<Piece<'a>>,
}

impl<'a> Layout<'a> {
    fn blocks(&mut self, blocks: &'a [Block], indent: usize) {
        let mut before: Option<&Block> = None;
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
            // A fold that is not shown, or a drawing, is no neighbour.
            if self.pieces[from..].iter().any(|piece| !piece.lines.is_empty()) {
                before = Some(block);
            }
        }
    }

    /// Whether an empty line stands between two blocks: paragraphs, names, and rows without headings keep
    /// together.
    fn are_apart(&self, before: &Block, block: &Block) -> bool {
        let is_line = |block: &Block| match block {
            Block::Paragraph(_) | Block::Names(_) => true,
            block => matches!(block, Block::Table(_)) && !has_headings(block),
        };
        let keeps = match (before, block) {
            (Block::Paragraph(_), Block::Items { .. }) | (Block::Section(_), Block::Names(_)) => true,
            // The caption of a table.
            (Block::Table(_), Block::Paragraph(text)) => text.0.iter().all(|span| span.tone == Tone::Faint),
            _ => false,
        };
        !keeps && (self.is_prose || !is_line(before) || !is_line(block))
    }

    fn block(&mut self, block: &'a Block, indent: usize, is_apart: bool) {
        let style = self.style;
        match block {
            Block::Section(section) if section.title.is_empty() => self.blocks(&section.blocks, indent),
            Block::Section(section) => {
                self.put(paragraph(&section.title, indent, Tone::Strong, &style), indent, is_apart);
                let inner = if self.is_prose { indent } else { indent + INDENT };
                self.blocks(&section.blocks, inner);
            }
            Block::Paragraph(text) => {
                let hang = if self.is_prose { 0 } else { INDENT };
                self.put(hanging(text, indent, hang, Tone::Plain, &style), indent, is_apart);
            }
            Block::Items { first, items } => self.items(*first, items, indent, is_apart),
            Block::Code(code) => {
                let line = |line: &str| format!("{:indent$}    {}", "", shown(line, &style));
                self.put(code.lines().map(line).collect(), indent, is_apart);
            }
            Block::Names(names) => self.put(self.names(names, indent), indent, is_apart),
            Block::Table(table) => self.table(table, indent, is_apart),
            Block::Figure(figure) => {
                let lines =
                    figure.characters.iter().map(|line| format!("{:indent$}{}", "", shown(line, &style)));
                self.put(lines.collect(), indent, is_apart);
            }
            Block::Fold(fold) if self.extent == Extent::All => {
                if !fold.title.is_empty() {
                    self.put(paragraph(&fold.title, indent, Tone::Strong, &style), indent, is_apart);
                }
                self.blocks(&fold.blocks, if fold.title.is_empty() { indent } else { indent + INDENT });
            }
            Block::Fold(_) => {}
            Block::Beside(blocks) => {
                let from = self.pieces.len();
                self.blocks(blocks, indent);
                if let Some(piece) = self.pieces.get_mut(from) {
                    piece.is_apart = is_apart;
                }
            }
        }
    }

    fn put(&mut self, lines: Vec<String>, indent: usize, is_apart: bool) {
        self.pieces.push(Piece { is_apart, indent, lines, table: None });
    }

    fn table(&mut self, table: &'a Table, indent: usize, is_apart: bool) {
        let most = match (self.extent, table.rows_max) {
            (Extent::All, _) | (_, 0) => usize::MAX,
            (_, most) => most,
        };
        let shown = table.rows.len().min(most);
        let lines = table_lines(table, shown, indent, &self.style);
        self.pieces.push(Piece { is_apart, indent, lines, table: Some((table, shown)) });
    }

    fn items(&mut self, first: Option<u64>, items: &'a [Vec<Block>], indent: usize, is_apart: bool) {
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
        let lines_max = if self.extent == Extent::All { usize::MAX } else { names.lines_max.max(1) };
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
fn has_headings(block: &Block) -> bool {
    let Block::Table(table) = block else { return false };
    table.columns.iter().any(|column| !column.heading.is_empty())
}

/// A paragraph; words without a tone of their own have this one, and later lines stand further in.
fn paragraph(text: &Text, indent: usize, tone: Tone, style: &Style) -> Vec<String> {
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

fn or(own: Tone, other: Tone) -> Tone {
    if own == Tone::Plain { other } else { own }
}

/// Words of one line, each with its tone.
type Line = Vec<(String, Tone)>;

fn width(line: &Line) -> usize {
    line.iter().map(|(text, _)| text.width()).sum()
}

/// Breaks spans at their spaces; lines after the first stand further in.
fn wrapped(spans: &[(String, Tone)], width_max: usize, indent: usize) -> Vec<Line> {
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

/// The lines of a table, with so many of its rows.
fn table_lines(table: &Table, count: usize, indent: usize, style: &Style) -> Vec<String> {
    if count == 0 {
        return Vec::new();
    }
    let rows = &table.rows[..count];
    let inner = Style { width: style.width.saturating_sub(indent), ..*style };
    let forms = forms(table, rows);
    let fitting = forms.iter().find_map(|form| {
        let (cut, rows) = form.of(table, rows);
        let grid = Grid::new(&cut, &rows, &inner);
        grid.fits(&inner).then(|| (grid.lines(&rows, &cut, &inner), form.hidden(table)))
    });
    let (mut lines, hidden) = fitting.unwrap_or_else(|| match table.is_split {
        true => (split(table, rows, &inner), Vec::new()),
        false => (stacked(table, rows, &inner), Vec::new()),
    });
    if !hidden.is_empty() {
        let hidden = Text::toned(format!("--verbose has {} too", list(&hidden)), Tone::Faint);
        lines.extend(paragraph(&hidden, 0, Tone::Plain, &inner));
    }
    if count < table.rows.len() {
        let more = format!("and {} more{}", table.rows.len() - count, table.more);
        lines.extend(paragraph(&Text::toned(more, Tone::Faint), 0, Tone::Plain, &inner));
    }
    lines.into_iter().map(|line| format!("{:indent$}{line}", "")).collect()
}

/// A form of a table, with less in its columns than the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Form {
    is_short: bool,
    has_below: bool,
    left_out: usize,
}

/// All forms of a table, the widest first.
fn forms(table: &Table, rows: &[Row]) -> Vec<Form> {
    let count = |narrow: Narrow| table.columns.iter().filter(|column| column.narrow == narrow).count();
    let has_short = rows.iter().flat_map(|row| &row.cells).any(|cell| cell.short.is_some());
    let has_below = count(Narrow::Below) > 0;
    let mut forms = vec![Form::default()];
    forms.extend(has_short.then_some(Form { is_short: true, ..Form::default() }));
    forms.extend(has_below.then_some(Form { is_short: has_short, has_below, left_out: 0 }));
    let left_out = 1..=count(Narrow::LeftOut);
    forms.extend(left_out.map(|left_out| Form { is_short: has_short, has_below, left_out }));
    forms
}

impl Form {
    /// The columns and rows of a table in this form.
    fn of(self, table: &Table, rows: &[Row]) -> (Table, Vec<Row>) {
        let mut removed: Vec<usize> = Vec::new();
        let places = |narrow: Narrow| {
            let columns = table.columns.iter().enumerate();
            columns.filter(move |(_, column)| column.narrow == narrow).map(|(place, _)| place)
        };
        let below: Vec<usize> = places(Narrow::Below).filter(|_| self.has_below).collect();
        let mut out: Vec<usize> = places(Narrow::LeftOut).collect();
        let left_out = out.split_off(out.len() - self.left_out.min(out.len()));
        removed.extend(below.iter().chain(&left_out));
        let is_kept = |place: usize| !removed.contains(&place);
        let row = |row: &Row| {
            let cell = |cell: &Cell| match &cell.short {
                Some(short) if self.is_short => Cell { text: short.clone(), ..cell.clone() },
                _ => cell.clone(),
            };
            let kept = row.cells.iter().enumerate().filter(|(place, _)| is_kept(*place));
            let moved = below.iter().filter_map(|place| {
                let cell = row.cells.get(*place).filter(|cell| !cell.text.is_empty())?;
                Some(Text::from(format!("{}: ", table.columns[*place].heading)).and(cell.text.clone()))
            });
            Row {
                cells: kept.map(|(_, one)| cell(one)).collect(),
                below: moved.chain(row.below.iter().cloned()).collect(),
                ..row.clone()
            }
        };
        let columns = table.columns.iter().enumerate().filter(|(place, _)| is_kept(*place));
        let before = removed.iter().filter(|place| **place < table.wraps).count();
        let cut = Table {
            columns: columns.map(|(_, column)| column.clone()).collect(),
            rows: Vec::new(),
            wraps: if is_kept(table.wraps) { table.wraps - before } else { usize::MAX },
            ..*table
        };
        (cut, rows.iter().map(row).collect())
    }

    /// The headings of the columns that are left out.
    fn hidden(self, table: &Table) -> Vec<String> {
        let last = table.columns.iter().rev().filter(|column| column.narrow == Narrow::LeftOut);
        let mut hidden: Vec<String> = last.take(self.left_out).map(|column| column.heading.clone()).collect();
        hidden.reverse();
        hidden
    }
}

/// As many columns as fit, and the others below, each time behind the first column.
fn split(table: &Table, rows: &[Row], style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    let mut from = 1;
    while from < table.columns.len() {
        let fits = |until: &usize| {
            let part = part(table, rows, from..*until);
            Grid::new(&part, &part.rows, style).fits(style)
        };
        let until = (from + 2..=table.columns.len()).rev().find(fits).unwrap_or(from + 1);
        let part = part(table, rows, from..until);
        lines.extend(Grid::new(&part, &part.rows, style).lines(&part.rows, &part, style));
        from = until;
    }
    lines
}

/// The first column and some others; what stands below a row stands below its last cell.
fn part(table: &Table, rows: &[Row], columns: Range<usize>) -> Table {
    let places = || [0].into_iter().chain(columns.clone());
    let is_last = columns.end == table.columns.len();
    let row = |row: &Row| Row {
        cells: places().filter_map(|place| row.cells.get(place).cloned()).collect(),
        below: if is_last { row.below.clone() } else { Vec::new() },
        ..Row::default()
    };
    Table {
        columns: places().map(|place| table.columns[place].clone()).collect(),
        rows: rows.iter().map(row).collect(),
        // The column that is wrapped has another place here, or is not among these.
        wraps: places().position(|place| place == table.wraps).unwrap_or(usize::MAX),
        wraps_at: table.wraps_at,
        tone: table.tone,
        ..Table::default()
    }
}

/// The rows one below the other, where there is no room for columns.
fn stacked(table: &Table, rows: &[Row], style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        let sentence = row.sentence.clone().unwrap_or_else(|| sentence(table, row));
        lines.extend(paragraph(&in_tone(&sentence, table.tone), 0, Tone::Plain, style));
        lines.extend(below(table, row, INDENT, style));
    }
    lines
}

/// The lines below a row.
fn below(table: &Table, row: &Row, indent: usize, style: &Style) -> Vec<String> {
    let lines =
        row.below.iter().flat_map(|text| paragraph(&in_tone(text, table.tone), indent, Tone::Plain, style));
    lines.collect()
}

/// Words in this tone, unless that is plain.
fn in_tone(text: &Text, tone: Tone) -> Text {
    let span = |span: &Span| Span { tone: or(tone, span.tone), ..span.clone() };
    Text(text.0.iter().map(span).collect())
}

/// A row in words: its first cell, then the others, each behind its heading.
fn sentence(table: &Table, row: &Row) -> Text {
    let mut text = Text::default();
    let cells = row.cells.iter().zip(&table.columns).enumerate();
    for (place, (cell, column)) in cells.filter(|(_, (cell, _))| !cell.text.is_empty()) {
        let before = match (text.is_empty(), place) {
            (true, _) => "",
            (false, 1) => ": ",
            (false, _) => ", ",
        };
        let heading = match column.heading.as_str() {
            heading if place == 0 || heading.is_empty() => String::new(),
            heading => format!("{heading} "),
        };
        text = text.and(format!("{before}{heading}")).and(cell.text.clone());
    }
    text
}

/// The cells of a table as lines, and the widths of its columns.
struct Grid {
    /// The columns that hold anything.
    columns: Vec<usize>,
    headings: Vec<Line>,
    cells: Vec<Vec<Vec<Line>>>,
    /// The place of the column that is wrapped.
    wraps: Option<usize>,
    wraps_at: usize,
}

impl Grid {
    fn new(table: &Table, rows: &[Row], style: &Style) -> Grid {
        let count = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
        let text = |row: &Row, column: usize| {
            row.cells.get(column).map(|cell: &Cell| cell.text.clone()).unwrap_or_default()
        };
        let columns: Vec<usize> =
            (0..count).filter(|column| rows.iter().any(|row| !text(row, *column).is_empty())).collect();
        let line = |text: &Text, tone: Tone| -> Line {
            text.0
                .iter()
                .map(|span: &Span| (shown(&span.text, style), or(or(table.tone, span.tone), tone)))
                .collect()
        };
        let heading = |column: &usize| {
            let heading =
                table.columns.get(*column).map(|column| column.heading.as_str()).unwrap_or_default();
            line(&Text::toned(heading, Tone::Faint), Tone::Faint)
        };
        let headings: Vec<Line> = columns.iter().map(heading).collect();
        let cells =
            |row: &Row| columns.iter().map(|column| vec![line(&text(row, *column), Tone::Plain)]).collect();
        let mut grid = Grid {
            headings: if headings.iter().all(|line| width(line) == 0) { Vec::new() } else { headings },
            cells: rows.iter().map(cells).collect(),
            wraps: columns.iter().position(|column| *column == table.wraps),
            wraps_at: table.wraps_at,
            columns,
        };
        grid.wrap(style);
        grid
    }

    fn widths(&self) -> Vec<usize> {
        let of_column = |place: usize| {
            let cells = self.cells.iter().flat_map(|row| row[place].iter());
            cells.chain(self.headings.get(place)).map(width).max().unwrap_or(0)
        };
        (0..self.columns.len()).map(of_column).collect()
    }

    /// The width of all columns but the one that is wrapped.
    fn others(&self) -> usize {
        let widths = self.widths().into_iter().enumerate().filter(|(place, _)| Some(*place) != self.wraps);
        widths.map(|(_, width)| width + BETWEEN).sum()
    }

    fn fits(&self, style: &Style) -> bool {
        let all: usize = self.widths().iter().map(|width| width + BETWEEN).sum();
        all <= style.width + BETWEEN || self.wraps.is_some() && self.others() + self.wraps_at <= style.width
    }

    /// Wraps one column into the room that the others leave.
    fn wrap(&mut self, style: &Style) {
        let Some(wraps) = self.wraps else { return };
        let room = style.width.saturating_sub(self.others()).max(self.wraps_at);
        for row in &mut self.cells {
            row[wraps] = row[wraps].iter().flat_map(|line| wrapped(line, room, INDENT)).collect();
        }
    }

    fn lines(&self, rows: &[Row], table: &Table, style: &Style) -> Vec<String> {
        let widths = self.widths();
        let mut lines = Vec::new();
        if !self.headings.is_empty() {
            lines.push(in_columns(self.headings.iter(), &widths, style));
        }
        let rows = rows.iter().zip(&self.cells);
        let is_plain = |(row, cells): &(&Row, &Vec<Vec<Line>>)| {
            row.below.is_empty() && cells.iter().all(|cell| cell.len() == 1)
        };
        let (plain, others): (Vec<_>, Vec<_>) = rows.clone().partition(is_plain);
        let on_a_line =
            (style.width + BETWEEN) / widths.iter().map(|width| width + BETWEEN).sum::<usize>().max(1);
        if table.is_compact && self.headings.is_empty() && on_a_line > 1 && plain.len() >= ROWS_COMPACT {
            lines.extend(compact(&plain, on_a_line, &widths, style));
            for (row, cells) in others {
                lines.extend(row_lines(table, row, cells, &widths, style));
            }
            return lines;
        }
        for (row, cells) in rows {
            lines.extend(row_lines(table, row, cells, &widths, style));
        }
        lines
    }
}

/// A row with the lines below it.
fn row_lines(table: &Table, row: &Row, cells: &[Vec<Line>], widths: &[usize], style: &Style) -> Vec<String> {
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let empty = Line::new();
    let second = widths.first().map_or(0, |first| first + BETWEEN);
    let line = |y: usize| in_columns(cells.iter().map(|cell| cell.get(y).unwrap_or(&empty)), widths, style);
    let mut lines: Vec<String> = (0..height).map(line).collect();
    let mut below = below(table, row, second, style);
    // A remark begins on the line of the name where nothing else stands there.
    let is_alone = cells.iter().skip(1).all(|cell| cell.iter().all(|line| width(line) == 0));
    if is_alone && !below.is_empty() && height == 1 {
        let name = painted(&cells[0][0], style);
        let margin = second.saturating_sub(width(&cells[0][0]));
        let first = below.remove(0);
        lines[0] = format!("{name}{:margin$}{}", "", first.trim_start());
    }
    lines.append(&mut below);
    lines
}

/// Several rows on a line, down one column after the other.
fn compact(
    rows: &[(&Row, &Vec<Vec<Line>>)],
    on_a_line: usize,
    widths: &[usize],
    style: &Style,
) -> Vec<String> {
    let height = rows.len().div_ceil(on_a_line);
    let line = |y: usize| {
        let some = (0..on_a_line).filter_map(|x| rows.get(x * height + y));
        let cells: Vec<&Line> = some.flat_map(|(_, cells)| cells.iter().map(|cell| &cell[0])).collect();
        let widths: Vec<usize> = widths.iter().copied().cycle().take(cells.len()).collect();
        in_columns(cells.into_iter(), &widths, style)
    };
    (0..height).map(line).collect()
}

/// Fewer rows stand one below the other even where two fit on a line.
const ROWS_COMPACT: usize = 4;

/// Cells of one line, each at the place of its column.
fn in_columns<'a>(cells: impl Iterator<Item = &'a Line>, widths: &[usize], style: &Style) -> String {
    let mut line = String::new();
    let mut pending = 0;
    for (cell, column) in cells.zip(widths) {
        let wide = width(cell);
        if wide > 0 {
            line.push_str(&" ".repeat(pending));
            line.push_str(&painted(cell, style));
            pending = 0;
        }
        pending += column.saturating_sub(wide) + BETWEEN;
    }
    line
}

/// Words as they will stand: nothing in them acts, and nothing is beyond the characters there are.
fn shown(text: &str, style: &Style) -> String {
    let text = printable(text).replace(" = ", "\u{a0}=\u{a0}");
    let text = if style.grouped { text } else { ungrouped(&text) };
    if style.unicode { text } else { ascii(&text) }
}

/// A line in its colours. The spaces that held it together become ordinary ones, which can be searched for.
fn painted(line: &Line, style: &Style) -> String {
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
        assert!(write(document, Extent::Short, &style, &mut out).is_ok());
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
        let beside = Block::Beside(vec![table.clone().into(), table.into()]);
        let document = Document { blocks: vec![Text::from("words").into(), beside], ..Document::default() };
        assert_eq!(written(&document, 60), "words\n\nheading\ncell\n\nheading\ncell\n");
    }
}
