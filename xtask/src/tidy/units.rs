//! A unit is one file and its place in one list: nothing else names it, and CONTRIBUTING.md says where both
//! are.
//!
//! A unit may name units of another kind, as a load names the service that it needs. What is not a unit names
//! none, or the next unit would have to be added there too.

use std::path::Path;

use super::code;
use super::house::{Breach, House, Source};
use super::modules::Crate;
use super::uses::edges;

/// What is added again and again.
struct Kind {
    folder: &'static str,
    list: &'static str,
    /// What is in every file of this kind, and in no other.
    mark: &'static str,
}

const KINDS: [Kind; 9] = [
    Kind { folder: "crates/kernel/src", list: "lib.rs", mark: "const WORKLOAD: Workload" },
    Kind { folder: "crates/servers/src", list: "lib.rs", mark: "const WORKLOAD: Workload" },
    Kind { folder: "crates/jobs/src", list: "lib.rs", mark: "const WORKLOAD: Workload" },
    Kind { folder: "crates/net/src/arch", list: "mod.rs", mark: "const ARCHITECTURE: Architecture" },
    Kind { folder: "crates/net/src/service", list: "mod.rs", mark: "impl ServiceSettings for" },
    Kind { folder: "crates/net/src/client", list: "mod.rs", mark: "impl ClientSettings for" },
    Kind { folder: "crates/osdyno/tests/it/conformance", list: "mod.rs", mark: "const ROW: Row" },
    Kind { folder: "crates/import/src/formats", list: "mod.rs", mark: "const FORMAT: Format" },
    Kind { folder: "xtask/src/tidy", list: "mod.rs", mark: "fn check(house: &House)" },
];

/// The lines of a list that name a unit: `mod NAME;` and its place.
const LINES_IN_LIST: usize = 2;

pub(super) fn check(house: &House) -> Vec<Breach> {
    KINDS.iter().flat_map(|kind| of_kind(house, kind)).collect()
}

fn of_kind(house: &House, kind: &Kind) -> Vec<Breach> {
    let list = Path::new(kind.folder).join(kind.list);
    let Some(list) = house.rust.iter().find(|source| source.path == list) else { return Vec::new() };
    let units: Vec<&Source> = house.rust.iter().filter(|source| is_unit(source, kind)).collect();
    let mut findings = named_elsewhere(house, kind, list);
    for unit in &units {
        let name = name(unit, kind);
        let lines = list.code.lines().filter(|line| code::words(line, &name).next().is_some()).count();
        if lines != LINES_IN_LIST {
            let what = format!(
                "{} names {name} in {lines} lines; its `mod` line and its place in the list are 2",
                list.path.display()
            );
            findings.push(unit.finding(1, what));
        }
    }
    let guide = house.documents.iter().find(|document| document.path == Path::new("CONTRIBUTING.md"));
    let place = format!("`{}/NAME.rs`", kind.folder);
    if let Some(guide) = guide.filter(|guide| !units.is_empty() && !guide.text.contains(&place)) {
        findings.push(guide.finding(1, format!("says nowhere that {place} is what somebody adds")));
    }
    findings
}

/// Files of the same crate that name a unit and are neither a unit, nor a part of it, nor its list.
fn named_elsewhere(house: &House, kind: &Kind, list: &Source) -> Vec<Breach> {
    let root = |source: &&Source| source.path == list.home().join("src/lib.rs");
    let Some(root) = house.rust.iter().find(root) else { return Vec::new() };
    let modules = Crate::read(house, root);
    let edges = edges(&modules);
    let mut findings = Vec::new();
    for (file, uses) in edges.iter().enumerate() {
        let source = modules.files[file];
        if source.path == list.path || KINDS.iter().any(|kind| is_of_unit(house, source, kind)) {
            continue;
        }
        for unit in uses.iter().map(|unit| modules.files[*unit]).filter(|unit| is_unit(unit, kind)) {
            let what = format!(
                "names {}, which is one of many: another would have to be added here",
                unit.path.display()
            );
            findings.push(source.finding(1, what));
        }
    }
    findings
}

fn is_unit(source: &Source, kind: &Kind) -> bool {
    let folder = source.path.parent().unwrap_or(Path::new(""));
    let is_here = folder == Path::new(kind.folder) && !source.path.ends_with(kind.list);
    let is_below = source.path.ends_with("mod.rs") && folder.parent() == Some(Path::new(kind.folder));
    (is_here || is_below) && source.code.contains(kind.mark)
}

/// Whether the file is a unit, or in the folder of one.
fn is_of_unit(house: &House, source: &Source, kind: &Kind) -> bool {
    let folder = source.path.parent().unwrap_or(Path::new(""));
    let of_folder = |unit: &Source| {
        let own = Path::new(kind.folder).join(name(unit, kind));
        folder.starts_with(own)
    };
    is_unit(source, kind) || house.rust.iter().any(|unit| is_unit(unit, kind) && of_folder(unit))
}

fn name(unit: &Source, kind: &Kind) -> String {
    let inside = unit.path.strip_prefix(kind.folder).unwrap_or(&unit.path);
    let first = inside.components().next().map(|part| Path::new(part.as_os_str()).with_extension(""));
    first.unwrap_or_default().display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: &str = "pub const ARCHITECTURE: Architecture = x;";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&House::of(files)).iter().map(ToString::to_string).collect()
    }

    fn house<'a>(list: &'a str, engine: &'a str, guide: &'a str) -> [(&'a str, &'a str); 6] {
        [
            ("crates/net/src/lib.rs", "mod arch; mod client; mod engine;"),
            ("crates/net/src/arch/mod.rs", list),
            ("crates/net/src/arch/poll.rs", UNIT),
            ("crates/net/src/arch/uring/mod.rs", UNIT),
            ("crates/net/src/engine.rs", engine),
            ("CONTRIBUTING.md", guide),
        ]
    }

    const LIST: &str =
        "mod poll;\nmod uring;\nconst ALL: X = [\n&poll::ARCHITECTURE,\n&uring::ARCHITECTURE];\n";
    const GUIDE: &str = "| an architecture | `crates/net/src/arch/NAME.rs` |\n";

    #[test]
    fn a_file_and_its_list_are_all() {
        assert_eq!(found(&house(LIST, "use crate::arch::ALL;", GUIDE)), [""; 0]);
    }

    #[test]
    fn another_place_is_found() {
        let named = found(&house(LIST, "fn f() { crate::arch::uring::ARCHITECTURE; }", GUIDE));
        assert_eq!(named.len(), 1, "{named:?}");
        assert!(named[0].starts_with("crates/net/src/engine.rs:1: names crates/net/src/arch/uring/mod.rs"));
        let twice = format!("{LIST}const BEST: X = poll::ARCHITECTURE;\n");
        assert!(found(&house(&twice, "", GUIDE))[0].contains("names poll in 3 lines"));
        assert!(found(&house(LIST, "", "nothing"))[0].contains("says nowhere"));
    }
}
