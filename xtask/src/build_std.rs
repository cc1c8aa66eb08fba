//! Cargo for systems that are not at hand, whose standard library is compiled with the program.
//!
//! rustup's toolchain has the standard library of the host only. With the library's source cargo compiles it
//! for any target, which needs neither a linker nor that system's C library until something is linked.

use std::path::Path;
use std::process::Command;

use crate::command::cargo;
use crate::workspace;

/// Cargo, prepared for such a target. What build scripts start in turn is prepared in the same way, because
/// all of it is in the environment.
pub(crate) fn cargo_with(library: &Path) -> Command {
    let mut command = cargo();
    command
        // Building the standard library is not a stable feature; this lets a stable cargo do it, and tells
        // it where the source is.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort")
        .env("__CARGO_TESTS_ONLY_SRC_ROOT", library)
        // A warning is an error here: code that only one system lacks a use for is found nowhere else.
        .env("CARGO_UNSTABLE_WARNINGS", "true")
        .env("CARGO_BUILD_WARNINGS", "deny")
        // Not that of the other steps, which would compile everything anew after this one.
        .env("CARGO_TARGET_DIR", workspace::systems());
    command
}
