//! The rules of the house hold for this checkout, and a house that breaks them is found out.

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
    write("crates/stats/Cargo.toml", "[package]\nname = \"stats\"\n[dependencies]\nsys.workspace = true\n");
    write(
        "crates/stats/src/lib.rs",
        "//! Pure mathematics.\n\npub fn f() {\n    unsafe { g().unwrap() }\n}\n",
    );
    write("crates/stats/src/lost.rs", "pub fn f() {}\n");
    write("crates/curve/Cargo.toml", "[package]\nname = \"curve\"\n");
    write("crates/curve/src/lib.rs", "//! Curves, one a file.\n\nmod socket;\n");
    write("crates/curve/src/socket.rs", "//! One more socket.\n\nconst CURVE: Curve = Curve {};\n");
    write("README.md", "[the design](DESIGN.md)\n");

    let findings: Vec<String> = check(house.path()).iter().map(ToString::to_string).collect();
    let expected = [
        "README.md:1: DESIGN.md is not there",
        "crates/curve/src/socket.rs:1: crates/curve/src/lib.rs does not list this workload",
        "crates/curve/src/socket.rs:1: the page lacks **Question.**, or has it out of order",
        "crates/stats/Cargo.toml:4: stats must not import sys",
        "crates/stats/src/lib.rs:4: `.unwrap()` outside tests; return the error",
        "crates/stats/src/lib.rs:4: unsafe outside crates/sys; give it a safe face there",
        "crates/stats/src/lost.rs:1: no `mod` line names this file",
        "crates/stats/src/lost.rs:1: the file must open with a `//!` page that says what it is",
    ];
    assert_eq!(findings, expected);
}
