//! `osdyno lab boot`, the hidden verb that turns this process into the emulator of a guest.

use std::path::{Path, PathBuf};

use lab::EmulatedMachine;
use runner::Target;

use super::kernels::FoundKernel;
use super::machine;
use crate::cmd::Done;
use crate::failure::Failure;

/// The name of the verb.
pub(super) const VERB: &str = "boot";

#[derive(clap::Args)]
pub(super) struct Args {
    #[arg(long)]
    kernel: PathBuf,
    #[arg(long, default_value = "")]
    cmdline: String,
    #[command(flatten)]
    machine: machine::Args,
}

pub(super) fn boot(args: &Args) -> Done {
    let machine = EmulatedMachine {
        emulator: args.machine.emulator()?,
        kernel: args.kernel.clone(),
        cmdline: args.cmdline.clone(),
        memory_mib: args.machine.memory,
    };
    Err(Failure::Refused(machine.boot().to_string()))
}

/// The guest of a kernel as a system of a run.
pub(super) fn target(
    kernel: &FoundKernel,
    cmdline: &str,
    machine: &machine::Args,
) -> Result<Target, Failure> {
    let name = [&kernel.name, cmdline].join(" ").trim().to_owned();
    let mut written = vec!["--kernel".to_owned(), kernel.written.clone()];
    if !cmdline.is_empty() {
        written.extend(["--cmdline", cmdline].map(str::to_owned));
    }
    written.extend(machine.written());
    Ok(Target { name, prefix: command(&kernel.path, cmdline, machine)?, written, is_guest: true })
}

/// The command of a guest: this program under its hidden verb.
fn command(kernel: &Path, cmdline: &str, machine: &machine::Args) -> Result<Vec<String>, Failure> {
    let program = sys::process::own_program()
        .map_err(|error| Failure::Refused(format!("cannot find osdyno to start it again: {error}")))?;
    let mut command: Vec<String> = [&program.to_string_lossy(), "lab", VERB].map(str::to_owned).to_vec();
    let options = [
        ("kernel", kernel.to_string_lossy().into_owned()),
        ("cmdline", cmdline.to_owned()),
        ("memory", machine.memory.to_string()),
        ("qemu", machine.qemu.clone()),
    ];
    // In one word, for a value may begin with a hyphen.
    command.extend(options.map(|(name, value)| format!("--{name}={value}")));
    Ok(command)
}
