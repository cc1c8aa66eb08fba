//! Library code returns errors. Tests and build scripts may panic; programs and libraries may not.

use super::code;
use super::house::{Breach, House, Source};

pub(super) fn check(house: &House) -> Vec<Breach> {
    house.rust.iter().filter(|source| ships(source)).flat_map(of_file).collect()
}

/// Whether the file becomes part of what a user runs.
fn ships(source: &Source) -> bool {
    let in_source = source.path.components().any(|part| part.as_os_str() == "src");
    let is_test = source.path.iter().any(|part| part == "tests" || part == "tests.rs");
    source.is_below("crates") && in_source && !is_test
}

fn of_file(source: &Source) -> Vec<Breach> {
    let tests = code::test_lines(&source.code);
    let mut findings = Vec::new();
    for (number, line) in source.code.lines().enumerate().map(|(index, line)| (index + 1, line)) {
        if tests.contains(&number) {
            continue;
        }
        for call in [".unwrap()", ".expect(", ".unwrap_err()"] {
            if line.contains(call) {
                findings.push(source.finding(number, format!("`{call}` outside tests; return the error")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_may_and_libraries_may_not() {
        let text = "fn a() { b().unwrap(); }\n#[cfg(test)]\nmod tests {\n    fn c() { d().unwrap(); }\n}\n";
        let source = |path: &str| Source::new(path, text);
        let found = of_file(&source("crates/a/src/lib.rs"));
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [1]);
        assert!(ships(&source("crates/a/src/lib.rs")));
        for path in ["crates/a/tests/b.rs", "crates/a/build.rs", "crates/a/src/tests.rs", "xtask/src/lib.rs"]
        {
            assert!(!ships(&source(path)), "{path}");
        }
    }
}
