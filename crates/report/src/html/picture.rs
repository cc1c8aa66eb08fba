//! One series as a picture that stands alone: its verdict in words, and some of the plots of its figure.

use record::Recording;

use super::figure::{keys, subject};
use super::panel::Panel;
use super::sheet::{EDGE, SAYS, SOFT, Sheet, TITLE};
use super::svg::{HEIGHT, LEFT, WIDTH};
use crate::sentences::{self};
use judge::Findings;
use judge::series::sweeps;

/// The most bytes for the points of one plot, before base64 makes them a third larger.
const CLOUD_BYTES: usize = 30_000;
/// Between two plots.
const GAP: f64 = 32.0;
/// Height of a line of the legend, and the room of a colour in it.
const KEY: (f64, f64) = (24.0, 30.0);

/// Between two of the legend.
const KEYS_APART: f64 = 26.0;

/// One series by its number in the findings, as an SVG file that loads nothing and has its own paper, light
/// or dark: the sentences of the report, above plots of its figure side by side. `None` where there is no
/// such series or it has no verdict.
pub fn picture(
    recording: &Recording,
    findings: &Findings,
    series: usize,
    panels: &[Panel],
) -> Option<String> {
    let finding = findings.series.get(series)?;
    let says = sentences::verdict_sentence(finding.verdict.as_ref()?, finding.unit, findings.alpha);
    let says = sentences::sentence(&says);
    let found: Vec<String> =
        sentences::beside(findings, finding).iter().map(|b| sentences::sentence(&b.text)).collect();
    let sweeps = sweeps(recording, &finding.key);
    let subject = subject(findings, (series, finding), &sweeps, &says, CLOUD_BYTES);
    let plots: Vec<(String, String)> = panels.iter().filter_map(|panel| panel.draw(&subject)).collect();

    let beside = WIDTH + GAP;
    let mut sheet = Sheet::new(plots.len().max(1) as f64 * beside - GAP);
    let label = sentences::label(findings, finding);
    sheet.paragraph(TITLE, &label);
    sheet.paragraph(SAYS, &says);
    found.iter().for_each(|words| sheet.paragraph(SOFT, words));
    legend(&keys(findings, finding), &mut sheet);
    let head = subject.head_of_cost().max(subject.head_of_change());
    let top = sheet.y;
    for (i, (title, svg)) in plots.iter().enumerate() {
        let x = EDGE + i as f64 * beside;
        let y = sheet.words((x + LEFT, top, WIDTH), SOFT, title) + 4.0;
        sheet.place(svg, (x, y), (WIDTH, HEIGHT + head));
        sheet.y = y + HEIGHT + head;
    }
    Some(sheet.close(&label, &format!("{says} {}", found.join(" "))))
}

/// The legend of the colours.
fn legend(keys: &[(&str, String)], sheet: &mut Sheet) {
    let (height, room) = KEY;
    let right = EDGE + sheet.width();
    let (mut x, mut y) = (EDGE, sheet.y + 6.0);
    for (class, words) in keys {
        let width = room + SOFT.width(words);
        if x + width > right && x > EDGE {
            (x, y) = (EDGE, y + height);
        }
        sheet.put(&format!("<g class=\"plot\">{}</g>", key(class, (x, y + 10.0))));
        sheet.words((x + room, y, width), SOFT, words);
        x += width + KEYS_APART;
    }
    sheet.y = y + height + 10.0;
}

/// A colour of the legend, drawn as it is in the plots.
fn key(class: &str, (x, y): (f64, f64)) -> String {
    let line = |class: &str| format!("<path class=\"{class}\" d=\"M{x} {y}h22\"/>");
    let area = |class: &str| {
        format!("<rect class=\"{class}\" x=\"{x}\" y=\"{}\" width=\"22\" height=\"10\"/>", y - 5.0)
    };
    match class {
        "cloud" | "band" | "corridor" => area(class),
        "line" => line("median"),
        "again" => format!("<path class=\"again\" d=\"M{} {}h10l-5 8Z\"/>", x + 6.0, y - 4.0),
        _ => line(class),
    }
}
