//! Two things for which clap has no means: `osdyno --help` with the verbs in groups, and suggestions for a
//! misspelled verb.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error};

/// A heading, and its verbs, the most used first.
pub(crate) type Groups = &'static [(&'static str, &'static [&'static str])];

/// Columns of the names, with the gap behind them.
const NAMES_WIDTH: usize = 13;

/// The same program, whose help has its verbs in these groups.
pub(crate) fn grouped(mut program: Command, groups: Groups, width: usize) -> Command {
    // Only now has it the verb `help`, which clap adds.
    program.build();
    let (heading, literal) = (*program.get_styles().get_header(), *program.get_styles().get_literal());
    let mut listed = String::new();
    for (group, verbs) in groups {
        listed += &format!("\n{heading}{group}:{heading:#}\n");
        for verb in verbs.iter().filter_map(|name| program.find_subcommand(name)) {
            let (name, about) = (verb.get_name(), verb.get_about().map(ToString::to_string));
            let line = format!("  {name:<NAMES_WIDTH$}{}", about.unwrap_or_default());
            let lines = report::wrapped(&line, width, 2 + NAMES_WIDTH).join("\n");
            listed += &lines.replacen(name, &format!("{literal}{name}{literal:#}"), 1);
            listed.push('\n');
        }
    }
    program.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{listed}\n\
         {heading}Options:{heading:#}\n{{options}}{{after-help}}"
    ))
}

/// The same error with the verb that was probably meant, or none. clap suggests hidden verbs too, which only
/// osdyno itself executes, and does not recognise transposed letters, such as `rnu` for `run`.
pub(crate) fn suggest(mut error: Error, program: &Command) -> Error {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    // A verb may have verbs of its own.
    let words = std::env::args().skip(1);
    let parent = words.fold(program, |command, word| command.find_subcommand(word).unwrap_or(command));
    let verbs = parent.get_subcommands().filter(|verb| !verb.is_hide_set()).map(Command::get_name);
    match runner::nearest(typed, verbs) {
        Some(verb) => error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![verb])),
        None => error.remove(ContextKind::SuggestedSubcommand),
    };
    error
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::{Cli, GROUPS, WIDTH_MAX};

    #[test]
    fn every_verb_stands_in_one_group() {
        let mut program = Cli::command();
        program.build();
        let shown = program.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut shown: Vec<&str> = shown.map(Command::get_name).collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| *verbs).copied().collect();
        shown.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, shown);
    }

    #[test]
    fn the_help_has_each_group_with_its_verbs_in_their_order() {
        for width in [60, WIDTH_MAX] {
            let help = grouped(Cli::command(), GROUPS, width).render_long_help().to_string();
            let lines: Vec<&str> = help.lines().collect();
            let mut place = 0;
            let mut next = |line: &str| {
                let found = lines[place..].iter().position(|one| one.starts_with(line));
                place += found.unwrap_or_else(|| panic!("{line:?} is missing: {help}"));
            };
            for (group, verbs) in GROUPS {
                next(&format!("{group}:"));
                verbs.iter().for_each(|verb| next(&format!("  {verb} ")));
            }
            next("Options:");
            next("Exit codes:");
            assert!(!help.contains("janitor") && !help.contains("Commands:"), "{help}");
            let verbs = lines.iter().skip_while(|line| !line.starts_with("Measure:"));
            let verbs = verbs.take_while(|line| !line.starts_with("Options:"));
            assert!(verbs.into_iter().all(|line| line.chars().count() <= width), "{help}");
        }
    }
}
