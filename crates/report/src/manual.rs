//! Markdown as a page of the manual, for man(1): the pages of workloads and of others.

use std::io::{self, Write};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use roff::{Inline, Roff, bold, italic, roman};

use crate::text::printable;

/// A page of the manual.
#[derive(Clone, Copy, Debug)]
pub struct Manual<'a> {
    /// What it is of: `osdyno-bind`.
    pub name: &'a str,
    /// The section of the manual.
    pub section: &'a str,
    /// The program and its version.
    pub source: &'a str,
    /// What it is, in a line.
    pub summary: &'a str,
    /// The text, Markdown.
    pub text: &'a str,
    /// Other pages: `osdyno-run(1)`.
    pub see_also: &'a [&'a str],
}

/// Writes a page in the language of man(7): lists and tables as items, code as it stands.
///
/// # Errors
/// Those of `out`.
pub fn write(manual: &Manual<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer::default();
    // No date: that of a package is the date of its source.
    writer.roff.control("TH", [manual.name, manual.section, "\"\"", manual.source]);
    writer.roff.control("SH", ["NAME"]);
    writer.roff.text([roman(format!("{} - {}", manual.name, plain(manual.summary)))]);
    writer.roff.control("SH", ["DESCRIPTION"]);
    for event in Parser::new_ext(manual.text, Options::ENABLE_TABLES) {
        writer.event(event);
    }
    if !manual.see_also.is_empty() {
        writer.roff.control("SH", ["SEE ALSO"]);
        writer.roff.text([roman(manual.see_also.join(", "))]);
    }
    writer.roff.to_writer(out)
}

/// Text without the marks of Markdown.
fn plain(text: &str) -> String {
    let texts = Parser::new(text).filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(printable(&text).into_owned()),
        Event::SoftBreak | Event::HardBreak => Some(" ".to_owned()),
        _ => None,
    });
    texts.collect()
}

#[derive(Default)]
struct Writer {
    roff: Roff,
    /// What has been read of a block.
    inlines: Vec<Inline>,
    font: Font,
    /// Headings of the columns of a table, and the cells of its row.
    headings: Vec<String>,
    cells: Vec<String>,
    /// The number of the next item of each open list; `None` where items have none.
    lists: Vec<Option<u64>>,
    /// Whether a paragraph belongs to an item, which has begun already.
    is_item: bool,
}

#[derive(Clone, Copy, Default)]
enum Font {
    #[default]
    Roman,
    Bold,
    Italic,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Code(text) => self.inlines.push(bold(printable(&text))),
            Event::Text(text) | Event::InlineHtml(text) | Event::Html(text) if text.contains('\n') => {
                for line in text.lines() {
                    self.roff.text([roman(printable(line))]);
                }
            }
            Event::Text(text) | Event::InlineHtml(text) | Event::Html(text) => {
                let text = printable(&text);
                self.inlines.push(match self.font {
                    Font::Roman => roman(text),
                    Font::Bold => bold(text),
                    Font::Italic => italic(text),
                });
            }
            Event::SoftBreak | Event::HardBreak => self.inlines.push(roman(" ")),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Strong => self.font = Font::Bold,
            Tag::Emphasis => self.font = Font::Italic,
            Tag::List(first) => {
                self.block("PP");
                self.lists.push(first);
            }
            Tag::Item => {
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}.", *number - 1)
                    }
                    _ => "\\(bu".to_owned(),
                };
                self.roff.control("IP", [mark.as_str(), "4"]);
                self.is_item = true;
            }
            Tag::CodeBlock(_) => {
                self.roff.control("PP", []).control("RS", ["4"]).control("nf", []);
            }
            Tag::Table(_) => self.headings.clear(),
            Tag::TableHead | Tag::TableRow => self.cells.clear(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong | TagEnd::Emphasis => self.font = Font::Roman,
            TagEnd::Heading(_) => {
                let heading = text_of(&std::mem::take(&mut self.inlines));
                self.roff.control("SS", [heading.as_str()]);
            }
            TagEnd::Paragraph => self.block("PP"),
            TagEnd::Item => {
                self.block("PP");
                self.is_item = false;
            }
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::CodeBlock => drop(self.roff.control("fi", []).control("RE", [])),
            TagEnd::TableCell => {
                let cell = text_of(&std::mem::take(&mut self.inlines));
                self.cells.push(cell);
            }
            TagEnd::TableHead => {
                self.headings = std::mem::take(&mut self.cells);
                let heading = self.headings.first().cloned().unwrap_or_default();
                self.roff.control("SS", [heading.as_str()]);
            }
            TagEnd::TableRow => self.row(),
            _ => {}
        }
    }

    /// What has been read, as a paragraph; in an item, behind its mark.
    fn block(&mut self, macro_name: &str) {
        let inlines = std::mem::take(&mut self.inlines);
        if inlines.is_empty() {
            return;
        }
        if !std::mem::take(&mut self.is_item) {
            self.roff.control(macro_name, []);
        }
        self.roff.text(inlines);
    }

    /// A row of a table: its first cell is the term, and the others, with the headings of their columns, say
    /// what it is.
    fn row(&mut self) {
        let cells = std::mem::take(&mut self.cells);
        let Some((term, others)) = cells.split_first() else { return };
        self.roff.control("TP", []).text([bold(term.as_str())]);
        let headings = self.headings.iter().skip(1);
        let said = others.iter().zip(headings).filter(|(cell, _)| !cell.is_empty());
        let said = said.map(|(cell, heading)| match heading.as_str() {
            "" => cell.clone(),
            heading => format!("{heading} {cell}"),
        });
        self.roff.text([roman(said.collect::<Vec<_>>().join("; "))]);
    }
}

