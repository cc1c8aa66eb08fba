//! An emulated machine: which emulator, kernel, command line and memory it has, and its start.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Accelerator, Error, initramfs};

/// A machine that boots a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatedMachine {
    /// The emulator: a program and its arguments.
    pub emulator: Vec<String>,
    /// The image of the kernel.
    pub kernel: PathBuf,
    /// What its command line has besides what a guest needs.
    pub cmdline: String,
    /// What executes its instructions.
    pub accelerator: Accelerator,
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
        let [program, arguments @ ..] = emulator else { return Err(failed("it has no name".to_owned())) };
        let mut command = Command::new(program);
        let output = command.args(arguments).arg("--version").stdin(Stdio::null()).output();
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
        let archive = match initramfs::build() {
            Ok(archive) => archive,
            Err(error) => return error,
        };
        let (_file, path) = match sys::file::in_memory(&archive) {
            Ok(file) => file,
            Err(error) => return Error::Initramfs(error),
        };
        drop(archive);
        let [program, arguments @ ..] = &self.emulator[..] else {
            return Error::Emulator { emulator: String::new(), reason: "it has no name".to_owned() };
        };
        let mut command = Command::new(program);
        command.args(arguments).args(self.arguments(&path));
        sys::process::die_with_parent();
        let reason = sys::process::replace_by(&mut command).to_string();
        Error::Emulator { emulator: program.clone(), reason }
    }

    /// The arguments of the emulator.
    fn arguments(&self, initramfs: &Path) -> Vec<String> {
        let words = [
            self.accelerator.arguments(),
            "-smp 1 -nodefaults -no-user-config -display none -nic none",
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
