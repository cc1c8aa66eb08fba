//! Programs of tests, and the tests that they skipped.
//!
//! All are built with the whole workspace: those of one package would have fewer features, and most crates
//! would be compiled a second time. A test that cannot run here prints a line that begins with "skipped",
//! which the harness shows of tests that pass only with `--show-output`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::AnyError;
use crate::workspace::{background, cargo, program};

/// A program of tests.
pub(crate) struct TestProgram {
    /// The folder of its package, in which it runs.
    folder: PathBuf,
    executable: PathBuf,
}

impl TestProgram {
    /// The name of its package, which is that of the folder.
    pub(crate) fn package(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Runs it as cargo does.
    pub(crate) fn command(&self) -> Command {
        self.in_folder(program(&self.executable))
    }

    /// The same in the time that nothing else needs.
    pub(crate) fn behind(&self) -> Command {
        self.in_folder(background(19, &self.executable, &[]))
    }

    fn in_folder(&self, mut command: Command) -> Command {
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

/// A test, or a part of one, that could not run here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Skip {
    test: String,
    reason: String,
}

impl Skip {
    /// Whether a machine of CI may lack it. Programs of packages are expected to be there.
    pub(crate) fn is_expected(&self) -> bool {
        EXPECTED.iter().any(|words| self.reason.contains(words))
    }
}

/// Reasons that are expected on a machine of CI, by their words: its processor, its kernel, the rights that
/// its supervisor grants, and programs that no package of `packages` brings.
const EXPECTED: &[&str] = &[
    "this processor lacks",
    "this system has no",
    "this system gives one process",
    "this kernel",
    "here:",
    "made here",
    "is unsupported here",
    "there is one processor",
    "too busy",
    "is not permitted",
    "before Linux",
    "in a folder that others may not enter",
    "needs root",
    "takes root",
    "only root",
    "rights of root",
    "this user makes no",
    "right to mount",
    "that only grow",
    "/dev/kvm",
    "cannot get the kernel",
    "perf_event",
    "ermission denied",
    "unshare failed",
    "bwrap",
    "this is no Debian",
    "does not start",
    "pprof",
    " servers: ",
];

/// Tests that the line of a reason names.
const NAMED_MOST: usize = 3;

/// Builds those that cargo chooses by `--lib` or `--test NAME`, or all.
///
/// # Errors
/// When one does not compile.
pub(crate) fn build(choice: &[&str]) -> Result<Vec<TestProgram>, AnyError> {
    let built = compiler(choice).stderr(Stdio::inherit()).output()?;
    if !built.status.success() {
        return Err("the tests do not compile".into());
    }
    let mut programs: Vec<TestProgram> =
        String::from_utf8_lossy(&built.stdout).lines().filter_map(program_of).collect();
    programs.sort_by(|a, b| a.executable.cmp(&b.executable));
    Ok(programs)
}

/// Cargo, which compiles these programs and lists them as JSON. Clippy checks examples; no test starts one.
pub(crate) fn compiler(choice: &[&str]) -> Command {
    let choice = if choice.is_empty() { &["--tests"] } else { choice };
    let arguments = ["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"];
    let mut command = cargo();
    command.args(arguments).args(choice);
    command
}

/// Runs tests, writes their output without that of tests that pass, and adds the tests that were skipped.
///
/// # Errors
/// When a test failed.
pub(crate) fn run(
    command: &mut Command,
    out: &mut impl Write,
    skipped: &mut Vec<Skip>,
) -> Result<(), AnyError> {
    let mut process = command.arg("--show-output").stdout(Stdio::piped()).spawn()?;
    let mut listing = Listing::default();
    let lines = process.stdout.take().map(|output| BufReader::new(output).split(b'\n'));
    for line in lines.into_iter().flatten() {
        let line = String::from_utf8_lossy(&line?).into_owned();
        if listing.shows(&line) {
            writeln!(out, "{line}")?;
        }
    }
    skipped.append(&mut listing.skipped);
    match process.wait()? {
        status if status.success() => Ok(()),
        status => Err(format!("tests failed: {status}").into()),
    }
}

/// One line for each reason, with the tests that have it.
pub(crate) fn print_skipped(skipped: &[Skip]) {
    let mut tests = BTreeMap::<&str, BTreeSet<&str>>::new();
    for skip in skipped {
        tests.entry(&skip.reason).or_default().insert(&skip.test);
    }
    for (reason, tests) in &tests {
        let named: Vec<&str> = tests.iter().take(NAMED_MOST).copied().collect();
        let more = match tests.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        println!("skipped: {reason} ({}{more})", named.join(", "));
    }
    println!("{} tests or parts of them were skipped", skipped.len());
}

/// The program that a message of cargo is about.
fn program_of(message: &str) -> Option<TestProgram> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let is_test = message["profile"]["test"].as_bool()?;
    let executable = message["executable"].as_str().filter(|_| is_test)?;
    let manifest = Path::new(message["manifest_path"].as_str()?);
    Some(TestProgram { folder: manifest.parent()?.to_owned(), executable: executable.into() })
}

/// The output of the harness until now.
#[derive(Default)]
struct Listing {
    /// Within the output of tests that passed: the test.
    passed: Option<String>,
    skipped: Vec<Skip>,
}

impl Listing {
    /// Whether the line is of interest to a person.
    fn shows(&mut self, line: &str) -> bool {
        if let Some(skip) = ignored(line) {
            self.skipped.push(skip);
        }
        let is_end = line == "failures:" || line.starts_with("test result: ");
        match &mut self.passed {
            None if line == "successes:" => self.passed = Some(String::new()),
            Some(_) if is_end => self.passed = None,
            None => return true,
            Some(test) => {
                if let Some(name) =
                    line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----"))
                {
                    name.clone_into(test);
                } else if let Some(reason) = line.strip_prefix("skipped") {
                    let reason = reason.trim_start_matches(" in part").trim_start_matches([':', ' ']);
                    self.skipped.push(Skip { test: test.clone(), reason: reason.to_owned() });
                }
                return false;
            }
        }
        is_end
    }
}

/// A test that libtest-mimic has ignored at run time, with the reason in brackets.
fn ignored(line: &str) -> Option<Skip> {
    let (test, reason) = line.strip_prefix("test ")?.split_once(" ... ignored (")?;
    Some(Skip { test: test.trim().to_owned(), reason: reason.strip_suffix(')')?.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
running 4 tests
test a::b ... ok
test d    ... ignored (only root)
test part ... ignored, a part of other tests
test c ... FAILED

successes:

---- a::b stdout ----
skipped: there is no perl
measured 3


successes:
    a::b

failures:

---- c stdout ----
skipped: that does not count

failures:
    c

test result: FAILED. 1 passed; 1 failed
";

    #[test]
    fn a_test_program_is_found_in_the_messages_of_cargo() {
        let message = |test: bool| {
            format!(
                r#"{{"manifest_path":"/net/Cargo.toml","profile":{{"test":{test}}},"executable":"/b/net-1"}}"#
            )
        };
        let found = program_of(&message(true)).map(|found| (found.package().to_owned(), found.executable));
        assert_eq!(found, Some(("net".into(), "/b/net-1".into())));
        assert!(program_of(&message(false)).is_none(), "osdyno itself is no test");
        assert!(program_of(r#"{"reason":"build-finished","success":true}"#).is_none());
    }

    #[test]
    fn what_passes_is_not_shown_but_what_it_skipped_is_counted() {
        let mut listing = Listing::default();
        let shown: Vec<&str> = PRINTED.lines().filter(|line| listing.shows(line)).collect();
        let skip = |test: &str, reason: &str| Skip { test: test.to_owned(), reason: reason.to_owned() };
        assert_eq!(listing.skipped, [skip("d", "only root"), skip("a::b", "there is no perl")]);
        assert_eq!([0, 1].map(|place| listing.skipped[place].is_expected()), [true, false]);
        assert!(!shown.contains(&"measured 3"), "{shown:?}");
        assert!(shown.contains(&"skipped: that does not count"), "{shown:?}");
        assert_eq!(shown.last(), Some(&"test result: FAILED. 1 passed; 1 failed"));
    }
}
