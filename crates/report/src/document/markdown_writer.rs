//! A document in Markdown, as GitHub and GitLab show it: for a comment, a summary of a build, a file. It has
//! the columns and rows of a page, and neither its title nor its drawings.

use std::io::{self, Write};

use super::{Document, Element, Figure, Form, Names, Row, Span, Table, Text, Tone};
use crate::text::printable;
use crate::words::{GAP, NO_BREAK};

/// The first headings: a comment stands below those of others.
const LEVEL: usize = 2;
const LEVEL_MAX: usize = 6;

/// Writes a document.
///
/// # Errors
/// Those of `out`.
pub fn write(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let mut lines: Vec<String> = Vec::new();
    blocks(&document.blocks, LEVEL, &mut lines);
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn blocks(all: &[Element], level: usize, lines: &mut Vec<String>) {
    all.iter().for_each(|element| block(element, level, lines));
}

fn block(block: &Element, level: usize, lines: &mut Vec<String>) {
    match block {
        Element::Section(section) => {
            if !section.title.is_empty() {
                paragraph(heading(&section.title, level), lines);
            }
            blocks(&section.blocks, level + 1, lines);
        }
        Element::Paragraph(text) if text.is_empty() => {}
        Element::Paragraph(text) => paragraph(begun(&inline(text)), lines),
        Element::Items { first, items } => {
            for (place, item) in items.iter().enumerate() {
                let mark = first.map_or("-".to_owned(), |first| format!("{}.", first + place as u64));
                self::item(&mark, item, level, lines);
            }
            lines.push(String::new());
        }
        Element::Code(code) => {
            let fence = "`".repeat(longest_run(code).max(2) + 1);
            lines.push(format!("{fence}text"));
            lines.extend(code.lines().map(|line| printable(line).into_owned()));
            lines.extend([fence, String::new()]);
        }
        Element::Names(Names { label, items, behind, .. }) => {
            let names = items.iter().map(|name| escaped(name)).collect::<Vec<_>>().join(", ");
            paragraph(format!("**{}**: {names}{}", escaped(label), escaped(behind)), lines);
        }
        Element::Table(table) => self::table(table, lines),
        Element::Figure(figure) => self::figure(figure, level, lines),
        Element::Fold(fold) => {
            let open = if fold.is_open { " open" } else { "" };
            let title = if fold.title.is_empty() { "more".to_owned() } else { inline(&fold.title) };
            // Behind an empty line its content is Markdown again.
            lines.extend([format!("<details{open}><summary>{title}</summary>"), String::new()]);
            blocks(&fold.blocks, level, lines);
            lines.extend(["</details>".to_owned(), String::new()]);
        }
        Element::Beside(inner) | Element::Form(Form { blocks: inner, .. }) => blocks(inner, level, lines),
    }
}

fn paragraph(line: String, lines: &mut Vec<String>) {
    lines.extend([line, String::new()]);
}

/// Words of a heading are bold anyway.
fn heading(title: &Text, level: usize) -> String {
    format!("{} {}", "#".repeat(level.min(LEVEL_MAX)), escaped(&title.plain()))
}

/// The blocks of an item stand as far in as its words.
fn item(mark: &str, blocks: &[Element], level: usize, lines: &mut Vec<String>) {
    let mut inner = Vec::new();
    self::blocks(blocks, level, &mut inner);
    while inner.last().is_some_and(String::is_empty) {
        inner.pop();
    }
    for (place, line) in inner.iter().enumerate() {
        lines.push(match place {
            0 => format!("{mark} {line}"),
            _ if line.is_empty() => String::new(),
            _ => format!("{:width$}{line}", "", width = mark.len() + 1),
        });
    }
}

/// Rows without headings are a list: a table of Markdown always has a heading.
fn table(table: &Table, lines: &mut Vec<String>) {
    if table.rows.is_empty() {
        return;
    }
    if table.columns.iter().all(|column| column.heading.is_empty()) {
        for row in &table.rows {
            let cells: Vec<String> = cells(table, row).into_iter().filter(|cell| !cell.is_empty()).collect();
            lines.push(format!("- {}", begun(&cells.join(" "))));
        }
        lines.push(String::new());
        return;
    }
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let headings: Vec<String> = table.columns.iter().map(|column| escaped(&column.heading)).collect();
    let rule = table.columns.iter().map(|column| if column.is_number { "---:" } else { "---" }.to_owned());
    lines.extend([line(&headings), line(&rule.collect::<Vec<_>>())]);
    for row in &table.rows {
        let mut cells = cells(table, row);
        cells.resize(table.columns.len().max(cells.len()), String::new());
        lines.push(line(&cells));
    }
    lines.push(String::new());
}

/// Lines below a row stand in the cell that is wrapped in a terminal, which has room.
fn cells(table: &Table, row: &Row) -> Vec<String> {
    let mut cells: Vec<String> = row.cells.iter().map(|cell| inline(&cell.text)).collect();
    let below = row.below.iter().map(|text| format!("<br>{}", inline(text)));
    let wraps = table.wraps.min(cells.len().saturating_sub(1));
    if let Some(cell) = cells.get_mut(wraps) {
        cell.extend(below);
    }
    cells
}

fn figure(figure: &Figure, level: usize, lines: &mut Vec<String>) {
    if figure.characters.is_empty() {
        return;
    }
    if !figure.title.is_empty() {
        paragraph(heading(&figure.title, level), lines);
    }
    block(&Element::Code(figure.characters.join("\n")), level, lines);
    figure.captions.iter().for_each(|caption| paragraph(begun(&inline(caption)), lines));
}

/// Spans of one line. A link into a page leads nowhere here.
fn inline(text: &Text) -> String {
    let span = |span: &Span| {
        let words = match span.tone {
            Tone::Code => code(&span.text),
            Tone::Strong => marked(&span.text, "**"),
            Tone::Emphasis => marked(&span.text, "*"),
            Tone::Plain | Tone::Good | Tone::Notable | Tone::Open | Tone::Faint => escaped(&span.text),
        };
        match span.link.as_ref().filter(|link| !link.starts_with('#')) {
            Some(link) => format!("[{words}](<{}>)", address(link)),
            None => words,
        }
    };
    text.0.iter().map(span).collect()
}

/// Marks stand next to the words, and spaces outside.
fn marked(text: &str, mark: &str) -> String {
    let words = text.trim();
    if words.is_empty() {
        return escaped(text);
    }
    let (before, behind) = (text.len() - text.trim_start().len(), text.trim_end().len());
    format!("{}{mark}{}{mark}{}", &text[..before], escaped(words), &text[behind..])
}

fn code(text: &str) -> String {
    let text = shown(text).replace('|', "\\|");
    let marks = "`".repeat(longest_run(&text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{marks}{space}{text}{space}{marks}")
}

fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0)
}

fn address(link: &str) -> String {
    shown(link).replace(['<', '>', ' ', '\\'], "")
}

/// Nothing acts, and the spaces that hold words together are ordinary ones, which can be searched for.
fn shown(text: &str) -> String {
    printable(text).replace([GAP, NO_BREAK], " ")
}

/// Words that are words in Markdown too. An underscore within a word has no meaning there.
fn escaped(text: &str) -> String {
    let letters: Vec<char> = shown(text).chars().collect();
    let is_inside = |at: usize| {
        let is_letter =
            |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(|c| c.is_alphanumeric());
        is_letter(at.checked_sub(1)) && is_letter(Some(at + 1))
    };
    let mut out = String::with_capacity(text.len());
    for (at, letter) in letters.iter().enumerate() {
        let acts = match letter {
            '_' => !is_inside(at),
            letter => r"\`*[]<>|~&".contains(*letter),
        };
        if acts {
            out.push('\\');
        }
        out.push(*letter);
    }
    out
}

/// The first word of a line, which could begin a heading or a list.
fn begun(line: &str) -> String {
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    let at = match line[digits..].chars().next() {
        Some('.' | ')') if digits > 0 => digits,
        Some('#' | '+' | '-' | '=') if digits == 0 => 0,
        _ => return line.to_owned(),
    };
    format!("{}\\{}", &line[..at], &line[at..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Cell, Column, Fold, Section, markdown};

    fn written(blocks: Vec<Element>) -> String {
        let mut out = Vec::new();
        assert!(write(&Document { blocks, ..Document::default() }, &mut out).is_ok());
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn a_document_is_headings_tables_and_folds() {
        let mut section = Section::new("Costs");
        section.say(Text::toned("bind ", Tone::Strong).and("grows").and(Text::toned("x|y", Tone::Code)));
        let columns = vec![Column::from("name"), Column::number("cost")];
        let mut table = Table { rows_max: 1, ..Table::of_columns(columns) };
        table.push(["a|b", "1\u{202f}000"]);
        table.push(Row { below: vec!["note".into()], ..["c", "2"].into() });
        section.push(table);
        let blocks = vec![Text::from("words").into()];
        let fold = Fold { title: "more".into(), blocks, ..Fold::default() };
        let mut list = Table::without_headings(2);
        list.push([Cell::toned("bind", Tone::Strong), "grows".into()]);
        let text = written(vec![section.into(), list.into(), fold.into()]);
        let expected = "## Costs\n\n**bind** grows`x\\|y`\n\n| name | cost |\n| --- | ---: |\n\
                        | a\\|b | 1 000 |\n| c | 2<br>note |\n\n- **bind** grows\n\n\
                        <details><summary>more</summary>\n\nwords\n\n</details>\n";
        assert_eq!(text, expected);
    }

    /// A reader of Markdown sees the words of a record as they are; none becomes markup.
    #[test]
    fn words_come_back_as_they_were() {
        for words in [
            "vm.max_map_count _is_ *set*",
            "# no heading",
            "- no item",
            "1. no item",
            "<script>alert(1)</script> &lt; a && b",
            "[a](javascript:alert) ![b](c)",
            "a \\ b ~~c~~ `d`",
            "a | b",
        ] {
            let read = markdown::blocks(&written(vec![Text::from(words).into()]));
            let [Element::Paragraph(text)] = read.as_slice() else { panic!("{words}: {read:?}") };
            assert_eq!((text.plain().as_str(), text.0.len()), (words, 1));
            let code = written(vec![Text::toned(words, Tone::Code).into(), Element::Code(words.to_owned())]);
            let read = markdown::blocks(&code.replace("\\|", "|"));
            let [Element::Paragraph(text), Element::Code(lines)] = read.as_slice() else {
                panic!("{code}");
            };
            assert_eq!((text.plain().as_str(), lines.as_str()), (words, words));
        }
    }
}
