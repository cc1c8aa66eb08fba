//! `cargo xtask tidy`: the rules of the house that neither compiler nor clippy knows.
//!
//! A rule without a checker is a wish; a rule is a file here and a line in `RULES`.

use std::fmt;
use std::path::{Path, PathBuf};

mod code;
mod imports;
mod lines;
mod links;
mod orphans;
mod pages;
mod safety;
mod unwraps;
mod workloads;

use crate::{Failure, workspace};

type Rule = (&'static str, fn(&House) -> Vec<Finding>);

const RULES: &[Rule] = &[
    ("imports run downward only", imports::check),
    ("every file opens with its page", pages::check),
    ("lines are short and clean, and nothing is left to do", lines::check),
    ("no file is left out of every list", orphans::check),
    ("unsafe stays in sys and says why it is sound", safety::check),
    ("library code does not panic by unwrapping", unwraps::check),
    ("a workload is listed and has its three parts", workloads::check),
    ("documents name only files that exist", links::check),
];

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, from the root of the workspace.
    pub file: PathBuf,
    /// Its line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.what)
    }
}

/// The files of a workspace, read once for all rules.
struct House {
    root: PathBuf,
    rust: Vec<Source>,
    documents: Vec<Source>,
    manifests: Vec<Source>,
}

struct Source {
    /// From the root of the workspace.
    path: PathBuf,
    text: String,
    /// The text with comments and the contents of strings blanked out, line for line; Rust only.
    code: String,
}

impl Source {
    fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding { file: self.path.clone(), line, what: what.into() }
    }

    /// Lines of the text from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The crate's folder: `crates/sys`, `xtask`.
    fn home(&self) -> PathBuf {
        let depth = if self.path.starts_with("crates") { 2 } else { 1 };
        self.path.components().take(depth).collect()
    }

    fn is_below(&self, folder: &str) -> bool {
        self.path.starts_with(folder)
    }
}

impl House {
    fn read(root: &Path) -> House {
        let read = |folder: &str, extension: &str| {
            let sources = workspace::files(&root.join(folder), extension).into_iter().filter_map(|path| {
                let text = std::fs::read_to_string(&path).ok()?;
                let code = if extension == "rs" { code::only(&text) } else { String::new() };
                Some(Source { path: path.strip_prefix(root).unwrap_or(&path).to_owned(), text, code })
            });
            sources.collect::<Vec<_>>()
        };
        let both = |extension| {
            let mut sources = read("crates", extension);
            sources.extend(read("xtask", extension));
            sources.retain(|source| !source.path.components().any(|part| part.as_os_str() == "fixtures"));
            sources
        };
        House { root: root.to_owned(), rust: both("rs"), documents: read("", "md"), manifests: both("toml") }
    }
}

/// Checks the workspace of this program.
///
/// # Errors
/// Says how many findings there are, after printing them.
pub fn run() -> Result<(), Failure> {
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
pub fn check(root: &Path) -> Vec<Finding> {
    let house = House::read(root);
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|(_, rule)| rule(&house)).collect();
    findings.sort_by(|a, b| (&a.file, a.line, &a.what).cmp(&(&b.file, b.line, &b.what)));
    findings
}
