//! A file is read in one go: it has at most 500 lines, and at least 60 of them.
//!
//! A file with fewer than 60 lines belongs to its only user. A file may be small where it is one of many of
//! its kind (`units`), or one of several that stand for one module on different systems.

use std::collections::BTreeSet;
use std::path::Path;

use super::house::{Breach, House, Source, is_test, named};
use super::{code, units};

const FILE_MAX: usize = 500;
const FILE_MIN: usize = 60;

/// A verb is a file, as units are; and so is code for one system.
const SEAM: &str = "crates/osdyno/src/cmd";
const SYSTEMS: [&str; 9] =
    ["freebsd", "illumos", "linux", "macos", "netbsd", "openbsd", "unix", "windows", "bsd"];

pub(super) fn check(house: &House) -> Vec<Breach> {
    let small = house.rust.iter().filter_map(|source| too_small(house, source));
    house.rust.iter().filter_map(too_long).chain(small).collect()
}

fn too_long(source: &Source) -> Option<Breach> {
    let count = source.text.lines().count();
    let what = format!("the file has {count} lines; {FILE_MAX} is the most");
    (count > FILE_MAX).then(|| source.finding(1, what))
}

fn too_small(house: &House, source: &Source) -> Option<Breach> {
    let count = source.text.lines().count();
    let is_facade = ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| source.path.ends_with(name));
    let module = source.path.file_stem().unwrap_or_default().to_string_lossy();
    let is_seam = SYSTEMS.contains(&&*module)
        || source.path.parent() == Some(Path::new(SEAM))
        || units::is_of_unit(house, source);
    if count >= FILE_MIN || is_facade || is_seam || !source.ships() {
        return None;
    }
    let is_in_crate = |other: &&Source| other.home() == source.home();
    let passes_on = |other: &Source| is_path(&other.code, &module) && !is_path(other.own_code(), &module);
    let is_passed_on = house.rust.iter().filter(is_in_crate).any(passes_on);
    let names = if is_passed_on { names(source) } else { BTreeSet::new() };
    let uses = |other: &&Source| {
        let code = other.own_code();
        let is_named = || names.iter().any(|name| code::words(code, name).next().is_some());
        other.path != source.path && (is_in_crate(other) && is_path(code, &module) || is_named())
    };
    let users: Vec<&Source> = house.rust.iter().filter(uses).take(2).collect();
    let [user] = users[..] else { return None };
    let is_near = user.ships() && user.home() == source.home();
    let user = user.path.strip_prefix(source.home()).unwrap_or(Path::new(""));
    let what = format!("the file has {count} lines and one user, {}: they are one file", user.display());
    is_near.then(|| source.finding(1, what))
}

/// Whether the code has a path through the module: `module::name`.
fn is_path(code: &str, module: &str) -> bool {
    code::words(code, module).any(|at| code[at + module.len()..].starts_with("::"))
}

/// The names that other files can use.
fn names(source: &Source) -> BTreeSet<String> {
    let Some(tree) = source.tree() else { return BTreeSet::new() };
    let name = |item: &syn::Item| {
        let (attributes, visibility, name) = named(item)?;
        let is_shared = !matches!(visibility, syn::Visibility::Inherited) && !is_test(attributes);
        is_shared.then(|| name.to_string())
    };
    tree.items.iter().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> usize {
        files
            .iter()
            .filter(|(path, text)| too_small(&House::with(files), &Source::new(*path, text)).is_some())
            .count()
    }

    #[test]
    fn every_line_of_a_file_counts() {
        let of = |lines: usize| check(&House::with(&[("crates/a/src/b.rs", &"// x\n".repeat(lines))])).len();
        assert_eq!((of(FILE_MAX), of(FILE_MAX + 1)), (0, 1));
    }

    #[test]
    fn a_small_file_with_one_user_is_found() {
        let small = ("crates/a/src/small.rs", "pub(crate) fn f() {}\n");
        let facade = ("crates/a/src/lib.rs", "mod small;\npub(crate) use small::f;\n");
        let user = ("crates/a/src/user.rs", "use crate::f;\nfn g() { f() }\n");
        let another = ("crates/b/src/lib.rs", "use a::f;\n");
        let other = ("crates/a/src/other.rs", "fn h() { crate::f() }\n");
        assert_eq!(found(&[small, facade, user]), 1);
        assert_eq!(found(&[small, facade, user, other]), 0);
        assert_eq!(found(&[small, facade, user, another]), 0);
        assert_eq!(found(&[small, facade]), 0, "nobody uses it, which the compiler says");
    }
}
