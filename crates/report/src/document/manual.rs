//! A document as a page of the manual, for man(1).

use std::io::{self, Write};

use roff::{Inline, Roff, bold, italic, roman};

use super::{Document, Element, Form, Table, Text, Tone};
use crate::text::printable;

/// The parts of a page of the manual beside its document.
#[derive(Clone, Copy, Debug)]
pub struct Manual<'a> {
    /// Its name: `osdyno-bind`.
    pub name: &'a str,
    /// The section of the manual.
    pub section: &'a str,
    /// The program and its version.
    pub source: &'a str,
    /// The subject in a line, in Markdown.
    pub summary: &'a str,
    /// Other pages: `osdyno-run(1)`.
    pub see_also: &'a [&'a str],
}

/// Writes a page in the language of man(7): lists and tables as items, code as it stands.
///
/// # Errors
/// Those of `out`.
pub fn write(manual: &Manual<'_>, document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let mut roff = Roff::new();
    // No date: that of a package is the date of its source.
    roff.control("TH", [manual.name, manual.section, "\"\"", manual.source]);
    roff.control("SH", ["NAME"]);
    let summary = super::markdown::blocks(manual.summary);
    let summary: Vec<String> = summary.iter().filter_map(words).collect();
    roff.text([roman(printable(&format!("{} - {}", manual.name, summary.join(" "))))]);
    roff.control("SH", ["DESCRIPTION"]);
    blocks(&document.blocks, &mut roff);
    if !manual.see_also.is_empty() {
        roff.control("SH", ["SEE ALSO"]);
        roff.text([roman(manual.see_also.join(", "))]);
    }
    roff.to_writer(out)
}

fn words(block: &Element) -> Option<String> {
    if let Element::Paragraph(text) = block { Some(text.plain()) } else { None }
}

fn blocks(all: &[Element], roff: &mut Roff) {
    for block in all {
        match block {
            Element::Section(section) => {
                roff.control("SS", [printable(&section.title.plain()).as_ref()]);
                blocks(&section.blocks, roff);
            }
            Element::Paragraph(text) => drop(roff.control("PP", []).text(inlines(text))),
            Element::Items { first, items } => {
                for (place, item) in items.iter().enumerate() {
                    let mark = first.map_or("\\(bu".to_owned(), |first| format!("{}.", first + place as u64));
                    roff.control("IP", [mark.as_str(), "4"]);
                    match item.split_first() {
                        Some((Element::Paragraph(text), rest)) => {
                            roff.text(inlines(text));
                            blocks(rest, roff);
                        }
                        _ => blocks(item, roff),
                    }
                }
            }
            Element::Code(code) => {
                roff.control("PP", []).control("RS", ["4"]).control("nf", []);
                for line in code.lines() {
                    roff.text([roman(printable(line))]);
                }
                roff.control("fi", []).control("RE", []);
            }
            Element::Names(names) => {
                let text = format!("{}: {}{}", names.label, names.items.join(", "), names.behind);
                roff.control("PP", []).text([roman(printable(&text))]);
            }
            Element::Table(table) => self::table(table, roff),
            Element::Fold(fold) => {
                roff.control("SS", [printable(&fold.title.plain()).as_ref()]);
                blocks(&fold.blocks, roff);
            }
            Element::Beside(inner) | Element::Form(Form { blocks: inner, .. }) => blocks(inner, roff),
            // A manual has no drawings.
            Element::Figure(_) => {}
        }
    }
}

/// The first cell of a row is the term, and the others, with the headings of their columns, describe it.
fn table(table: &Table, roff: &mut Roff) {
    if let Some(first) = table.columns.first() {
        roff.control("SS", [printable(&first.heading).as_ref()]);
    }
    for row in &table.rows {
        let Some((term, others)) = row.cells.split_first() else { continue };
        roff.control("TP", []).text([bold(printable(&term.text.plain()))]);
        let headings = table.columns.iter().skip(1);
        let said = others.iter().zip(headings).filter(|(cell, _)| !cell.text.is_empty());
        let said = said.map(|(cell, column)| match column.heading.as_str() {
            "" => cell.text.plain(),
            heading => format!("{heading} {}", cell.text.plain()),
        });
        roff.text([roman(printable(&said.collect::<Vec<_>>().join("; ")))]);
    }
}

fn inlines(text: &Text) -> Vec<Inline> {
    let inline = |span: &super::Span| {
        let text = printable(&span.text);
        match span.tone {
            Tone::Strong | Tone::Code => bold(text),
            Tone::Emphasis => italic(text),
            _ => roman(text),
        }
    };
    text.0.iter().map(inline).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::markdown;

    fn written(text: &str) -> String {
        let manual = Manual {
            name: "osdyno-bind",
            section: "7",
            source: "osdyno 1",
            summary: "Cost of `bind(2)`",
            see_also: &["osdyno-run(1)"],
        };
        let mut out = Vec::new();
        assert!(write(&manual, &markdown::document(text), &mut out).is_ok());
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

    /// A line of text that looks like a request is text, and so is a control sequence.
    #[test]
    fn nothing_in_a_page_acts() {
        let page = written("a\n.so /etc/passwd `\u{1b}[2J` \\\\X'tty: x'");
        assert!(!page.lines().any(|line| line.starts_with(".so")) && !page.contains('\u{1b}'), "{page}");
        assert!(!page.contains("\\X'"), "{page}");
    }
}
