//! Programs that we start: always without standard input, from the root of the workspace.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{AnyError, workspace};

/// The same cargo, and so the same toolchain, that runs us.
pub(crate) fn cargo() -> Command {
    program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The osdyno of the tests.
pub(crate) fn osdyno() -> Result<PathBuf, AnyError> {
    show(cargo().args(["test", "--quiet", "--workspace", "--no-run"]))?;
    Ok(workspace::target().join("debug/osdyno"))
}

/// A program by name or path.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(workspace::root()).stdin(Stdio::null());
    command
}

/// A program that runs only when the processor is idle, where `nice` exists.
pub(crate) fn background(name: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
    if !exists("nice") {
        let mut command = program(name);
        command.args(arguments);
        return command;
    }
    let mut command = program("nice");
    command.args(["-n", "19"]).arg(name.as_ref()).args(arguments);
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

fn words(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
