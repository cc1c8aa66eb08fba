//! Systems of `lab run` whose programs run on the real processor.

use lab::Variant;
use runner::Target;

use super::uml;
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
}

/// One of these is enough instead of a `--kernel`.
pub(super) const IDS: [&str; 1] = ["umls"];

impl Args {
    /// The systems.
    pub(super) fn targets(&self, variants: &[Variant], memory_mib: u32) -> Result<Vec<Target>, Failure> {
        let mut targets = Vec::new();
        for text in &self.umls {
            targets.extend(uml::targets(text, variants, memory_mib)?);
        }
        Ok(targets)
    }
}
