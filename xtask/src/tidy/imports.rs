//! Imports run downward only: the allowed imports between our crates.
//!
//! A crate edge is the one wall that also forbids a dependency, so the edges are the architecture. The code
//! map of ARCHITECTURE.md has a line `NAME → IMPORTS` for each crate.

use std::path::Path;

use super::house::{Breach, House, Source};

/// Each crate and those of ours that it may import. The binary imports everything below it; a crate that is
/// not named here must be added with its place in the order.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("sys", &[]),
    ("stats", &[]),
    ("selftest", &["stats"]),
    ("record", &[]),
    ("judge", &["record", "stats"]),
    ("history", &["judge", "record", "stats"]),
    ("host", &["sys"]),
    ("fleet", &[]),
    ("background", &["host", "record", "sys"]),
    ("net", &["host", "record", "stats", "sys"]),
    ("workload", &["net", "record", "sys"]),
    ("kernel", &["sys", "workload"]),
    ("cores", &["sys", "workload"]),
    ("servers", &["net", "sys", "workload"]),
    ("jobs", &["net", "sys", "workload"]),
    ("mail", &["host", "net", "sys", "workload"]),
    (
        "osdyno-trial",
        &[
            "background",
            "cores",
            "host",
            "jobs",
            "kernel",
            "mail",
            "net",
            "record",
            "servers",
            "sys",
            "workload",
        ],
    ),
    (
        "runner",
        &[
            "background",
            "cores",
            "fleet",
            "host",
            "jobs",
            "judge",
            "kernel",
            "mail",
            "record",
            "servers",
            "sys",
            "workload",
        ],
    ),
    ("lab", &["host", "runner", "sys"]),
    ("import", &["record"]),
    ("report", &["history", "import", "judge", "record", "stats"]),
    ("view", &["history", "judge", "net", "record", "report"]),
    ("inspect", &["judge", "net", "record", "report", "stats", "sys", "workload"]),
    (
        "osdyno",
        &[
            "background",
            "fleet",
            "history",
            "import",
            "inspect",
            "judge",
            "lab",
            "mail",
            "net",
            "osdyno-trial",
            "record",
            "report",
            "runner",
            "selftest",
            "stats",
            "sys",
            "view",
            "workload",
        ],
    ),
    ("xtask", &[]),
    (
        "fuzz",
        &[
            "background",
            "fleet",
            "host",
            "import",
            "inspect",
            "jobs",
            "judge",
            "mail",
            "net",
            "record",
            "report",
            "sys",
        ],
    ),
];

pub(super) fn check(house: &House) -> Vec<Breach> {
    let manifests = house.manifests.iter().filter(|manifest| manifest.path.ends_with("Cargo.toml"));
    let drawing = house.documents.iter().find(|document| document.path == Path::new("ARCHITECTURE.md"));
    manifests.flat_map(of_crate).chain(drawing.into_iter().flat_map(drawn_otherwise)).collect()
}

/// Crates without a place in the drawing: only developers run them.
const NOT_DRAWN: [&str; 2] = ["xtask", "fuzz"];

/// Crates whose imports the drawing does not show as they are.
fn drawn_otherwise(drawing: &Source) -> Vec<Breach> {
    let shown: Vec<String> = drawing.text.lines().map(without_gaps).collect();
    let crates = MAY_IMPORT.iter().filter(|(name, _)| !NOT_DRAWN.contains(name));
    let lines = crates.map(|(name, imports)| {
        let imports = if imports.is_empty() { "nothing".to_owned() } else { imports.join(", ") };
        format!("{name} → {imports}")
    });
    let missing = lines.filter(|line| !shown.contains(line));
    missing.map(|line| drawing.finding(1, format!("the code map needs the line `{line}`"))).collect()
}

fn without_gaps(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn of_crate(manifest: &Source) -> Vec<Breach> {
    let Some(name) = manifest.text.lines().find_map(|line| line.strip_prefix("name = ")) else {
        return Vec::new();
    };
    let name = name.trim_matches('"');
    let Some((_, allowed)) = MAY_IMPORT.iter().find(|(own, _)| *own == name) else {
        return vec![manifest.finding(1, format!("{name} has no place in xtask/src/tidy/imports.rs"))];
    };
    let ours = |import: &str| MAY_IMPORT.iter().any(|(name, _)| *name == import);
    dependencies(&manifest.text)
        .into_iter()
        .filter(|(_, import)| ours(import) && !allowed.contains(&import.as_str()))
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
        let source = Source::new("crates/stats/Cargo.toml", manifest);
        assert_eq!(of_crate(&source).len(), 4, "stats imports nothing of ours");
    }

    #[test]
    fn the_drawing_has_a_line_for_each_crate() {
        let lines = MAY_IMPORT.iter().map(|(name, imports)| match imports {
            [] => format!("{name}   → nothing\n"),
            _ => format!("{name}   → {}\n", imports.join(", ")),
        });
        let all: String = lines.collect();
        assert_eq!(drawn_otherwise(&Source::new("ARCHITECTURE.md", &all)), []);
        let one_less = all.replace("lab   → host, runner, sys", "lab   → host, sys");
        assert_eq!(drawn_otherwise(&Source::new("ARCHITECTURE.md", &one_less)).len(), 1);
    }
}
