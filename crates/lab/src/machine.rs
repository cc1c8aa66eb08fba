//! Machines that boot a kernel: one that QEMU emulates, and User-mode Linux, a kernel that is a program of
//! this system and boots as a process of it.
//!
//! Options of User-mode Linux are those of Documentation/virt/uml/user_mode_linux_howto_v2.rst, and of
//! `linux --help`.

use std::path::{Path, PathBuf};

use crate::{Accelerator, Error, KernelVariant, kernel, start};

/// The first QEMU that emulates several processors reliably.
const RELIABLE_MAJOR: u32 = 10;

/// A machine that boots a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatedMachine {
    /// The emulator: a program and its arguments.
    pub emulator: Vec<String>,
    /// The image of the kernel.
    pub kernel: PathBuf,
    /// Differences from the kernel with default settings.
    pub variant: KernelVariant,
    /// Executes its instructions.
    pub accelerator: Accelerator,
    /// Its memory.
    pub memory_mib: u32,
    /// Its processors.
    pub processors: u32,
    /// Its memory nodes, between which processors and memory are divided; no more than it has processors.
    pub nodes: u32,
    /// The run's folder, with the programs that measure in the guest.
    pub folder: PathBuf,
}

/// Words of every kernel's command line. A kernel whose interrupts are threads, as with PREEMPT_RT, takes the
/// many interrupts of a busy serial line for a fault and turns them off, unless it has `noirqdebug`; without
/// interrupts the line loses bytes.
const WORDS: &str = "console=ttyS0 panic=-1 noirqdebug";

impl EmulatedMachine {
    /// The emulator where the user names none.
    pub const EMULATOR: &str = "qemu-system-x86_64";

    /// The memory where the user names none: several times the memory of the workloads at their largest n.
    pub const MEMORY_MIB: u32 = 1024;

    /// Checks, before anything is measured, whether such a machine can be started; returns the version that
    /// the emulator prints.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn check_emulator(emulator: &[String]) -> Result<String, Error> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(Error::Unsupported);
        }
        let failed = |reason| Error::Emulator { emulator: emulator.join(" "), reason };
        start::version(emulator).map_err(failed)
    }

    /// The release of an emulator that loses some boots of guests with several processors, from its printed
    /// version: 7.2 lost two of six, and 10.0 none. Between those none was tried.
    pub fn unreliable_release(version: &str) -> Option<&str> {
        let release = version.split_whitespace().skip_while(|word| *word != "version").nth(1)?;
        let major: u32 = release.split('.').next()?.parse().ok()?;
        (major < RELIABLE_MAJOR).then_some(release)
    }

    /// Turns this process into the emulator, whose standard input and output are the second serial line of
    /// the machine, and whose standard error is the first, with the console. It ends with its parent.
    ///
    /// # Errors
    /// Why there is none; without an error it does not return.
    pub fn boot(&self) -> Error {
        let failed = |reason| Error::Emulator { emulator: self.emulator.join(" "), reason };
        start::with_initramfs(&self.emulator, &self.folder, |initramfs| self.arguments(initramfs), failed)
    }

    /// The arguments of the emulator.
    fn arguments(&self, initramfs: &Path) -> Vec<String> {
        let words = [
            self.accelerator.arguments(),
            "-nodefaults -no-user-config -display none -nic none",
            // A kernel that panics restarts the machine, which ends the emulator.
            "-no-reboot",
            "-chardev file,id=console,path=/proc/self/fd/2 -serial chardev:console",
            "-chardev stdio,id=line,signal=off -serial chardev:line",
        ];
        let mut arguments: Vec<String> =
            words.iter().flat_map(|words| words.split(' ')).map(str::to_owned).collect();
        let own = [
            ("-smp", self.processors.to_string()),
            ("-m", format!("{}M", self.memory_mib)),
            ("-kernel", self.kernel.to_string_lossy().into_owned()),
            ("-initrd", initramfs.to_string_lossy().into_owned()),
            ("-append", [WORDS, self.words_of_processors(), &self.variant.words()].join(" ")),
        ];
        arguments.extend(own.into_iter().flat_map(|(option, value)| [option.to_owned(), value]));
        arguments.extend(self.node_arguments());
        arguments
    }

    /// The words of the kernel's command line for emulated processors. They share few real ones: 64 of them
    /// measure the delay loop, each again and again, for more than two minutes, and a comparison of their
    /// clocks, which are one, may fail.
    fn words_of_processors(&self) -> &'static str {
        match self.accelerator {
            Accelerator::Tcg if self.processors > 1 => "lpj=4000000 tsc=reliable",
            Accelerator::Tcg | Accelerator::Kvm => "",
        }
    }

    /// The arguments for several memory nodes: each has a part of the processors and of the memory.
    fn node_arguments(&self) -> Vec<String> {
        let nodes = self.nodes.min(self.processors).min(self.memory_mib);
        if nodes < 2 {
            return Vec::new();
        }
        let begin = |node: u32, all: u32| u64::from(node) * u64::from(all) / u64::from(nodes);
        let of_node = |node: u32| {
            let part = |all| (begin(node, all), begin(node + 1, all));
            let ((first, end), (from, to)) = (part(self.processors), part(self.memory_mib));
            let memory = format!("memory-backend-ram,id=memory{node},size={}M", to - from);
            let last = end - 1;
            let node = format!("node,nodeid={node},cpus={first}-{last},memdev=memory{node}");
            ["-object".to_owned(), memory, "-numa".to_owned(), node]
        };
        (0..nodes).flat_map(of_node).collect()
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_divide_processors_and_memory() {
        let machine = |processors, nodes| EmulatedMachine {
            emulator: Vec::new(),
            kernel: PathBuf::new(),
            variant: KernelVariant::default(),
            accelerator: Accelerator::Tcg,
            memory_mib: 1000,
            processors,
            nodes,
            folder: PathBuf::new(),
        };
        assert!(machine(4, 1).node_arguments().is_empty());
        let arguments = machine(5, 2).node_arguments();
        assert_eq!(arguments[1], "memory-backend-ram,id=memory0,size=500M");
        assert_eq!(arguments[3], "node,nodeid=0,cpus=0-1,memdev=memory0");
        assert_eq!(arguments[7], "node,nodeid=1,cpus=2-4,memdev=memory1");
        assert_eq!(machine(2, 8).node_arguments().len(), 8, "no node is without a processor");
    }

    #[test]
    fn an_old_emulator_is_known_by_its_version() {
        let unreliable = EmulatedMachine::unreliable_release;
        let old = "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)\nCopyright (c) 2003-2022";
        assert_eq!(unreliable(old), Some("7.2.22"));
        for text in ["QEMU emulator version 10.0.2 (Debian)", "", "version", "QEMU emulator version x"] {
            assert_eq!(unreliable(text), None, "{text}");
        }
    }
}
