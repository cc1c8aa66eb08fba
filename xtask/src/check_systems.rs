//! `cargo xtask check-systems [NAME]…`: does the workspace compile for the systems that are not at hand, and
//! without a warning of clippy?

use std::path::Path;
use std::time::Instant;

use crate::AnyError;
use crate::build_std::{cargo_with, failing, library};
use crate::workspace::show;

/// One for each family of systems that osdyno is written for; of Windows' two the one whose imports need no
/// tool from outside.
pub(crate) const TARGETS: &[&str] = &[
    "x86_64-unknown-freebsd",
    "x86_64-unknown-netbsd",
    "x86_64-unknown-openbsd",
    "x86_64-unknown-dragonfly",
    "x86_64-unknown-illumos",
    "x86_64-pc-solaris",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
];

/// Libraries in C that crates compile in their build scripts, by the name in the crate's `links` key. No C
/// compiler for the target is needed to check types, so cargo is made to believe that each is installed.
const C_LIBRARIES: &[&str] = &["zstd"];

/// Checks the crates named, or else the whole workspace, for the targets named, or else for every target,
/// even after one has failed. Where the library's source is not available, it prints that and succeeds: the
/// tests of this machine's own system do not depend on it.
///
/// # Errors
/// Names the targets that do not compile.
pub fn run(names: &[&str]) -> Result<(), AnyError> {
    let (targets, crates): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| TARGETS.contains(name));
    let targets = if targets.is_empty() { TARGETS } else { &targets };
    let library = match library() {
        Ok(library) => library,
        Err(reason) => {
            println!("not checked: {reason}");
            return Ok(());
        }
    };
    let start = Instant::now();
    let failed = failing(targets, |targets| check(&library, targets, &crates));
    if failed.is_empty() {
        println!("compiles for {} ({:.1} s)", targets.join(", "), start.elapsed().as_secs_f64());
        Ok(())
    } else {
        Err(format!("does not compile for {}, or not without a warning", failed.join(", ")).into())
    }
}

fn check(library: &Path, targets: &[&str], crates: &[&str]) -> Result<(), AnyError> {
    let mut command = cargo_with(library);
    command
        .args(["clippy", "--quiet"])
        // The build script of SQLite writes its types too, so it runs: with a compiler that makes nothing.
        .envs([("TARGET_CC", "true"), ("TARGET_AR", "true")]);
    for target in targets {
        command.args(["--target", target]);
        for name in C_LIBRARIES {
            command.args(["--config", &format!("target.{target}.{name}.rustc-link-lib=['{name}']")]);
        }
    }
    if crates.is_empty() {
        command.arg("--workspace");
    }
    for name in crates {
        command.args(["--package", name]);
    }
    // The lint overlooks that a value is `const` already on systems without native thread-local storage.
    command.args(["--", "--allow", "clippy::missing_const_for_thread_local"]);
    show(&mut command)
}
