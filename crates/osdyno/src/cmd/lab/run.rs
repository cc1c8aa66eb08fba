//! `osdyno lab run`: kernels as systems of one interleaved run.

use lab::KernelVariant;
use runner::Target;

use super::kernels::Kernels;
use super::{boot, machine, native, variants};
use crate::cmd::{Done, run};
use crate::console::Console;
use crate::failure::Failure;

/// With three a side no difference can be certain at 5 %, with four one in 35 is chance, with five one in
/// 126.
const BOOTS: u32 = 5;

#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Args {
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
    variants: variants::Args,
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
    native: native::Args,
    #[command(flatten)]
    machine: machine::Args,
    #[command(flatten)]
    run: run::Args,
}

pub(super) fn run(args: Args, console: &Console) -> Done {
    let variants = args.variants.all();
    let mut guests = kernels(&args, &variants)?;
    guests.extend(args.native.targets(&variants, args.machine.memory)?);
    run::run(&args.run.beside(guests).over_boots(args.boots), console)
}

/// The guests of an emulated machine.
fn kernels(args: &Args, variants: &[KernelVariant]) -> Result<Vec<Target>, Failure> {
    if args.kernels.is_empty() {
        return Ok(Vec::new());
    }
    let version = args.machine.version()?;
    let mut kernels = Kernels::default();
    let kernels: Result<Vec<_>, _> = args.kernels.iter().map(|text| kernels.find(text)).collect();
    let kernels = kernels?;
    let accelerator = boot::accelerator(&kernels[0].path, &args.machine)?;
    args.machine.warn_if_unreliable(accelerator, &version);
    let target = |(kernel, variant)| boot::target(kernel, variant, accelerator, &args.machine);
    let all = kernels.iter().flat_map(|kernel| variants.iter().map(move |variant| (kernel, variant)));
    all.map(target).collect()
}
