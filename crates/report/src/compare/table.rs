//! A comparison in a terminal.

use std::io::{self, Write};

use record::Unit;

use judge::compare::{Comparison, Ranking, RankingEntry};

use super::words;
use crate::text::{Cell, Page, Row, Style, Tone};
use crate::words::percent;

/// Columns from which two series stand on a line.
const ROOM_FOR_TWO: usize = 100;

/// Writes what differs, then an answer for every series, then what may be said of all.
pub fn write(compared: &Comparison, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(*style, out);
    page.paragraph(&words::who(compared), 2, Tone::Strong)?;
    page.paragraph(&format!("differs: {}", words::differs(compared)), 9, Tone::Plain)?;
    page.paragraph(&words::judged(compared), 2, Tone::Plain)?;
    page.gap()?;
    let rows = if compared.contenders.len() > 2 { several(compared) } else { two(compared, style) };
    let gives = rows.first().map_or(1, |row| row.cells.len().saturating_sub(1));
    page.columns(&rows, gives)?;
    if let Some(rows) = ranks(compared) {
        page.gap()?;
        page.columns(&rows, usize::MAX)?;
    }
    page.gap()?;
    page.paragraph(&words::summary(compared), 2, Tone::Strong)?;
    let means = words::means(compared);
    for mean in &means {
        page.paragraph(mean, 2, Tone::Plain)?;
    }
    if !means.is_empty() {
        page.paragraph("--out FILE.html plots the ratios behind this mean", 2, Tone::Faint)?;
    }
    for refused in &compared.refused {
        page.paragraph(&format!("refused: {}", words::refused(refused)), 2, Tone::Open)?;
    }
    let carries = format!(
        "margin {} · {} · {}",
        percent(compared.margin),
        words::design(compared),
        words::noise_floor(compared)
    );
    page.paragraph(&carries, 2, Tone::Faint)
}

/// The answer of a cell, and what stands beside it.
fn cell(answer: Option<&stats::Comparison>, unit: Unit) -> Cell {
    match answer {
        Some(answer) => Cell::toned(words::answer(answer, unit), words::tone(answer)),
        None => Cell::toned("—", Tone::Faint),
    }
}

/// Two systems: name and answer, two series on a line where there is room and nothing stands below.
fn two(compared: &Comparison, style: &Style) -> Vec<Row> {
    let plain: Vec<[Cell; 2]> = compared
        .rankings
        .iter()
        .filter(|row| row.others().all(|standing| standing.note.is_none()))
        .map(|row| {
            [Cell::new(&row.label), cell(row.others().next().and_then(RankingEntry::answer), row.unit)]
        })
        .collect();
    let on_a_line = if style.width >= ROOM_FOR_TWO && plain.len() > 3 { 2 } else { 1 };
    // Down the first half, then down the second, as one reads a list.
    let height = plain.len().div_ceil(on_a_line);
    let line = |y: usize| {
        let cells = (0..on_a_line).filter_map(|x| plain.get(x * height + y)).flatten().cloned().collect();
        Row { cells, below: Vec::new() }
    };
    let noted = compared.rankings.iter().filter_map(|row| {
        let other = row.others().next()?;
        let note = words::note(compared, 1, other.note.as_ref()?);
        let mut cells = vec![Cell::new(&row.label)];
        cells.extend(other.answer().map(|answer| cell(Some(answer), row.unit)));
        Some(Row { cells, below: vec![(note, Tone::Open)] })
    });
    (0..height).map(line).chain(noted).collect()
}

/// Several systems: a column of answers for each.
fn several(compared: &Comparison) -> Vec<Row> {
    let headings = compared.contenders.iter().skip(1).map(|s| Cell::toned(&s.name, Tone::Faint));
    let mut rows =
        vec![Row { cells: [Cell::new("")].into_iter().chain(headings).collect(), below: Vec::new() }];
    for row in &compared.rankings {
        let note =
            |standing: &RankingEntry| Some(words::note(compared, standing.place, standing.note.as_ref()?));
        let mut notes: Vec<String> = row.others().filter_map(note).collect();
        notes.dedup();
        let answers = row.others().map(|standing| cell(standing.answer(), row.unit));
        rows.push(Row {
            cells: [Cell::new(&row.label)].into_iter().chain(answers).collect(),
            below: notes.into_iter().map(|note| (note, Tone::Open)).collect(),
        });
    }
    rows
}

/// The place that each of three or more systems may have.
fn ranks(compared: &Comparison) -> Option<Vec<Row>> {
    let is_ranked = |row: &&Ranking| row.standings.iter().any(|standing| standing.rank.is_some());
    let ranked: Vec<&Ranking> = compared.rankings.iter().filter(is_ranked).collect();
    if ranked.is_empty() {
        return None;
    }
    let headings = compared.contenders.iter().map(|s| Cell::toned(&s.name, Tone::Faint));
    let places = format!("place of {}", compared.contenders.len());
    let heading = [Cell::toned(places, Tone::Faint)].into_iter().chain(headings).collect();
    let row = |row: &Ranking| {
        let place = |standing: &RankingEntry| super::html::place(standing.rank, compared.contenders.len());
        let places = row.standings.iter().map(|standing| Cell::new(place(standing)));
        Row { cells: [Cell::new(&row.label)].into_iter().chain(places).collect(), below: Vec::new() }
    };
    let heading = Row { cells: heading, below: Vec::new() };
    Some([heading].into_iter().chain(ranked.into_iter().map(row)).collect())
}
