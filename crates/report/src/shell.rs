//! Command lines in the syntax of a shell.

use record::Run;

/// Options of `osdyno run` that another run does not repeat, each with a value.
const OF_ONE_RUN: [&str; 4] = ["-o", "--out", "--system", "--seed"];

/// The command line of a run.
pub(crate) fn command(run: &Run) -> String {
    run.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The command line of a run, without its systems and the names of its files.
pub(crate) fn without_systems(run: &Run) -> String {
    let mut words = run.command.iter().skip(1).map(String::as_str);
    let mut kept = vec!["osdyno run".to_owned()];
    if words.next() != Some("run") {
        return kept.concat();
    }
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or_default();
        match OF_ONE_RUN.contains(&name) {
            true if name == word => drop(words.next()),
            true => {}
            false => kept.push(quoted(word)),
        }
    }
    kept.join(" ")
}

/// A word of a command line.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
