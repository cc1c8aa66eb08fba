//! `osdyno lab`: measures other kernels, each booted as a guest, beside this machine.

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use lab::{Debian, EmulatedMachine};
use runner::Target;

use super::{Done, run};
use crate::console::{Console, tell};
use crate::failure::Failure;

/// Measure other kernels: each boots in an emulator, as a system of the run
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Measure kernels beside this machine, in one interleaved run, and compare them
    Run(Box<RunArgs>),
    /// Turn this process into the emulator of a guest; `lab run` executes it
    #[command(hide = true, name = BOOT)]
    Boot(BootArgs),
}

/// The hidden verb that boots a guest.
const BOOT: &str = "boot";

#[derive(clap::Args)]
struct RunArgs {
    /// Kernel to boot: an image such as /boot/vmlinuz-6.12.107-amd64, or the newest of one of Debian's
    /// series, such as debian:6.12; repeat the option to compare several
    ///
    /// The system is called NAME, or after the series, or after the release that the image names. It has one
    /// emulated processor. Its initramfs holds the programs that are measured, so no disk and no other
    /// software is needed. debian:6.12 is Debian's kernel for clouds, debian:6.12-generic the one for PCs,
    /// and debian:6.12-rt has PREEMPT_RT. apt-get gets them; they are kept in osdyno/kernels in the user's
    /// cache folder and used from there until they are removed.
    #[arg(long = "kernel", value_name = "[NAME=]PATH|debian:SERIES", required = true)]
    kernels: Vec<String>,
    /// Boot each kernel once more with these words on its command line, such as 'mitigations=off'
    #[arg(long = "cmdline", value_name = "WORDS")]
    cmdlines: Vec<String>,
    #[command(flatten)]
    machine: MachineArgs,
    #[command(flatten)]
    run: run::Args,
}

/// What all guests have in common.
#[derive(clap::Args)]
struct MachineArgs {
    /// Memory of each guest, in MiB
    #[arg(
        long, value_name = "MIB", default_value_t = EmulatedMachine::MEMORY_MIB,
        value_parser = clap::value_parser!(u32).range(64..=1 << 20)
    )]
    memory: u32,
    /// Emulator: QEMU, and arguments for it; split into words like a shell command
    #[arg(long, value_name = "COMMAND", default_value = EmulatedMachine::EMULATOR)]
    qemu: String,
}

#[derive(Parser)]
struct BootArgs {
    #[arg(long)]
    kernel: PathBuf,
    #[arg(long, default_value = "")]
    cmdline: String,
    #[command(flatten)]
    machine: MachineArgs,
}

pub(crate) fn lab(args: Args, console: &Console) -> Done {
    match args.verb {
        Verb::Run(args) => run(*args, console),
        Verb::Boot(args) => Err(Failure::Refused(machine(&args)?.boot().to_string())),
    }
}

fn run(args: RunArgs, console: &Console) -> Done {
    let refused = |error: lab::Error| Failure::Refused(error.to_string());
    let emulator = words(&args.machine.qemu)?;
    EmulatedMachine::check_emulator(&emulator).map_err(refused)?;
    let mut guests = Vec::new();
    let mut kernels = Kernels::default();
    for text in &args.kernels {
        let (name, kernel) = kernels.find(text)?;
        for cmdline in std::iter::once("").chain(args.cmdlines.iter().map(String::as_str)) {
            let name = [&name, cmdline].join(" ").trim().to_owned();
            let prefix = boot_command(&kernel, cmdline, &args.machine)?;
            guests.push(Target { name, prefix, is_guest: true });
        }
    }
    run::run(args.run.beside(guests), console)
}

/// Kernels by their names, as the user writes them.
#[derive(Default)]
struct Kernels {
    /// Where Debian's are kept; nothing before the first is wanted.
    debian: Option<Debian>,
}

impl Kernels {
    /// The name of a kernel and where it is; a path that holds `=` has a slash before it.
    fn find(&mut self, text: &str) -> Result<(String, PathBuf), Failure> {
        let refused = |error: lab::Error| Failure::Refused(error.to_string());
        let named = text.split_once('=').filter(|(name, _)| !name.is_empty() && !name.contains('/'));
        let (name, place) = named.map_or((None, text), |(name, place)| (Some(name), place));
        let (known, path) = match place.strip_prefix("debian:") {
            Some(series) => (Some(series.to_owned()), self.of_debian(series).map_err(refused)?),
            None => (lab::release(Path::new(place)).map_err(refused)?, PathBuf::from(place)),
        };
        // The guest is booted from wherever this process is.
        let path = path.canonicalize().unwrap_or(path);
        let file = || path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let name = name.map(str::to_owned).or(known).unwrap_or_else(file);
        match path.to_str() {
            Some(_) => Ok((name, path)),
            None => Err(Failure::Usage(format!("the path of the kernel {} is not UTF-8", path.display()))),
        }
    }

    fn of_debian(&mut self, series: &str) -> Result<PathBuf, lab::Error> {
        let debian = match &mut self.debian {
            Some(debian) => debian,
            none => none.insert(Debian::of_user()?),
        };
        debian.kernel(series, &mut |text| tell(&format!("  {text}")))
    }
}

/// The command of a guest: this program under its hidden verb. It is recorded, and tells guests apart.
fn boot_command(kernel: &Path, cmdline: &str, machine: &MachineArgs) -> Result<Vec<String>, Failure> {
    let program = sys::process::own_program()
        .map_err(|error| Failure::Refused(format!("cannot find osdyno to start it again: {error}")))?;
    let mut command: Vec<String> = [&program.to_string_lossy(), "lab", BOOT].map(str::to_owned).to_vec();
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

fn machine(args: &BootArgs) -> Result<EmulatedMachine, Failure> {
    Ok(EmulatedMachine {
        emulator: words(&args.machine.qemu)?,
        kernel: args.kernel.clone(),
        cmdline: args.cmdline.clone(),
        memory_mib: args.machine.memory,
    })
}

/// The command of the emulator in words.
fn words(command: &str) -> Result<Vec<String>, Failure> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    words.ok_or_else(|| Failure::Usage(format!("invalid --qemu {command:?}: it is no command")))
}
