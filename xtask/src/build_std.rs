//! Cargo for systems that are not at hand: it compiles the standard library with the program.
//!
//! rustup's toolchain has the standard library of the host only. With the library's source cargo compiles it
//! for any target, which needs neither a linker nor that system's C library until something is linked. The
//! source is that of the toolchain, or of Debian's package rust-src, unpacked below the build folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::AnyError;
use crate::apt::Suite;
use crate::workspace::{self, cargo, read, rustc, rustc_tells};

/// Where Debian keeps compilers newer than its own.
const SUITE: &str = "trixie-backports";

/// Cargo, prepared for such a target. Programs that build scripts start are prepared in the same way, because
/// all of it is in the environment.
pub(crate) fn cargo_with(library: &Path) -> Command {
    let mut command = cargo();
    command
        // Building the standard library is not a stable feature; this lets a stable cargo do it, and tells
        // it where the source is.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort")
        .env("__CARGO_TESTS_ONLY_SRC_ROOT", library)
        // A warning is an error here: code that is unused on one system only is found nowhere else.
        .env("CARGO_UNSTABLE_WARNINGS", "true")
        .env("CARGO_BUILD_WARNINGS", "deny")
        // A separate folder, because the other steps would otherwise compile everything anew after this one.
        .env("CARGO_TARGET_DIR", workspace::systems());
    command
}

/// The targets of these that do not build. They are built together, because most crates of one target wait
/// for another crate of it. Of a failure cargo names the crate and not the target: each is then built alone.
pub(crate) fn failing<'a>(
    targets: &[&'a str],
    build: impl Fn(&[&str]) -> Result<(), AnyError>,
) -> Vec<&'a str> {
    if build(targets).is_ok() {
        return Vec::new();
    }
    let fails = |target: &&str| targets.len() == 1 || build(&[*target]).is_err();
    targets.iter().copied().filter(fails).collect()
}

/// The folder `library` of the source.
///
/// # Errors
/// Why it is not available.
pub(crate) fn library() -> Result<PathBuf, AnyError> {
    let sysroot = read(rustc().args(["--print", "sysroot"]))?;
    let with_toolchain = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library");
    if with_toolchain.join("std").exists() {
        return Ok(with_toolchain);
    }
    from_debian(&rustc_tells("release")?)
}

fn from_debian(version: &str) -> Result<PathBuf, AnyError> {
    let folder = workspace::target().join("rust-src").join(version);
    let library = folder.join(format!("usr/src/rustc-{version}/library"));
    // Written last, so that an interrupted run leaves no file that seems complete.
    let complete = folder.join("complete");
    if complete.exists() {
        return Ok(library);
    }
    let suite = Suite::open(SUITE, folder.join("apt"))
        .map_err(|error| format!("the toolchain has no rust-src, and Debian's is not to be had: {error}"))?;
    let package = package_of(&suite.offers("rust-src")?, version)
        .map(str::to_owned)
        .ok_or_else(|| format!("{suite} has no rust-src for rustc {version}"))?;
    suite.unpack(&[format!("rust-src={package}")], &folder)?;
    fs::remove_dir_all(folder.join("apt"))?;
    if !library.join("std").exists() {
        return Err(format!("{package} does not hold the library where it was expected").into());
    }
    fs::write(complete, "")?;
    Ok(library)
}

/// The first offer for the compiler's version in lines such as
/// ` rust-src | 1.95.0+dfsg1-2~bpo13+1 | http://deb.debian.org/debian trixie-backports/main amd64 Packages`.
fn package_of<'a>(offers: &'a str, version: &str) -> Option<&'a str> {
    offers
        .lines()
        .filter_map(|line| line.split('|').nth(1))
        .map(str::trim)
        .find(|package| package.strip_prefix(version).is_some_and(|rest| rest.starts_with(['+', '-', '~'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_of_the_compiler_and_of_no_other() {
        let offers = " rust-src | 1.95.10+dfsg1-1 | http://a/debian x/main amd64 Packages\n \
                      rust-src | 1.95.1+dfsg1-2~bpo13+1 | http://a/debian x/main amd64 Packages\n";
        assert_eq!(package_of(offers, "1.95.1"), Some("1.95.1+dfsg1-2~bpo13+1"));
        assert_eq!(package_of(offers, "1.95.0"), None);
    }
}
