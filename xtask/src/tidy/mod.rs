//! `cargo xtask tidy`: the rules of the house that neither compiler nor clippy knows. A rule is a file here
//! and a line in `RULES`.

mod code;
mod house;
mod imports;
mod lines;
mod links;
mod names;
mod size;
mod units;
mod unused;

use std::path::Path;

pub use house::Breach;
use house::House;

use crate::{AnyError, answers, workspace};

type Rule = (&'static str, fn(&House) -> Vec<Breach>);

const RULES: &[Rule] = &[
    ("imports run downward only", imports::check),
    ("files are neither long nor small", size::check),
    ("a name has one meaning, and a retired one stays retired", names::check),
    ("pages, widths of lines, sizes of documents", lines::check),
    ("a unit is one file and its place in one list", units::check),
    ("no file and no public item is left over", unused::check),
    ("documents name only files that exist", links::check),
    ("docs/answers.md equals the types of answers", answers),
];

fn answers(house: &House) -> Vec<Breach> {
    let what = match answers::text(&house.root) {
        Ok(text)
            if house
                .documents
                .iter()
                .any(|one| one.path.ends_with(answers::DOCUMENT) && one.text == text) =>
        {
            return Vec::new();
        }
        Ok(_) => "it differs from the types of answers; `cargo xtask answers` writes it".to_owned(),
        Err(error) => error.to_string(),
    };
    vec![Breach { file: answers::DOCUMENT.into(), line: 1, what }]
}

/// Checks the workspace of this program.
///
/// # Errors
/// The number of findings, after printing them.
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
