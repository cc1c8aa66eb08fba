//! Starts a program that boots a kernel: an emulator, or User-mode Linux.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Error, initramfs};

/// The reason against a command without words.
pub(crate) const NO_WORD: &str = "it has no name";

/// A command of these words; the first is the program.
pub(crate) fn command(words: &[String]) -> Option<Command> {
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments);
    Some(command)
}

/// The version that a program prints, or the reason for none.
pub(crate) fn version(words: &[String]) -> Result<String, String> {
    printed(&[words, &["--version".to_owned()]].concat())
}

/// The output of a command, or the reason for its failure.
pub(crate) fn printed(words: &[String]) -> Result<String, String> {
    let mut command = command(words).ok_or_else(|| NO_WORD.to_owned())?;
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(said(&output.stdout)),
        false => {
            let ending = sys::process::ending(output.status);
            Err(format!("{ending} {}", said(&output.stderr)).trim_end().to_owned())
        }
    }
}

/// Turns this process into that command, with arguments that name the initramfs of a guest for the run in
/// that folder. It ends with its parent. Without an error it does not return.
pub(crate) fn with_initramfs(
    words: &[String],
    folder: &Path,
    arguments: impl FnOnce(&Path) -> Vec<String>,
    failed: impl FnOnce(String) -> Error,
) -> Error {
    let archive = match initramfs::build(folder) {
        Ok(archive) => archive,
        Err(error) => return error,
    };
    let (_file, path) = match sys::file::in_memory(&archive) {
        Ok(file) => file,
        Err(error) => return Error::Initramfs(error),
    };
    drop(archive);
    let Some(mut command) = command(words) else { return failed(NO_WORD.to_owned()) };
    command.args(arguments(&path));
    sys::process::die_with_parent();
    failed(sys::process::replace_by(&mut command).to_string())
}
