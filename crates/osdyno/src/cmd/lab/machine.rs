//! Emulated machines, in which kernels boot as guests: the kernels by their names, their variants, and the
//! hidden verb that turns this process into the emulator of a guest.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use lab::{Accelerator, Debian, EmulatedMachine, KernelVariant, Sysctl};
use runner::{Entry, SCRATCH, Target};

use crate::cmd::{Done, warn};
use crate::console::{Failure, tell};

/// The hidden verb.
pub(super) const BOOT_VERB: &str = "boot";

/// Emulated processors start one after the other.
const BOOT_PER_PROCESSOR: Duration = Duration::from_secs(1);

/// The common options of all guests.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct MachineArgs {
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
    processors: u32,
    /// Memory nodes of each guest of --kernel, between which its processors and its memory are divided
    #[arg(
        long, value_name = "COUNT", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=64)
    )]
    numa: u32,
    /// Emulator: QEMU, and arguments for it; split into words like a shell command
    #[arg(long, value_name = "COMMAND", default_value = EmulatedMachine::EMULATOR)]
    qemu: String,
    /// The engine of the guests: KVM, or QEMU alone
    #[arg(long, value_enum, default_value_t = Acceleration::Auto)]
    accel: Acceleration,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Acceleration {
    /// KVM where it boots a kernel within ten seconds, else QEMU; the answer is kept until this machine boots
    Auto,
    /// The processor, through /dev/kvm
    Kvm,
    /// QEMU, which translates each instruction
    Tcg,
}

impl MachineArgs {
    /// The version that the emulator prints; a missing emulator is refused.
    pub(super) fn version(&self) -> Result<String, Failure> {
        Ok(EmulatedMachine::check_emulator(&self.emulator()?)?)
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
    fn chosen(&self) -> Accelerator {
        if self.accel == Acceleration::Kvm { Accelerator::Kvm } else { Accelerator::Tcg }
    }

    /// The options other than defaults, in the words of a command line.
    fn written(&self) -> Vec<String> {
        let numbers = [
            ("--memory", self.memory, EmulatedMachine::MEMORY_MIB),
            ("--processors", self.processors, 1),
            ("--numa", self.numa, 1),
        ];
        let numbers = numbers.into_iter().filter(|(_, number, default)| number != default);
        let numbers = numbers.map(|(name, number, _)| [name.to_owned(), number.to_string()]);
        let qemu = (self.qemu != EmulatedMachine::EMULATOR).then(|| ["--qemu".to_owned(), self.qemu.clone()]);
        let accel = self.accel.to_possible_value().filter(|_| self.accel != Acceleration::Auto);
        let accel = accel.map(|value| ["--accel".to_owned(), value.get_name().to_owned()]);
        numbers.chain(qemu).chain(accel).flatten().collect()
    }

    /// The command of the emulator in words.
    fn emulator(&self) -> Result<Vec<String>, Failure> {
        words("--qemu", &self.qemu)
    }
}

/// The options of `lab run`.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct VariantArgs {
    /// Boot each kernel once more with these words on its command line, such as 'mitigations=off'
    #[arg(long = "cmdline", value_name = "WORDS")]
    cmdlines: Vec<String>,
    /// Boot each kernel once more with this setting, such as 'net.core.somaxconn=64'
    ///
    /// The first process of the guest sets it before anything is measured there. A kernel that has no such
    /// key, or refuses the value, is not measured.
    #[arg(long = "sysctl", value_name = "KEY=VALUE")]
    sysctls: Vec<Sysctl>,
}

impl VariantArgs {
    /// The kernel as it is, and its variants.
    pub(super) fn all(&self) -> Vec<KernelVariant> {
        let plain = KernelVariant::default;
        let cmdlines = self.cmdlines.iter().cloned().map(|cmdline| KernelVariant { cmdline, ..plain() });
        let sysctls =
            self.sysctls.iter().cloned().map(|sysctl| KernelVariant { sysctl: Some(sysctl), ..plain() });
        [plain()].into_iter().chain(cmdlines).chain(sysctls).collect()
    }
}

/// The options of the hidden verbs, which boot one variant.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct OneVariant {
    #[arg(long, default_value = "")]
    cmdline: String,
    #[arg(long)]
    sysctl: Option<Sysctl>,
}

impl OneVariant {
    pub(super) fn variant(&self) -> KernelVariant {
        KernelVariant { cmdline: self.cmdline.clone(), sysctl: self.sysctl.clone() }
    }
}

/// The words of a hidden verb for this variant. An option is one word, because a value may begin with a
/// hyphen.
pub(super) fn words_of_variant(variant: &KernelVariant) -> Vec<String> {
    variant.written().chunks(2).map(|option| option.join("=")).collect()
}

