//! `osdyno lab run`: kernels as systems of one interleaved run.

use runner::Target;

use super::kernels::Kernels;
use super::{boot, machine};
use crate::cmd::{Done, run};
use crate::console::Console;

#[derive(clap::Args)]
pub(super) struct Args {
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
    machine: machine::Args,
    #[command(flatten)]
    run: run::Args,
}

pub(super) fn run(args: Args, console: &Console) -> Done {
    args.machine.check()?;
    let mut guests = Vec::new();
    let mut kernels = Kernels::default();
    let mut accelerator = None;
    for text in &args.kernels {
        let (name, kernel) = kernels.find(text)?;
        let accelerator = match accelerator {
            Some(known) => known,
            None => *accelerator.insert(args.machine.accelerator(&kernel)?),
        };
        for cmdline in std::iter::once("").chain(args.cmdlines.iter().map(String::as_str)) {
            let name = [&name, cmdline].join(" ").trim().to_owned();
            let prefix = boot::command(&kernel, cmdline, accelerator, &args.machine)?;
            guests.push(Target { name, prefix, is_guest: true });
        }
    }
    run::run(args.run.beside(guests), console)
}
