//! User-mode Linux: a kernel that is a program of this system, and boots as a process of it.
//!
//! Its options are those of Documentation/virt/uml/user_mode_linux_howto_v2.rst, and of `linux --help`.

use std::path::{Path, PathBuf};

use crate::{Error, KernelVariant, kernel, start};

/// A kernel that boots as a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserModeLinux {
    /// The kernel: a program, and words before its own options.
    pub command: Vec<String>,
    /// Differences from the kernel with default settings.
    pub variant: KernelVariant,
    /// Its memory.
    pub memory_mib: u32,
    /// The run's folder, with the programs that measure in the guest. Its identity file and management
    /// socket, which a kill leaves, are made there.
    pub folder: PathBuf,
}

impl UserModeLinux {
    /// The program where the user names none: that of Debian's package user-mode-linux.
    pub const PROGRAM: &str = "linux.uml";

    /// The release of the kernel, such as `7.2.7`, as it reports it itself.
    ///
    /// # Errors
    /// [`Error::NoUserModeLinux`] for a program that cannot be started, or that is no such kernel.
    pub fn release(command: &[String]) -> Result<String, Error> {
        let failed = |reason| Error::NoUserModeLinux { program: command.join(" "), reason };
        let release = start::version(command).map_err(failed)?;
        match kernel::is_release(release.as_bytes()) {
            true => Ok(release),
            false => Err(failed("--version printed something else than the release of a kernel".to_owned())),
        }
    }

    /// Turns this process into the kernel, whose standard input and output are its second serial line, and
    /// whose standard error is its console. It ends with its parent.
    ///
    /// # Errors
    /// Why there is none; without an error it does not return.
    pub fn boot(&self) -> Error {
        let failed = |reason| Error::NoUserModeLinux { program: self.command.join(" "), reason };
        start::with_initramfs(&self.command, &self.folder, |initramfs| self.arguments(initramfs), failed)
    }

    /// The arguments of the kernel.
    fn arguments(&self, initramfs: &Path) -> Vec<String> {
        let mut arguments = vec![
            format!("mem={}M", self.memory_mib),
            format!("initrd={}", initramfs.display()),
            format!("uml_dir={}", self.folder.display()),
        ];
        // The console writes to standard error and reads nothing; the second serial line is the first two
        // descriptors. No other line opens a terminal or a window.
        let lines = "con=null con0=null,fd:2 ssl=null ssl1=fd:0,fd:1 console=tty0";
        // Without a root it adds one behind the words of the first process. System calls are caught by a
        // filter where the kernel can: ptrace(2) is slower.
        let others = "seccomp=auto root=none panic=-1 noreboot";
        let words = [lines, others, &self.variant.words()];
        arguments.extend(words.iter().flat_map(|words| words.split_whitespace()).map(str::to_owned));
        arguments
    }
}
