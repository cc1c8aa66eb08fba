//! `osdyno lab`: measures other kernels, each booted as a guest, beside this machine.
//!
//! One file for each verb; [`kernels`] finds the named kernels, [`machine`] is the emulated machine, and
//! [`variants`] changes settings of a kernel.

mod bisect;
mod boot;
mod container;
mod gvisor;
mod kernel_list;
mod kernels;
mod machine;
mod native;
mod run;
mod uml;
mod variants;
mod wine;
mod words;

use clap::Subcommand;

use super::Done;
use crate::console::Console;

/// Measure other kernels: each boots in an emulator, as a system of the run
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Measure kernels beside this machine, in one interleaved run, and compare them
    Run(Box<run::Args>),
    /// Find the first kernel of an ordered list from which a cost differs
    ///
    /// A kernel is written as for `lab run`, and may be followed by words for its command line, as in
    /// 'debian:6.12 mitigations=off'. Up to nine kernels at a time are measured interleaved, each against the
    /// one before it, with more boots until each step is certain; then the two beside a change once more by
    /// themselves.
    Bisect(Box<bisect::Args>),
    /// Turn this process into the emulator of a guest; `lab run` executes it
    #[command(hide = true, name = boot::VERB)]
    Boot(boot::Args),
    /// Turn this process into User-mode Linux; `lab run` executes it
    #[command(hide = true, name = uml::VERB)]
    BootUml(uml::Args),
    /// Turn this process into Wine; `lab run` executes it
    #[command(hide = true, name = wine::VERB)]
    StartWine(wine::Args),
}

pub(crate) fn lab(args: Args, console: &Console) -> Done {
    match args.verb {
        Verb::Run(args) => run::run(*args, console),
        Verb::Bisect(args) => bisect::bisect(&args, console),
        Verb::Boot(args) => boot::boot(&args),
        Verb::BootUml(args) => uml::boot(args),
        Verb::StartWine(args) => wine::start(args),
    }
}
