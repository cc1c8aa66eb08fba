//! `cargo xtask link-systems`: programs for systems that are not at hand, complete with the trial programs
//! that they contain.

use std::path::PathBuf;
use std::time::Instant;

use crate::build_std::cargo_with;
use crate::command::{exists, show};
use crate::{AnyError, rust_src, workspace};

/// A system for which this machine may have a linker.
struct Port {
    target: &'static str,
    /// The C compiler, which compiles zstd and links.
    compiler: &'static str,
    archiver: &'static str,
    /// The file that results.
    program: &'static str,
    package: &'static str,
}

const PORTS: &[Port] = &[Port {
    // Of the two targets for Windows and mingw, the one whose programs start on every Windows from 7 on and
    // on Wine 8, which lacks the library from which the other takes its random numbers.
    target: "x86_64-win7-windows-gnu",
    compiler: "x86_64-w64-mingw32-gcc",
    archiver: "x86_64-w64-mingw32-ar",
    program: "osdyno.exe",
    package: "gcc-mingw-w64-x86-64",
}];

/// Links osdyno for every system for which this machine has a linker, with optimization or quickly; says of
/// the others what is missing.
///
/// # Errors
/// Names the systems for which it does not link.
pub fn run(is_release: bool) -> Result<(), AnyError> {
    let library = match rust_src::find() {
        Ok(library) => library,
        Err(reason) => {
            println!("not linked: {reason}");
            return Ok(());
        }
    };
    let mut failed = Vec::new();
    for port in PORTS {
        if !exists(port.compiler) {
            println!("{}: not linked: install {}", port.target, port.package);
            continue;
        }
        let start = Instant::now();
        let mut cargo = cargo_with(&library);
        cargo.args(["build", "--quiet", "--package", "osdyno", "--target", port.target]);
        if is_release {
            cargo.arg("--release");
        }
        let underscored = port.target.replace('-', "_");
        cargo.env(format!("CARGO_TARGET_{}_LINKER", underscored.to_uppercase()), port.compiler);
        cargo.env(format!("CC_{underscored}"), port.compiler);
        cargo.env(format!("AR_{underscored}"), port.archiver);
        match show(&mut cargo) {
            Ok(()) => {
                let program = port.program(is_release);
                println!("{} ({:.1} s)", program.display(), start.elapsed().as_secs_f64());
            }
            Err(error) => {
                println!("{}: {error}", port.target);
                failed.push(port.target);
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("does not link for {}", failed.join(", ")).into()) }
}

impl Port {
    fn program(&self, is_release: bool) -> PathBuf {
        let profile = if is_release { "release" } else { "debug" };
        workspace::systems().join(self.target).join(profile).join(self.program)
    }
}
