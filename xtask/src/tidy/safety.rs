//! `unsafe` stays in `sys`, and each use is preceded by a comment that says why it is sound.

use super::code;
use super::house::{Breach, House, Source};

/// How far above its `unsafe` a reason may stand: a call is sometimes broken into lines.
const NEAR: usize = 8;

pub(super) fn check(house: &House) -> Vec<Breach> {
    house.rust.iter().flat_map(of_file).collect()
}

fn of_file(source: &Source) -> Vec<Breach> {
    let lines: Vec<&str> = source.text.lines().collect();
    let code_lines: Vec<&str> = source.code.lines().collect();
    let mut findings = Vec::new();
    for at in code::words(&source.code, "unsafe") {
        let number = code::line_of(&source.code, at);
        if !source.is_below("crates/sys") {
            findings.push(source.finding(number, "unsafe outside crates/sys; give it a safe face there"));
        } else if !explained(&lines[..number - 1], &code_lines[..number - 1]) {
            findings.push(source.finding(number, "unsafe without a `// SAFETY:` comment before it"));
        }
    }
    findings
}

/// Looks upward, through the statement that the `unsafe` is part of, for the reason.
fn explained(above: &[&str], code_above: &[&str]) -> bool {
    for (line, code) in above.iter().zip(code_above).rev().take(NEAR) {
        let comment = line.trim_start();
        if comment.starts_with("//") && (comment.contains("SAFETY:") || comment.contains("# Safety")) {
            return true;
        }
        // The statement before has its own reasons.
        if code.trim_end().ends_with([';', '}']) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        of_file(&Source::new(path, text)).len()
    }

    #[test]
    fn a_reason_goes_before() {
        let sound = "// SAFETY: it is ours,\n// and alive.\nlet a =\n    unsafe { f() };\n";
        assert_eq!(findings("crates/sys/src/a.rs", sound), 0);
        assert_eq!(findings("crates/sys/src/a.rs", "let a = unsafe { f() };\n"), 1);
        let stale = "// SAFETY: it is ours.\nlet a = unsafe { f() };\nlet b = unsafe { g() };\n";
        assert_eq!(findings("crates/sys/src/a.rs", stale), 1, "one reason serves one statement");
    }

    #[test]
    fn elsewhere_no_reason_helps() {
        assert_eq!(findings("crates/kernel/src/a.rs", "// SAFETY: no.\nunsafe { f() }\n"), 1);
        assert_eq!(findings("crates/kernel/src/a.rs", "// unsafe\nlet a = \"unsafe\";\n"), 0);
        assert_eq!(findings("crates/kernel/src/lib.rs", "#![forbid(unsafe_code)]\n"), 0);
    }
}
