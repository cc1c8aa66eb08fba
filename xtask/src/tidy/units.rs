//! A unit is one file and its place in one list; CONTRIBUTING.md says where both are, and nothing else names
//! it. The page of a workload has three parts.

use std::path::{Component, Path};

use super::code;
use super::house::{Breach, House, Source};

/// A kind of unit.
struct Kind {
    folder: &'static str,
    list: &'static str,
    /// Code that is in every file of this kind, and in no other.
    mark: &'static str,
}

const WORKLOAD: &str = "const WORKLOAD: Workload";

const KINDS: [Kind; 11] = [
    Kind { folder: "crates/kernel/src", list: "lib.rs", mark: WORKLOAD },
    Kind { folder: "crates/cores/src", list: "lib.rs", mark: WORKLOAD },
    Kind { folder: "crates/servers/src", list: "lib.rs", mark: WORKLOAD },
    Kind { folder: "crates/jobs/src", list: "lib.rs", mark: WORKLOAD },
    Kind { folder: "crates/mail/src/loads", list: "mod.rs", mark: WORKLOAD },
    Kind { folder: "crates/net/src/arch", list: "mod.rs", mark: "const ARCHITECTURE: Architecture" },
    Kind { folder: "crates/net/src/service", list: "mod.rs", mark: "impl ServiceSettings for" },
    Kind { folder: "crates/net/src/client", list: "mod.rs", mark: "impl ClientSettings for" },
    Kind { folder: "crates/osdyno/tests/it/conformance", list: "mod.rs", mark: "const ROW: Row" },
    Kind { folder: "crates/import/src/formats", list: "mod.rs", mark: "const FORMAT: Format" },
    Kind { folder: "xtask/src/tidy", list: "mod.rs", mark: "fn check(house: &House)" },
];

/// The same words in the same order on every page: reports and `explain` show them so.
const PARTS: [&str; 3] = ["**Question.**", "**Method.**", "**Expected answer.**"];

/// The lines of a list that name a unit: `mod NAME;` and its place.
const LINES_IN_LIST: usize = 2;

pub(super) fn check(house: &House) -> Vec<Breach> {
    let pages = house
        .rust
        .iter()
        .filter(|source| KINDS.iter().any(|kind| kind.mark == WORKLOAD && is_unit(source, kind)));
    let pages = pages.filter_map(|unit| Some(unit.finding(1, fault_of_page(&unit.text)?)));
    KINDS.iter().flat_map(|kind| of_kind(house, kind)).chain(pages).collect()
}

fn of_kind(house: &House, kind: &Kind) -> Vec<Breach> {
    let list = Path::new(kind.folder).join(kind.list);
    let Some(list) = house.rust.iter().find(|source| source.path == list) else { return Vec::new() };
    let units: Vec<&Source> = house.rust.iter().filter(|source| is_unit(source, kind)).collect();
    let mut findings = Vec::new();
    for unit in &units {
        let name = name(unit, kind);
        let lines = list.code.lines().filter(|line| code::words(line, &name).next().is_some()).count();
        if lines != LINES_IN_LIST {
            let list = list.path.display();
            let what = format!("{list} names {name} in {lines} lines; its `mod` line and its place are 2");
            findings.push(unit.finding(1, what));
        }
        findings.extend(named_elsewhere(house, kind, list, &name));
    }
    let guide = house.documents.iter().find(|document| document.path == Path::new("CONTRIBUTING.md"));
    let place = format!("`{}/NAME.rs`", kind.folder);
    if let Some(guide) = guide.filter(|guide| !units.is_empty() && !guide.text.contains(&place)) {
        findings.push(guide.finding(1, format!("does not name {place} as a place for additions")));
    }
    findings
}

