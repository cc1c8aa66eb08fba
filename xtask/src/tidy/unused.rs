//! Nothing is left over: every file is part of a crate, and every public item is used outside its crate.
//!
//! A file is a crate's root, or its parent names it in a `mod` line; the compiler ignores any other, and with
//! it its tests.
//!
//! An item counts as used where its name stands anywhere in another crate, a test, a bench or a fuzz target,
//! and a type also where a public signature of its own crate names it. So a common name hides an unused item,
//! and a finding is certain. Methods of traits, fields and variants are not checked.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use syn::visit::Visit;

use super::code;
use super::house::{Breach, House, Source, is_test, named};

pub(super) fn check(house: &House) -> Vec<Breach> {
    let mut findings = files(house);
    findings.extend(items(house));
    findings
}

fn files(house: &House) -> Vec<Breach> {
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

fn items(house: &House) -> Vec<Breach> {
    let words: Vec<HashSet<&str>> = house.rust.iter().map(|source| words(&source.code)).collect();
    let mut crates: BTreeMap<PathBuf, Vec<&Source>> = BTreeMap::new();
    for source in house.rust.iter().filter(|source| is_of_library(source)) {
        crates.entry(source.home()).or_default().push(source);
    }
    crates.retain(|home, files| files.iter().any(|file| file.path == home.join("src/lib.rs")));
    crates.iter().flat_map(|(home, files)| of_crate(house, &words, home, files)).collect()
}

/// A program of the same package is outside: it can use public items only.
fn is_of_library(source: &Source) -> bool {
    let is_program = source.path.starts_with(source.home().join("src/bin"));
    source.ships() && !is_program && source.path != source.home().join("src/main.rs")
}

fn of_crate(house: &House, words: &[HashSet<&str>], home: &Path, files: &[&Source]) -> Vec<Breach> {
    let outside =
        house.rust.iter().zip(words).filter(|(other, _)| other.home() != home || !is_of_library(other));
    let used: HashSet<&str> = outside.flat_map(|(_, words)| words.iter().copied()).collect();
    let mut signatures = HashSet::new();
    let mut items = Vec::new();
    for source in files {
        let mut public = Public { items: Vec::new(), signatures: HashSet::new() };
        if let Some(tree) = source.tree() {
            public.visit_file(tree);
        }
        items.extend(public.items.into_iter().map(|(name, line)| (*source, name, line)));
        signatures.extend(public.signatures);
    }
    let unused =
        items.into_iter().filter(|(_, name, _)| !used.contains(name.as_str()) && !signatures.contains(name));
    let say = |(source, name, line): (&Source, String, usize)| {
        source.finding(line, format!("{name} is public and nothing outside this crate uses it"))
    };
    unused.map(say).collect()
}

fn words(code: &str) -> HashSet<&str> {
    code.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).collect()
}

/// The public items of a file, and the names in public signatures.
struct Public {
    items: Vec<(String, usize)>,
    signatures: HashSet<String>,
}

impl Public {
    fn take(&mut self, visibility: &syn::Visibility, name: &syn::Ident) {
        if matches!(visibility, syn::Visibility::Public(_)) {
            self.items.push((name.to_string(), name.span().start().line));
        }
    }
}

impl<'ast> Visit<'ast> for Public {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if let Some((attributes, visibility, name)) = named(item) {
            if is_test(attributes) {
                return;
            }
            self.take(visibility, name);
        }
        // A body or a value is no part of a signature.
        match item {
            syn::Item::Fn(item) => self.visit_signature(&item.sig),
            syn::Item::Const(item) => self.visit_type(&item.ty),
            syn::Item::Static(item) => self.visit_type(&item.ty),
            _ => syn::visit::visit_item(self, item),
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.take(&item.vis, &item.sig.ident);
        self.visit_signature(&item.sig);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.take(&item.vis, &item.ident);
        self.visit_type(&item.ty);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        // The type that an inherent `impl` is of is not thereby used.
        for part in &item.items {
            self.visit_impl_item(part);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.signatures.extend(path.segments.iter().map(|segment| segment.ident.to_string()));
        syn::visit::visit_path(self, path);
    }
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
            files(&house).iter().map(|found| found.file.display().to_string()).collect();
        assert_eq!(orphans, ["crates/a/src/lost.rs"]);
    }

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        items(&House::with(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_nobody_outside_names_is_found() {
        let own = "pub fn f() { g(); h(); }\npub fn g() {}\npub(crate) fn h() {}\npub struct S;\n\
                   impl S {\n pub fn m(&self) { self.m() } }\n";
        let lib = ("crates/a/src/lib.rs", own);
        let is = |line: usize, name: &str| {
            format!("crates/a/src/lib.rs:{line}: {name} is public and nothing outside this crate uses it")
        };
        assert_eq!(found(&[lib, ("crates/b/src/lib.rs", "// g\nuse a::{f, S};")]), [is(2, "g"), is(6, "m")]);
        for outside in
            ["crates/a/tests/t.rs", "crates/a/benches/t.rs", "fuzz/fuzz_targets/t.rs", "crates/a/src/main.rs"]
        {
            assert_eq!(
                found(&[lib, (outside, "fn x(s: a::S) { a::f(); a::g(); s.m() }")]),
                [""; 0],
                "{outside}"
            );
        }
    }

    #[test]
    fn a_type_is_used_by_a_public_signature() {
        let own = "pub struct S;\npub fn f() -> Option<S> { None }\npub struct T;\nimpl T {}\n";
        let found = found(&[("crates/a/src/lib.rs", own), ("crates/b/src/lib.rs", "fn g() { a::f(); }")]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(":3: T is public"));
    }

    #[test]
    fn tests_and_programs_have_no_public_items() {
        let test = ("crates/a/src/lib.rs", "#[cfg(test)] mod tests { pub fn f() {} }");
        assert_eq!(found(&[test, ("crates/b/src/main.rs", "pub fn g() {}")]), [""; 0]);
    }
}
