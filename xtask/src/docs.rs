//! `cargo xtask docs`: the manual of the code builds without a warning, and commands in documents print their
//! shown output.
//!
//! Every `console` block of a document that begins with `$ osdyno` is run, command by command, in an empty
//! folder of that document's own, and its output is compared with the document. Numbers, units of time and
//! drawings may differ, words may not; in a block `console exact`, for input that is always the same, nothing
//! may. `…` stands for anything. A command whose shown output begins with `error:` has to fail, any other has
//! to succeed. Commands of other blocks are not run, but osdyno has to understand them, because readers copy
//! them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::workspace::{self, cargo, path_with, program, show};
use crate::{AnyError, readme};

/// Builds the manual and runs the documents.
///
/// # Errors
/// The first of the two builds that fails, or the number of commands that differ from their document.
pub fn run() -> Result<(), AnyError> {
    show(cargo().args(["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    let osdyno = workspace::osdyno()?;
    let programs = osdyno.parent().unwrap_or(&osdyno);
    let root = workspace::root();

    let mut wrong = 0;
    for document in documents(&root) {
        let name = document.strip_prefix(&root).unwrap_or(&document).display().to_string();
        let folder = std::env::temp_dir().join(format!(
            "osdyno-docs-{}-{}",
            std::process::id(),
            name.replace('/', "-")
        ));
        fs::create_dir_all(&folder)?;
        let text = fs::read_to_string(&document)?;
        let outcome = check(&text, programs, &folder);
        fs::remove_dir_all(&folder)?;
        let (run, mentioned) = (outcome?, check_mentioned(&text, &osdyno)?);
        println!(
            "{name}: {} commands run, {} not as shown; {} mentioned, {} not understood",
            run.commands,
            run.differences.len(),
            mentioned.commands,
            mentioned.differences.len()
        );
        for difference in run.differences.iter().chain(&mentioned.differences) {
            println!("\n{name}:{difference}");
            wrong += 1;
        }
    }
    let differences = readme::differences(&osdyno)?;
    differences.iter().for_each(|difference| println!("\n{difference}"));
    wrong += differences.len();
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} commands differ from the documents").into()) }
}

/// The outcome of the commands of one document.
#[derive(Debug)]
pub struct Checked {
    /// How many were checked.
    pub commands: usize,
    /// The expected and the actual output of each command that differed, with its line.
    pub differences: Vec<String>,
}

/// Runs the commands of a document in a folder, with the programs of another folder before all others.
///
/// # Errors
/// If no shell can be started.
pub fn check(document: &str, programs: &Path, folder: &Path) -> Result<Checked, AnyError> {
    let path = path_with(programs)?;

    let commands = commands(document);
    let mut differences = Vec::new();
    for command in &commands {
        // One stream for both, in the order in which a person at a terminal sees them.
        let output = program("sh")
            .args(["-c", &format!("exec 2>&1\n{}", command.line)])
            .current_dir(folder)
            .env("PATH", &path)
            .env("COLUMNS", "110")
            .env("NO_COLOR", "1")
            .output()?;
        let came = String::from_utf8_lossy(&output.stdout).into_owned();
        let should_fail = command.shown.first().is_some_and(|line| line.starts_with("error:"));
        let form = if command.exact { words } else { shape };
        let same = alike(&command.shown, &came.lines().map(form).collect::<Vec<_>>(), form);
        if output.status.success() == should_fail || !same {
            differences.push(format!(
                "{}: $ {}\nshown:\n{}\ncame, {}:\n{}",
                command.number,
                command.line,
                command.shown.join("\n"),
                output.status,
                came.trim_end()
            ));
        }
    }
    Ok(Checked { commands: commands.len(), differences })
}

fn documents(root: &Path) -> Vec<PathBuf> {
    let top = ["README.md", "METHODOLOGY.md", "CONTRIBUTING.md"].map(|name| root.join(name));
    let manual = workspace::files(&root.join("docs"), "md");
    top.into_iter().filter(|document| document.exists()).chain(manual).collect()
}

struct Command {
    /// Line in the document, from 1.
    number: usize,
    line: String,
    shown: Vec<String>,
    /// Whether numbers count.
    exact: bool,
}

fn commands(document: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    let mut lines = document.lines().enumerate().map(|(index, line)| (index + 1, line));
    while let Some((_, line)) = lines.next() {
        let exact = line == "```console exact";
        if line != "```console" && !exact {
            continue;
        }
        let block: Vec<(usize, &str)> = lines.by_ref().take_while(|(_, line)| *line != "```").collect();
        if !block.first().is_some_and(|(_, line)| line.starts_with("$ osdyno")) {
            continue;
        }
        for (number, line) in block {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(line), _) => {
                    commands.push(Command { number, line: line.to_owned(), shown: Vec::new(), exact })
                }
                (None, Some(command)) if command.line.ends_with('\\') => command.line += &format!("\n{line}"),
                (None, Some(command)) => command.shown.push(line.trim_end().to_owned()),
                (None, None) => {}
            }
        }
    }
    commands
}

