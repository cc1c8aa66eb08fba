//! Markdown in a terminal: the pages of workloads and of others, without its marks.

use std::io::{self, Write};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::text::{Cell, Page, Row, Style, Tone};

/// Columns beyond which lines of prose are hard to read.
const PROSE_MOST: usize = 100;

/// Writes Markdown as text: paragraphs wrapped at the width, tables in columns, code as it stands.
///
/// # Errors
/// Those of `out`.
pub fn write(text: &str, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let style = Style { width: style.width.min(PROSE_MOST), ..*style };
    let mut writer =
        Writer { page: Page::new(style, out), blocks: 0, words: Words::default(), lists: Vec::new() };
    let mut table: Vec<Row> = Vec::new();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Table(_)) => table = Vec::new(),
            Event::Start(Tag::TableHead | Tag::TableRow) => table.push(Row::default()),
            Event::End(TagEnd::TableCell) => {
                let tone = if table.len() == 1 { Tone::Strong } else { Tone::Plain };
                let cell = Cell::toned(writer.words.take_text(), tone);
                if let Some(row) = table.last_mut() {
                    row.cells.push(cell);
                }
            }
            Event::End(TagEnd::Table) => {
                writer.gap()?;
                let last = table.first().map_or(0, |row| row.cells.len().saturating_sub(1));
                writer.page.columns(&table, last)?;
            }
            event => writer.event(event)?,
        }
    }
    writer.end_block()
}

/// Words of a block, each with its tone; a word begins where the one before has ended.
#[derive(Default)]
struct Words {
    words: Vec<(String, Tone)>,
    tone: Tone,
    is_open: bool,
}

impl Words {
    fn push(&mut self, text: &str) {
        for (i, part) in text.split(' ').enumerate() {
            self.is_open &= i == 0;
            match self.words.last_mut().filter(|_| self.is_open) {
                Some((word, _)) => word.push_str(part),
                None if part.is_empty() => {}
                None => self.words.push((part.to_string(), self.tone)),
            }
            self.is_open = !part.is_empty() || self.is_open && i == 0;
        }
    }

    fn space(&mut self) {
        self.is_open = false;
    }

    fn take(&mut self) -> Vec<(String, Tone)> {
        self.is_open = false;
        std::mem::take(&mut self.words)
    }

    fn take_text(&mut self) -> String {
        self.take().into_iter().map(|(word, _)| word).collect::<Vec<_>>().join(" ")
    }
}

struct Writer<'a> {
    page: Page<'a>,
    /// How many blocks have been written.
    blocks: usize,
    words: Words,
    /// The number of the next item of each open list; `None` where items have none.
    lists: Vec<Option<u64>>,
}

impl Writer<'_> {
    fn event(&mut self, event: Event<'_>) -> io::Result<()> {
        match event {
            Event::Start(Tag::Strong | Tag::Heading { .. }) => self.words.tone = Tone::Strong,
            Event::End(TagEnd::Strong) => self.words.tone = Tone::Plain,
            Event::End(TagEnd::Heading(_)) => {
                self.end_block()?;
                self.words.tone = Tone::Plain;
            }
            Event::End(TagEnd::Paragraph | TagEnd::Item) => self.end_block()?,
            Event::Start(Tag::List(first)) => {
                self.end_block()?;
                self.lists.push(first);
            }
            Event::End(TagEnd::List(_)) => drop(self.lists.pop()),
            Event::Start(Tag::Item) => {
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}.", *number - 1)
                    }
                    _ => "-".to_string(),
                };
                self.words.push(&mark);
                self.words.space();
            }
            Event::Start(Tag::CodeBlock(_)) => self.gap()?,
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) | Event::Html(text) => {
                if text.contains('\n') {
                    for line in text.lines() {
                        self.page.verbatim(&format!("    {line}"))?;
                    }
                } else {
                    self.words.push(&text);
                }
            }
            Event::SoftBreak | Event::HardBreak => self.words.space(),
            _ => {}
        }
        Ok(())
    }

    /// An empty line between blocks.
    fn gap(&mut self) -> io::Result<()> {
        self.blocks += 1;
        if self.blocks > 1 { self.page.gap() } else { Ok(()) }
    }

    fn end_block(&mut self) -> io::Result<()> {
        let words = self.words.take();
        if words.is_empty() {
            return Ok(());
        }
        // Items of one list stand close together.
        if self.lists.is_empty() {
            self.gap()?;
        }
        let indent = if self.lists.is_empty() { 0 } else { 2 * self.lists.len() };
        self.page.words(&words, indent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, width: usize, colour: bool) -> String {
        let mut out = Vec::new();
        let style = Style { width, colour, ..Style::default() };
        assert!(write(text, &style, &mut out).is_ok());
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn marks_vanish_and_words_stay_whole() {
        let page = "**Question.** Does `bind(2)`, of *many*, cost more?\nIt [may](https://example.org).";
        let text = written(page, 30, false);
        assert_eq!(text, "Question. Does bind(2), of\nmany, cost more? It may.\n");
        let bold = written(page, 80, true);
        assert!(bold.starts_with("\u{1b}[1mQuestion.\u{1b}[0m Does bind(2), of"), "{bold}");
    }

    #[test]
    fn lists_tables_and_code_stand_in_their_lines() {
        let list = "# Title\n\nText:\n\n- one\n- two `code`\n\n";
        let table = "| a | long heading |\n|---|---|\n| 1 | x |\n\n";
        let page = format!("{list}{table}```text\n$ run  it\n```\n");
        let text = written(&page, 80, false);
        let expected = "Title\n\nText:\n  - one\n  - two code\n\na  long heading\n1  x\n\n    $ run  it\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn nothing_in_a_page_acts() {
        let text = written("a &#x1b;[2J `\u{1b}[2J`\n\n```\n\u{1b}[2J\nx\n```\n", 80, false);
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
