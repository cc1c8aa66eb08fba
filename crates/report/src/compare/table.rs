//! A comparison as a document.

use judge::Findings;
use judge::compare::{Comparison, Ranking};

use super::costs::{self, CostRow};
use super::lines::{self, Line};
use super::{growth, notes, scalings, words};
use crate::document::{Cell, Column, Document, Narrow, Row, Section, Table, Text, Tone};
use crate::place;
use crate::sentences::capital;
use crate::words::{percent, things};

/// A comparison of systems: the facts that differ, the costs, an answer for every series, then the claim
/// about all.
pub fn document(compared: &Comparison) -> Document {
    let mut document = Document { title: words::title(compared), ..Document::default() };
    if let Some(interleaved) = words::interleaved(compared) {
        document.say(Text::toned(interleaved, Tone::Notable));
    }
    document.say(Text::toned(words::title(compared), Tone::Strong));
    if !compared.is_of_other_programs() {
        document.say(format!("differs: {}", words::differs(compared)));
    }
    document.say(words::judged(compared));
    // The ratios stand below, each with its notes.
    let rows = costs::of(compared).into_iter().map(|row| CostRow { answer: None, ..row });
    let rows: Vec<CostRow<'_>> = rows.collect();
    if !rows.is_empty() {
        let rows: Vec<&CostRow<'_>> = rows.iter().collect();
        document.push(costs::table(compared, &rows));
        document.say(Text::toned(costs::legend(compared, &rows), Tone::Faint));
    }
    document.push(Section { blocks: vec![answers(compared).into()], ..Section::default() });
    scalings::sentences(compared).into_iter().for_each(|sentence| document.say(sentence));
    for sentence in lines::without_number(compared) {
        document.say(Text::toned(capital(&sentence), Tone::Faint));
    }
    let mut summary = Section::new(Text::toned(words::summary(compared), Tone::Strong));
    let means = words::means(compared);
    means.iter().for_each(|mean| summary.say(mean));
    if !means.is_empty() {
        summary.say(Text::toned("--out FILE.html plots the ratios behind this mean", Tone::Faint));
    }
    for refused in &compared.refused {
        summary.say(Text::toned(format!("refused: {}", notes::refused(refused)), Tone::Open));
    }
    let carries = format!(
        "margin {} · {} · {}",
        percent(compared.margin),
        words::design(compared),
        words::noise_floor(compared)
    );
    summary.say(Text::toned(carries, Tone::Faint));
    document.push(summary);
    document
}

/// A comparison of variants as part of a run: the largest differences first, then every contender.
pub(crate) fn section(findings: &Findings, compared: &Comparison) -> Section {
    let title = words::title(compared) + &words::on_system(findings, compared);
    let mut section = Section::new(Text::toned(title, Tone::Strong));
    words::findings(compared).into_iter().for_each(|finding| section.say(finding));
    section.push(answers(compared));
    section.blocks.extend(growths(findings, compared, false).map(Into::into));
    let carries = format!("{}; {}", words::judged(compared), words::design(compared));
    section.say(Text::toned(carries, Tone::Faint));
    section
}

/// How the times of each contender change with n; empty where none is judged.
pub(crate) fn growths(findings: &Findings, compared: &Comparison, is_short: bool) -> Option<Section> {
    let (heading, growths) = growth::sentences(findings, compared, is_short);
    let mut section = Section::new(Text::toned(heading, Tone::Strong));
    let mut table = Table::without_headings(2);
    for one in &growths {
        table.push([one.name.as_str(), one.words.as_str()]);
    }
    section.push(table);
    (!growths.is_empty()).then_some(section)
}

/// Every contender in every series, in the columns that are not empty.
fn answers(compared: &Comparison) -> Table {
    let lines: Vec<Line<'_>> =
        lines::of(compared).into_iter().filter(|line| line.ranking.is_some()).collect();
    let is_named = lines::is_named(compared);
    let columns = match is_named {
        true => vec![
            "".into(),
            "".into(),
            heading(compared).into(),
            Column::from(mean_heading(compared)).narrow(Narrow::Below),
            "place".into(),
        ],
        false => vec![Column::default(); 5],
    };
    let mut table = Table { wraps: 2, is_compact: true, ..Table::of_columns(columns) };
    let mut series = None;
    for line in &lines {
        let is_first = std::mem::replace(&mut series, line.ranking.map(|(i, _)| i)) != series;
        let name = words::name(&compared.contenders[line.contender].name);
        let cells = [if is_first { &line.series } else { "" }, if is_named { name } else { "" }];
        let mut row = Row::from(cells);
        if line.is_reason {
            row.below.push(Text::toned(&line.answer, line.tone));
        } else {
            row.cells.push(Cell::toned(&line.answer, line.tone));
            row.cells.push(line.overall.clone().unwrap_or_default().into());
            row.cells.push(line.rank.clone().unwrap_or_default().into());
            row.below.extend(line.note.iter().map(|note| Text::toned(note, Tone::Open)));
        }
        table.push(row);
    }
    table
}

/// The heading of the answers, where they have one: `at 1 000 connections`, `against 6.12`.
fn heading(compared: &Comparison) -> String {
    let level = compared.rankings.iter().find_map(|ranking| Some((ranking.n?, &ranking.grows)));
    match level {
        Some((n, grows)) => place::at_level(n, grows).unwrap_or_else(|| "against the best".to_owned()),
        None => format!("against {}", words::reference(compared)),
    }
}

fn mean_heading(compared: &Comparison) -> String {
    let most = compared.rankings.iter().map(Ranking::most_levels).max().unwrap_or(0);
    format!("mean of {}", things(most, "level", "levels"))
}