/// Whether the expected lines match the output, line by line; `…` alone on a line is any number of lines.
fn alike(shown: &[String], came: &[String], form: fn(&str) -> String) -> bool {
    let (shown, came) = (without_last_blanks(shown), without_last_blanks(came));
    match (shown.split_first(), came.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first.trim() == "…" => {
            (0..=came.len()).any(|skipped| alike(rest, &came[skipped..], form))
        }
        (Some((first, rest)), Some((line, others))) => fits(&form(first), line) && alike(rest, others, form),
        _ => false,
    }
}

fn without_last_blanks(lines: &[String]) -> &[String] {
    let blank = lines.iter().rev().take_while(|line| line.trim().is_empty()).count();
    &lines[..lines.len() - blank]
}

/// Whether the parts between `…` follow each other in the line.
fn fits(pattern: &str, line: &str) -> bool {
    let parts: Vec<&str> = pattern.split('…').map(str::trim).collect();
    let [first, between @ .., last] = parts.as_slice() else { return pattern.trim() == line };
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    for part in between {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// A line as it is, but for the width of its spaces.
fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line in which everything that may differ from run to run is replaced.
fn shape(line: &str) -> String {
    const UNITS: [&str; 9] = ["ns", "µs", "us", "ms", "s", "min", "MB", "GB", "kB"];
    let mut shape = String::new();
    for word in line.split_whitespace() {
        let mut word: String =
            word.chars().map(|letter| if is_drawing(letter) { '▁' } else { letter }).collect();
        while word.contains("▁▁") {
            word = word.replace("▁▁", "▁");
        }
        let word = numbers(&word);
        // "12 345" is one number, with any unit.
        if word == "N" && shape.ends_with('N') {
            continue;
        }
        let unit = shape.ends_with('N') && UNITS.contains(&word.as_str());
        if !shape.is_empty() {
            shape.push(' ');
        }
        shape += if unit { "UNIT" } else { &word };
    }
    shape
}

fn is_drawing(letter: char) -> bool {
    ('▀'..='▟').contains(&letter)
}

/// Each number, with its point, its sign and its thousands, as one N.
fn numbers(word: &str) -> String {
    let mut shape = String::new();
    let letters: Vec<char> = word.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let next_is_digit = letters.get(at + 1).is_some_and(char::is_ascii_digit);
        if letter.is_ascii_digit() {
            if !shape.ends_with('N') {
                shape.push('N');
            }
        } else if matches!(letter, '.' | ',' | '\u{202f}' | '\u{a0}') && shape.ends_with('N') && next_is_digit
        {
            // Inside a number.
        } else {
            shape.push(*letter);
        }
    }
    shape
}

/// Asks osdyno for its help behind the words of each command that is not run: an option or a value that it
/// does not know is an error before that.
fn check_mentioned(document: &str, osdyno: &Path) -> Result<Checked, AnyError> {
    let commands = mentioned(document);
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

/// The words of the commands that are not run, each with its line in the document, from 1.
fn mentioned(document: &str) -> Vec<(usize, Vec<String>)> {
    let mut commands = Vec::new();
    let mut language = None;
    for (index, line) in document.lines().enumerate() {
        match (language, line.trim().strip_prefix("```")) {
            (None, Some(name)) => language = Some(name),
            (Some(_), Some(_)) => language = None,
            // Those of a console are run.
            (Some(language), None) if !language.starts_with("console") => {
                commands.extend(commands_of_line(line).map(|words| (index + 1, words)));
            }
            _ => {}
        }
    }
    commands
}

/// The words behind each `osdyno` of a line that stands where a shell has a command.
fn commands_of_line(line: &str) -> impl Iterator<Item = Vec<String>> {
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
    fn numbers_and_drawings_may_differ() {
        let shown = "bind   0.84 µs  ×1.01 (0.98–1.04)   flat within 4 %   ▁▁▂▃";
        let came = "bind 840 ns ×2.3 (1–12 345) flat within 11 % ▇▇▇▇▁▁▁▁▁▁";
        assert_eq!(shape(shown), "bind N UNIT ×N (N–N) flat within N % ▁");
        assert_eq!(shape(&came.replace("12 345", "12345")), shape(shown));
        assert_ne!(shape("fork 1 ms linear"), shape("fork 1 ms flat"));
        assert_eq!(shape("n = 10 000 objects"), shape("n = 7 objects"));
    }

    #[test]
    fn dots_stand_for_anything() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let came: Vec<String> = ["a 1", "b 2", "c 3 flat"].map(shape).into();
        assert!(alike(&lines("a 7\nb 8\nc 9 flat\n"), &came, shape));
        assert!(alike(&lines("a 7\n…\nc 9 flat"), &came, shape));
        assert!(alike(&lines("…\nc … flat"), &came, shape));
        assert!(alike(&lines("a…\nb…\nc 1 …"), &came, shape));
        assert!(!alike(&lines("a 7\nc 9 flat"), &came, shape));
        assert!(!alike(&lines("a 7\n…\nd"), &came, shape));
    }

    #[test]
    fn commands_stand_where_a_shell_has_them() {
        let of = |line: &str| commands_of_line(line).map(|words| words.join(" ")).collect::<Vec<_>>();
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
