//! Systems of `lab run` whose programs run on the real processor: User-mode Linux, gVisor, Wine, containers.
//! Two of them start by a hidden verb, which turns this process into User-mode Linux or Wine.

use std::path::PathBuf;

use lab::{Container, EmulatedMachine, Gvisor, KernelVariant, UserModeLinux, Wine};
use runner::{Entry, OWN_PROGRAM, SCRATCH, Target};

use super::machine::{OneVariant, name_of_variant, words, words_of_variant};
use crate::cmd::Done;
use crate::console::Failure;

/// The hidden verbs.
pub(super) const UML_VERB: &str = "boot-uml";
pub(super) const WINE_VERB: &str = "start-wine";

/// Options of `lab run`; the first two also of the hidden verbs.
const UML: &str = "--uml";
const WINE: &str = "--wine";
const GVISOR: &str = "--gvisor";

#[derive(clap::Args)]
#[group(skip)]
pub(super) struct NativeArgs {
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

impl NativeArgs {
    /// The systems.
    pub(super) fn targets(
        &self,
        variants: &[KernelVariant],
        memory_mib: u32,
    ) -> Result<Vec<Target>, Failure> {
        let mut targets = Vec::new();
        for text in &self.umls {
            targets.extend(uml_targets(text, variants, memory_mib)?);
        }
        for text in &self.gvisors {
            targets.push(gvisor_target(text)?);
        }
        for text in &self.wines {
            targets.push(wine_target(text)?);
        }
        for text in &self.containers {
            targets.push(container_target(text)?);
        }
        Ok(targets)
    }
}

#[derive(clap::Args)]
pub(super) struct UmlArgs {
    #[arg(long)]
    uml: String,
    #[command(flatten)]
    variant: OneVariant,
    #[arg(long)]
    memory: u32,
    /// A folder that is removed after the run.
    #[arg(long)]
    folder: PathBuf,
}

pub(super) fn boot_uml(args: UmlArgs) -> Done {
    let UmlArgs { uml, variant, memory: memory_mib, folder } = args;
    let (command, variant) = (words(UML, &uml)?, variant.variant());
    let kernel = UserModeLinux { command, variant, memory_mib, folder };
    Err(kernel.boot().into())
}

/// The kernel as a system, in each of these variants.
fn uml_targets(text: &str, variants: &[KernelVariant], memory_mib: u32) -> Result<Vec<Target>, Failure> {
    let (name, command) = split(text);
    let release = UserModeLinux::release(&words(UML, command)?)?;
    let name = name.map_or_else(|| format!("uml-{release}"), str::to_owned);
    let target = |variant: &KernelVariant| {
        let mut options = vec![
            OWN_PROGRAM.to_owned(),
            "lab".to_owned(),
            UML_VERB.to_owned(),
            // In one word, because a value may begin with a hyphen.
            format!("{UML}={command}"),
            format!("--memory={memory_mib}"),
            "--folder".to_owned(),
            SCRATCH.to_owned(),
        ];
        options.extend(words_of_variant(variant));
        let mut written = vec![UML.to_owned(), command.to_owned()];
        written.extend(variant.written());
        if memory_mib != EmulatedMachine::MEMORY_MIB {
            written.extend(["--memory".to_owned(), memory_mib.to_string()]);
        }
        let name = name_of_variant(&name, variant);
        Target { written, entry: Entry::Guest, ..Target::of_command(name, options) }
    };
    Ok(variants.iter().map(target).collect())
}

#[derive(clap::Args)]
pub(super) struct WineArgs {
    #[arg(long)]
    wine: String,
    /// A folder that is removed after the run.
    #[arg(long)]
    folder: PathBuf,
}

pub(super) fn start_wine(args: WineArgs) -> Done {
    let wine = Wine { command: words(WINE, &args.wine)?, folder: args.folder };
    Err(wine.start().into())
}

/// Wine as a system.
fn wine_target(text: &str) -> Result<Target, Failure> {
    let (name, command) = split(text);
    let programs = Some(Wine::programs(&words(WINE, command)?)?);
    // In one word, because a value may begin with a hyphen.
    let wine = format!("{WINE}={command}");
    let prefix = [OWN_PROGRAM, "lab", WINE_VERB, &wine, "--folder", SCRATCH].map(str::to_owned).to_vec();
    let written = vec![WINE.to_owned(), command.to_owned()];
    let target = Target::of_command(name.unwrap_or("wine").to_owned(), prefix);
    Ok(Target { written, entry: Entry::Agent, programs, ..target })
}

/// The sandbox as a system.
fn gvisor_target(text: &str) -> Result<Target, Failure> {
    let (name, command) = split(text);
    let prefix = Gvisor::sandbox(&words(GVISOR, command)?)?;
    let written = vec![GVISOR.to_owned(), command.to_owned()];
    Ok(Target { written, ..Target::of_command(name.unwrap_or("gvisor").to_owned(), prefix) })
}

/// The container as a system.
fn container_target(text: &str) -> Result<Target, Failure> {
    let (name, image) = split(text);
    let prefix = Container::command(image)?;
    let written = vec!["--container".to_owned(), image.to_owned()];
    Ok(Target { written, ..Target::of_command(name.unwrap_or(image).to_owned(), prefix) })
}

/// The name that stands before a command, and the command: a name has no slash and no space, which an
/// assignment to a variable before a command has.
fn split(text: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| !name.is_empty() && !name.contains(['/', ' ']);
    match text.split_once('=').filter(|(name, _)| is_name(name)) {
        Some((name, command)) => (Some(name), command),
        None => (None, text),
    }
}
