//! The commands of a user as variants of the workload `command`: `osdyno run command --vs OLD -- NEW`.

use record::units;
use runner::{OwnVariant, OwnVariants};

use crate::console::Failure;

/// The workload that these options belong to.
const COMMAND: &str = "command";
/// Placeholder for the level in the text of the user.
const LEVEL: &str = "{n}";
/// Columns of a name that comes from a command.
const NAME_MAX: usize = 32;

/// The options about commands to measure.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of the workload command")]
pub(crate) struct CommandArgs {
    /// The command to measure: one argument, split like a shell command, or its words. The level replaces an
    /// n in braces
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// A command to compare with; repeat the option for more. Trials of all are interleaved and paired
    #[arg(long, value_name = "COMMAND", requires = "command")]
    vs: Vec<String>,
    /// Names of the commands in results: first those of --vs [default: the words that differ]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', requires = "command")]
    names: Vec<String>,
    /// Have sh(1) execute the command
    #[arg(long, requires = "command")]
    shell: bool,
    /// Exit status that each execution must have, or any [default: 0]
    #[arg(long, value_name = "STATUS", value_parser = exit_status, requires = "command")]
    expect_exit: Option<String>,
    /// Require that all executions print the same at each level
    #[arg(long, requires = "command")]
    same_output: bool,
    /// Command of sh(1) to execute before each execution, untimed
    #[arg(long, value_name = "COMMAND", requires = "command")]
    prepare: Option<String>,
    /// Command of sh(1) to execute after each execution, untimed
    #[arg(long, value_name = "COMMAND", requires = "command")]
    cleanup: Option<String>,
    /// File for standard input, instead of an empty one
    #[arg(long, value_name = "FILE", requires = "command")]
    stdin: Option<String>,
    /// Executions before those that are timed, in each trial [default: 0]
    #[arg(
        long,
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(0..=1000),
        requires = "command"
    )]
    warm_up: Option<u32>,
}

fn exit_status(text: &str) -> Result<String, String> {
    match text {
        "any" => Ok(text.to_owned()),
        _ => text.parse::<u8>().map(|status| status.to_string()).map_err(|_| "0 to 255, or any".to_owned()),
    }
}

/// The levels that a user writes: numbers, which n takes one after the other, or words, which are variants.
pub(super) enum Levels {
    Numbers(Vec<u64>),
    Words(Vec<String>),
}

impl Levels {
    /// Reads the value of `--levels`.
    pub(super) fn parse(texts: &[String]) -> Result<Levels, Failure> {
        if let Some((_, twice)) =
            texts.iter().enumerate().find(|(place, text)| texts[..*place].contains(text))
        {
            return Err(Failure::Usage(format!("--levels has {twice} twice")));
        }
        let numbers: Result<Vec<u64>, _> =
            texts.iter().map(|text| units::counts::<u64>(1..=1_000_000_000_000)(text)).collect();
        match numbers {
            Ok(mut numbers) => {
                numbers.sort_unstable();
                numbers.dedup();
                Ok(Levels::Numbers(numbers))
            }
            Err(_) => Ok(Levels::Words(texts.to_vec())),
        }
    }
}

/// A command with its name.
#[derive(Clone)]
struct NamedCommand {
    name: String,
    text: String,
}

impl CommandArgs {
    /// The workloads to measure: a command alone means the workload of that name.
    pub(super) fn workloads(&self, named: &[String]) -> Result<Vec<String>, Failure> {
        let is_named = named.iter().any(|name| name == COMMAND);
        match (self.command.is_empty(), is_named) {
            (true, true) => Err(Failure::Usage(
                "the workload command needs a command, as in: osdyno run command -- 'sleep 0.01'".to_owned(),
            )),
            (false, false) if !named.is_empty() => Err(Failure::Usage(format!(
                "a command behind -- is measured by the workload command, not by {}",
                named.join(", ")
            ))),
            (false, false) => Ok(vec![COMMAND.to_owned()]),
            _ => Ok(named.to_vec()),
        }
    }