/// Files of the same crate that name the constant of a unit and are no unit: they would have to name the
/// next.
fn named_elsewhere(house: &House, kind: &Kind, list: &Source, name: &str) -> Vec<Breach> {
    let Some((constant, _)) = kind.mark.strip_prefix("const ").and_then(|mark| mark.split_once(':')) else {
        return Vec::new();
    };
    let path = format!("{name}::{constant}");
    let is_other = |source: &&Source| {
        source.ships()
            && source.home() == list.home()
            && source.path != list.path
            && !is_of_unit(house, source)
    };
    let mut found = Vec::new();
    for source in house.rust.iter().filter(is_other) {
        if code::words(&source.code, &path).next().is_some() {
            let what = format!("names {path}, which is one of many: the next would have to be added here");
            found.push(source.finding(1, what));
        }
    }
    found
}

fn is_unit(source: &Source, kind: &Kind) -> bool {
    let folder = source.path.parent().unwrap_or(Path::new(""));
    let is_here = folder == Path::new(kind.folder) && !source.path.ends_with(kind.list);
    let is_below = source.path.ends_with("mod.rs") && folder.parent() == Some(Path::new(kind.folder));
    (is_here || is_below) && source.code.contains(kind.mark)
}

/// Whether the file is a unit, or in the folder of one.
pub(super) fn is_of_unit(house: &House, source: &Source) -> bool {
    let of_kind = |kind: &Kind| {
        let mut units = house.rust.iter().filter(|unit| is_unit(unit, kind));
        units.any(|unit| source.path.starts_with(Path::new(kind.folder).join(name(unit, kind))))
    };
    KINDS.iter().any(|kind| is_unit(source, kind) || source.path.starts_with(kind.folder) && of_kind(kind))
}

fn name(unit: &Source, kind: &Kind) -> String {
    let inside = unit.path.strip_prefix(kind.folder).unwrap_or(&unit.path);
    let first = inside.components().next().map(Component::as_os_str);
    Path::new(first.unwrap_or_default()).with_extension("").display().to_string()
}

fn fault_of_page(text: &str) -> Option<String> {
    let page: String = text.lines().map_while(|line| line.strip_prefix("//!")).collect::<Vec<_>>().join("\n");
    let mut from = 0;
    for part in PARTS {
        match page[from..].find(part) {
            Some(at) => from += at,
            None => return Some(format!("the page lacks {part}, or has it out of order")),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: &str = "pub const ARCHITECTURE: Architecture = x;";
    const LIST: &str =
        "mod poll;\nmod uring;\nconst ALL: X = [\n&poll::ARCHITECTURE,\n&uring::ARCHITECTURE];\n";
    const GUIDE: &str = "| an architecture | `crates/net/src/arch/NAME.rs` |\n";

    fn found(list: &str, engine: &str, guide: &str) -> Vec<String> {
        let house = House::with(&[
            ("crates/net/src/arch/mod.rs", list),
            ("crates/net/src/arch/poll.rs", UNIT),
            ("crates/net/src/arch/uring/mod.rs", UNIT),
            ("crates/net/src/engine.rs", engine),
            ("CONTRIBUTING.md", guide),
        ]);
        check(&house).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_and_its_list_are_all() {
        assert_eq!(found(LIST, "use crate::arch::ALL;", GUIDE), [""; 0]);
    }

    #[test]
    fn another_place_is_found() {
        let named = found(LIST, "fn f() { crate::arch::uring::ARCHITECTURE; }", GUIDE);
        assert_eq!(named.len(), 1, "{named:?}");
        assert!(named[0].starts_with("crates/net/src/engine.rs:1: names uring::ARCHITECTURE"));
        let twice = format!("{LIST}const BEST: X = poll::ARCHITECTURE;\n");
        assert!(found(&twice, "", GUIDE)[0].contains("names poll in 3 lines"));
        assert!(found(LIST, "", "nothing")[0].contains("does not name"));
    }

    #[test]
    fn a_page_has_three_parts_in_order() {
        let page = "//! One more.\n//!\n//! **Question.** ?\n//! **Method.** !\n//! **Expected answer.** .\n";
        assert_eq!(fault_of_page(page), None);
        assert!(fault_of_page(&page.replace("Method", "Way")).unwrap().contains("**Method.**"));
        assert!(fault_of_page(&format!("//! x\n\n{page}")).is_some(), "the page is what the file opens with");
    }
}
