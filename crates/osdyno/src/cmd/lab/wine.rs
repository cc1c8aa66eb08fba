//! `osdyno lab start-wine`, the hidden verb that turns this process into Wine; and Wine as a system.

use std::path::PathBuf;

use lab::Wine;
use runner::{Entry, OWN_PROGRAM, SCRATCH, Target};

use super::words::{split, words};
use crate::cmd::Done;
use crate::failure::Failure;

/// The name of the verb.
pub(super) const VERB: &str = "start-wine";

/// The option of `lab run`, and of the verb.
const OPTION: &str = "--wine";

#[derive(clap::Args)]
pub(super) struct Args {
    #[arg(long)]
    wine: String,
    /// A folder that is removed after the run.
    #[arg(long)]
    folder: PathBuf,
}

pub(super) fn start(args: Args) -> Done {
    let wine = Wine { command: words(OPTION, &args.wine)?, folder: args.folder };
    Err(Failure::Refused(wine.start().to_string()))
}

/// Wine as a system.
pub(super) fn target(text: &str) -> Result<Target, Failure> {
    let (name, command) = split(text);
    let programs = Wine::programs(&words(OPTION, command)?);
    let programs = Some(programs.map_err(|error| Failure::Refused(error.to_string()))?);
    // In one word, because a value may begin with a hyphen.
    let wine = format!("{OPTION}={command}");
    let prefix = [OWN_PROGRAM, "lab", VERB, &wine, "--folder", SCRATCH].map(str::to_owned).to_vec();
    let written = vec![OPTION.to_owned(), command.to_owned()];
    let target = Target::of_command(name.unwrap_or("wine").to_owned(), prefix);
    Ok(Target { written, entry: Entry::Agent, programs, ..target })
}
