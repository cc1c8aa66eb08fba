//! No file is left out: every `.rs` file is a crate's root or is named by a `mod` line that leads to one.
//!
//! The compiler ignores a file that no `mod` line names, and with it the tests of that file.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::code;
use super::house::{Breach, House, Source};

pub(super) fn check(house: &House) -> Vec<Breach> {
    let mut reached = BTreeSet::new();
    for source in &house.rust {
        if is_root(source) {
            reach(house, source, &mut reached);
        }
    }
    let orphans = house.rust.iter().filter(|source| !reached.contains(&source.path));
    orphans.map(|source| source.finding(1, "no `mod` line names this file")).collect()
}

/// What cargo finds by itself (The Cargo Book, "Package Layout").
fn is_root(source: &Source) -> bool {
    let home = source.home();
    let Ok(inside) = source.path.strip_prefix(&home) else { return false };
    let folder = inside.parent().unwrap_or(Path::new(""));
    let grandparent = folder.parent().unwrap_or(Path::new(""));
    let targets = ["src/bin", "tests", "examples", "benches", "fuzz_targets"];
    inside == Path::new("build.rs")
        || inside == Path::new("src/lib.rs")
        || inside == Path::new("src/main.rs")
        || targets.iter().any(|target| folder == Path::new(target))
        || inside.ends_with("main.rs") && targets.iter().any(|target| grandparent == Path::new(target))
}

fn reach(house: &House, source: &Source, reached: &mut BTreeSet<PathBuf>) {
    if !reached.insert(source.path.clone()) {
        return;
    }
    for path in modules(source) {
        if let Some(module) = house.rust.iter().find(|other| other.path == path) {
            reach(house, module, reached);
        }
    }
}

/// The path without `..`.
fn without_dots(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut whole, part| {
        match part {
            Component::ParentDir => drop(whole.pop()),
            part => whole.push(part),
        }
        whole
    })
}

/// Where the modules that a file declares may be: two places each, or those of its `path` attributes.
fn modules(source: &Source) -> Vec<PathBuf> {
    let folder = source.path.parent().unwrap_or(Path::new(""));
    let stem = source.path.file_stem().unwrap_or_default();
    // The children of `a.rs` are in `a/`; those of a root or a mod.rs are beside it.
    let children = if stem == "mod" || is_root(source) { folder.to_owned() } else { folder.join(stem) };

    let mut paths = Vec::new();
    let lines: Vec<&str> = source.text.lines().collect();
    for (index, line) in source.code.lines().enumerate() {
        let Some(name) = declared(line) else { continue };
        let attributes = lines[..index].iter().rev().take_while(|line| line.trim_start().starts_with("#["));
        let named: Vec<PathBuf> = attributes
            .filter_map(|line| path_attribute(line))
            .map(|p| without_dots(&folder.join(p)))
            .collect();
        if named.is_empty() {
            paths.push(children.join(format!("{name}.rs")));
            paths.push(children.join(name).join("mod.rs"));
        } else {
            paths.extend(named);
        }
    }
    for (at, _) in source.text.match_indices("include!(\"") {
        let name = source.text[at + "include!(\"".len()..].split('"').next().unwrap_or_default();
        paths.push(folder.join(name));
    }
    paths
}

/// `pub(crate) mod name;`
fn declared(line: &str) -> Option<&str> {
    let at = code::words(line, "mod").next()?;
    let name = line[at + "mod".len()..].trim_start();
    name.split_once(';').map(|(name, _)| name.trim_end())
}

/// `#[path = "unix.rs"]`, `#[cfg_attr(unix, path = "unix.rs")]`
fn path_attribute(line: &str) -> Option<&str> {
    line.split_once("path = \"")?.1.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_unnamed_file_is_an_orphan() {
        let house = House::of(&[
            ("crates/a/src/lib.rs", "pub mod b;\nmod c;\n#[path = \"odd.rs\"]\nmod d;\n// mod lost;\n"),
            ("crates/a/src/b.rs", "mod e;"),
            ("crates/a/src/b/e.rs", ""),
            ("crates/a/src/c/mod.rs", "#[cfg(unix)]\nmod unix;\nmod inline { }"),
            ("crates/a/src/c/unix.rs", ""),
            ("crates/a/src/odd.rs", ""),
            ("crates/a/src/lost.rs", ""),
            ("crates/a/tests/whole.rs", "mod sample;"),
            ("crates/a/tests/sample/mod.rs", ""),
            ("crates/a/build.rs", ""),
        ]);
        let orphans: Vec<PathBuf> = check(&house).into_iter().map(|finding| finding.file).collect();
        assert_eq!(orphans, [PathBuf::from("crates/a/src/lost.rs")]);
    }
}
