//! Variants of the kernels that boot as guests: each kernel unchanged, and once more for each option.

use lab::{KernelVariant, Sysctl};

/// The options of `lab run`.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Args {
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

impl Args {
    /// The kernel as it is, and its variants.
    pub(super) fn all(&self) -> Vec<KernelVariant> {
        let cmdlines = self.cmdlines.iter().map(|cmdline| (cmdline.clone(), None));
        let sysctls = self.sysctls.iter().map(|sysctl| (String::new(), Some(sysctl.clone())));
        let variants = std::iter::once((String::new(), None)).chain(cmdlines).chain(sysctls);
        variants.map(|(cmdline, sysctl)| KernelVariant { cmdline, sysctl }).collect()
    }
}

/// The options of the hidden verbs, which boot one variant.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct One {
    #[arg(long, default_value = "")]
    cmdline: String,
    #[arg(long)]
    sysctl: Option<Sysctl>,
}

impl One {
    pub(super) fn variant(&self) -> KernelVariant {
        KernelVariant { cmdline: self.cmdline.clone(), sysctl: self.sysctl.clone() }
    }
}

/// The words of a hidden verb for this variant. An option is one word, because a value may begin with a
/// hyphen.
pub(super) fn words(variant: &KernelVariant) -> Vec<String> {
    variant.written().chunks(2).map(|option| option.join("=")).collect()
}

/// The name of the system.
pub(super) fn name(kernel: &str, variant: &KernelVariant) -> String {
    [kernel, &variant.to_string()].join(" ").trim().to_owned()
}
