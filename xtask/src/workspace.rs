//! The checkout, where it is and which files it has, and the programs that we start: without standard input,
//! from its root unless another folder is given.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::AnyError;

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}

/// Where cargo builds. A relative path starts from the root, where we start every program.
pub(crate) fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from))
}

/// Where cargo builds for systems that are not at hand.
pub(crate) fn systems() -> PathBuf {
    target().join("systems")
}

/// All files below a folder that end in `.extension`, sorted; build products and hidden folders left out.
pub(crate) fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                found.extend(files(&path, extension));
            }
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The same cargo, and so the same toolchain, that runs us.
pub(crate) fn cargo() -> Command {
    program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The compiler of that cargo.
pub(crate) fn rustc() -> Command {
    program(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// A line of `rustc -vV`, such as `host`.
pub(crate) fn rustc_tells(name: &str) -> Result<String, AnyError> {
    let told = read(rustc().arg("-vV"))?;
    let line = told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    Ok(line.ok_or_else(|| format!("rustc does not tell its {name}"))?.to_owned())
}

/// The osdyno of the tests.
pub(crate) fn osdyno() -> Result<PathBuf, AnyError> {
    show(cargo().args(["test", "--quiet", "--workspace", "--no-run", "--tests"]))?;
    Ok(target().join("debug/osdyno"))
}

/// A program by name or path.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// A program that has the processors that nothing else needs, where `nice` exists; of several the one of the
/// lowest niceness, from 1 to 19, comes first.
pub(crate) fn background(niceness: u8, name: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
    if !exists("nice") {
        let mut command = program(name);
        command.args(arguments);
        return command;
    }
    let mut command = program("nice");
    command.args(["-n", &niceness.to_string()]).arg(name.as_ref()).args(arguments);
    command
}

/// Runs it with its output shown.
pub(crate) fn show(command: &mut Command) -> Result<(), AnyError> {
    let status = command.status().map_err(|error| format!("{}: {error}", words(command)))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed: {status}", words(command)).into()) }
}

/// Runs it and returns its standard output; its standard error is part of the failure.
pub(crate) fn read(command: &mut Command) -> Result<String, AnyError> {
    let output = command.output().map_err(|error| format!("{}: {error}", words(command)))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{}` failed: {}", words(command), complaint.trim()).into())
}

/// Whether a program of that name can be started.
pub(crate) fn exists(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Writes a program, unless it is there: cargo compiles all C anew after its compiler.
pub(crate) fn write_script(path: &Path, text: &str) -> Result<(), AnyError> {
    if fs::read_to_string(path).ok().as_deref() != Some(text) {
        fs::write(path, text)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

/// A path as sh(1) reads it.
pub(crate) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// `PATH` with the programs of a folder before all others.
pub(crate) fn path_with(programs: &Path) -> Result<OsString, AnyError> {
    let old = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&old));
    Ok(std::env::join_paths(folders)?)
}

fn words(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
