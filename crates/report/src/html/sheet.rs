//! Pictures that stand alone, for a document: plots and words on a paper of their own. Their colours are
//! inside and follow the reader's, light or dark; nothing is loaded from elsewhere.

use std::fmt::Write;

use judge::Findings;
use judge::series::sweeps;
use record::Recording;

use super::esc;
use super::figure::{keys, subject};
use super::page::PLOT_STYLE;
use super::plot::{Subject, Tail};
use super::svg::Kind;
use super::svg::{HEIGHT, LEFT, WIDTH};
use crate::sentences;
use crate::words::capital;

/// The most bytes for the points of one plot, before base64 makes them a third larger.
const CLOUD_BYTES: usize = 30_000;
/// Between two plots.
const GAP: f64 = 32.0;
/// Height of a line of the legend, and the room of a colour in it.
const KEY: (f64, f64) = (24.0, 30.0);
/// Between two of the legend.
const KEYS_APART: f64 = 26.0;
/// The edge of the paper.
pub(crate) const EDGE: f64 = 24.0;
/// Width of a character, as a share of the size of the type. A wide one: which type a reader has is unknown.
const CHARACTER: f64 = 0.56;
/// Distance of lines, as a share of the size of the type.
const LEADING: f64 = 1.4;

/// The type: larger in plots than on a page, since documents show pictures at less than their size.
const STYLE: &str = "\
svg { font-family: system-ui, -apple-system, \"Segoe UI\", Roboto, \"Noto Sans\", \"Liberation Sans\", \
Arial, sans-serif; font-variant-numeric: tabular-nums lining-nums; }
.paper { fill: var(--paper); }
.title { font-size: 19px; font-weight: 600; fill: var(--ink); }
.says { font-size: 17px; fill: var(--ink); }
.soft { font-size: 15px; fill: var(--soft); }
.bold { font-weight: 600; }
.hair { stroke: var(--hair); fill: none; }
.plot text, .ratio text { font-size: 15px; }
";

pub(crate) const TITLE: Type = Type("title", 19.0);
pub(crate) const SAYS: Type = Type("says", 17.0);
pub(crate) const BOLD: Type = Type("says bold", 17.0);
pub(crate) const SOFT: Type = Type("soft", 15.0);

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

/// A plot of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panel {
    /// Every point, cost over n on linear axes.
    Linear,
    /// The same on logarithmic axes.
    Logarithmic,
    /// The change against the level at small n, with its simultaneous band.
    Change,
    /// All costs of the upper quarter of n, by percentile.
    Percentiles,
}

impl Panel {
    /// Its title; that of [`Panel::Percentiles`] has the first n.
    pub(super) fn title(self, what: &str) -> String {
        match self {
            Panel::Linear => format!("{}, linear axes", capital(what)),
            Panel::Logarithmic => format!("{}, logarithmic axes", capital(what)),
            Panel::Change => "Change against its level at small n".into(),
            Panel::Percentiles => "All costs by percentile".into(),
        }
    }

    /// The plot and its title.
    fn draw(self, subject: &Subject<'_>) -> Option<(String, String)> {
        let named = |svg| (self.title(subject.what), svg);
        match self {
            Panel::Linear | Panel::Logarithmic => {
                let kind = if self == Panel::Linear { Kind::Linear } else { Kind::Log };
                subject.cost(kind).map(|plot| (self.title(subject.what) + &plot.above(), plot.svg))
            }
            Panel::Change => subject.change().map(named),
            Panel::Percentiles => {
                let tail = Tail::of(subject.sweeps, subject.verdict.map(|v| (v.n_low, v.n_high)))?;
                let Subject { id, label, unit, verdict, .. } = subject;
                Some((tail.title(), tail.draw(id, label, *unit, *verdict, 0.0)))
            }
        }
    }
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

/// Type of a sheet: its class and its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type(&'static str, f64);

impl Type {
    /// The width that words need at most.
    pub(crate) fn width(self, words: &str) -> f64 {
        words.chars().count() as f64 * CHARACTER * self.1
    }

    /// Words in lines of at most that width.
    fn lines(self, words: &str, width: f64) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in words.split(' ') {
            match lines.last_mut() {
                Some(line) if self.width(line) + self.width(word) < width => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines
    }
}

/// A picture under construction, from its top to its bottom.
pub(crate) struct Sheet {
    width: f64,
    /// The place of the next part.
    pub(crate) y: f64,
    out: String,
}

impl Sheet {
    /// A sheet whose content is so wide.
    pub(crate) fn new(width: f64) -> Sheet {
        Sheet { width, y: EDGE, out: String::new() }
    }

    /// The width of the content.
    pub(crate) fn width(&self) -> f64 {
        self.width
    }

    /// Words at a place, in as many lines as they need; returns where they end.
    pub(crate) fn words(&mut self, (x, y, width): (f64, f64, f64), of: Type, words: &str) -> f64 {
        let Type(class, size) = of;
        let mut end = y;
        for line in of.lines(words, width) {
            let _ = write!(
                self.out,
                "<text class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                end + size,
                esc(&line)
            );
            end += LEADING * size;
        }
        end
    }

    /// A paragraph over the whole width.
    pub(crate) fn paragraph(&mut self, of: Type, words: &str) {
        self.y = self.words((EDGE, self.y, self.width), of, words) + 4.0;
    }

    /// A picture inside; where its own height is less it stands on the ground.
    pub(crate) fn place(&mut self, svg: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let at = format!(
            "<svg x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width}\" height=\"{height}\" \
             preserveAspectRatio=\"xMidYMax\" "
        );
        self.out.push_str(&svg.replacen("<svg ", &at, 1));
    }

    /// Anything else.
    pub(crate) fn put(&mut self, element: &str) {
        self.out.push_str(element);
    }

    /// The picture, with its text for screen readers.
    pub(crate) fn close(self, title: &str, description: &str) -> String {
        let (width, height) = (self.width + 2.0 * EDGE, (self.y + EDGE).round());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-labelledby=\"title desc\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n\
             <style>\n{PLOT_STYLE}{STYLE}</style>\n\
             <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{}\n</svg>\n",
            esc(title),
            esc(description),
            self.out.replace("><", ">\n<")
        )
    }
}
