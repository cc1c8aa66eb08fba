//! Sets of names, as ClusterShell and Ansible write them: `n[1-40]`, `rack[a-c]-n[01:16:2]`, `n[1-3,7]`; and
//! lines `NAMES=COMMAND`, hosts behind any command, such as `srun -u -w {}` or `podman exec -i {}`.

use crate::NamedHost;

/// Stands for the name in a command.
const NAME: &str = "{}";

/// No number of a host has as many digits.
const DIGITS_MAX: usize = 20;
/// No fleet has as many hosts.
const NAMES_MAX: usize = 100_000;

/// A line that is wrong, the first is 1, and why.
pub(crate) type WrongLine = (usize, String);

/// Splits a list at its commas, not at those within brackets.
pub(crate) fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (place, letter) in list.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(&list[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// All names of a set; a name without brackets is its own.
pub(crate) fn expand(set: &str) -> Result<Vec<String>, String> {
    let mut names = vec![String::new()];
    let mut rest = set;
    while let Some((before, behind)) = rest.split_once('[') {
        let (inside, after) = behind.split_once(']').ok_or_else(|| format!("{set}: [ is not closed"))?;
        let parts: Vec<String> = match is_address(inside) {
            true => vec![format!("[{inside}]")],
            false => {
                let mut parts = Vec::new();
                for part in inside.split(',') {
                    parts.extend(range(part).ok_or_else(|| format!("{set}: {part} is no range"))?);
                    if parts.len() > NAMES_MAX {
                        return Err(too_many(set));
                    }
                }
                parts
            }
        };
        if names.len().saturating_mul(parts.len()) > NAMES_MAX {
            return Err(too_many(set));
        }
        let joined = |name: String| -> Vec<String> {
            parts.iter().map(|part| format!("{name}{before}{part}")).collect()
        };
        names = names.into_iter().flat_map(joined).collect();
        rest = after;
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    // ssh(1) would take a name that begins with a hyphen for an option.
    let is_none = |name: &String| {
        name.is_empty() || name.starts_with('-') || name.chars().any(|c| c.is_control() || c.is_whitespace())
    };
    match names.iter().any(is_none) {
        true => Err(format!("{set:?} is no name of a host")),
        false => Ok(names),
    }
}

/// The hosts of a set, each behind its command. The command is split into words as POSIX shells do.
pub(crate) fn of_set(names: &str, command: &str) -> Result<Vec<NamedHost>, String> {
    let names = expand(names.trim())?;
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
pub(crate) fn read_commands(text: &str) -> Result<Vec<NamedHost>, WrongLine> {
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

fn too_many(set: &str) -> String {
    format!("{set} has more than {NAMES_MAX} names")
}

/// An address of IPv6 has more colons than a range.
fn is_address(inside: &str) -> bool {
    inside.matches(':').count() > 2
}

/// `3`, `1-40`, `01:16:2` or `a-c`.
fn range(part: &str) -> Option<Vec<String>> {
    let part = part.trim();
    let mut words = part.split(['-', ':']);
    let (first, last, step) = (words.next()?, words.next(), words.next());
    if words.next().is_some() || first.is_empty() {
        return None;
    }
    let Some(last) = last else { return Some(vec![first.to_owned()]) };
    let step: usize = step.map_or(Some(1), |step| step.parse().ok()).filter(|&step| step > 0)?;
    if let (Ok(from), Ok(to)) = (first.parse::<usize>(), last.parse::<usize>()) {
        let width = if first.starts_with('0') { first.len() } else { 0 };
        let is_sound = from <= to && (to - from) / step < NAMES_MAX && width <= DIGITS_MAX;
        return is_sound.then(|| (from..=to).step_by(step).map(|n| format!("{n:0width$}")).collect());
    }
    let letter = |word: &str| word.parse::<char>().ok().filter(char::is_ascii_alphabetic);
    let (from, to) = (letter(first)?, letter(last)?);
    let letters: Vec<String> = (from..=to).step_by(step).map(String::from).collect();
    (!letters.is_empty()).then_some(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_expanded() {
        let all = |set| expand(set).expect("a set").join(" ");
        assert_eq!(all("n1"), "n1");
        assert_eq!(all("n[1-3]"), "n1 n2 n3");
        assert_eq!(all("n[08-11].example"), "n08.example n09.example n10.example n11.example");
        assert_eq!(all("n[1:9:4]"), "n1 n5 n9");
        assert_eq!(all("r[a-b]n[1-2,7]"), "ran1 ran2 ran7 rbn1 rbn2 rbn7");
        assert_eq!(all("[2001:db8::1:2]"), "[2001:db8::1:2]");
        for wrong in [
            "n[1-",
            "n[]",
            "n[3-1]",
            "n[1-2-3-4]",
            "n[x-9]",
            "",
            "a b",
            "-oProxyCommand=x",
            "n[1-99999999]",
            "n[1-2:0]",
            "n[000000000000000000001-2]",
        ] {
            assert!(expand(wrong).is_err(), "{wrong:?}");
        }
        assert!(expand("n[1-1000][1-1000]").is_err(), "a million");
    }

    #[test]
    fn lists_are_split_outside_brackets() {
        assert_eq!(split("n[1,2], a ,,b=ssh x"), ["n[1,2]", "a", "b=ssh x"]);
    }
}
