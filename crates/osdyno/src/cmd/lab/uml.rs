//! `osdyno lab boot-uml`, the hidden verb that turns this process into User-mode Linux.

use std::path::PathBuf;

use lab::{EmulatedMachine, UserModeLinux};
use runner::{OWN_PROGRAM, SCRATCH, Target};

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
    #[arg(long, default_value = "")]
    cmdline: String,
    #[arg(long)]
    memory: u32,
    /// A folder that is removed after the run.
    #[arg(long)]
    folder: PathBuf,
}

pub(super) fn boot(args: Args) -> Done {
    let Args { uml, cmdline, memory: memory_mib, folder } = args;
    let kernel = UserModeLinux { command: words(OPTION, &uml)?, cmdline, memory_mib, folder };
    Err(Failure::Refused(kernel.boot().to_string()))
}

/// The kernel as a system, once as it is and once with each of these command lines.
pub(super) fn targets(text: &str, cmdlines: &[String], memory_mib: u32) -> Result<Vec<Target>, Failure> {
    let (name, command) = split(text);
    let release = UserModeLinux::release(&words(OPTION, command)?);
    let release = release.map_err(|error| Failure::Refused(error.to_string()))?;
    let name = name.map_or_else(|| format!("uml-{release}"), str::to_owned);
    let target = |cmdline: &str| {
        let options = [
            OWN_PROGRAM.to_owned(),
            "lab".to_owned(),
            VERB.to_owned(),
            // In one word, for a value may begin with a hyphen.
            format!("{OPTION}={command}"),
            format!("--cmdline={cmdline}"),
            format!("--memory={memory_mib}"),
            "--folder".to_owned(),
            SCRATCH.to_owned(),
        ];
        let name = [&name, cmdline].join(" ").trim().to_owned();
        let mut written = vec![OPTION.to_owned(), command.to_owned()];
        if !cmdline.is_empty() {
            written.extend(["--cmdline", cmdline].map(str::to_owned));
        }
        if memory_mib != EmulatedMachine::MEMORY_MIB {
            written.extend(["--memory".to_owned(), memory_mib.to_string()]);
        }
        Target { name, prefix: options.to_vec(), written, is_guest: true }
    };
    Ok(std::iter::once("").chain(cmdlines.iter().map(String::as_str)).map(target).collect())
}
