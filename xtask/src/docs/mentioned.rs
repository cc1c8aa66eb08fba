//! Commands that a document only mentions: osdyno has to understand them, because readers copy them.

use std::path::Path;

use crate::command::program;
use crate::{AnyError, docs::Checked};

/// Asks osdyno for its help behind the words of each command that is not run: an option or a value that it
/// does not know is an error before that.
///
/// # Errors
/// If osdyno cannot be started.
pub(super) fn check(document: &str, osdyno: &Path) -> Result<Checked, AnyError> {
    let commands = commands(document);
    let mut differences = Vec::new();
    for (number, words) in &commands {
        let output = program(osdyno).args(asking_for_help(words)).output()?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            differences.push(format!("{number}: osdyno {}\n{}", words.join(" "), error.trim_end()));
        }
    }
    Ok(Checked { commands: commands.len(), differences })
}

/// The words of the commands, each with its line in the document, from 1.
fn commands(document: &str) -> Vec<(usize, Vec<String>)> {
    let mut commands = Vec::new();
    let mut language = None;
    for (index, line) in document.lines().enumerate() {
        match (language, line.trim().strip_prefix("```")) {
            (None, Some(name)) => language = Some(name),
            (Some(_), Some(_)) => language = None,
            // Those of a console are run.
            (Some(language), None) if !language.starts_with("console") => {
                commands.extend(of_line(line).map(|words| (index + 1, words)));
            }
            _ => {}
        }
    }
    commands
}

/// The words behind each `osdyno` of a line that stands where a shell has a command.
fn of_line(line: &str) -> impl Iterator<Item = Vec<String>> {
    // A remark stands behind the first command, in a column of its own.
    let is_first = line.starts_with("osdyno ");
    let line = line.find("   ").filter(|_| is_first).map_or(line, |end| &line[..end]);
    let words = shlex::split(line).unwrap_or_default();
    let begins = |place: &usize| {
        let before = place.checked_sub(1).map_or("$", |before| &words[before]);
        let is_program = words[*place].rsplit(['/', '=']).next() == Some("osdyno");
        is_program && (before.ends_with(';') || ["$", "&&", "||", "|", "-"].contains(&before))
    };
    let begins: Vec<usize> = (0..words.len()).filter(begins).collect();
    begins.into_iter().map(move |place| {
        let ends =
            |word: &&String| !["&&", "||", "|", "&", "#"].contains(&word.as_str()) && !is_redirection(word);
        words[place + 1..].iter().take_while(ends).map(|word| word.trim_end_matches(';').to_owned()).collect()
    })
}

/// Whether a word begins a redirection of the shell, as `>log` and `2>&1`.
fn is_redirection(word: &str) -> bool {
    word.trim_start_matches(|letter: char| letter.is_ascii_digit()).starts_with(['>', '<'])
}

/// The words with `--help` behind them, but before a command of somebody else.
fn asking_for_help(words: &[String]) -> Vec<&str> {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    words.insert(end, "--help");
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_where_a_shell_has_them() {
        let of = |line: &str| of_line(line).map(|words| words.join(" ")).collect::<Vec<_>>();
        assert_eq!(of("osdyno run --out 'a b'   don't read this"), ["run --out a b"]);
        assert_eq!(of("$ osdyno doctor"), ["doctor"]);
        assert_eq!(
            of("1 2 * *  cd x && osdyno run >log 2>&1; osdyno history n || cat log"),
            ["run", "history n"]
        );
        assert_eq!(of("ExecStart=-/usr/bin/osdyno run --history n"), ["run --history n"]);
        assert_eq!(of("osdyno       → background, fleet").len(), 1);
        assert_eq!(of("the words of osdyno serve"), [""; 0]);
        let words = ["run", "--", "./new"].map(str::to_owned);
        assert_eq!(asking_for_help(&words), ["run", "--help", "--", "./new"]);
    }
}
