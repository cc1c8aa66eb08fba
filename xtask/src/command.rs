//! Programs that we start: always without standard input, from the root of the workspace.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
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

/// Tests that are a program.
#[derive(Clone, Copy)]
pub(crate) enum Target<'a> {
    /// Those within a library.
    Library,
    /// Those of `tests`, with its name.
    Test(&'a str),
}

/// Tests of a crate, built with the whole workspace: built alone, its libraries would have fewer features, and
/// most would be compiled a second time.
pub(crate) fn test_program(package: &str, target: Target) -> Result<Command, AnyError> {
    let (name, choice): (&str, &[&str]) = match &target {
        Target::Library => (package, &["--lib"]),
        Target::Test(name) => (name, &["--test", name]),
    };
    let format = ["--message-format", "json-render-diagnostics"];
    let built = cargo()
        .args(["test", "--workspace", "--no-run"])
        .args(choice)
        .args(format)
        .stderr(Stdio::inherit())
        .output()?;
    if !built.status.success() {
        return Err(format!("the tests of {package} do not compile").into());
    }
    let folder = workspace::root().join("crates").join(package);
    let manifest = folder.join("Cargo.toml");
    let executable = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == name
            && message["manifest_path"].as_str().is_some_and(|path| Path::new(path) == manifest);
        message["executable"].as_str().filter(|_| is_it).map(PathBuf::from)
    };
    let executable = String::from_utf8_lossy(&built.stdout).lines().find_map(executable);
    let executable = executable.ok_or_else(|| format!("{package} has no tests called {name}"))?;
    let mut command = program(executable);
    // As cargo would run it.
    command.current_dir(&folder).env("CARGO_MANIFEST_DIR", &folder);
    Ok(command)
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
