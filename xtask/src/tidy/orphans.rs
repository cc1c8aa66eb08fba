//! No file is left out: every `.rs` file is a crate's root, or its parent names it in a `mod` line.
//!
//! The compiler ignores a file that no `mod` line names, and with it the tests of that file.

use std::path::Path;

use super::code;
use super::house::{Breach, House, Source};

pub(super) fn check(house: &House) -> Vec<Breach> {
    let is_named = |source: &&Source| {
        is_root(source)
            || house.rust.iter().any(|other| other.home() == source.home() && names(other, source))
    };
    let orphans = house.rust.iter().filter(|source| !is_named(source));
    orphans.map(|source| source.finding(1, "no `mod` line names this file")).collect()
}

/// Roots that cargo finds by itself (The Cargo Book, "Package Layout").
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

/// Whether the file declares the other as a module, by its place or by a path.
fn names(parent: &Source, child: &Source) -> bool {
    let file = child.path.file_name().unwrap_or_default().to_string_lossy();
    let by_path = [format!("\"{file}\""), format!("/{file}\"")];
    let is_quoted = |line: &str| by_path.iter().any(|path| line.contains(path));
    let is_path = |line: &str| line.contains("path = ") || line.contains("include!(");
    if parent.text.lines().any(|line| is_path(line) && is_quoted(line)) {
        return true;
    }
    let module = if file == "mod.rs" { child.path.parent() } else { Some(child.path.as_path()) };
    let (Some(folder), Some(name)) = (module.and_then(Path::parent), module.and_then(Path::file_stem)) else {
        return false;
    };
    let is_beside =
        parent.path.parent() == Some(folder) && (is_root(parent) || parent.path.ends_with("mod.rs"));
    let is_above = parent.path == folder.with_extension("rs");
    (is_beside || is_above) && declares(parent, &name.to_string_lossy())
}

/// `pub(crate) mod name;`
fn declares(parent: &Source, name: &str) -> bool {
    let declared = format!("mod {name};");
    parent.code.lines().any(|line| line.contains(&declared) && code::words(line, "mod").next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_unnamed_file_is_an_orphan() {
        let house = House::with(&[
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
        let orphans: Vec<String> =
            check(&house).iter().map(|found| found.file.display().to_string()).collect();
        assert_eq!(orphans, ["crates/a/src/lost.rs"]);
    }
}
