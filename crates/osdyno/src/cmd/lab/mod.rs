//! `osdyno lab`: measures other kernels, each booted as a guest, beside this machine.
//!
//! `lab run` is here, and [`bisect`] has a file of its own; [`machine`] has the guests of an emulator, and
//! [`native`] the systems whose programs run on the real processor.

mod bisect;
mod machine;
mod native;

use clap::Subcommand;
use lab::KernelVariant;
use runner::Target;

use self::machine::{BOOT_VERB, BootArgs, Kernels, MachineArgs, VariantArgs};
use self::native::{NativeArgs, UML_VERB, UmlArgs, WINE_VERB, WineArgs};
use super::{Done, run};
use crate::console::{Console, Failure};

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
    /// Find the first kernel of an ordered list from which a cost differs
    ///
    /// A kernel is written as for `lab run`, and may be followed by words for its command line, as in
    /// 'debian:6.12 mitigations=off'. Up to nine kernels at a time are measured interleaved, each against the
    /// one before it, with more boots until each step is certain; then the two beside a change once more by
    /// themselves.
    Bisect(Box<bisect::Args>),
    /// Turn this process into the emulator of a guest; `lab run` executes it
    #[command(hide = true, name = BOOT_VERB)]
    Boot(BootArgs),
    /// Turn this process into User-mode Linux; `lab run` executes it
    #[command(hide = true, name = UML_VERB)]
    BootUml(UmlArgs),
    /// Turn this process into Wine; `lab run` executes it
    #[command(hide = true, name = WINE_VERB)]
    StartWine(WineArgs),
}

pub(crate) fn lab(args: Args, console: &Console) -> Done {
    match args.verb {
        Verb::Run(args) => run_beside(*args, console),
        Verb::Bisect(args) => bisect::bisect(&args, console),
        Verb::Boot(args) => machine::boot(&args),
        Verb::BootUml(args) => native::boot_uml(args),
        Verb::StartWine(args) => native::start_wine(args),
    }
}

/// With three a side no difference can be certain at 5 %, with four one in 35 is chance, with five one in
/// 126.
const BOOTS: u32 = 5;

#[derive(clap::Args)]
#[group(skip)]
struct RunArgs {
    /// Kernel to boot: an image such as /boot/vmlinuz-6.12.107-amd64, or the newest of one of Debian's
    /// series, such as debian:6.12; repeat the option to compare several
    ///
    /// The system is called NAME, or after the series, or after the release that the image names. It has one
    /// emulated processor. Its initramfs holds the measured programs, so no disk and no other software is
    /// needed. debian:6.12 is Debian's kernel for clouds, debian:6.12-generic the one for PCs, and
    /// debian:6.12-rt has PREEMPT_RT. apt-get gets them; they are kept in osdyno/kernels in the user's cache
    /// folder and used from there until they are removed.
    #[arg(
        long = "kernel",
        value_name = "[NAME=]PATH|debian:SERIES",
        required_unless_present_any = native::IDS
    )]
    kernels: Vec<String>,
    #[command(flatten)]
    variants: VariantArgs,
    /// Boots of each kernel over which its trials are spread
    ///
    /// A boot fixes conditions, such as places in memory, for all of its trials. So a boot is one observation
    /// of a comparison: four of each kernel are the fewest that can show a difference, and a run that goes on
    /// after its first look boots more often.
    #[arg(
        long, value_name = "COUNT", default_value_t = BOOTS,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    boots: u32,
    #[command(flatten)]
    native: NativeArgs,
    #[command(flatten)]
    machine: MachineArgs,
    #[command(flatten)]
    run: run::Args,
}

fn run_beside(args: RunArgs, console: &Console) -> Done {
    let variants = args.variants.all();
    let mut guests = kernels(&args, &variants)?;
    guests.extend(args.native.targets(&variants, args.machine.memory)?);
    run::run(&args.run.beside(guests).over_boots(args.boots), console)
}

/// The guests of an emulated machine.
fn kernels(args: &RunArgs, variants: &[KernelVariant]) -> Result<Vec<Target>, Failure> {
    if args.kernels.is_empty() {
        return Ok(Vec::new());
    }
    let version = args.machine.version()?;
    let mut kernels = Kernels::default();
    let kernels: Result<Vec<_>, _> = args.kernels.iter().map(|text| kernels.find(text)).collect();
    let kernels = kernels?;
    let accelerator = machine::accelerator(&kernels[0].path, &args.machine)?;
    args.machine.warn_if_unreliable(accelerator, &version);
    let target = |(kernel, variant)| machine::target(kernel, variant, accelerator, &args.machine);
    let all = kernels.iter().flat_map(|kernel| variants.iter().map(move |variant| (kernel, variant)));
    all.map(target).collect()
}
