//! The ratios of a comparison as a picture that stands alone: a strip for each, and the answer beside it.

use judge::compare::Comparison;

use super::lines::{self, Line};
use super::strip::{self, STRIP};
use super::words;
use crate::html::sheet::{BOLD, EDGE, SAYS, SOFT, Sheet, TITLE, Type};
use crate::html::tracks::swatch;
use crate::sentences::{capital, sentence};

/// Width of the content.
const WIDTH: f64 = 1072.0;
/// Where the columns begin: series, contender, strip, answer.
const COLUMNS: [f64; 4] = [EDGE, EDGE + 172.0, EDGE + 320.0, EDGE + 320.0 + STRIP.0 + 24.0];
/// Height of the axis above the strips.
const AXIS: f64 = 18.0;
/// From a strip to the words beside it.
const BASE: f64 = 2.0;

/// Every ratio with its interval, as an SVG file that loads nothing and has its own paper, light or dark.
pub fn draw(compared: &Comparison) -> String {
    let mut sheet = Sheet::new(WIDTH);
    let title = words::title(compared);
    let summary = sentence(&words::summary(compared));
    sheet.paragraph(TITLE, &title);
    sheet.paragraph(SAYS, &summary);
    sheet.paragraph(SOFT, &strip::shown(compared));
    let axis = strip::axis(compared);
    head(&strip::labels(&axis), &mut sheet);
    let mut said = vec![summary];
    let mut series = String::new();
    for line in lines::of(compared) {
        let name = &compared.contenders[line.contender].name;
        let is_first = std::mem::replace(&mut series, line.series.clone()) != line.series;
        if is_first {
            rule(&mut sheet);
        }
        said.push(sentence(&format!("{}, {name}: {}", line.series, line.answer)));
        draw_line(
            (if is_first { &line.series } else { "" }, name),
            &line,
            &strip::draw(&axis, &line),
            &mut sheet,
        );
    }
    sheet.close(&title, &said.join(" "))
}

/// The names of the columns, and the axis of the ratios.
fn head(axis: &str, sheet: &mut Sheet) {
    let y = sheet.y + 10.0;
    for (x, name) in COLUMNS.into_iter().zip(["Series", "Contender", "", "Answer"]) {
        sheet.words((x, y, WIDTH), SOFT, name);
    }
    sheet.place(axis, (COLUMNS[2], y + 3.0), (STRIP.0, AXIS));
    sheet.y = y + AXIS + 8.0;
}

/// A hair between two series.
fn rule(sheet: &mut Sheet) {
    sheet.put(&format!("<path class=\"hair\" d=\"M{EDGE} {:.1}h{WIDTH}\"/>", sheet.y));
    sheet.y += 8.0;
}

/// One contender in one series.
fn draw_line((series, name): (&str, &str), line: &Line<'_>, strip: &str, sheet: &mut Sheet) {
    let top = sheet.y;
    let at = |column: usize, of: Type, words: &str, sheet: &mut Sheet| {
        let right = COLUMNS.get(column + 1).map_or(EDGE + WIDTH, |next| next - 12.0);
        let x = COLUMNS[column] + if column == 1 { 36.0 } else { 0.0 };
        sheet.words((x, top + BASE, right - x), of, words)
    };
    let mut end = at(0, BOLD, series, sheet).max(at(1, SAYS, name, sheet));
    sheet.place(&swatch(line.contender), (COLUMNS[1], top + 9.0), (28.0, 8.0));
    if !strip.is_empty() {
        sheet.place(strip, (COLUMNS[2], top), STRIP);
    }
    end = end.max(at(3, SAYS, &line.answer, sheet));
    let place = line.rank.as_ref().map(|rank| format!("place {rank}"));
    for words in [&line.overall, &place, &line.note].into_iter().flatten() {
        let x = COLUMNS[3];
        end = sheet.words((x, end, EDGE + WIDTH - x), SOFT, &capital(words));
    }
    sheet.y = end + 6.0;
}
