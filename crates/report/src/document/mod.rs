//! A document: an answer as headings, paragraphs, tables, figures and lists, before it is terminal, page or
//! manual. A verb builds one from its answer and never writes text of its own: three writers for each verb
//! would take the same decisions again and drift apart.
//!
//! - [`terminal`] writes one for people, as wide as their terminal and as long as their screen.
//! - [`page`] writes one as a file for a browser.
//! - [`manual`] writes one for man(1).
//! - [`markdown_writer`] writes one in Markdown.
//! - [`markdown`] reads one from a text in Markdown.

mod columns;
pub mod manual;
pub mod markdown;
pub mod markdown_writer;
pub mod page;
pub mod terminal;

use std::io::{self, Write};

pub use page::{Choice, Field, Form};

use crate::text::Style;

/// An answer before it is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The name of its page. A terminal does not show it: the first paragraph there is the answer.
    pub title: String,
    /// Program, machine and time, above the title of a page.
    pub over: Vec<String>,
    /// All of it, from the answer to the evidence.
    pub blocks: Vec<Element>,
    /// Whether it is to be read as text, with an empty line between two blocks.
    pub is_prose: bool,
    /// Rules of style and a script that its figures need, besides those of every page.
    pub assets: Assets,
    /// The way to neighbouring pages, above all of a page.
    pub way: Text,
}

/// Rules of style and a script for a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assets {
    /// Rules of style.
    pub style: &'static str,
    /// A script.
    pub script: &'static str,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// A heading and all below it.
    Section(Section),
    /// Words that are wrapped.
    Paragraph(Text),
    /// Items with dots before them, or with numbers from the first on.
    Items {
        /// The number of the first; none for dots.
        first: Option<u64>,
        /// The blocks of each.
        items: Vec<Vec<Element>>,
    },
    /// Lines as they stand.
    Code(String),
    /// Names of one kind.
    Names(Names),
    /// Rows of cells in columns.
    Table(Table),
    /// A drawing with its words.
    Figure(Figure),
    /// Evidence that is shown on demand.
    Fold(Fold),
    /// Blocks that stand side by side where a page is wide enough.
    Beside(Vec<Element>),
    /// Blocks with choices for a reader of pages that are served; elsewhere the blocks alone.
    Form(Form),
}

/// A heading and all below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// The place in a page that links lead to; empty for none.
    pub id: String,
    /// The heading.
    pub title: Text,
    /// All below it.
    pub blocks: Vec<Element>,
}

/// Evidence that is shown on demand: by `--verbose` in a terminal, by a click in a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fold {
    /// The place in a page that links lead to; empty for none.
    pub id: String,
    /// The heading.
    pub title: Text,
    /// All below it.
    pub blocks: Vec<Element>,
    /// Whether a page shows it from the start.
    pub is_open: bool,
}

/// Words, each span with its tone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(pub Vec<Span>);

/// Words in one tone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The words.
    pub text: String,
    /// Their tone.
    pub tone: Tone,
    /// Where it leads in a page: an id behind `#`, or an address.
    pub link: Option<String>,
}

/// The tone of a word; colour only repeats what the word says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Without colour.
    #[default]
    Plain,
    /// Holds.
    Good,
    /// Grows, or is slower.
    Notable,
    /// Undecided.
    Open,
    /// Beside the point.
    Faint,
    /// A heading, or a name.
    Strong,
    /// A word that is stressed.
    Emphasis,
    /// A word of a program.
    Code,
}

/// Names of one kind: `Flat within 10 %: socket, open and 3 more`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// The kind.
    pub label: String,
    /// The names.
    pub items: Vec<String>,
    /// Words behind the names.
    pub behind: String,
    /// Lines that they may take in a terminal; the names that do not fit are counted.
    pub lines_max: usize,
}

/// Rows of cells in columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The headings.
    pub columns: Vec<Column>,
    /// The rows, the more important ones first.
    pub rows: Vec<Row>,
    /// The column that is wrapped where a terminal is too narrow.
    pub wraps: usize,
    /// The least width of that column; with less, each row becomes a sentence.
    pub wraps_at: usize,
    /// Whether, instead, the columns without room stand below the others, behind the first column again.
    pub is_split: bool,
    /// The tone of all of it, where that is not plain.
    pub tone: Tone,
    /// Its class in the style sheet of pages; empty for the usual one.
    pub class: &'static str,
    /// Rows that a terminal shows unless all are wanted; zero for all.
    pub rows_max: usize,
    /// Whether several rows stand on a line of a terminal where it has room, down one column after the other.
    pub is_compact: bool,
    /// How it gives up rows on a screen with too few lines.
    pub yields: Option<Yields>,
    /// Words behind the count of rows that are left out: `: --verbose`.
    pub more: &'static str,
}

/// How a table gives up rows on a screen with too few lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Yields {
    /// The table with the lowest number gives up rows first.
    pub order: u8,
    /// Rows that stay.
    pub rows_min: usize,
}

/// The heading of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// The words; empty for none.
    pub heading: String,
    /// Whether its cells are numbers, which a page aligns on the right.
    pub is_number: bool,
    /// The class of its cells in the style sheet of pages; empty for none.
    pub class: &'static str,
    /// A drawing in place of the heading on a page: SVG of our own making.
    pub picture: Option<String>,
    /// Its fate where a terminal is too narrow for all columns.
    pub narrow: Narrow,
}

/// The fate of a column where a terminal is too narrow for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Narrow {
    /// It stays.
    #[default]
    Stays,
    /// Its cells move below their rows, behind its heading.
    Below,
    /// It is left out, the last one first, and named below the table.
    LeftOut,
}

