//! Imports run downward only: the allowed imports between our crates.
//!
//! A crate edge is the one wall that also forbids a dependency, so the edges are the architecture. The code
//! map of ARCHITECTURE.md has them, in a line `NAME → IMPORTS` for each crate.

use std::collections::BTreeMap;
use std::path::Path;

use super::house::{Breach, House, Source};

/// Crates without a place in the drawing: only developers run them.
const NOT_DRAWN: &str = "\
xtask → nothing
fuzz → background, fleet, host, import, inspect, jobs, judge, mail, net, record, report, sys
";

/// Each crate and those of ours that it may import.
type CodeMap<'a> = BTreeMap<&'a str, Vec<&'a str>>;

pub(super) fn check(house: &House) -> Vec<Breach> {
    let drawing = house.documents.iter().find(|document| document.path == Path::new("ARCHITECTURE.md"));
    let map = code_map(drawing.map_or("", |drawing| &drawing.text));
    let manifests = house.manifests.iter().filter(|manifest| manifest.path.ends_with("Cargo.toml"));
    manifests.flat_map(|manifest| of_crate(manifest, &map)).collect()
}

/// No crate has the name `nothing`, which stands for the empty list.
fn code_map<'a>(drawing: &'a str) -> CodeMap<'a> {
    let of_line = |line: &'a str| {
        let (name, imports) = line.split_once(" → ")?;
        Some((name.trim_end(), imports.split(',').map(str::trim).collect()))
    };
    drawing.lines().chain(NOT_DRAWN.lines()).filter_map(of_line).collect()
}

fn of_crate(manifest: &Source, map: &CodeMap<'_>) -> Vec<Breach> {
    let Some(name) = manifest.text.lines().find_map(|line| line.strip_prefix("name = ")) else {
        return Vec::new();
    };
    let name = name.trim_matches('"');
    let Some(allowed) = map.get(name) else {
        return vec![manifest.finding(1, format!("{name} has no line in ARCHITECTURE.md's code map"))];
    };
    dependencies(&manifest.text)
        .into_iter()
        .filter(|(_, import)| map.contains_key(import.as_str()) && !allowed.contains(&import.as_str()))
        .map(|(line, import)| manifest.finding(line, format!("{name} must not import {import}")))
        .collect()
}

/// The names in every kind of dependency table: of a target, for tests, for the build.
fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (index, line) in manifest.lines().enumerate() {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            inside = table.ends_with("dependencies");
            // `[dependencies.sys]` is a table of its own.
            if let Some((_, name)) = table.split_once("dependencies.") {
                found.push((index + 1, name.to_owned()));
            }
        } else if inside && !line.starts_with('#') {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default().trim_matches('"');
            if !name.is_empty() {
                found.push((index + 1, name.to_owned()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_counts() {
        let manifest = "[package]\nname = \"stats\"\n[dependencies]\nsys.workspace = true\n# stats = 1\n\
                        [dev-dependencies]\nrecord = { path = \"x\" }\n[target.'cfg(unix)'.dependencies]\n\
                        report.workspace = true\n[dependencies.runner]\n\
                        path = \"y\"\n[features]\nosdyno = []\n";
        let names: Vec<String> = dependencies(manifest).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["sys", "record", "report", "runner"]);
        let map = code_map("runner → sys\nreport → sys\nstats → nothing\nrecord → nothing\nsys → nothing");
        let source = Source::new("crates/stats/Cargo.toml", manifest);
        assert_eq!(of_crate(&source, &map).len(), 4, "stats imports nothing of ours");
    }

    #[test]
    fn only_what_is_drawn_may_be_imported() {
        let drawing = "# Map\n\nlab    → host, sys\nhost   → sys\nsys    → nothing\n";
        let found = |name: &str, imports: &[&str]| {
            let lines: String = imports.iter().map(|import| format!("{import}.workspace = true\n")).collect();
            let manifest = format!("[package]\nname = \"{name}\"\n[dependencies]\n{lines}");
            let house = House::with(&[("ARCHITECTURE.md", drawing), ("a/Cargo.toml", &manifest)]);
            check(&house).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(found("lab", &["sys", "clap", "host"]), [""; 0]);
        assert_eq!(found("host", &["sys", "lab"]), ["a/Cargo.toml:5: host must not import lab"]);
        assert_eq!(found("sys", &["host"]), ["a/Cargo.toml:4: sys must not import host"]);
        let not_drawn = "a/Cargo.toml:1: fleet has no line in ARCHITECTURE.md's code map";
        assert_eq!(found("fleet", &[]), [not_drawn]);
        assert_eq!(found("fuzz", &["host", "sys"]), [""; 0]);
        assert_eq!(found("fuzz", &["lab"]), ["a/Cargo.toml:4: fuzz must not import lab"]);
        assert_eq!(found("xtask", &["sys"]), ["a/Cargo.toml:4: xtask must not import sys"]);
    }
}
