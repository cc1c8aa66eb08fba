//! A table in a terminal: its columns side by side where they fit, in a shorter form where that fits, else
//! each row as a sentence.

use std::ops::Range;

use super::terminal::{INDENT, Line, or, painted, paragraph, shown, width, wrapped};
use super::{Cell, Narrow, Row, Span, Table, Text, Tone};
use crate::text::Style;
use crate::words::list;

/// Columns between two cells.
const BETWEEN: usize = 2;

/// The lines of a table, with so many of its rows.
pub(super) fn lines(table: &Table, count: usize, indent: usize, style: &Style) -> Vec<String> {
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
        let hidden = Text::toned(format!("a wider terminal has {} too", list(&hidden)), Tone::Faint);
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

/// The first column and some others; lines below a row are put below its last cell.
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