/// A row of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// A cell for each column, the name of the row first.
    pub cells: Vec<Cell>,
    /// Lines below it, which begin at the second column.
    pub below: Vec<Text>,
    /// The same in a sentence, for a terminal without room for columns.
    pub sentence: Option<Text>,
    /// Classes for the script of a page.
    pub class: String,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The words.
    pub text: Text,
    /// Fewer words, for a terminal without room for these.
    pub short: Option<Text>,
    /// A drawing in its place on a page: SVG of our own making.
    pub picture: Option<String>,
    /// A choice in its place in a form of a page.
    pub choice: Option<Choice>,
}

/// A drawing with its words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// The place in a page that links lead to; empty for none.
    pub id: String,
    /// The heading.
    pub title: Text,
    /// SVG of our own making, for a page.
    pub svg: String,
    /// Words below it.
    pub captions: Vec<Text>,
    /// The same in lines of characters, for a terminal; none where it has no room for that.
    pub characters: Vec<String>,
}

impl Document {
    /// Adds a block.
    pub fn push(&mut self, block: impl Into<Element>) {
        self.blocks.push(block.into());
    }

    /// Adds a paragraph.
    pub fn say(&mut self, text: impl Into<Text>) {
        self.push(text.into());
    }

    /// Writes it in a terminal.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, extent: terminal::Length, style: &Style, out: &mut dyn Write) -> io::Result<()> {
        terminal::write(self, extent, style, out)
    }
}

impl Section {
    /// A heading with nothing below it yet.
    pub fn new(title: impl Into<Text>) -> Section {
        Section { title: title.into(), ..Section::default() }
    }

    /// Adds a block.
    pub fn push(&mut self, block: impl Into<Element>) {
        self.blocks.push(block.into());
    }

    /// Adds a paragraph.
    pub fn say(&mut self, text: impl Into<Text>) {
        self.push(text.into());
    }
}

impl Text {
    /// Words in one tone.
    pub fn toned(text: impl Into<String>, tone: Tone) -> Text {
        Text(vec![Span { text: text.into(), tone, link: None }])
    }

    /// Words that lead somewhere in a page.
    pub fn linked(text: impl Into<String>, tone: Tone, link: impl Into<String>) -> Text {
        Text(vec![Span { text: text.into(), tone, link: Some(link.into()) }])
    }

    /// The same words with others behind them.
    #[must_use]
    pub fn and(mut self, more: impl Into<Text>) -> Text {
        self.0.extend(more.into().0);
        self
    }

    /// The words without their tones.
    pub fn plain(&self) -> String {
        self.0.iter().map(|span| span.text.as_str()).collect()
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|span| span.text.is_empty())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::toned(text, Tone::Plain)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::toned(text, Tone::Plain)
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Text {
        Text::toned(text, Tone::Plain)
    }
}

macro_rules! elements {
    ($($variant:ident($block:ty))*) => {
        $(impl From<$block> for Element {
            fn from(block: $block) -> Element {
                Element::$variant(block)
            }
        })*
    };
}

elements! {
    Paragraph(Text) Section(Section) Names(Names) Table(Table) Figure(Figure) Fold(Fold) Form(Form)
}

impl Table {
    /// A table without rows. Its last column is the one that is wrapped.
    pub fn new<const N: usize>(headings: [&str; N]) -> Table {
        Table::of_columns(headings.map(Column::from).into())
    }

    /// A table without rows and without headings.
    pub fn without_headings(columns: usize) -> Table {
        Table::of_columns(vec![Column::default(); columns])
    }

    /// A table without rows. Its last column is the one that is wrapped.
    pub fn of_columns(columns: Vec<Column>) -> Table {
        Table { wraps: columns.len().saturating_sub(1), wraps_at: WRAPS_AT, columns, ..Table::default() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: impl Into<Row>) {
        self.rows.push(row.into());
    }
}

/// A column that is wrapped has this width at least.
const WRAPS_AT: usize = 16;

impl From<&str> for Column {
    fn from(heading: &str) -> Column {
        Column { heading: heading.to_owned(), ..Column::default() }
    }
}

impl From<String> for Column {
    fn from(heading: String) -> Column {
        Column { heading, ..Column::default() }
    }
}

impl Column {
    /// A column of numbers.
    pub fn number(heading: impl Into<String>) -> Column {
        Column { heading: heading.into(), is_number: true, ..Column::default() }
    }

    /// The same column with a class for its cells.
    #[must_use]
    pub fn class(self, class: &'static str) -> Column {
        Column { class, ..self }
    }

    /// The same column with another fate where a terminal is too narrow.
    #[must_use]
    pub fn narrow(self, narrow: Narrow) -> Column {
        Column { narrow, ..self }
    }
}

impl Row {
    /// A row of these cells.
    pub fn new(cells: impl IntoIterator<Item = Cell>) -> Row {
        Row { cells: cells.into_iter().collect(), ..Row::default() }
    }
}

impl<T: Into<Cell>> From<Vec<T>> for Row {
    fn from(cells: Vec<T>) -> Row {
        Row::new(cells.into_iter().map(Into::into))
    }
}

impl<T: Into<Cell>, const N: usize> From<[T; N]> for Row {
    fn from(cells: [T; N]) -> Row {
        Row::new(cells.into_iter().map(Into::into))
    }
}

impl<T: Into<Text>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }
}

impl Cell {
    /// Words in one tone.
    pub fn toned(text: impl Into<String>, tone: Tone) -> Cell {
        Text::toned(text, tone).into()
    }
}
