//! The emulated machine of a guest, as the user chooses it.

use std::path::Path;

use lab::{Accelerator, EmulatedMachine};

use super::boot;
use crate::console::tell;
use crate::failure::Failure;

/// What all guests have in common.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Memory of each guest, in MiB
    #[arg(
        long, value_name = "MIB", default_value_t = EmulatedMachine::MEMORY_MIB,
        value_parser = clap::value_parser!(u32).range(64..=1 << 20)
    )]
    pub(super) memory: u32,
    /// Emulator: QEMU, and arguments for it; split into words like a shell command
    #[arg(long, value_name = "COMMAND", default_value = EmulatedMachine::EMULATOR)]
    pub(super) qemu: String,
    /// What executes the instructions of the guests
    #[arg(long, value_enum, default_value_t = Acceleration::Auto)]
    pub(super) accel: Acceleration,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum Acceleration {
    /// KVM where it boots a kernel within ten seconds, else QEMU; the answer is kept until this machine boots
    Auto,
    /// The processor, through /dev/kvm
    Kvm,
    /// QEMU, which translates each instruction
    Tcg,
}

impl Args {
    /// Refuses an emulator that is missing.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let refused = |error: lab::Error| Failure::Refused(error.to_string());
        EmulatedMachine::check_emulator(&self.emulator()?).map_err(refused)
    }

    /// What executes the guests' instructions; `kernel` is booted where that has to be tried.
    pub(super) fn accelerator(&self, kernel: &Path) -> Result<Accelerator, Failure> {
        match self.accel {
            Acceleration::Kvm => Ok(Accelerator::Kvm),
            Acceleration::Tcg => Ok(Accelerator::Tcg),
            Acceleration::Auto => {
                let with_kvm = boot::command(kernel, "", Accelerator::Kvm, self)?;
                let tell = &mut |text: &str| tell(&format!("  {text}"));
                Accelerator::of_machine(&self.emulator()?, &with_kvm, &std::env::temp_dir(), tell)
                    .map_err(|error| Failure::Refused(error.to_string()))
            }
        }
    }

    /// The command of the emulator in words.
    pub(super) fn emulator(&self) -> Result<Vec<String>, Failure> {
        let words = shlex::split(&self.qemu).filter(|words| !words.is_empty());
        words.ok_or_else(|| Failure::Usage(format!("invalid --qemu {:?}: it is no command", self.qemu)))
    }
}
