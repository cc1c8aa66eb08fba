//! Reads a text in Markdown as blocks of a document: the pages of workloads and the guides. Raw HTML is text,
//! pictures are left out, and links lead to the web only.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{Cell, Column, Document, Element, Row, Section, Span, Table, Text, Tone};

/// The text as a document of prose.
pub fn document(text: &str) -> Document {
    Document { blocks: blocks(text), is_prose: true, ..Document::default() }
}

/// The text as blocks; a heading opens a section, which ends at the next.
pub fn blocks(text: &str) -> Vec<Element> {
    let mut reader = Reader { levels: vec![Vec::new()], ..Reader::default() };
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        reader.event(event);
    }
    reader.end_paragraph();
    in_sections(reader.levels.into_iter().flatten().collect())
}

/// Puts the blocks behind each heading into its section.
fn in_sections(blocks: Vec<Element>) -> Vec<Element> {
    let mut all: Vec<Element> = Vec::new();
    for block in blocks {
        match (all.last_mut(), block) {
            (_, section @ Element::Section(_)) => all.push(section),
            (Some(Element::Section(section)), block) => section.blocks.push(block),
            (_, block) => all.push(block),
        }
    }
    all
}

#[derive(Default)]
struct Reader {
    /// Finished blocks: of the text, and of each open item.
    levels: Vec<Vec<Element>>,
    /// The open lists: the number of the first item, and the items so far.
    lists: Vec<(Option<u64>, Vec<Vec<Element>>)>,
    /// The words of the open paragraph, heading or cell.
    text: Text,
    tone: Tone,
    link: Option<String>,
    code: Option<String>,
    table: Option<Table>,
    cells: Vec<Text>,
    is_picture: bool,
}

impl Reader {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code.is_some() => {
                if let Some(code) = &mut self.code {
                    code.push_str(&text);
                }
            }
            Event::Text(text) | Event::InlineHtml(text) | Event::Html(text) => self.words(&text, self.tone),
            Event::Code(text) => self.words(&text, Tone::Code),
            Event::SoftBreak | Event::HardBreak => self.words(" ", self.tone),
            _ => {}
        }
    }

    fn words(&mut self, text: &str, tone: Tone) {
        if self.is_picture {
            return;
        }
        let link = self.link.clone();
        match self.text.0.last_mut().filter(|span| span.tone == tone && span.link == link) {
            Some(span) => span.text.push_str(text),
            None => self.text.0.push(Span { text: text.to_owned(), tone, link }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Strong => self.tone = Tone::Strong,
            Tag::Emphasis => self.tone = Tone::Emphasis,
            Tag::Link { dest_url, .. } => {
                let is_web = dest_url.starts_with("https://") || dest_url.starts_with("http://");
                self.link = is_web.then(|| dest_url.into_string());
            }
            Tag::Image { .. } => self.is_picture = true,
            Tag::List(first) => {
                self.end_paragraph();
                self.lists.push((first, Vec::new()));
            }
            Tag::Item => self.levels.push(Vec::new()),
            Tag::CodeBlock(_) => self.code = Some(String::new()),
            Tag::Table(_) => self.table = Some(Table::default()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong | TagEnd::Emphasis => self.tone = Tone::Plain,
            TagEnd::Link => self.link = None,
            TagEnd::Image => self.is_picture = false,
            TagEnd::Heading(_) => {
                let title = std::mem::take(&mut self.text);
                self.put(Section::new(title).into());
            }
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_paragraph(),
            TagEnd::Item => {
                self.end_paragraph();
                let item = self.levels.pop().unwrap_or_default();
                if let Some((_, items)) = self.lists.last_mut() {
                    items.push(item);
                }
            }
            TagEnd::List(_) => {
                if let Some((first, items)) = self.lists.pop() {
                    self.put(Element::Items { first, items });
                }
            }
            TagEnd::CodeBlock => {
                if let Some(code) = self.code.take() {
                    self.put(Element::Code(code.trim_end().to_owned()));
                }
            }
            TagEnd::TableCell => self.cells.push(std::mem::take(&mut self.text)),
            TagEnd::TableHead => {
                let headings = std::mem::take(&mut self.cells);
                let columns = headings.iter().map(|heading| Column::from(heading.plain())).collect();
                self.table = Some(Table::of_columns(columns));
            }
            TagEnd::TableRow => {
                let cells = std::mem::take(&mut self.cells).into_iter().map(Cell::from);
                if let Some(table) = &mut self.table {
                    table.push(Row::new(cells));
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.put(table.into());
                }
            }
            _ => {}
        }
    }

    fn end_paragraph(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.put(text.into());
        }
        self.text = Text::default();
    }

    fn put(&mut self, block: Element) {
        if let Some(blocks) = self.levels.last_mut() {
            blocks.push(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{page, terminal};
    use crate::text::Style;

    fn written(text: &str, width: usize, colour: bool) -> String {
        let mut out = Vec::new();
        let style = Style { width, colour, ..Style::default() };
        assert!(terminal::write(&document(text), terminal::Length::All, &style, &mut out).is_ok());
        String::from_utf8_lossy(&out).into_owned()
    }

    fn in_page(text: &str) -> String {
        let mut out = Vec::new();
        assert!(page::blocks(&blocks(text), 4, &mut out).is_ok());
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn marks_vanish_and_words_stay_whole() {
        let text = "**Question.** Does `bind(2)`, of *many*, cost more?\nIt [may](https://example.org).";
        assert_eq!(written(text, 30, false), "Question. Does bind(2), of\nmany, cost more? It may.\n");
        let bold = written(text, 80, true);
        assert!(bold.starts_with("\u{1b}[1mQuestion.\u{1b}[0m Does bind(2), of"), "{bold}");
    }

    #[test]
    fn lists_tables_and_code_stand_in_their_lines() {
        let list = "# Title\n\nText:\n\n- one\n- two `code`\n\n";
        let table = "| a | long heading |\n|---|---|\n| 1 | x |\n\n";
        let text = written(&format!("{list}{table}```text\n$ run  it\n```\n"), 80, false);
        let expected = "Title\n\nText:\n  - one\n  - two code\n\na  long heading\n1  x\n\n    $ run  it\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn nothing_in_a_text_acts() {
        let text = written("a &#x1b;[2J `\u{1b}[2J`\n\n```\n\u{1b}[2J\nx\n```\n", 80, false);
        assert!(!text.contains('\u{1b}'), "{text}");
        let page = in_page(
            "# Bind\n\n<script>alert(1)</script>\n\nA <b onclick=x>word</b> and \
             [a link](javascript:alert(1)) and ![a picture](https://example.org/x.png) \u{1b}[2J \
             and &#x202e;, `&#x202e;`, \u{202e}, [&#8238;](https://example.org/&#x202e;)",
        );
        assert!(!page.contains("<script") && !page.contains("<b ") && !page.contains("<img"), "{page}");
        assert!(!page.contains("javascript:") && !page.contains(['\u{1b}', '\u{202e}']), "{page}");
        assert!(page.contains("<h4>Bind</h4>") && page.contains("&lt;script&gt;"), "{page}");
    }

    #[test]
    fn paragraphs_code_and_lists_stand_in_a_page() {
        let page = in_page("One `bind` *call*:\n\n- first\n- [second](https://example.org)\n");
        assert!(page.contains("<code>bind</code>") && page.contains("<li>first</li>"), "{page}");
        assert!(page.contains("<a href=\"https://example.org\">second</a>"), "{page}");
    }
}
