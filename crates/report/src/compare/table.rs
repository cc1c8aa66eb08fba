//! A comparison in a terminal.

use std::io::{self, Write};

use judge::Findings;
use judge::compare::{Comparison, Ranking};

use super::costs::{self, CostRow};
use super::lines::{self, Line};
use super::{growth, notes, words};
use crate::document::Tone;
use crate::place;
use crate::sentences::capital;
use crate::text::{Cell, Page, Row, Style};
use crate::words::{percent, things};

/// Columns from which two series stand on a line.
const ROOM_FOR_TWO: usize = 100;

/// Columns from which the mean of all levels has a column of its own.
const ROOM_FOR_MEANS: usize = 110;

/// Writes what differs, then an answer for every series, then what may be said of all.
pub fn write(compared: &Comparison, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(*style, out);
    if let Some(interleaved) = words::interleaved(compared) {
        page.paragraph(&interleaved, 2, Tone::Notable)?;
    }
    page.paragraph(&words::title(compared), 2, Tone::Strong)?;
    page.paragraph(&format!("differs: {}", words::differs(compared)), 9, Tone::Plain)?;
    page.paragraph(&words::judged(compared), 2, Tone::Plain)?;
    page.gap()?;
    let rows = costs::of(compared);
    // The ratios stand below, each with its notes.
    let rows: Vec<CostRow<'_>> = rows.into_iter().map(|row| CostRow { answer: None, ..row }).collect();
    let shown: Vec<&CostRow<'_>> = rows.iter().collect();
    if !rows.is_empty() {
        page.paragraph(&costs::legend(compared, &shown), 2, Tone::Faint)?;
        page.columns(&costs::in_columns(compared, &shown, style.width), 0)?;
        page.gap()?;
    }
    answers(compared, style, &mut page)?;
    for sentence in lines::without_number(compared) {
        page.paragraph(&capital(&sentence), 2, Tone::Faint)?;
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
        page.paragraph(&format!("refused: {}", notes::refused(refused)), 2, Tone::Open)?;
    }
    let carries = format!(
        "margin {} · {} · {}",
        percent(compared.margin),
        words::design(compared),
        words::noise_floor(compared)
    );
    page.paragraph(&carries, 2, Tone::Faint)
}

/// Writes a comparison of variants as part of a run: the largest differences first, then every contender.
pub(crate) fn write_part(
    findings: &Findings,
    compared: &Comparison,
    style: &Style,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let title = words::title(compared) + &words::on_system(findings, compared);
    page.paragraph(&title, 2, Tone::Strong)?;
    for finding in words::findings(compared) {
        page.paragraph(&format!("  {finding}"), 4, Tone::Plain)?;
    }
    answers(compared, style, page)?;
    let (heading, growths) = growth::sentences(findings, compared, false);
    if !growths.is_empty() {
        page.paragraph(&heading, 2, Tone::Strong)?;
        let row = |one: &growth::Sentence| Row {
            cells: vec![Cell::new(&one.name), Cell::new(&one.words)],
            below: vec![],
        };
        page.columns(&growths.iter().map(row).collect::<Vec<_>>(), 1)?;
    }
    page.paragraph(&format!("{}; {}", words::judged(compared), words::design(compared)), 2, Tone::Faint)
}

/// Every contender in every series, in as many columns as say something.
fn answers(compared: &Comparison, style: &Style, page: &mut Page<'_>) -> io::Result<()> {
    let lines: Vec<Line<'_>> =
        lines::of(compared).into_iter().filter(|line| line.ranking.is_some()).collect();
    let has = |column: fn(&Line<'_>) -> bool| lines.iter().any(column);
    let has_room = style.width >= ROOM_FOR_MEANS;
    let (overall, rank) = (has_room && has(|line| line.overall.is_some()), has(|line| line.rank.is_some()));
    let is_named = lines::is_named(compared);
    let mut rows = Vec::new();
    if is_named {
        let headings = [Some(String::new()), Some(String::new()), Some(heading(compared))];
        let others = [overall.then(|| mean_heading(compared)), rank.then(|| "place".into())];
        let cells = headings.into_iter().chain(others).flatten().map(|text| Cell::toned(text, Tone::Faint));
        rows.push(Row { cells: cells.collect(), below: Vec::new() });
    }
    let mut series = None;
    for line in &lines {
        let is_first = std::mem::replace(&mut series, line.ranking.map(|(i, _)| i)) != series;
        let mut cells = vec![Cell::new(if is_first { &line.series } else { "" })];
        cells.extend(is_named.then(|| Cell::new(words::name(&compared.contenders[line.contender].name))));
        if line.is_reason {
            rows.push(Row { cells, below: vec![(line.answer.clone(), line.tone)] });
            continue;
        }
        cells.push(Cell::toned(&line.answer, line.tone));
        cells.extend(overall.then(|| Cell::new(line.overall.clone().unwrap_or_default())));
        cells.extend(rank.then(|| Cell::new(line.rank.clone().unwrap_or_default())));
        let mean = line.overall.as_ref().filter(|_| !overall);
        let mean = mean.map(|mean| (format!("{}: {mean}", mean_heading(compared)), Tone::Plain));
        let below = mean.into_iter().chain(line.note.iter().map(|note| (note.clone(), Tone::Open)));
        rows.push(Row { cells, below: below.collect() });
    }
    if !is_named && style.width >= ROOM_FOR_TWO {
        rows = side_by_side(rows);
    }
    let gives = if is_named { 2 } else { rows.first().map_or(1, |row| row.cells.len().saturating_sub(1)) };
    page.columns(&rows, gives)
}

/// What the answers are, where they have a heading: `at 1 000 connections`, `against 6.12`.
fn heading(compared: &Comparison) -> String {
    let level = compared.rankings.iter().find_map(|ranking| Some(place::at(ranking.n?, &ranking.grows)));
    level.unwrap_or_else(|| format!("against {}", words::reference(compared)))
}

fn mean_heading(compared: &Comparison) -> String {
    let most = compared.rankings.iter().map(Ranking::most_levels).max().unwrap_or(0);
    format!("mean of {}", things(most, "level", "levels"))
}

/// Two series on a line, down the first half and then down the second; those with a note alone, below.
fn side_by_side(rows: Vec<Row>) -> Vec<Row> {
    let (plain, noted): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.below.is_empty());
    let height = if plain.len() > 3 { plain.len().div_ceil(2) } else { plain.len() };
    let line = |y: usize| {
        let cells = [y, y + height].into_iter().filter_map(|place| plain.get(place));
        Row { cells: cells.flat_map(|row| row.cells.clone()).collect(), below: Vec::new() }
    };
    (0..height).map(line).chain(noted).collect()
}
