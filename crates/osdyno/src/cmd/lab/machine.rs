//! The emulated machine of a guest, as the user chooses it.

use lab::EmulatedMachine;

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
}

impl Args {
    /// Refuses an emulator that is missing.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let refused = |error: lab::Error| Failure::Refused(error.to_string());
        EmulatedMachine::check_emulator(&self.emulator()?).map_err(refused)
    }

    /// The options that are not at their defaults, as a user writes them.
    pub(super) fn written(&self) -> Vec<String> {
        let memory = (self.memory != EmulatedMachine::MEMORY_MIB)
            .then(|| ["--memory".to_owned(), self.memory.to_string()]);
        let qemu = (self.qemu != EmulatedMachine::EMULATOR).then(|| ["--qemu".to_owned(), self.qemu.clone()]);
        [memory, qemu].into_iter().flatten().flatten().collect()
    }

    /// The command of the emulator in words.
    pub(super) fn emulator(&self) -> Result<Vec<String>, Failure> {
        let words = shlex::split(&self.qemu).filter(|words| !words.is_empty());
        words.ok_or_else(|| Failure::Usage(format!("invalid --qemu {:?}: it is no command", self.qemu)))
    }
}
