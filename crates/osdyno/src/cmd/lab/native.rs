//! Systems of `lab run` whose programs run on the real processor.

use lab::{Gvisor, KernelVariant, Wine};
use runner::Target;

use super::{container, gvisor, uml, wine};
use crate::failure::Failure;

#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// User-mode Linux to boot: the program, such as linux.uml; repeat the option to compare several
    ///
    /// It is a kernel that runs as a process of this system, on the real processor, and is compared with
    /// this machine. It has the same files as the guests of --kernel, and like them a further variant for
    /// each --cmdline and --sysctl. The system is called NAME, or uml- and the release that the kernel
    /// reports. COMMAND is split into words like a shell command.
    #[arg(long = "uml", value_name = "[NAME=]COMMAND")]
    umls: Vec<String>,
    /// gVisor to measure in: its program, runsc by default; repeat the option to compare several
    ///
    /// The programs that are measured run in a sandbox on the real processor, in which gVisor serves their
    /// system calls, with a loopback interface and no other network. COMMAND may have options, as in
    /// --gvisor='ptrace=runsc --platform=ptrace', and is split into words like a shell command.
    #[arg(
        long = "gvisor", value_name = "[NAME=]COMMAND", num_args = 0..=1, require_equals = true,
        default_missing_value = Gvisor::PROGRAM
    )]
    gvisors: Vec<String>,
    /// Wine to measure in: its program, wine by default; repeat the option to compare several
    ///
    /// The programs for Windows that lie beside osdyno are measured, osdyno-trial-x86_64-win7-windows-gnu.exe
    /// and osdyno-x86_64-win7-windows-gnu.exe. Wine has files of its own for the time of the
    /// run, unless WINEPREFIX is set. COMMAND is split into words like a shell command.
    #[arg(
        long = "wine", value_name = "[NAME=]COMMAND", num_args = 0..=1, require_equals = true,
        default_missing_value = Wine::PROGRAM
    )]
    wines: Vec<String>,
    /// Container to measure in: a folder that is its root, such as /, or an image; repeat the option to
    /// compare several
    ///
    /// A folder is the root of a container of bubblewrap, and is not written to; work is done in the scratch
    /// folder, which must be below /tmp or exist there. An image is started by podman, or else by docker.
    /// Either container has name spaces of its own and a loopback interface, and needs a shell in it.
    #[arg(long = "container", value_name = "[NAME=]IMAGE|ROOT")]
    containers: Vec<String>,
}

/// One of these is enough instead of a `--kernel`.
pub(super) const IDS: [&str; 4] = ["umls", "gvisors", "wines", "containers"];

impl Args {
    /// The systems.
    pub(super) fn targets(
        &self,
        variants: &[KernelVariant],
        memory_mib: u32,
    ) -> Result<Vec<Target>, Failure> {
        let mut targets = Vec::new();
        for text in &self.umls {
            targets.extend(uml::targets(text, variants, memory_mib)?);
        }
        for text in &self.gvisors {
            targets.push(gvisor::target(text)?);
        }
        for text in &self.wines {
            targets.push(wine::target(text)?);
        }
        for text in &self.containers {
            targets.push(container::target(text)?);
        }
        Ok(targets)
    }
}
