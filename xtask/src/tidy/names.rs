//! A name has one meaning in the whole workspace, and one that was replaced does not come back.
//!
//! A public type has its name alone. The files of one folder that stand for one module on different systems
//! define the same type and count as one. Names that several crates define on purpose stand in
//! `concepts.txt`, each with these crates and the reason.
//!
//! `retired.txt` has the terms that the glossary replaced: `name OLD → NEW` for an identifier, which is
//! looked for in code and between backticks, and `word OLD → NEW` for a word or phrase, which is looked for
//! everywhere, in small and large letters.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::code;
use super::house::{Breach, House, Source, is_test, named};

pub(super) fn check(house: &House) -> Vec<Breach> {
    let mut findings = of_types(house);
    findings.extend(of_terms(house));
    findings
}

fn of_types(house: &House) -> Vec<Breach> {
    let list = house.list("concepts.txt");
    let shared = list.map_or(Vec::new(), shared);
    let mut places: BTreeMap<String, Vec<(&Source, usize)>> = BTreeMap::new();
    for source in house.rust.iter().filter(|source| source.ships()) {
        for (name, line) in source.tree().map(|tree| types(&tree.items)).unwrap_or_default() {
            places.entry(name).or_default().push((source, line));
        }
    }
    let mut findings = Vec::new();
    for (name, places) in &places {
        let entry = shared.iter().find(|entry| entry.name == name);
        let is_shared = |source: &Source| entry.is_some_and(|entry| entry.is_for(source));
        let first = places.iter().find(|(source, _)| is_shared(source)).unwrap_or(&places[0]).0;
        let is_other = |source: &Source| room(source) != room(first) && !is_shared(source);
        for (source, line) in places.iter().filter(|(source, _)| is_other(source)) {
            let other = first.path.display();
            let what = format!("{name} is the name of another type in {other}; qualify one of them");
            findings.push(source.finding(*line, what));
        }
    }
    for entry in &shared {
        let count =
            places.get(entry.name).map_or(0, |all| all.iter().filter(|one| entry.is_for(one.0)).count());
        if count < 2 {
            let what = format!("{} stands in one place only: remove this line", entry.name);
            findings.extend(list.map(|list| list.finding(entry.line, what)));
        }
    }
    findings
}

/// A name that may stand in several places.
struct Shared<'a> {
    line: usize,
    name: &'a str,
    /// The crates with that name; all where there are none.
    crates: Vec<&'a str>,
}

impl Shared<'_> {
    fn is_for(&self, source: &Source) -> bool {
        self.crates.is_empty() || self.crates.iter().any(|name| source.home().ends_with(name))
    }
}

/// `NAME in CRATE, CRATE: why`, and `NAME: why` where every crate may have it.
fn shared<'a>(list: &'a Source) -> Vec<Shared<'a>> {
    let is_entry = |(_, text): &(usize, &str)| !text.starts_with('#');
    let parse = |(line, text): (usize, &'a str)| {
        let names = text.split_once(": ")?.0;
        let (name, crates) = names.split_once(" in ").unwrap_or((names, ""));
        Some(Shared { line, name, crates: crates.split(", ").filter(|name| !name.is_empty()).collect() })
    };
    list.lines().filter(is_entry).filter_map(parse).collect()
}

/// A place that may define a type once for each system: a subject of `sys`, and elsewhere a file.
fn room(source: &Source) -> PathBuf {
    let depth = if source.is_below("crates/sys/src") { 4 } else { usize::MAX };
    source.path.components().take(depth).collect()
}

fn types(items: &[syn::Item]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for item in items {
        match item {
            syn::Item::Mod(item) if !is_test(&item.attrs) => {
                found.extend(item.content.iter().flat_map(|(_, items)| types(items)));
            }
            syn::Item::Struct(_) | syn::Item::Enum(_) | syn::Item::Trait(_) | syn::Item::Type(_) => {
                if let Some((_, syn::Visibility::Public(_), name)) = named(item) {
                    found.push((name.to_string(), name.span().start().line));
                }
            }
            _ => {}
        }
    }
    found
}

fn of_terms(house: &House) -> Vec<Breach> {
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

    fn found(files: &[(&str, &str)], shared: &str) -> Vec<String> {
        let list = ("xtask/src/tidy/concepts.txt", shared);
        of_types(&House::with(&[files, &[list]].concat())).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn two_meanings_are_found() {
        let plan = ("crates/a/src/lib.rs", "pub struct Plan;");
        let other = ("crates/b/src/c.rs", "mod d {\n    pub enum Plan {} }\npub(crate) struct Plan;");
        let what = "Plan is the name of another type in crates/a/src/lib.rs; qualify one of them";
        assert_eq!(found(&[plan, other], ""), [format!("crates/b/src/c.rs:2: {what}")]);
        assert_eq!(found(&[plan, other], "Plan: a plan is a plan\n"), [""; 0]);
        assert_eq!(found(&[plan], "Plan: a plan is a plan\n").len(), 1, "a line that serves nothing");
        assert_eq!(found(&[plan, other], "Plan in a, b: a plan is a plan\n"), [""; 0]);
        let third = ("crates/c/src/lib.rs", "pub type Plan = u8;");
        assert_eq!(
            found(&[third, plan, other], "Plan in a, b: a plan is a plan\n"),
            [format!("crates/c/src/lib.rs:1: {what}")]
        );
    }

    #[test]
    fn private_types_tests_and_other_systems_do_not_count() {
        let files = [
            ("crates/sys/src/file/unix.rs", "pub struct File;"),
            ("crates/sys/src/file/windows.rs", "pub struct File;"),
            ("crates/a/src/lib.rs", "struct File; #[cfg(test)] mod tests { pub struct File; }"),
            ("crates/a/tests/b.rs", "pub struct File;"),
        ];
        assert_eq!(found(&files, ""), [""; 0]);
    }

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
