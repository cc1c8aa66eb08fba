//! A document as a page: one file, nothing loaded from elsewhere, readable without scripts. Pages that are
//! served may have forms.

use std::io::{self, Write};

use super::{Cell, Column, Document, Element, Figure, Fold, Row, Span, Table, Text, Tone};
use crate::html::{close, esc, open};

/// Blocks with choices of a reader, which make the address of another page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form {
    /// The address without its query.
    pub action: String,
    /// Fields above the blocks.
    pub fields: Vec<Field>,
    /// The words of its button.
    pub submit: String,
    /// The blocks. Cells with a choice are part of the form.
    pub blocks: Vec<Element>,
}

/// A field of a form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// The words before it.
    pub label: String,
    /// Its name in the query.
    pub name: String,
    /// Its value now; empty for none.
    pub value: String,
    /// The values to choose from; none for a text.
    pub options: Vec<String>,
}

/// One of several choices of a form, of which one is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The name of the choice in the query.
    pub name: String,
    /// This value of it.
    pub value: String,
    /// The words that a screen reader says in its place.
    pub label: String,
    /// Whether it is made.
    pub is_made: bool,
}

/// Writes a document. The paragraphs before anything else are the head of the page, the first of them its
/// lead.
///
/// # Errors
/// Those of `out`.
pub fn write(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    open(&document.title, &document.way, out)?;
    if !document.assets.style.is_empty() {
        writeln!(out, "<style>\n{}\n</style>", document.assets.style)?;
    }
    let is_paragraph = |block: &&Element| matches!(block, Element::Paragraph(_));
    let head = document.blocks.iter().take_while(is_paragraph).count();
    let (head, body) = document.blocks.split_at(head);
    self::head(&document.over, &document.title, head, out)?;
    blocks(body, 2, out)?;
    if !document.assets.script.is_empty() {
        writeln!(out, "<script>\n{}</script>", document.assets.script)?;
    }
    close(out)
}

/// Writes the head of a page; its first block is the lead.
pub(crate) fn head(over: &[String], title: &str, all: &[Element], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<header>")?;
    for over in over {
        writeln!(out, "<p class=\"over\">{}</p>", esc(over))?;
    }
    writeln!(out, "<h1>{}</h1>", esc(title))?;
    for (place, block) in all.iter().enumerate() {
        match block {
            Element::Paragraph(text) if place == 0 => {
                writeln!(out, "<p class=\"lead\">{}</p>", markup(text))?;
            }
            block => self::block(block, 2, out)?,
        }
    }
    writeln!(out, "</header>")
}

/// Writes blocks whose headings are of this level.
pub(crate) fn blocks(all: &[Element], level: u8, out: &mut dyn Write) -> io::Result<()> {
    all.iter().try_for_each(|block| self::block(block, level, out))
}

