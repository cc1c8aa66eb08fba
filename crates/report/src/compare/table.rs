//! A comparison in a terminal.

use std::io::{self, Write};

use super::{Comparison, words};
use crate::sentences;
use crate::text::{Cell, Page, Row, Style, Tone};
use crate::words::percent;

/// Columns from which two series stand on a line.
const ROOM_FOR_TWO: usize = 100;

/// Writes what differs, then an answer for every series, then what could not be compared.
pub(super) fn write(compared: &Comparison, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(*style, out);
    page.paragraph(&words::who(compared), 2, Tone::Strong)?;
    let differs = format!("differs: {} · {}", words::differs(compared), words::judged(compared));
    page.paragraph(&differs, 9, Tone::Plain)?;
    page.gap()?;
    let rows = if compared.subjects.len() > 2 { several(compared) } else { two(compared, style) };
    let gives = rows.first().map_or(1, |row| row.cells.len().saturating_sub(1));
    page.columns(&rows, gives)?;
    page.gap()?;
    page.paragraph(&words::summary(compared), 2, Tone::Strong)?;
    for missing in &compared.missing {
        page.paragraph(&format!("not compared: {}: {}", missing.label, missing.reason), 2, Tone::Faint)?;
    }
    for refused in &compared.refused {
        page.paragraph(&format!("refused: {refused}"), 2, Tone::Open)?;
    }
    let margin = format!(
        "margin {} · {} for all answers together",
        percent(compared.margin),
        sentences::confidence(compared.alpha)
    );
    page.paragraph(&margin, 2, Tone::Faint)
}

/// Two systems: name and answer, two series on a line where there is room.
fn two(compared: &Comparison, style: &Style) -> Vec<Row> {
    let pairs: Vec<[Cell; 2]> = compared
        .rows
        .iter()
        .filter_map(|row| {
            let answer = row.answers.first()?.as_ref()?;
            let words =
                Cell::toned(words::answer(answer, compared.margin), words::tone(answer, compared.margin));
            Some([Cell::new(&row.label), words])
        })
        .collect();
    let on_a_line = if style.width >= ROOM_FOR_TWO && pairs.len() > 3 { 2 } else { 1 };
    // Down the first half, then down the second, as one reads a list.
    let height = pairs.len().div_ceil(on_a_line);
    let line = |y: usize| {
        let cells = (0..on_a_line).filter_map(|x| pairs.get(x * height + y)).flatten().cloned().collect();
        Row { cells, below: Vec::new() }
    };
    (0..height).map(line).collect()
}

/// Several systems: a column of answers for each.
fn several(compared: &Comparison) -> Vec<Row> {
    let headings = compared.subjects.iter().skip(1).map(|s| Cell::toned(&s.name, Tone::Faint));
    let mut rows =
        vec![Row { cells: [Cell::new("")].into_iter().chain(headings).collect(), below: Vec::new() }];
    for row in &compared.rows {
        let answers = row.answers.iter().map(|answer| match answer {
            Some(a) => Cell::toned(words::answer(a, compared.margin), words::tone(a, compared.margin)),
            None => Cell::toned("—", Tone::Faint),
        });
        rows.push(Row {
            cells: [Cell::new(&row.label)].into_iter().chain(answers).collect(),
            below: Vec::new(),
        });
    }
    rows
}
