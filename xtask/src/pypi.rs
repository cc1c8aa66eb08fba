//! Programs from PyPI, in folders of their own below the build folder: zig, which links for other systems,
//! and Ansible, DuckDB and axe-core, which tests use.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{exists, program, read};
use crate::{AnyError, workspace};

/// Where tests look for the packages, below the build folder; `bin/` has their programs.
const FOLDER: &str = "python";

/// The packages that tests use.
const PACKAGES: [&str; 3] = ["ansible-core>=2.15", "duckdb>=1.0", "axe-core-python>=0.1"];

/// Gets them if this machine can, and otherwise prints why not: the tests that use them are skipped then.
///
/// # Errors
/// None; the type is that of the other steps.
pub fn obtain() -> Result<(), AnyError> {
    let folder = workspace::target().join(FOLDER);
    match install(&folder, &PACKAGES, &[]) {
        Ok(folder) => println!("Ansible, DuckDB and axe-core: {}", folder.display()),
        Err(reason) => println!("no Ansible, DuckDB and axe-core, so their tests are skipped: {reason}"),
    }
    Ok(())
}

/// Installs packages into a folder, unless they are there.
pub(crate) fn install(folder: &Path, packages: &[&str], options: &[&str]) -> Result<PathBuf, AnyError> {
    if folder.exists() {
        return Ok(folder.to_owned());
    }
    if !exists("pip3") {
        return Err(
            format!("there is no pip3 to install {} with; install python3-pip", packages.join(" ")).into()
        );
    }
    // Moved to its place when it is whole.
    let unfinished = folder.with_extension("new");
    let _ = fs::remove_dir_all(&unfinished);
    let mut install = program("pip3");
    install.args(["install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]);
    read(install.args(options).arg("--target").arg(&unfinished).args(packages))?;
    fs::rename(&unfinished, folder)?;
    Ok(folder.to_owned())
}
