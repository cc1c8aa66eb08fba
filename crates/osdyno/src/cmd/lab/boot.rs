//! `osdyno lab boot`, the hidden verb that turns this process into the emulator of a guest.

use std::path::{Path, PathBuf};

use lab::{Accelerator, EmulatedMachine};

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
        accelerator: args.machine.accelerator(&args.kernel)?,
        memory_mib: args.machine.memory,
    };
    Err(Failure::Refused(machine.boot().to_string()))
}

/// The command of a guest: this program under its hidden verb. It is recorded, and tells guests apart.
pub(super) fn command(
    kernel: &Path,
    cmdline: &str,
    accelerator: Accelerator,
    machine: &machine::Args,
) -> Result<Vec<String>, Failure> {
    let program = sys::process::own_program()
        .map_err(|error| Failure::Refused(format!("cannot find osdyno to start it again: {error}")))?;
    let mut command: Vec<String> = [&program.to_string_lossy(), "lab", VERB].map(str::to_owned).to_vec();
    let options = [
        ("kernel", kernel.to_string_lossy().into_owned()),
        ("cmdline", cmdline.to_owned()),
        ("accel", accelerator.to_string()),
        ("memory", machine.memory.to_string()),
        ("qemu", machine.qemu.clone()),
    ];
    // In one word, for a value may begin with a hyphen.
    command.extend(options.map(|(name, value)| format!("--{name}={value}")));
    Ok(command)
}