fn block(block: &Element, level: u8, out: &mut dyn Write) -> io::Result<()> {
    match block {
        Element::Section(section) => {
            write!(out, "<section{}>", id(&section.id))?;
            if !section.title.is_empty() {
                write!(out, "<h{level}>{}</h{level}>", markup(&section.title))?;
            }
            writeln!(out)?;
            blocks(&section.blocks, (level + 1).min(6), out)?;
            writeln!(out, "</section>")
        }
        Element::Paragraph(text) => match class_of_paragraph(text) {
            "" => writeln!(out, "<p>{}</p>", markup(text)),
            class => writeln!(out, "<p class=\"{class}\">{}</p>", markup(text)),
        },
        Element::Items { first, items } => {
            let (tag, start) = match first {
                Some(first) => ("ol", format!(" start=\"{first}\"")),
                None => ("ul", String::new()),
            };
            writeln!(out, "<{tag}{start}>")?;
            for item in items {
                write!(out, "<li>")?;
                match item.as_slice() {
                    [Element::Paragraph(text)] => write!(out, "{}", markup(text))?,
                    several => blocks(several, level, out)?,
                }
                writeln!(out, "</li>")?;
            }
            writeln!(out, "</{tag}>")
        }
        // It scrolls, also by the keyboard.
        Element::Code(code) => writeln!(out, "<pre tabindex=\"0\"><code>{}</code></pre>", esc_lines(code)),
        Element::Names(names) => writeln!(
            out,
            "<p class=\"list\"><strong>{}</strong>: {}{}</p>",
            esc(&names.label),
            esc(&names.items.join(", ")),
            esc(&names.behind)
        ),
        Element::Table(table) => self::table(table, out),
        Element::Figure(figure) => self::figure(figure, level, out),
        Element::Fold(Fold { id, title, blocks: inner, is_open }) => {
            let open = if *is_open { " open" } else { "" };
            let title = if title.is_empty() { "more".into() } else { markup(title) };
            writeln!(out, "<details class=\"list\"{}{open}><summary>{title}</summary>", self::id(id))?;
            blocks(inner, level, out)?;
            writeln!(out, "</details>")
        }
        Element::Beside(inner) => {
            writeln!(out, "<div class=\"grid2\">")?;
            for block in inner {
                writeln!(out, "<div>")?;
                self::block(block, (level + 1).min(6), out)?;
                writeln!(out, "</div>")?;
            }
            writeln!(out, "</div>")
        }
        Element::Form(form) => self::form(form, level, out),
    }
}

/// A form whose choices stand in the address of the page that it leads to.
fn form(form: &Form, level: u8, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<form method=\"get\" action=\"{}\"><p class=\"fields\">", esc(&form.action))?;
    for Field { label, name, value, options } in &form.fields {
        let (name, value) = (esc(name), esc(value));
        write!(out, "<label>{} ", esc(label))?;
        if options.is_empty() {
            write!(out, "<input type=\"search\" name=\"{name}\" value=\"{value}\">")?;
        } else {
            write!(out, "<select name=\"{name}\"><option value=\"\">all</option>")?;
            for option in options.iter().map(|option| esc(option)) {
                let selected = if option == value { " selected" } else { "" };
                write!(out, "<option{selected}>{option}</option>")?;
            }
            write!(out, "</select>")?;
        }
        writeln!(out, "</label>")?;
    }
    writeln!(out, "<button>{}</button></p>", esc(&form.submit))?;
    blocks(&form.blocks, level, out)?;
    writeln!(out, "</form>")
}

fn choice(choice: &Choice) -> String {
    format!(
        "<input type=\"radio\" name=\"{}\" value=\"{}\" aria-label=\"{}\"{}>",
        esc(&choice.name),
        esc(&choice.value),
        esc(&choice.label),
        if choice.is_made { " checked" } else { "" }
    )
}

/// A paragraph of the tone beside the point is a remark; one of the open tone names a gap.
fn class_of_paragraph(text: &Text) -> &'static str {
    let mut tones = text.0.iter().map(|span| span.tone);
    match tones.next() {
        Some(Tone::Faint) if tones.all(|tone| tone == Tone::Faint) => "remark",
        Some(Tone::Strong) if tones.all(|tone| tone == Tone::Strong) => "claim",
        _ => "",
    }
}

fn figure(figure: &Figure, level: u8, out: &mut dyn Write) -> io::Result<()> {
    if figure.svg.is_empty() {
        return Ok(());
    }
    write!(out, "<figure{}>", id(&figure.id))?;
    if !figure.title.is_empty() {
        write!(out, "<h{level}>{}</h{level}>", markup(&figure.title))?;
    }
    writeln!(out, "{}", figure.svg)?;
    if !figure.captions.is_empty() {
        let captions: Vec<String> = figure.captions.iter().map(markup).collect();
        writeln!(out, "<figcaption>{}</figcaption>", captions.join("<br>"))?;
    }
    writeln!(out, "</figure>")
}

