//! `cargo xtask tidy`: the rules of the house that neither compiler nor clippy knows.
//!
//! A rule without a checker is a wish; a rule is a file here and a line in `RULES`.

use std::path::Path;

mod code;
mod columns;
mod concepts;
mod house;
mod imports;
mod lines;
mod links;
mod modules;
mod orphans;
mod pages;
mod ratchet;
mod retired;
mod safety;
mod size;
mod units;
mod unused;
mod unwraps;
mod uses;
mod workloads;

pub use house::Breach;

use house::House;

use crate::{AnyError, workspace};

type Rule = (&'static str, fn(&House) -> Vec<Breach>);

const RULES: &[Rule] = &[
    ("imports run downward only", imports::check),
    ("files and functions are short", size::check),
    ("a public type name has one meaning", concepts::check),
    ("Markdown fits 120 columns", columns::check),
    ("retired names and words stay retired", retired::check),
    ("a unit is one file and its place in one list", units::check),
    ("what is public is used outside", unused::check),
    ("every file opens with its page", pages::check),
    ("lines are short and clean, and nothing is left to do", lines::check),
    ("no file is left out of every list", orphans::check),
    ("unsafe stays in sys and says why it is sound", safety::check),
    ("library code does not panic by unwrapping", unwraps::check),
    ("the page of a workload has its three parts", workloads::check),
    ("documents name only files that exist", links::check),
];

/// Checks the workspace of this program.
///
/// # Errors
/// Says how many findings there are, after printing them.
pub fn run() -> Result<(), AnyError> {
    let findings = check(&workspace::root());
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("{} rules hold", RULES.len());
            Ok(())
        }
        1 => Err("1 finding".into()),
        many => Err(format!("{many} findings").into()),
    }
}

/// All findings in a workspace, by file and line.
pub fn check(root: &Path) -> Vec<Breach> {
    let house = House::read(root);
    let mut findings: Vec<Breach> = RULES.iter().flat_map(|(_, rule)| rule(&house)).collect();
    findings.sort_by(|a, b| (&a.file, a.line, &a.what).cmp(&(&b.file, b.line, &b.what)));
    findings
}
