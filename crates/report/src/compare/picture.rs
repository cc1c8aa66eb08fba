//! The ratios of a comparison as a picture that stands alone: a strip for each, and the answer beside it.

use super::html::{STRIP, axis_strip, key_of, ratio_axis, shown, strip, strip_of_mean};
use judge::compare::Comparison;

use super::words;
use crate::html::sheet::{BOLD, EDGE, SAYS, SOFT, Sheet, TITLE, Type};
use crate::sentences::{capital, sentence};

/// Width of the content.
const WIDTH: f64 = 1072.0;
/// Where the columns begin: series, system, strip, answer.
const COLUMNS: [f64; 4] = [EDGE, EDGE + 172.0, EDGE + 320.0, EDGE + 320.0 + STRIP.0 + 24.0];
/// Height of the axis above the strips.
const AXIS: f64 = 18.0;
/// From a strip to the words beside it.
const BASE: f64 = 2.0;

/// Every ratio with its interval, as an SVG file that loads nothing and has its own paper, light or dark.
pub fn draw(compared: &Comparison) -> String {
    let mut sheet = Sheet::new(WIDTH);
    let title = words::who(compared);
    let summary = sentence(&words::summary(compared));
    sheet.paragraph(TITLE, &title);
    sheet.paragraph(SAYS, &summary);
    sheet.paragraph(SOFT, &shown(compared));
    let axis = ratio_axis(compared);
    head(&axis_strip(&axis), &mut sheet);
    let mut said = vec![summary];
    for row in &compared.rankings {
        let mut name = row.label.as_str();
        rule(&mut sheet);
        for (other, standing) in row.others().enumerate() {
            let (answer, note) = (standing.answer(), &standing.note);
            let strip = answer.as_ref().map(|answer| strip(&axis, (answer, row.unit), other + 1));
            let words = answer.as_ref().map_or("no ratio".into(), |a| words::answer(a, row.unit));
            let note = note.as_ref().map(|note| words::note(compared, other + 1, note)).unwrap_or_default();
            line(compared, (name, other + 1), strip.as_deref(), (&words, &note), &mut sheet);
            said.push(sentence(&format!("{}, {}: {words}", row.label, compared.contenders[other + 1].name)));
            name = "";
        }
    }
    rule(&mut sheet);
    let mut name = "Geometric mean";
    for (other, mean) in compared.means.iter().enumerate() {
        let Some(mean) = mean else { continue };
        let strip = strip_of_mean(&axis, mean.ratio, other + 1);
        let note = format!("{}, each weighing the same", words::of(mean));
        let words = words::mean_ratio(compared, mean);
        line(compared, (name, other + 1), Some(&strip), (&words, &note), &mut sheet);
        name = "";
    }
    sheet.close(&title, &said.join(" "))
}

/// The names of the columns, and the axis of the ratios.
fn head(axis: &str, sheet: &mut Sheet) {
    let y = sheet.y + 10.0;
    for (x, name) in COLUMNS.into_iter().zip(["Series", "System", "", "Answer"]) {
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

/// One system in one series.
fn line(
    compared: &Comparison,
    (series, system): (&str, usize),
    strip: Option<&str>,
    (answer, note): (&str, &str),
    sheet: &mut Sheet,
) {
    let top = sheet.y;
    let at = |column: usize, of: Type, words: &str, sheet: &mut Sheet| {
        let right = COLUMNS.get(column + 1).map_or(EDGE + WIDTH, |next| next - 12.0);
        let x = COLUMNS[column] + if column == 1 { 36.0 } else { 0.0 };
        sheet.words((x, top + BASE, right - x), of, words)
    };
    let mut end = at(0, BOLD, series, sheet).max(at(1, SAYS, &compared.contenders[system].name, sheet));
    sheet.place(&key_of(system), (COLUMNS[1], top + 9.0), (28.0, 8.0));
    if let Some(strip) = strip {
        sheet.place(strip, (COLUMNS[2], top), STRIP);
    }
    end = end.max(at(3, SAYS, answer, sheet));
    if !note.is_empty() {
        let x = COLUMNS[3];
        end = sheet.words((x, end, EDGE + WIDTH - x), SOFT, &capital(note));
    }
    sheet.y = end + 6.0;
}
