//! The systems for which this machine may have a linker.

use std::path::PathBuf;

use super::zig;
use crate::AnyError;
use crate::command::exists;

pub(super) struct Port {
    pub(super) target: &'static str,
    pub(super) linker: Linker,
    /// The file that results.
    pub(super) program: &'static str,
    /// Whether tests run it here.
    pub(super) is_tested: bool,
}

/// The tools with which cargo compiles C and links for one target, and their environment.
pub(super) struct Tools {
    pub(super) compiler: PathBuf,
    pub(super) archiver: PathBuf,
    pub(super) environment: Vec<(&'static str, PathBuf)>,
}

/// The compiler of zstd and SQLite, which are C, and the linker.
pub(super) enum Linker {
    /// The gcc of a package of Debian, by the beginning of its programs' names.
    Gcc { prefix: &'static str, package: &'static str },
    /// zig, by its name of the target.
    Zig(&'static str),
}

pub(super) const PORTS: &[Port] = &[
    Port {
        // Of the two targets for Windows and mingw, the one whose programs start on every Windows from 7 on
        // and on Wine 8, which lacks the library from which the other takes its random numbers.
        target: "x86_64-win7-windows-gnu",
        linker: Linker::Gcc { prefix: "x86_64-w64-mingw32-", package: "gcc-mingw-w64-x86-64" },
        program: "osdyno.exe",
        is_tested: true,
    },
    unix("x86_64-unknown-freebsd", "x86_64-freebsd"),
    unix("x86_64-unknown-netbsd", "x86_64-netbsd"),
    unix("x86_64-unknown-openbsd", "x86_64-openbsd"),
    unix("x86_64-apple-darwin", "x86_64-macos"),
    unix("aarch64-apple-darwin", "aarch64-macos"),
];

const fn unix(target: &'static str, zig_target: &'static str) -> Port {
    Port { target, linker: Linker::Zig(zig_target), program: "osdyno", is_tested: false }
}

impl Linker {
    /// The tools, installed or written where they are missing.
    ///
    /// # Errors
    /// Names the tool that this machine lacks.
    pub(super) fn tools(&self, target: &str) -> Result<Tools, AnyError> {
        match self {
            Linker::Gcc { prefix, package } => {
                let compiler = format!("{prefix}gcc");
                if !exists(&compiler) {
                    return Err(format!("install {package}").into());
                }
                let archiver = PathBuf::from(format!("{prefix}ar"));
                Ok(Tools { compiler: compiler.into(), archiver, environment: Vec::new() })
            }
            Linker::Zig(zig_target) => zig::tools(target, zig_target),
        }
    }
}
