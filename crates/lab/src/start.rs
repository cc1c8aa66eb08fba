//! Starts what boots a kernel: an emulator, or a kernel that is a program.

use std::path::Path;
use std::process::Command;

use crate::{Error, initramfs};

/// Why a command without words is none.
pub(crate) const NO_WORD: &str = "it has no name";

/// A command of these words, of which the first is the program.
pub(crate) fn command(words: &[String]) -> Option<Command> {
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments);
    Some(command)
}

/// Turns this process into that command, with arguments that name the initramfs of a guest. It ends with its
/// parent. Without an error it does not return.
pub(crate) fn with_initramfs(
    words: &[String],
    arguments: impl FnOnce(&Path) -> Vec<String>,
    failed: impl FnOnce(String) -> Error,
) -> Error {
    let archive = match initramfs::build() {
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
