//! An emulated machine: which emulator, kernel, command line and memory it has, and its start.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::{Error, start};

/// A machine that boots a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatedMachine {
    /// The emulator: a program and its arguments.
    pub emulator: Vec<String>,
    /// The image of the kernel.
    pub kernel: PathBuf,
    /// What its command line has besides what a guest needs.
    pub cmdline: String,
    /// Its memory.
    pub memory_mib: u32,
}

impl EmulatedMachine {
    /// The emulator where the user names none.
    pub const EMULATOR: &str = "qemu-system-x86_64";

    /// The memory where the user names none: several times what the workloads take at their largest n.
    pub const MEMORY_MIB: u32 = 1024;

    /// Finds out, before anything is measured, whether such a machine can be started.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn check_emulator(emulator: &[String]) -> Result<(), Error> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(Error::Unsupported);
        }
        let failed = |reason: String| Error::Emulator { emulator: emulator.join(" "), reason };
        let Some(mut command) = start::command(emulator) else {
            return Err(failed(start::NO_WORD.to_owned()));
        };
        let output = command.arg("--version").stdin(Stdio::null()).output();
        match output {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(failed(sys::process::ending(output.status))),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Turns this process into the emulator, whose standard input and output are the second serial line of
    /// the machine, and whose standard error is the first, with the console. It ends with its parent.
    ///
    /// # Errors
    /// Why there is none; without an error it does not return.
    pub fn boot(&self) -> Error {
        let failed = |reason| Error::Emulator { emulator: self.emulator.join(" "), reason };
        start::with_initramfs(&self.emulator, |initramfs| self.arguments(initramfs), failed)
    }

    /// The arguments of the emulator.
    fn arguments(&self, initramfs: &Path) -> Vec<String> {
        let words = [
            // /dev/kvm alone proves nothing: some hypervisors offer one that boots no kernel.
            "-accel tcg -smp 1 -nodefaults -no-user-config -display none -nic none",
            // Without random numbers from its processor, a guest waits for seconds until it has some. QEMU
            // 7.2 sometimes loses the flags of CMPXCHG16B, and the guest ends in a double fault.
            "-cpu qemu64,+rdrand,-cx16",
            // A kernel that panics restarts the machine, which ends the emulator.
            "-no-reboot",
            "-chardev file,id=console,path=/proc/self/fd/2 -serial chardev:console",
            "-chardev stdio,id=line,signal=off -serial chardev:line",
        ];
        let mut arguments: Vec<String> =
            words.iter().flat_map(|words| words.split(' ')).map(str::to_owned).collect();
        let own = [
            ("-m", format!("{}M", self.memory_mib)),
            ("-kernel", self.kernel.to_string_lossy().into_owned()),
            ("-initrd", initramfs.to_string_lossy().into_owned()),
            ("-append", format!("console=ttyS0 panic=-1 {} -- {}", self.cmdline, host::INIT)),
        ];
        arguments.extend(own.into_iter().flat_map(|(option, value)| [option.to_owned(), value]));
        arguments
    }
}
