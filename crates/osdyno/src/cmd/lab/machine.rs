//! The options for the emulated machine of a guest.

use clap::ValueEnum;
use lab::{Accelerator, EmulatedMachine};

use super::words::words;
use crate::cmd::warn;
use crate::failure::Failure;

/// The common options of all guests.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Memory of each guest, in MiB
    #[arg(
        long, value_name = "MIB", default_value_t = EmulatedMachine::MEMORY_MIB,
        value_parser = clap::value_parser!(u32).range(64..=1 << 20)
    )]
    pub(super) memory: u32,
    /// Processors of each guest of --kernel
    #[arg(
        long, value_name = "COUNT", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=255)
    )]
    pub(super) processors: u32,
    /// Memory nodes of each guest of --kernel, between which its processors and its memory are divided
    #[arg(
        long, value_name = "COUNT", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=64)
    )]
    pub(super) numa: u32,
    /// Emulator: QEMU, and arguments for it; split into words like a shell command
    #[arg(long, value_name = "COMMAND", default_value = EmulatedMachine::EMULATOR)]
    pub(super) qemu: String,
    /// The engine of the guests: KVM, or QEMU alone
    #[arg(long, value_enum, default_value_t = Acceleration::Auto)]
    pub(super) accel: Acceleration,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Acceleration {
    /// KVM where it boots a kernel within ten seconds, else QEMU; the answer is kept until this machine boots
    Auto,
    /// The processor, through /dev/kvm
    Kvm,
    /// QEMU, which translates each instruction
    Tcg,
}

impl Args {
    /// The version that the emulator prints; a missing emulator is refused.
    pub(super) fn version(&self) -> Result<String, Failure> {
        let refused = |error: lab::Error| Failure::Refused(error.to_string());
        EmulatedMachine::check_emulator(&self.emulator()?).map_err(refused)
    }

    /// Warns of an emulator of this version that loses boots.
    pub(super) fn warn_if_unreliable(&self, accelerator: Accelerator, version: &str) {
        let is_emulated = accelerator == Accelerator::Tcg && self.processors > 1;
        if let Some(release) = EmulatedMachine::unreliable_release(version).filter(|_| is_emulated) {
            warn(&format!(
                "QEMU {release} loses some boots of guests with several processors; QEMU 10 does not, and \
                 --qemu names another"
            ));
        }
    }

    /// The engine of the guest, for a verb that gets the result of the probe.
    pub(super) fn chosen(&self) -> Accelerator {
        if self.accel == Acceleration::Kvm { Accelerator::Kvm } else { Accelerator::Tcg }
    }

    /// The options other than defaults, in the words of a command line.
    pub(super) fn written(&self) -> Vec<String> {
        let memory = (self.memory != EmulatedMachine::MEMORY_MIB)
            .then(|| ["--memory".to_owned(), self.memory.to_string()]);
        let qemu = (self.qemu != EmulatedMachine::EMULATOR).then(|| ["--qemu".to_owned(), self.qemu.clone()]);
        let processors =
            (self.processors != 1).then(|| ["--processors".to_owned(), self.processors.to_string()]);
        let numa = (self.numa != 1).then(|| ["--numa".to_owned(), self.numa.to_string()]);
        let accel = self.accel.to_possible_value().filter(|_| self.accel != Acceleration::Auto);
        let accel = accel.map(|value| ["--accel".to_owned(), value.get_name().to_owned()]);
        [memory, processors, numa, qemu, accel].into_iter().flatten().flatten().collect()
    }

    /// The command of the emulator in words.
    pub(super) fn emulator(&self) -> Result<Vec<String>, Failure> {
        words("--qemu", &self.qemu)
    }
}
