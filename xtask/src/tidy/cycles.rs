//! No module imports in a circle: a reader can take the files of a crate one after the other, each with what
//! it needs already read.
//!
//! A file depends on those with the definitions that its code names. A file that only declares modules and
//! re-exports their items names none, so a facade makes no circle.

use std::collections::BTreeSet;
use std::path::Path;

use super::house::{Breach, House, Source};
use super::modules::Crate;
use super::ratchet::{Count, hold};
use super::uses::edges;

pub(super) fn check(house: &House) -> Vec<Breach> {
    let is_root = |source: &&Source| {
        let inside = source.path.strip_prefix(source.home()).unwrap_or(&source.path);
        inside == Path::new("src/lib.rs") || inside == Path::new("src/main.rs")
    };
    let counts: Vec<Count> = house.rust.iter().filter(is_root).map(|root| of_crate(house, root)).collect();
    hold(house, "circle", 0, &counts)
}

/// How many modules of a crate are on circles.
fn of_crate(house: &House, root: &Source) -> Count {
    let modules = Crate::read(house, root);
    let edges = edges(&modules);
    let mut done = BTreeSet::new();
    let mut findings = Vec::new();
    for start in 0..modules.files.len() {
        if done.contains(&start) {
            continue;
        }
        let Some(chain) = way(&edges, start, start) else { continue };
        let reaches = |from, to| way(&edges, from, to).is_some();
        let circle: Vec<usize> =
            (0..edges.len()).filter(|file| reaches(start, *file) && reaches(*file, start)).collect();
        let name = |file: &usize| {
            let path = &modules.files[*file].path;
            path.strip_prefix(root.home().join("src")).unwrap_or(path).display().to_string()
        };
        let words = chain.iter().map(name).collect::<Vec<_>>().join(" → ");
        let what = format!("imports in a circle of {} modules: {words}", circle.len());
        findings.push(modules.files[start].finding(1, what));
        done.extend(circle);
    }
    Count { key: root.home().display().to_string(), value: done.len(), findings }
}

/// The shortest way along at least one edge.
fn way(edges: &[BTreeSet<usize>], from: usize, to: usize) -> Option<Vec<usize>> {
    let mut before: Vec<Option<usize>> = vec![None; edges.len()];
    let mut queue = std::collections::VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        for next in &edges[at] {
            if *next == to {
                let mut chain = vec![to, at];
                while let Some(earlier) = before[*chain.last()?].filter(|_| chain.last() != Some(&from)) {
                    chain.push(earlier);
                }
                chain.reverse();
                return Some(chain);
            }
            if *next != from && before[*next].is_none() {
                before[*next] = Some(at);
                queue.push_back(*next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        check(&House::of(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_circle_is_shown_as_a_chain() {
        let found = circles(&[
            ("crates/a/src/lib.rs", "mod b; mod c; mod d;"),
            ("crates/a/src/b.rs", "use crate::c::C; pub struct B;"),
            ("crates/a/src/c/mod.rs", "mod e; pub use e::C;"),
            ("crates/a/src/c/e.rs", "pub struct C; fn f() { format!(\"{}\", crate::d::g(1)) }"),
            ("crates/a/src/d.rs", "pub fn g(n: u8) -> super::b::B { super::b::B }"),
        ]);
        let chain = "b.rs → c/e.rs → d.rs → b.rs";
        assert_eq!(found, [format!("crates/a/src/b.rs:1: imports in a circle of 3 modules: {chain}")]);
    }

    #[test]
    fn a_facade_makes_no_circle_and_a_parent_with_items_of_its_own_does() {
        let child = ("crates/a/src/b.rs", "use super::{c, D}; fn f(d: D) { c::g() } pub struct B;");
        let sibling = ("crates/a/src/c.rs", "pub fn g() {} pub struct D; use super::e::E;");
        let facade =
            ("crates/a/src/lib.rs", "mod b; mod c; mod e; pub use b::B; pub use c::D; fn e() { e::f() }");
        let same_name =
            ("crates/a/src/e.rs", "pub struct E; pub fn f() {} impl E { fn g(&self) { self.h() } }");
        assert_eq!(circles(&[facade, child, sibling, same_name]), [""; 0]);
        let parent = ("crates/a/src/lib.rs", "mod b; mod c; pub struct D; fn h(b: b::B) {}");
        assert_eq!(circles(&[parent, child, sibling]).len(), 1);
    }

    #[test]
    fn tests_other_crates_and_files_of_other_systems_do_not_count() {
        let found = circles(&[
            ("crates/a/src/lib.rs", "mod b; #[path = \"x.rs\"] mod s; #[path = \"y.rs\"] mod s; mod z;"),
            ("crates/a/src/b.rs", "#[cfg(test)] mod tests { use crate::z::Z; } pub struct B; use ::z::Z;"),
            ("crates/a/src/x.rs", "pub struct S; use crate::b::B;"),
            ("crates/a/src/y.rs", "pub struct S; fn f(s: S, b: super::b::B) {}"),
            ("crates/a/src/z.rs", "use crate::s::S; use crate::b::B; pub struct Z;"),
        ]);
        assert_eq!(found, [""; 0]);
    }
}
