//! `osdyno lab boot`, the hidden verb that turns this process into the emulator of a guest.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::{Accelerator, EmulatedMachine, KernelVariant};
use runner::{Entry, SCRATCH, Target};

use super::kernels::FoundKernel;
use super::machine::{self, Acceleration};
use super::variants;
use crate::cmd::Done;
use crate::console::tell;
use crate::failure::Failure;

/// The name of the verb.
pub(super) const VERB: &str = "boot";

#[derive(clap::Args)]
pub(super) struct Args {
    #[arg(long)]
    kernel: PathBuf,
    #[command(flatten)]
    variant: variants::One,
    #[command(flatten)]
    machine: machine::Args,
    /// The folder of the run.
    #[arg(long)]
    folder: PathBuf,
}

pub(super) fn boot(args: &Args) -> Done {
    let machine = EmulatedMachine {
        emulator: args.machine.emulator()?,
        kernel: args.kernel.clone(),
        variant: args.variant.variant(),
        accelerator: args.machine.chosen(),
        memory_mib: args.machine.memory,
        processors: args.machine.processors,
        nodes: args.machine.numa,
        folder: args.folder.clone(),
    };
    Err(Failure::Refused(machine.boot().to_string()))
}

/// Emulated processors start one after the other.
const BOOT_PER_PROCESSOR: Duration = Duration::from_secs(1);

/// The engine of the guests; `kernel` is booted to try KVM.
pub(super) fn accelerator(kernel: &Path, machine: &machine::Args) -> Result<Accelerator, Failure> {
    match machine.accel {
        Acceleration::Kvm => Ok(Accelerator::Kvm),
        Acceleration::Tcg => Ok(Accelerator::Tcg),
        Acceleration::Auto => {
            let with_kvm = command(kernel, &KernelVariant::default(), Accelerator::Kvm, machine)?;
            let tell = &mut |text: &str| tell(&format!("  {text}"));
            Accelerator::of_machine(&machine.emulator()?, &with_kvm, &std::env::temp_dir(), tell)
                .map_err(|error| Failure::Refused(error.to_string()))
        }
    }
}

/// The guest of a kernel as a system of a run.
pub(super) fn target(
    kernel: &FoundKernel,
    variant: &KernelVariant,
    accelerator: Accelerator,
    machine: &machine::Args,
) -> Result<Target, Failure> {
    let name = variants::name(&kernel.name, variant);
    let mut written = vec!["--kernel".to_owned(), kernel.written.clone()];
    written.extend(variant.written());
    written.extend(machine.written());
    let prefix = command(&kernel.path, variant, accelerator, machine)?;
    let engine = accelerator.engine();
    let start_timeout = Target::START_TIMEOUT + BOOT_PER_PROCESSOR * machine.processors;
    Ok(Target { written, entry: Entry::Guest, engine, start_timeout, ..Target::of_command(name, prefix) })
}

/// The command of a guest: this program under its hidden verb.
fn command(
    kernel: &Path,
    variant: &KernelVariant,
    accelerator: Accelerator,
    machine: &machine::Args,
) -> Result<Vec<String>, Failure> {
    let program = sys::process::own_program()
        .map_err(|error| Failure::Refused(format!("cannot find osdyno to start it again: {error}")))?;
    let mut command: Vec<String> = [&program.to_string_lossy(), "lab", VERB].map(str::to_owned).to_vec();
    let options = [
        ("kernel", kernel.to_string_lossy().into_owned()),
        ("accel", accelerator.to_string()),
        ("memory", machine.memory.to_string()),
        ("processors", machine.processors.to_string()),
        ("numa", machine.numa.to_string()),
        ("qemu", machine.qemu.clone()),
    ];
    command.extend(variants::words(variant));
    // In one word, because a value may begin with a hyphen.
    command.extend(options.map(|(name, value)| format!("--{name}={value}")));
    command.extend(["--folder", SCRATCH].map(str::to_owned));
    Ok(command)
}
