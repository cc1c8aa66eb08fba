//! KVM or TCG: executes the instructions of a guest.
//!
//! KVM is tried, not believed: the first guest boots with it, and the answer is cached until the machine
//! boots again. An emulator that ends at once proves nothing.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use runner::GuestBoot;

use crate::{Error, cache_folder};

/// Executes the instructions of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor, through /dev/kvm.
    Kvm,
    /// QEMU, which translates each instruction.
    Tcg,
}

/// Some hypervisors offer a /dev/kvm that boots no kernel: the emulator then stands still. With a KVM that
/// works a guest is there within two seconds.
const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// The device of KVM.
const DEVICE: &str = "/dev/kvm";

/// It changes with each boot of this machine, and with it a hypervisor below may.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

impl fmt::Display for Accelerator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        })
    }
}

impl Accelerator {
    /// The words of the emulator that select it.
    pub(crate) fn arguments(self) -> &'static str {
        match self {
            Accelerator::Kvm => "-accel kvm -cpu host",
            // Without random numbers from its processor, a guest waits for seconds until it has some. QEMU
            // 7.2 sometimes loses the flags of CMPXCHG16B, and the guest ends in a double fault.
            Accelerator::Tcg => "-accel tcg -cpu qemu64,+rdrand,-cx16",
        }
    }

    /// The engine of the systems of a run that it executes, where they cannot know it themselves: the
    /// processor of a guest under KVM looks like one of a machine that is virtual itself.
    pub fn engine(self) -> Option<&'static str> {
        (self == Accelerator::Kvm).then_some("KVM")
    }

    /// KVM where a guest boots with it, else TCG. `with_kvm` is the command that boots one, and `scratch` a
    /// folder for a folder of the probe's own. The result is kept until this machine boots again; `tell` is
    /// called with a sentence before a probe, which takes ten seconds at most.
    ///
    /// # Errors
    /// [`Error::Probe`] and [`Error::NoCache`].
    pub fn of_machine(
        emulator: &[String],
        with_kvm: &[String],
        scratch: &Path,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Accelerator, Error> {
        if fs::OpenOptions::new().read(true).write(true).open(DEVICE).is_err() {
            return Ok(Accelerator::Tcg);
        }
        let finding = Finding::about(emulator)?;
        if let Some(known) = finding.read() {
            return Ok(known);
        }
        tell("trying whether KVM boots a kernel here, for ten seconds at most");
        let (found, is_kept) =
            match runner::boot_guest(with_kvm, scratch, PROBE_LIMIT).map_err(Error::Probe)? {
                GuestBoot::Ready => (Accelerator::Kvm, true),
                GuestBoot::Silent => (Accelerator::Tcg, true),
                // That may be the fault of this kernel, and takes no time.
                GuestBoot::Ended => (Accelerator::Tcg, false),
            };
        if is_kept {
            finding.keep(found);
        }
        Ok(found)
    }
}

/// The result of a probe, in a file of the user's cache.
struct Finding {
    path: PathBuf,
    /// The boot of this machine, and the emulator, for which it is valid.
    subject: String,
}

impl Finding {
    fn about(emulator: &[String]) -> Result<Finding, Error> {
        let boot = fs::read_to_string(BOOT_ID).unwrap_or_default();
        let subject = format!("{} {}", boot.trim(), emulator.join(" "));
        Ok(Finding { path: cache_folder()?.join("kvm"), subject })
    }

    fn read(&self) -> Option<Accelerator> {
        let text = fs::read_to_string(&self.path).ok()?;
        let (subject, word) = text.trim_end().rsplit_once('\n')?;
        match word {
            _ if subject != self.subject => None,
            "kvm" => Some(Accelerator::Kvm),
            "tcg" => Some(Accelerator::Tcg),
            _ => None,
        }
    }

    /// Without it the next run takes ten seconds more, and nothing else.
    fn keep(&self, found: Accelerator) {
        if let Some(folder) = self.path.parent() {
            let _ = fs::create_dir_all(folder);
        }
        let _ = fs::write(&self.path, format!("{}\n{found}\n", self.subject));
    }
}
