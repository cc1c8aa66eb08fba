//! `cargo xtask tidy`: the rules of the house that neither compiler nor clippy knows. A rule is a file here
//! and a line in `RULES`.

use std::path::Path;

mod code;
mod concepts;
mod house;
mod imports;
mod lines;
mod links;
mod orphans;
mod retired;
mod size;
mod units;
mod unused;

pub use house::Breach;

use house::House;

use crate::{AnyError, workspace};

type Rule = (&'static str, fn(&House) -> Vec<Breach>);

const RULES: &[Rule] = &[
    ("imports run downward only", imports::check),
    ("files are neither long nor small", size::check),
    ("a public type name has one meaning", concepts::check),
    ("pages, widths of lines, sizes of documents", lines::check),
    ("retired names and words stay retired", retired::check),
    ("a unit is one file and its place in one list", units::check),
    ("what is public is used outside", unused::check),
    ("no file is left out of every list", orphans::check),
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