/// The name of the system.
pub(super) fn name_of_variant(kernel: &str, variant: &KernelVariant) -> String {
    [kernel, &variant.to_string()].join(" ").trim().to_owned()
}

/// The command of an option in words, as a shell splits it.
pub(super) fn words(option: &str, command: &str) -> Result<Vec<String>, Failure> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    words.ok_or_else(|| Failure::Usage(format!("invalid {option} {command:?}: it is no command")))
}

/// A kernel that was found.
pub(super) struct FoundKernel {
    /// The name of its system.
    pub(super) name: String,
    /// Its image; the path is UTF-8.
    pub(super) path: PathBuf,
    /// The text of the user for it, without the name.
    pub(super) written: String,
}

/// Finds kernels.
#[derive(Default)]
pub(super) struct Kernels {
    /// The cache of Debian's; empty before the first is needed.
    debian: Option<Debian>,
}

impl Kernels {
    /// Finds a kernel and its name; a path that holds `=` has a slash before it.
    pub(super) fn find(&mut self, text: &str) -> Result<FoundKernel, Failure> {
        let named = text.split_once('=').filter(|(name, _)| !name.is_empty() && !name.contains('/'));
        let (name, place) = named.map_or((None, text), |(name, place)| (Some(name), place));
        let (known, path) = match place.strip_prefix("debian:") {
            Some(series) => {
                let tell = &mut |text: &str| tell(&format!("  {text}"));
                (Some(series.to_owned()), self.debian()?.kernel(series, tell)?)
            }
            None => (lab::release(Path::new(place))?, PathBuf::from(place)),
        };
        // The guest is booted from the working folder of this process.
        let path = path.canonicalize().unwrap_or(path);
        let file = || path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let name = name.map(str::to_owned).or(known).unwrap_or_else(file);
        match path.to_str() {
            Some(_) => Ok(FoundKernel { name, path, written: place.to_owned() }),
            None => Err(Failure::Usage(format!("the path of the kernel {} is not UTF-8", path.display()))),
        }
    }

    /// The series that Debian has now.
    pub(super) fn series_of_debian(&mut self) -> Result<Vec<[u64; 2]>, Failure> {
        Ok(self.debian()?.series(&mut |text| tell(&format!("  {text}")))?)
    }

    fn debian(&mut self) -> Result<&mut Debian, lab::Error> {
        Ok(match &mut self.debian {
            Some(debian) => debian,
            none => none.insert(Debian::of_user()?),
        })
    }
}

#[derive(clap::Args)]
pub(super) struct BootArgs {
    #[arg(long)]
    kernel: PathBuf,
    #[command(flatten)]
    variant: OneVariant,
    #[command(flatten)]
    machine: MachineArgs,
    /// The folder of the run.
    #[arg(long)]
    folder: PathBuf,
}

pub(super) fn boot(args: &BootArgs) -> Done {
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
    Err(machine.boot().into())
}

/// The engine of the guests; `kernel` is booted to try KVM.
pub(super) fn accelerator(kernel: &Path, machine: &MachineArgs) -> Result<Accelerator, Failure> {
    match machine.accel {
        Acceleration::Kvm => Ok(Accelerator::Kvm),
        Acceleration::Tcg => Ok(Accelerator::Tcg),
        Acceleration::Auto => {
            let with_kvm = command(kernel, &KernelVariant::default(), Accelerator::Kvm, machine)?;
            let tell = &mut |text: &str| tell(&format!("  {text}"));
            Ok(Accelerator::of_machine(&machine.emulator()?, &with_kvm, &std::env::temp_dir(), tell)?)
        }
    }
}

/// The guest of a kernel as a system of a run.
pub(super) fn target(
    kernel: &FoundKernel,
    variant: &KernelVariant,
    accelerator: Accelerator,
    machine: &MachineArgs,
) -> Result<Target, Failure> {
    let name = name_of_variant(&kernel.name, variant);
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
    machine: &MachineArgs,
) -> Result<Vec<String>, Failure> {
    let program = sys::process::own_program()
        .map_err(|error| Failure::Refused(format!("cannot find osdyno to start it again: {error}")))?;
    let mut command: Vec<String> = [&program.to_string_lossy(), "lab", BOOT_VERB].map(str::to_owned).to_vec();
    let options = [
        ("kernel", kernel.to_string_lossy().into_owned()),
        ("accel", accelerator.to_string()),
        ("memory", machine.memory.to_string()),
        ("processors", machine.processors.to_string()),
        ("numa", machine.numa.to_string()),
        ("qemu", machine.qemu.clone()),
    ];
    command.extend(words_of_variant(variant));
    // In one word, because a value may begin with a hyphen.
    command.extend(options.map(|(name, value)| format!("--{name}={value}")));
    command.extend(["--folder", SCRATCH].map(str::to_owned));
    Ok(command)
}
