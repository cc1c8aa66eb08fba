//! A picture that stands alone, for a document: plots and words on a paper of their own. Its colours are
//! inside and follow the reader's, light or dark; nothing is loaded from elsewhere.

use std::fmt::Write;

use super::escape::esc;
use super::page::PLOT_STYLE;

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

/// Type of a sheet: its class and its size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type(&'static str, f64);

pub(crate) const TITLE: Type = Type("title", 19.0);
pub(crate) const SAYS: Type = Type("says", 17.0);
pub(crate) const BOLD: Type = Type("says bold", 17.0);
pub(crate) const SOFT: Type = Type("soft", 15.0);

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
