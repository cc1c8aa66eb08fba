//! Lines are short, without tabs and spaces at their ends, and hold no reminder of unfinished work.

use super::house::{Breach, House};

/// As in rustfmt.toml; rustfmt leaves comments and strings alone.
const LENGTH_MAX: usize = 110;

/// Spelled in two halves, or this file would find itself.
const LEFTOVERS: [(&str, &str); 5] =
    [("todo", "!("), ("FIX", "ME"), ("XX", "X"), ("dbg", "!("), ("unimple", "mented!")];

pub(super) fn check(house: &House) -> Vec<Breach> {
    let mut findings = Vec::new();
    for source in &house.rust {
        let is_test = source.path.iter().any(|part| part == "tests");
        for ((number, line), code) in source.lines().zip(source.code.lines()) {
            findings.extend(complaints(line).into_iter().map(|what| source.finding(number, what)));
            // Data in a string is clearer whole; a test may have it so.
            let length =
                if is_test { code.split_whitespace().map(str::len).sum() } else { line.chars().count() };
            // A link cannot be broken.
            if length > LENGTH_MAX && !line.contains("https://") {
                let what = format!("the line is {length} long; {LENGTH_MAX} is the most");
                findings.push(source.finding(number, what));
            }
        }
        if !source.text.is_empty() && !source.text.ends_with('\n') {
            findings.push(source.finding(source.text.lines().count(), "the last line does not end"));
        }
    }
    for source in &house.documents {
        for (number, line) in source.lines() {
            if LEFTOVERS.iter().any(|(a, b)| line.contains(&format!("{a}{b}"))) {
                findings.push(source.finding(number, "left unfinished"));
            }
        }
    }
    findings
}

fn complaints(line: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if line.contains('\t') {
        complaints.push("a tab".to_owned());
    }
    if line.ends_with([' ', '\r']) {
        complaints.push("space at the end of the line".to_owned());
    }
    for (a, b) in LEFTOVERS {
        if line.contains(&format!("{a}{b}")) {
            complaints.push(format!("left unfinished: {a}{b}"));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_count_and_data_of_tests_does_not() {
        let long = |path: &str, line: &str| check(&House::of(&[(path, &format!("{line}\n"))])).len();
        assert_eq!(long("crates/a/src/b.rs", &"é".repeat(LENGTH_MAX)), 0);
        assert_eq!(long("crates/a/src/b.rs", &"é".repeat(LENGTH_MAX + 1)), 1);
        let data = format!("f(\"{}\")", "x".repeat(LENGTH_MAX));
        assert_eq!(long("crates/a/src/b.rs", &data), 1);
        assert_eq!(long("crates/a/tests/b.rs", &data), 0);
    }

    #[test]
    fn each_fault_is_reported() {
        assert_eq!(complaints("    let a = 1; // fine"), [""; 0]);
        assert_eq!(complaints("x ").len(), 1);
        assert_eq!(complaints("\tx").len(), 1);
        for (a, b) in LEFTOVERS {
            assert_eq!(complaints(&format!("// {a}{b}")).len(), 1);
        }
    }
}
