//! `osdyno lab boot-uml`, the hidden verb that turns this process into User-mode Linux.

use std::path::PathBuf;

use lab::{EmulatedMachine, KernelVariant, UserModeLinux};
use runner::{Entry, OWN_PROGRAM, SCRATCH, Target};

use super::variants;
use super::words::{split, words};
use crate::cmd::Done;
use crate::failure::Failure;

/// The name of the verb.
pub(super) const VERB: &str = "boot-uml";

/// The option of `lab run`, and of the verb.
const OPTION: &str = "--uml";

#[derive(clap::Args)]
pub(super) struct Args {
    #[arg(long)]
    uml: String,
    #[command(flatten)]
    variant: variants::One,
    #[arg(long)]
    memory: u32,
    /// A folder that is removed after the run.
    #[arg(long)]
    folder: PathBuf,
}

pub(super) fn boot(args: Args) -> Done {
    let Args { uml, variant, memory: memory_mib, folder } = args;
    let (command, variant) = (words(OPTION, &uml)?, variant.variant());
    let kernel = UserModeLinux { command, variant, memory_mib, folder };
    Err(Failure::Refused(kernel.boot().to_string()))
}

/// The kernel as a system, in each of these variants.
pub(super) fn targets(
    text: &str,
    variants: &[KernelVariant],
    memory_mib: u32,
) -> Result<Vec<Target>, Failure> {
    let (name, command) = split(text);
    let release = UserModeLinux::release(&words(OPTION, command)?);
    let release = release.map_err(|error| Failure::Refused(error.to_string()))?;
    let name = name.map_or_else(|| format!("uml-{release}"), str::to_owned);
    let target = |variant: &KernelVariant| {
        let mut options = vec![
            OWN_PROGRAM.to_owned(),
            "lab".to_owned(),
            VERB.to_owned(),
            // In one word, because a value may begin with a hyphen.
            format!("{OPTION}={command}"),
            format!("--memory={memory_mib}"),
            "--folder".to_owned(),
            SCRATCH.to_owned(),
        ];
        options.extend(variants::words(variant));
        let mut written = vec![OPTION.to_owned(), command.to_owned()];
        written.extend(variant.written());
        if memory_mib != EmulatedMachine::MEMORY_MIB {
            written.extend(["--memory".to_owned(), memory_mib.to_string()]);
        }
        let name = variants::name(&name, variant);
        Target { written, entry: Entry::Guest, ..Target::of_command(name, options) }
    };
    Ok(variants.iter().map(target).collect())
}
