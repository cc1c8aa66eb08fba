//! `NAMES=COMMAND`: hosts behind any command, such as `srun -u -w {}` or `podman exec -i {}`.

use crate::{NamedHost, names};

/// Stands for the name in a command.
const NAME: &str = "{}";

/// A line that is wrong, the first is 1, and why.
pub(crate) type WrongLine = (usize, String);

/// The hosts of a set, each behind its command. The command is split into words as POSIX shells do.
pub(crate) fn of_set(names: &str, command: &str) -> Result<Vec<NamedHost>, String> {
    let names = names::expand(names.trim())?;
    let words = shlex::split(command).ok_or("a quotation mark of its command is not closed")?;
    if words.first().is_some_and(String::is_empty) {
        return Err("the first word of its command is empty".to_owned());
    }
    if names.len() > 1 && !words.iter().any(|word| word.contains(NAME)) {
        return Err(format!("its command is the same for all hosts; write {NAME} where the name belongs"));
    }
    let host = |name: String| NamedHost {
        command: words.iter().map(|word| word.replace(NAME, &name)).collect(),
        name,
    };
    Ok(names.into_iter().map(host).collect())
}

/// Whether a file has such lines. A line of an INI inventory has a name alone, or a name before `KEY=VALUE`.
pub(crate) fn are_commands(text: &str) -> bool {
    let mut lines = meant(text).map(|(_, line)| line).peekable();
    let is_one = |line: &str| {
        let names = line.split_once('=').map(|(names, _)| names.trim());
        !line.starts_with('[') && names.is_some_and(|names| !names.contains(char::is_whitespace))
    };
    lines.peek().is_some() && lines.all(is_one)
}

/// The hosts of such lines.
pub(crate) fn read(text: &str) -> Result<Vec<NamedHost>, WrongLine> {
    let of_line = |(number, line): (usize, &str)| {
        let (names, command) = line.split_once('=').unwrap_or((line, ""));
        of_set(names, command).map_err(|reason| (number, reason))
    };
    Ok(meant(text).map(of_line).collect::<Result<Vec<_>, _>>()?.concat())
}

/// The lines that are neither empty nor comments, with their numbers.
pub(crate) fn meant(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(place, line)| (place + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(['#', ';']))
}
