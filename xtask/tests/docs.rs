//! A true document passes, and a false one is found.
#![cfg(unix)]

use std::path::{Path, PathBuf};

use xtask::AnyError;
use xtask::docs::{Checked, check};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn outcome(document: &str) -> Result<Checked, AnyError> {
    let folder = tempfile::tempdir()?;
    check(document, &fixtures(), folder.path())
}

#[test]
fn a_true_document_passes() {
    let document = std::fs::read_to_string(fixtures().join("manual.md")).unwrap();
    let outcome = outcome(&document).unwrap();
    assert_eq!(outcome.commands, 3);
    assert!(outcome.differences.is_empty(), "{}", outcome.differences.join("\n\n"));
}

#[test]
fn a_false_document_is_found_out() {
    for (what, document) in [
        ("words", "```console\n$ osdyno measure\nsocket 1 ns steep within 1 % ▁\n…\n```\n"),
        ("a line too few", "```console\n$ osdyno measure\nsocket 1 ns flat within 1 % ▁\n```\n"),
        ("numbers", "```console exact\n$ osdyno measure\nsocket 1 ns flat within 1 % ▁\n…\n```\n"),
        ("it fails", "```console\n$ osdyno frobnicate\n…\n```\n"),
        ("it does not fail", "```console\n$ osdyno measure\nerror: …\n…\n```\n"),
    ] {
        assert_eq!(outcome(document).unwrap().differences.len(), 1, "{what}");
    }
}