    /// The commands as variants, at these levels; nothing where there is no command. The first is the
    /// baseline of the others where one is needed.
    pub(super) fn variants(
        &self,
        levels: &Levels,
        is_n_given: bool,
        needs_baseline: bool,
    ) -> Result<Option<OwnVariants>, Failure> {
        if needs_baseline {
            self.expect_baseline(levels)?;
        }
        if self.command.is_empty() {
            return match levels {
                Levels::Words(words) if !words.is_empty() => Err(Failure::Usage(format!(
                    "invalid level {:?}: a number; words are levels of the workload command only",
                    words[0]
                ))),
                _ => Ok(None),
            };
        }
        let commands = self.commands()?;
        let words = match levels {
            Levels::Words(words) => &words[..],
            Levels::Numbers(_) => &[],
        };
        let has_levels =
            !words.is_empty() || matches!(levels, Levels::Numbers(numbers) if !numbers.is_empty());
        commands.iter().try_for_each(|command| self.expect_level(command, has_levels || is_n_given))?;
        let variants: Vec<OwnVariant> = match words {
            [] => commands.iter().map(|command| self.variant(command.name.clone(), command, None)).collect(),
            words => {
                let of = |command: &NamedCommand, word: &String| {
                    let name =
                        if commands.len() > 1 { format!("{} {word}", command.name) } else { word.clone() };
                    self.variant(name, command, Some(word))
                };
                commands.iter().flat_map(|command| words.iter().map(move |word| of(command, word))).collect()
            }
        };
        Ok(Some(OwnVariants { workload: COMMAND, variants }))
    }

    /// Every command with its name, those of `--vs` first.
    fn commands(&self) -> Result<Vec<NamedCommand>, Failure> {
        let own = match &self.command[..] {
            [one] => one.clone(),
            words => shlex::try_join(words.iter().map(String::as_str))
                .map_err(|error| Failure::Usage(format!("invalid command: {error}")))?,
        };
        let is_exact = self.command.len() > 1;
        let texts: Vec<String> = self.vs.iter().cloned().chain([own]).collect();
        for (place, text) in texts.iter().enumerate() {
            let is_split = !(is_exact && place + 1 == texts.len());
            if is_split && !self.shell {
                refuse_shell(text)?;
            }
        }
        let names = match &self.names[..] {
            [] => names(&texts),
            names if names.len() == texts.len() => names.to_vec(),
            names => {
                let text = format!("--names has {} for {} commands", names.len(), texts.len());
                return Err(Failure::Usage(text));
            }
        };
        if let Some((_, name)) = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name))
        {
            let text = format!("two commands are called {name:?}; --names a,b gives each its own name");
            return Err(Failure::Usage(text));
        }
        Ok(names.into_iter().zip(texts).map(|(name, text)| NamedCommand { name, text }).collect())
    }

    /// The first command is the baseline of a gate, and not the first of several at its first level.
    fn expect_baseline(&self, levels: &Levels) -> Result<(), Failure> {
        match levels {
            Levels::Words(words) if words.len() > 1 && !self.vs.is_empty() => Err(Failure::Usage(format!(
                "--fail-on sets commands against the first at one level: run it for each of {} alone, or \
                 with --system base= --system head=COMMAND",
                words.join(", ")
            ))),
            _ => Ok(()),
        }
    }

    /// Where there are levels a command depends on them, and the other way round.
    fn expect_level(&self, command: &NamedCommand, has_levels: bool) -> Result<(), Failure> {
        let beside = [&self.prepare, &self.stdin];
        let depends = command.text.contains(LEVEL)
            || beside.iter().any(|text| text.as_ref().is_some_and(|text| text.contains(LEVEL)));
        match (depends, has_levels) {
            (true, false) => Err(Failure::Usage(format!(
                "{LEVEL} stands for a level, but there are none: --levels 1k,10k,100k"
            ))),
            (false, true) => Err(Failure::Usage(format!(
                "{:?} is the same at all levels: write {LEVEL} where the level is to stand, in the \
                 command, in --prepare or in --stdin",
                command.text
            ))),
            _ => Ok(()),
        }
    }

    /// A command as a variant, with a word in place of the level.
    fn variant(&self, name: String, command: &NamedCommand, word: Option<&String>) -> OwnVariant {
        let fill = |text: &String| word.map_or_else(|| text.clone(), |word| text.replace(LEVEL, word));
        let yes = |is_so: bool| is_so.then(|| "yes".to_owned());
        let settings = [
            ("command", Some(fill(&command.text))),
            ("shell", yes(self.shell)),
            ("expect-exit", self.expect_exit.clone()),
            ("same-output", yes(self.same_output)),
            ("prepare", self.prepare.as_ref().map(fill)),
            ("cleanup", self.cleanup.as_ref().map(fill)),
            ("stdin", self.stdin.as_ref().map(fill)),
            ("warm-up", self.warm_up.map(|count| count.to_string())),
        ];
        let chosen = settings.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        OwnVariant { name, summary: fill(&command.text), settings: chosen.collect() }
    }
}

