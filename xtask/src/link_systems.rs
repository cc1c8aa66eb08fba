//! `cargo xtask link-systems [--release] [TARGET]…`: programs for systems that are not at hand, complete with
//! the trial programs that they contain.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::build_std::cargo_with;
use crate::command::{exists, show};
use crate::{AnyError, rust_src, workspace};

/// A system for which this machine may have a linker.
struct Port {
    target: &'static str,
    linker: Linker,
    /// The file that results.
    program: &'static str,
    /// Whether tests run it here.
    is_tested: bool,
}

/// What compiles zstd, which is C, and links.
enum Linker {
    /// The gcc of a package of Debian, by the beginning of its programs' names.
    Gcc { prefix: &'static str, package: &'static str },
    /// zig, by its name of the target.
    #[cfg_attr(not(unix), allow(dead_code))]
    Zig(&'static str),
}

const PORTS: &[Port] = &[
    Port {
        // Of the two targets for Windows and mingw, the one whose programs start on every Windows from 7 on
        // and on Wine 8, which lacks the library from which the other takes its random numbers.
        target: "x86_64-win7-windows-gnu",
        linker: Linker::Gcc { prefix: "x86_64-w64-mingw32-", package: "gcc-mingw-w64-x86-64" },
        program: "osdyno.exe",
        is_tested: true,
    },
    Port {
        target: "x86_64-unknown-freebsd",
        linker: Linker::Zig("x86_64-freebsd"),
        program: "osdyno",
        is_tested: false,
    },
    Port {
        target: "x86_64-unknown-openbsd",
        linker: Linker::Zig("x86_64-openbsd"),
        program: "osdyno",
        is_tested: false,
    },
];

/// Links osdyno for the targets named, or else for those that tests run here, with optimization or quickly;
/// says of each that it cannot link what is missing.
///
/// # Errors
/// Names the systems for which it does not link.
pub fn run(is_release: bool, targets: &[&str]) -> Result<(), AnyError> {
    let wanted: Vec<&Port> = match targets {
        [] => PORTS.iter().filter(|port| port.is_tested).collect(),
        targets => targets.iter().map(|target| find(target)).collect::<Result<_, _>>()?,
    };
    let library = match rust_src::find() {
        Ok(library) => library,
        Err(reason) => {
            println!("not linked: {reason}");
            return Ok(());
        }
    };
    let mut failed = Vec::new();
    for port in wanted {
        let start = Instant::now();
        let mut cargo = cargo_with(&library);
        if let Err(reason) = port.equip(&mut cargo, is_release) {
            println!("{}: not linked: {reason}", port.target);
            continue;
        }
        cargo.args(["build", "--quiet", "--package", "osdyno", "--target", port.target]);
        if is_release {
            cargo.arg("--release");
        }
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

fn find(target: &str) -> Result<&'static Port, AnyError> {
    PORTS.iter().find(|port| port.target == target).ok_or_else(|| {
        let known: Vec<&str> = PORTS.iter().map(|port| port.target).collect();
        format!("no linker is known for {target}, only for {}", known.join(", ")).into()
    })
}

impl Port {
    /// Gives cargo what compiles C and links for this target, by its environment: the build script starts
    /// another cargo that needs the same.
    fn equip(&self, cargo: &mut Command, is_release: bool) -> Result<(), AnyError> {
        let (compiler, archiver) = match self.linker {
            Linker::Gcc { prefix, package } => {
                let compiler = format!("{prefix}gcc");
                if !exists(&compiler) {
                    return Err(format!("install {package}").into());
                }
                (PathBuf::from(compiler), PathBuf::from(format!("{prefix}ar")))
            }
            #[cfg(unix)]
            Linker::Zig(zig_target) => {
                let tools = crate::zig::tools(self.target, zig_target)?;
                (tools.compiler, tools.archiver)
            }
            #[cfg(not(unix))]
            Linker::Zig(_) => return Err("zig is called by a script of sh(1)".into()),
        };
        if !self.is_tested && !is_release {
            // Nobody runs them: that they link is all there is to know.
            cargo.env("CARGO_PROFILE_DEV_DEBUG", "false").env("CARGO_PROFILE_TRIAL_OPT_LEVEL", "0");
            cargo.env("CARGO_PROFILE_TRIAL_LTO", "off").env("CARGO_PROFILE_TRIAL_STRIP", "none");
            cargo.env("CARGO_PROFILE_TRIAL_CODEGEN_UNITS", "16");
        }
        self.name(cargo, &compiler, &archiver);
        Ok(())
    }

    fn name(&self, cargo: &mut Command, compiler: &Path, archiver: &Path) {
        let underscored = self.target.replace('-', "_");
        cargo.env(format!("CARGO_TARGET_{}_LINKER", underscored.to_uppercase()), compiler);
        cargo.env(format!("CC_{underscored}"), compiler);
        cargo.env(format!("AR_{underscored}"), archiver);
    }

    fn program(&self, is_release: bool) -> PathBuf {
        let profile = if is_release { "release" } else { "debug" };
        workspace::systems().join(self.target).join(profile).join(self.program)
    }
}
