//! Text can be read: every Rust file opens with its page, lines fit their width, and documents their size.
//!
//! rustfmt leaves comments and strings alone, so their width is checked here. A line that cannot be broken
//! may be wider: a link, data in a test, a code block of a document, and up to `ROW_MAX` a row of a table.

use super::house::{Breach, House, Source};

/// As in rustfmt.toml.
const CODE_MAX: usize = 110;
const PROSE_MAX: usize = 120;
/// A wider row belongs into a list.
const ROW_MAX: usize = 160;

/// The most bytes of each document. They may only fall.
const DOCUMENTS: [(&str, usize); 10] = [
    ("README.md", 5_700),
    ("ARCHITECTURE.md", 14_200),
    ("METHODOLOGY.md", 23_200),
    ("CONTRIBUTING.md", 6_000),
    ("CHANGELOG.md", 2_200),
    ("docs/decisions/", 700),
    // Written by a program, of comments in the code.
    ("docs/answers.md", 31_600),
    ("docs/record.md", 13_600),
    ("docs/error-rates.md", 9_900),
    ("docs/", 6_200),
];
/// The most bytes of all of them together, but for the reference of fields.
const ALL_MAX: usize = 146_000;
const REFERENCE: &str = "docs/answers.md";

pub(super) fn check(house: &House) -> Vec<Breach> {
    let of_code = house.rust.iter().flat_map(of_code);
    let mut found: Vec<Breach> = of_code.chain(house.documents.iter().flat_map(of_document)).collect();
    let is_read = |document: &&Source| most(document).is_some() && !document.path.ends_with(REFERENCE);
    let bounded: Vec<&Source> = house.documents.iter().filter(is_read).collect();
    let all: usize = bounded.iter().map(|document| document.text.len()).sum();
    if let Some(first) = bounded.first().filter(|_| all > ALL_MAX) {
        found.push(first.finding(1, format!("all documents have {all} bytes; {ALL_MAX} is the most")));
    }
    found
}

/// The most bytes of a document; of some there is none.
fn most(document: &Source) -> Option<usize> {
    let path = document.path.to_string_lossy();
    DOCUMENTS.iter().find(|(begin, _)| path.starts_with(begin)).map(|(_, most)| *most)
}

fn of_code(source: &Source) -> Vec<Breach> {
    let mut found = Vec::new();
    if !source.text.lines().next().is_some_and(is_page) {
        found.push(source.finding(1, "the file must open with a `//!` page that says what it is"));
    }
    let is_test = source.path.iter().any(|part| part == "tests");
    for ((number, line), code) in source.lines().zip(source.code.lines()) {
        let data_apart = || code.split_whitespace().map(str::len).sum();
        let width = if is_test { data_apart() } else { line.chars().count() };
        if width > CODE_MAX && !line.contains("https://") {
            found.push(
                source.finding(number, format!("the line has {width} columns; {CODE_MAX} is the most")),
            );
        }
    }
    found
}

fn is_page(line: &str) -> bool {
    line.strip_prefix("//! ").is_some_and(|page| page.len() >= 10)
}

fn of_document(document: &Source) -> Vec<Breach> {
    let mut found = Vec::new();
    let size = document.text.len();
    if let Some(most) = most(document).filter(|most| size > *most) {
        found.push(document.finding(1, format!("the document has {size} bytes; {most} is the most")));
    }
    let mut in_block = false;
    for (number, line) in document.lines() {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        let most = if line.starts_with('|') { ROW_MAX } else { PROSE_MAX };
        let width = line.chars().count();
        if width > most && !in_block && !is_fence && is_breakable(line) {
            found.push(document.finding(number, format!("the line has {width} columns; {most} is the most")));
        }
    }
    found
}

/// Whether there is more than a mark of a list or a quotation, and one word.
fn is_breakable(line: &str) -> bool {
    line.split_whitespace().skip_while(|word| !word.contains(char::is_alphanumeric)).count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        check(&House::with(&[(path, text)])).len()
    }

    #[test]
    fn a_page_opens_a_file_and_says_something() {
        assert_eq!(findings("crates/a/src/b.rs", "//! Sockets of every family.\n"), 0);
        for line in ["use std::fs;\n", "//!\n", "/// An item.\n"] {
            assert_eq!(findings("crates/a/src/b.rs", line), 1, "{line}");
        }
    }

    #[test]
    fn letters_count_and_data_of_tests_does_not() {
        let of = |path: &str, line: &str| findings(path, &format!("//! Letters of a line.\n{line}\n"));
        assert_eq!(of("crates/a/src/b.rs", &"é".repeat(CODE_MAX)), 0);
        assert_eq!(of("crates/a/src/b.rs", &"é".repeat(CODE_MAX + 1)), 1);
        let data = format!("f(\"{}\")", "x".repeat(CODE_MAX));
        assert_eq!((of("crates/a/src/b.rs", &data), of("crates/a/tests/b.rs", &data)), (1, 0));
    }

    #[test]
    fn documents_are_bounded_one_by_one_and_together() {
        let guide = "Short.\n".repeat(880);
        let guides: Vec<String> = (0..28).map(|number| format!("docs/{number}.md")).collect();
        let files: Vec<(&str, &str)> = guides.iter().map(|path| (path.as_str(), guide.as_str())).collect();
        assert_eq!(check(&House::with(&files[..23])), []);
        assert_eq!(check(&House::with(&files[..24])).len(), 1, "148 kB in all");
        assert_eq!(findings("docs/decisions/001-a.md", &"Too long.\n".repeat(200)), 1);
    }

    #[test]
    fn a_breakable_line_of_a_document_is_narrow() {
        let of = |text: &str| findings("a.md", text);
        let prose = |width: usize| format!("é {}\n", "x".repeat(width - 2));
        assert_eq!((of(&prose(PROSE_MAX)), of(&prose(PROSE_MAX + 1))), (0, 1));
        assert_eq!(of(&format!("```console\n{}```\n{}", prose(200), prose(200))), 1, "the block has ended");
        assert_eq!(of(&format!("- [link](https://{})\n", "x".repeat(200))), 0);
        assert_eq!(of(&format!("| {} | b |\n", "x".repeat(ROW_MAX))), 1);
    }
}
