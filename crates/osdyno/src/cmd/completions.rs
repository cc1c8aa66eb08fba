//! `osdyno completions`: a completion script for a shell.

use std::io::Write;
use std::process::ExitCode;

use clap_complete::Shell;

use super::Done;
use crate::console::results;

/// Print a completion script for a shell
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn completions(args: &Args, mut command: clap::Command) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "osdyno", &mut script);
    if args.shell == Shell::Fish {
        script.extend(names_for_fish(&command).into_bytes());
    }
    results().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// The positional arguments; `clap_complete` leaves these out for fish only.
fn names_for_fish(command: &clap::Command) -> String {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let lines = verbs.flat_map(|verb| {
        let names = verb.get_positionals().flat_map(clap::Arg::get_possible_values);
        let names: Vec<String> = names.map(|value| value.get_name().to_owned()).collect();
        let verb = verb.get_name();
        (!names.is_empty()).then(|| {
            let is_verb = format!("__fish_osdyno_using_subcommand {verb}");
            format!("complete -c osdyno -n \"{is_verb}\" -f -a \"{}\"\n", names.join(" "))
        })
    });
    lines.collect()
}
