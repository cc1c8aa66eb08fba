//! Commands that a user names, as in `NAME=COMMAND`.

use crate::failure::Failure;

/// The name that stands before a command, and the command: a name has no slash and no space, which an
/// assignment to a variable before a command has.
pub(super) fn split(text: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| !name.is_empty() && !name.contains(['/', ' ']);
    match text.split_once('=').filter(|(name, _)| is_name(name)) {
        Some((name, command)) => (Some(name), command),
        None => (None, text),
    }
}

/// The command of an option in words, as a shell splits it.
pub(super) fn words(option: &str, command: &str) -> Result<Vec<String>, Failure> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    words.ok_or_else(|| Failure::Usage(format!("invalid {option} {command:?}: it is no command")))
}
