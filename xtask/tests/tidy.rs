//! The rules of the house hold for this checkout, and violations are found.

use std::fs;
use std::path::Path;

use xtask::tidy::check;

#[test]
fn this_checkout_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let findings: Vec<String> = check(root).iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

#[test]
fn an_untidy_house_is_found_out() {
    let house = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = house.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("ARCHITECTURE.md", "stats → nothing\nsys   → nothing\n");
    write("crates/stats/Cargo.toml", "[package]\nname = \"stats\"\n[dependencies]\nsys.workspace = true\n");
    write("crates/stats/src/lib.rs", "//! Pure mathematics.\n\npub fn f() {}\n");
    write("crates/stats/src/lost.rs", "pub fn f() {}\n");
    write("crates/kernel/Cargo.toml", "[package]\nname = \"kernel\"\n");
    write("crates/kernel/src/lib.rs", "//! Curves, one a file.\n\nmod socket;\n");
    write("crates/kernel/src/socket.rs", "//! One more socket.\n\nconst WORKLOAD: Workload = Workload {};\n");
    write("crates/stats/src/shape.rs", "//! Shapes of costs.\n\npub struct Gadget;\n");
    write(
        "crates/kernel/src/shape.rs",
        &format!("//! Shapes of loads.\n\npub struct Gadget;\n{}", "\n".repeat(600)),
    );
    write("xtask/src/tidy/retired.txt", "name Gadget → Device\n");
    write("README.md", &format!("[the design](DESIGN.md)\n{}\n", "word ".repeat(30).trim_end()));

    let findings: Vec<String> = check(house.path()).iter().map(ToString::to_string).collect();
    let expected = [
        "README.md:1: DESIGN.md is not there",
        "README.md:2: the line has 149 columns; 120 is the most",
        "crates/kernel/Cargo.toml:1: kernel has no line in ARCHITECTURE.md's code map",
        "crates/kernel/src/shape.rs:1: no `mod` line names this file",
        "crates/kernel/src/shape.rs:1: the file has 603 lines; 500 is the most",
        "crates/kernel/src/shape.rs:3: `Gadget` is retired; write `Device`",
        "crates/kernel/src/socket.rs:1: crates/kernel/src/lib.rs names socket in 1 lines; its `mod` line and its place \
         are 2",
        "crates/kernel/src/socket.rs:1: the page lacks **Question.**, or has it out of order",
        "crates/stats/Cargo.toml:4: stats must not import sys",
        "crates/stats/src/lib.rs:3: f is public and nothing outside this crate uses it",
        "crates/stats/src/lost.rs:1: f is public and nothing outside this crate uses it",
        "crates/stats/src/lost.rs:1: no `mod` line names this file",
        "crates/stats/src/lost.rs:1: the file must open with a `//!` page that says what it is",
        "crates/stats/src/shape.rs:1: no `mod` line names this file",
        "crates/stats/src/shape.rs:3: Gadget is the name of another type in crates/kernel/src/shape.rs; qualify one of them",
        "crates/stats/src/shape.rs:3: `Gadget` is retired; write `Device`",
        "docs/answers.md:1: cannot read docs/record.md: No such file or directory (os error 2)",
    ];
    assert_eq!(findings, expected);
}
