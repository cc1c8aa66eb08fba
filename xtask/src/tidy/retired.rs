//! Names and words that were replaced do not come back: each term of the glossary is used as it says.
//!
//! `retired.txt` has a line for each: `name OLD → NEW` for an identifier, which is looked for in code and
//! between backticks, and `word OLD → NEW` for a word or phrase, which is looked for everywhere, in small and
//! large letters.

use super::code;
use super::house::{Breach, House, Source};

pub(super) fn check(house: &House) -> Vec<Breach> {
    let list = house.list("retired.txt").map_or("", |list| &list.text);
    let terms: Vec<Retired<'_>> = retired(list).collect();
    let sources = house.rust.iter().chain(&house.documents);
    sources.flat_map(|source| terms.iter().flat_map(|term| of_file(source, term))).collect()
}

struct Retired<'a> {
    is_word: bool,
    old: &'a str,
    new: &'a str,
}

fn retired(list: &str) -> impl Iterator<Item = Retired<'_>> {
    list.lines().filter_map(|line| {
        let (kind, term) = line.split_once(' ')?;
        let (old, new) = term.split_once(" → ")?;
        ["name", "word"].contains(&kind).then_some(Retired { is_word: kind == "word", old, new })
    })
}

fn of_file(source: &Source, term: &Retired<'_>) -> Vec<Breach> {
    let (text, old) = match term.is_word {
        true => (source.folded(), &term.old.to_lowercase()),
        false => (source.text.as_str(), &term.old.to_owned()),
    };
    // Nearly every file has none; a rule that looks at each line would take most of the time of `tidy`.
    if !text.contains(old.as_str()) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut code_lines = source.code.lines();
    for (number, line) in text.lines().enumerate() {
        let code = code_lines.next().unwrap_or_default();
        let is_use = |at: &usize| term.is_word || is_code(line, code, *at);
        let say = |_| source.finding(number + 1, format!("`{}` is retired; write `{}`", term.old, term.new));
        findings.extend(code::words(line, old).filter(is_use).map(say));
    }
    findings
}

/// Whether the byte of a line is in code, or between backticks.
fn is_code(line: &str, code: &str, at: usize) -> bool {
    let before = &line[..at];
    // Blanked text keeps its number of letters.
    let is_blank = || code.chars().nth(before.chars().count()).is_none_or(char::is_whitespace);
    before.matches('`').count() % 2 == 1 || !is_blank()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str, list: &str) -> Vec<usize> {
        let term = retired(list).next().unwrap();
        of_file(&Source::new(path, text), &term).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_name_is_retired_where_it_is_code() {
        let list = "# why\nname Gadget → Device\n";
        let text = "// Gadget up.\nlet é: Gadget = \"Gadget\";\n// A `Gadget`.\nlet Gadgets = 1;\n";
        assert_eq!(lines("crates/a/src/b.rs", text, list), [2, 3]);
        assert_eq!(lines("a.md", "Gadget here.\n\n`curve::Gadget` is it.\n", list), [3]);
    }

    #[test]
    fn a_word_is_retired_everywhere() {
        let text = "//! Gizmo.\n\nfn gizmo() { print!(\"the gizmo\") }\n// gizmos\n";
        assert_eq!(lines("crates/a/src/b.rs", text, "word gizmo → supervisor\n"), [1, 3, 3]);
    }
}