/// Words that mean something to a shell alone.
const SHELL_WORDS: [&str; 11] = ["|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1", "&>"];

/// Refuses words of a shell, such as `|`, which would become arguments of the command.
fn refuse_shell(text: &str) -> Result<(), Failure> {
    let words = shlex::split(text)
        .ok_or_else(|| Failure::Usage(format!("invalid command {text:?}: a quotation mark is not closed")))?;
    match words.iter().find(|word| SHELL_WORDS.contains(&word.as_str())) {
        Some(word) => Err(Failure::Usage(format!(
            "{word:?} in {text:?} needs a shell, and commands are executed without one; add --shell"
        ))),
        None => Ok(()),
    }
}

/// Names for these commands: the words in which they differ, or all of them. One alone has none.
fn names(texts: &[String]) -> Vec<String> {
    let [_, _, ..] = texts else { return vec![String::new(); texts.len()] };
    let words: Vec<Vec<&str>> = texts.iter().map(|text| text.split_whitespace().collect()).collect();
    let is_common = |word: &dyn Fn(&Vec<&str>) -> Option<String>| {
        let first = word(&words[0]);
        first.is_some() && words.iter().all(|words| word(words) == first)
    };
    let shortest = words.iter().map(Vec::len).min().unwrap_or(0);
    let at = |place: usize| move |words: &Vec<&str>| words.get(place).map(|&word| word.to_owned());
    let front = (0..shortest).take_while(|&place| is_common(&at(place))).count();
    let from_end =
        |place: usize| move |words: &Vec<&str>| words.iter().rev().nth(place).map(|&word| word.to_owned());
    let back = (0..shortest - front).take_while(|&place| is_common(&from_end(place))).count();
    let differing: Vec<String> =
        words.iter().map(|words| words[front..words.len() - back].join(" ")).collect();
    let is_useful =
        |names: &Vec<String>| names.iter().all(|name| !name.is_empty() && name.chars().count() <= NAME_MAX);
    if is_useful(&differing) { differing } else { texts.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(texts: &[&str]) -> Vec<String> {
        names(&texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn commands_are_named_by_the_words_in_which_they_differ() {
        assert_eq!(named(&["sleep 1"]), [""]);
        assert_eq!(named(&["./old {n}", "./new {n}"]), ["./old", "./new"]);
        assert_eq!(named(&["zstd -1 -k x", "zstd -9 -k x"]), ["-1", "-9"]);
        assert_eq!(named(&["sort x", "sort -u x"]), ["sort x", "sort -u x"], "one would have no name");
        assert_eq!(named(&["a", "a"]), ["a", "a"]);
        assert_eq!(named(&["a b", "a c b"]), ["a b", "a c b"]);
    }

    #[test]
    fn what_a_shell_would_do_is_refused_without_one() {
        assert!(refuse_shell("sort x | uniq").is_err() && refuse_shell("echo 'a").is_err());
        assert!(refuse_shell("grep 'a|b' x").is_ok());
    }

    #[test]
    fn levels_are_numbers_or_words() {
        let levels = |texts: &[&str]| match Levels::parse(
            &texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>(),
        ) {
            Ok(Levels::Numbers(numbers)) => Ok(numbers),
            Ok(Levels::Words(words)) => Err(words.join(" ")),
            Err(_) => Err("refused".to_owned()),
        };
        assert_eq!(levels(&["10k", "1k"]), Ok(vec![1000, 10_000]));
        assert_eq!(levels(&["zstd", "gzip"]), Err("zstd gzip".to_owned()));
        assert_eq!(levels(&["0", "1"]), Err("0 1".to_owned()), "no n is 0");
        assert_eq!(levels(&["zstd", "zstd"]), Err("refused".to_owned()));
    }
}