fn text_of(inlines: &[Inline]) -> String {
    let text = |inline: &Inline| match inline {
        Inline::Roman(text) | Inline::Italic(text) | Inline::Bold(text) => text.clone(),
        Inline::LineBreak => " ".to_owned(),
    };
    inlines.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let manual = Manual {
            name: "osdyno-bind",
            section: "7",
            source: "osdyno 1",
            summary: "Cost of `bind(2)`",
            text,
            see_also: &["osdyno-run(1)"],
        };
        let mut out = Vec::new();
        assert!(write(&manual, &mut out).is_ok());
        let text = String::from_utf8_lossy(&out).into_owned();
        text.split_once(".TH ").map(|(_, page)| page.to_owned()).unwrap_or(text)
    }

    #[test]
    fn marks_become_fonts() {
        let page = written("**Question.** Does `bind(2)`, of *many*,\ncost more?");
        let expected = "osdyno-bind 7 \"\" \"osdyno 1\"\n.SH NAME\nosdyno\\-bind \\- Cost of bind(2)\n\
                        .SH DESCRIPTION\n.PP\n\
                        \\fBQuestion.\\fR Does \\fBbind(2)\\fR, of \\fImany\\fR, cost more?\n\
                        .SH \"SEE ALSO\"\nosdyno\\-run(1)\n";
        assert_eq!(page, expected);
    }

    #[test]
    fn lists_tables_and_code_are_items() {
        let list = "Text:\n\n- one\n- two\n\n";
        let table = "| Measured | n | |\n|---|---|---|\n| close | falling | one close(2) |\n\n";
        let page = written(&format!("{list}{table}```text\n.run\n```\n"));
        for expected in [
            ".IP \\(bu 4\none\n.IP \\(bu 4\ntwo\n",
            ".SS Measured\n.TP\n\\fBclose\\fR\nn falling; one close(2)\n",
            ".nf\n\\&.run\n.fi\n",
        ] {
            assert!(page.contains(expected), "{expected} in {page}");
        }
    }

    /// A line of text that looks like a request is text, and so is what a terminal would obey.
    #[test]
    fn nothing_in_a_page_acts() {
        let page = written("a\n.so /etc/passwd `\u{1b}[2J` \\\\X'tty: x'");
        assert!(!page.lines().any(|line| line.starts_with(".so")) && !page.contains('\u{1b}'), "{page}");
        assert!(!page.contains("\\X'"), "{page}");
    }
}