fn table(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let class = if table.class.is_empty() { "verdicts" } else { table.class };
    let faint = if table.tone == Tone::Faint { " faint" } else { "" };
    write!(out, "<div class=\"scroll\" tabindex=\"0\"><table class=\"{class}{faint}\">")?;
    if table.columns.iter().any(|column| !column.heading.is_empty()) {
        write!(out, "<thead><tr>")?;
        for column in &table.columns {
            let class = class_of(column);
            match (&column.picture, column.heading.as_str()) {
                (Some(picture), heading) => {
                    let name = if heading.is_empty() { "Scale" } else { heading };
                    write!(out, "<th scope=\"col\" aria-label=\"{}\"{class}>{picture}</th>", esc(name))?;
                }
                (None, "") => write!(out, "<td{class}></td>")?,
                (None, heading) => write!(out, "<th scope=\"col\"{class}>{}</th>", esc(heading))?,
            }
        }
        writeln!(out, "</tr></thead>")?;
    }
    writeln!(out, "<tbody>")?;
    table.rows.iter().try_for_each(|row| self::row(table, row, out))?;
    writeln!(out, "</tbody></table></div>")
}

fn row(table: &Table, row: &Row, out: &mut dyn Write) -> io::Result<()> {
    let class = if row.class.is_empty() { String::new() } else { format!(" class=\"{}\"", esc(&row.class)) };
    write!(out, "<tr{class}>")?;
    let below: String =
        row.below.iter().map(|text| format!("<br><span class=\"remark\">{}</span>", markup(text))).collect();
    // The lines below a row stand in the cell that is wrapped in a terminal, which has room.
    let last = row.cells.len().saturating_sub(1);
    let wraps = table.wraps.min(last);
    for (place, cell) in row.cells.iter().enumerate() {
        let column = table.columns.get(place).cloned().unwrap_or_default();
        let below = if place == wraps { below.as_str() } else { "" };
        let span = match table.columns.len() {
            all if place == last && all > last + 1 => format!(" colspan=\"{}\"", all - last),
            _ => String::new(),
        };
        let content = content(cell);
        if place == 0 {
            write!(out, "<th scope=\"row\"{span}>{content}{below}</th>")?;
            continue;
        }
        let class = class_of(&column);
        // On a narrow screen a number stands behind its heading.
        let heading = match column.is_number && !content.is_empty() {
            true => format!(" data-is=\"{}\"", esc(&column.heading)),
            false => String::new(),
        };
        write!(out, "<td{class}{span}{heading}>{content}{below}</td>")?;
    }
    writeln!(out, "</tr>")
}

/// The class of the cells of a column.
fn class_of(column: &Column) -> String {
    let classes = [if column.is_number { "num" } else { "" }, column.class];
    let classes: Vec<&str> = classes.into_iter().filter(|class| !class.is_empty()).collect();
    if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) }
}

fn content(cell: &Cell) -> String {
    if let Some(choice) = &cell.choice {
        return self::choice(choice);
    }
    cell.picture.clone().unwrap_or_else(|| markup(&cell.text))
}

fn id(id: &str) -> String {
    if id.is_empty() { String::new() } else { format!(" id=\"{}\"", esc(id)) }
}

/// Words with their tones and links; active content is escaped.
pub(crate) fn markup(text: &Text) -> String {
    text.0.iter().map(span).collect()
}

fn span(span: &Span) -> String {
    let text = esc(&span.text);
    let class = match span.tone {
        Tone::Good => " class=\"word good\"",
        Tone::Notable => " class=\"word notable\"",
        Tone::Open => " class=\"word open\"",
        _ => "",
    };
    match (&span.link, span.tone) {
        (Some(link), _) => format!("<a{class} href=\"{}\">{text}</a>", esc(link)),
        (None, Tone::Good | Tone::Notable | Tone::Open) => format!("<span{class}>{text}</span>"),
        (None, Tone::Strong) => format!("<strong>{text}</strong>"),
        (None, Tone::Emphasis) => format!("<em>{text}</em>"),
        (None, Tone::Code) => format!("<code>{text}</code>"),
        (None, Tone::Plain | Tone::Faint) => text,
    }
}

/// Lines stay lines, where `esc` would join them.
fn esc_lines(code: &str) -> String {
    code.lines().map(esc).collect::<Vec<_>>().join("\n")
}
