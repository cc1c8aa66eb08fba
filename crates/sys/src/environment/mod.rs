//! Facts of this machine by dotted key: kernel, processor, memory, clock, limits and settings.
//!
//! Every record contains the facts, so that a comparison can list the differences between two runs. Reading
//! them changes nothing and needs no privilege. A fact that cannot be read is absent. Names of machines,
//! people and folders are never read.

#[cfg(target_os = "linux")]
mod linux;
mod readiness;

use std::collections::BTreeMap;
use std::path::Path;

#[cfg(all(unix, not(target_os = "linux")))]
use bsd as system;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

pub use readiness::{ConditionSeverity, MachineCondition, conditions, warnings};

/// Reads all facts; with a folder, also those of the file system it is on (`scratch.file_system`, …).
/// Takes a few milliseconds. See proc(5), sysfs(5), uname(2), getrlimit(2).
pub fn facts(scratch: Option<&Path>) -> Facts {
    let mut facts = Collector::default();
    facts.add("os.family", Some(std::env::consts::FAMILY));
    facts.add("os.name", Some(std::env::consts::OS));
    facts.add("machine.arch", Some(std::env::consts::ARCH));
    facts.add("cpu.count", Some(crate::cpu::count()));
    #[cfg(target_arch = "x86_64")]
    processor(&mut facts);
    #[cfg(unix)]
    software::read(&mut facts);
    #[cfg(unix)]
    kernel(&mut facts);
    topology(&mut facts);
    limits(&mut facts);
    system::read(&mut facts, scratch);
    facts.0
}

/// uname(2), less the machine's own name.
#[cfg(unix)]
fn kernel(facts: &mut Collector) {
    let uname = rustix::system::uname();
    let text = |text: &std::ffi::CStr| Some(text.to_string_lossy().into_owned());
    facts.add("kernel.name", text(uname.sysname()));
    facts.add("kernel.release", text(uname.release()));
    facts.add("kernel.version", text(uname.version()));
    facts.add("kernel.arch", text(uname.machine()));
    facts.add("memory.page_bytes", Some(rustix::param::page_size()));
}

/// The report of an x86 processor about itself.
#[cfg(target_arch = "x86_64")]
fn processor(facts: &mut Collector) {
    use crate::cpu::cpuid;
    facts.add("cpu.model", cpuid::brand());
    facts.add("cpu.vendor", cpuid::vendor());
    let (family, model, stepping) = cpuid::signature();
    facts.add("cpu.family", Some(family));
    facts.add("cpu.model_number", Some(model));
    facts.add("cpu.stepping", Some(stepping));
    facts.add("machine.virtual", Some(if cpuid::has_hypervisor() { "yes" } else { "no" }));
    facts.add("machine.engine", Some(if cpuid::is_emulator() { cpuid::QEMU_TCG } else { "native" }));
    facts.add("machine.hypervisor", cpuid::hypervisor());
}

fn topology(facts: &mut Collector) {
    if let Ok(topology) = crate::cpu::topology() {
        facts.add("cpu.online", Some(topology.cpus.len()));
        facts.add("cpu.cores", Some(topology.cores()));
        facts.add("cpu.packages", Some(topology.packages()));
        facts.add("cpu.nodes", Some(topology.nodes()));
        let smt = topology.cores() < topology.cpus.len();
        facts.add("cpu.smt", Some(if smt { "on" } else { "off" }));
        for cache in &topology.caches {
            let kind = match cache.kind {
                crate::cpu::CacheKind::Data => "d",
                crate::cpu::CacheKind::Instruction => "i",
                crate::cpu::CacheKind::Unified => "",
            };
            // Where cores differ, the facts are those of the largest.
            let key = format!("cpu.cache.l{}{kind}_bytes", cache.level);
            let known = facts.0.get(&key).and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
            facts.add(&key, Some(cache.bytes.max(known)));
        }
        let line = topology.caches.iter().map(|cache| cache.line_bytes).find(|line| *line > 0);
        facts.add("cpu.cache.line_bytes", line);
    }
    if let Ok(allowed) = crate::cpu::allowed() {
        facts.add("cpu.allowed", Some(allowed.len()));
    }
    let bounds = crate::cpu::bounds();
    let words = bounds.words().join(" ");
    facts.add("cpu.bounded_by", Some(words).filter(|words| !words.is_empty()));
    let off = bounds.without_smt + bounds.offline;
    facts.add("cpu.offline", Some(off).filter(|off| *off > 0));
}

fn limits(facts: &mut Collector) {
    use crate::limit::{Kind, get};
    let kinds = [
        ("descriptors", Kind::Descriptors),
        ("processes", Kind::Processes),
        ("stack_bytes", Kind::Stack),
        ("address_space_bytes", Kind::AddressSpace),
        ("locked_memory_bytes", Kind::LockedMemory),
    ];
    for (name, kind) in kinds {
        let Ok(limit) = get(kind) else { continue };
        let spell =
            |value: Option<u64>| Some(value.map_or("unlimited".to_owned(), |value| value.to_string()));
        facts.add(&format!("limit.{name}.soft"), spell(limit.soft));
        facts.add(&format!("limit.{name}.hard"), spell(limit.hard));
    }
}

/// Facts by dotted key, such as `kernel.release`. Sizes are bytes and end in `_bytes`; a setting of the
/// kernel keeps the kernel's own unit and spelling.
pub type Facts = BTreeMap<String, String>;

/// Facts as they are read, one after the other.
#[derive(Default)]
struct Collector(Facts);

impl Collector {
    /// Adds a fact unless the value is empty. A later reader overwrites an earlier one.
    fn add(&mut self, key: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            // Tables come with tabs between their columns; a fact is one line.
            let words = value.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            if !words.is_empty() {
                self.0.insert(key.to_owned(), words);
            }
        }
    }
}

/// Programs and libraries of the system whose version decides what a workload measures.
#[cfg(unix)]
mod software {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Child, Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::Collector;
    use crate::process::find_program;

    /// The facts, and the commands whose first line of output they are; absent where there is no such
    /// command.
    const VERSIONS: [(&str, &str, &str); 6] = [
        ("software.compiler", "cc", "--version"),
        ("software.openssl", "openssl", "version"),
        ("software.postgresql", "postgres", "--version"),
        ("software.mariadb", "mariadbd", "--version"),
        ("software.smbd", "smbd", "--version"),
        ("software.ssh", "ssh", "-V"),
    ];

    /// How long all of them may take: a program that does not answer has no version.
    const PATIENCE: Duration = Duration::from_secs(2);

    /// How long a line may be.
    const LINE_BYTES: u64 = 1000;

    pub(super) fn read(facts: &mut Collector) {
        // All at once, because every run waits for them.
        let started = VERSIONS.map(|(fact, command, argument)| (fact, start(command, argument)));
        let deadline = Instant::now() + PATIENCE;
        for (fact, child) in started {
            let line = child.and_then(|child| first_line(child, deadline));
            facts.add(fact, line.as_deref());
        }
    }

    fn start(command: &str, argument: &str) -> Option<Child> {
        let mut command = Command::new(find_program(command)?);
        command.arg(argument).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().ok()
    }

    /// The first line that it prints, if it ends well and in time; ssh(1) prints its version as an error.
    pub(super) fn first_line(mut child: Child, deadline: Instant) -> Option<String> {
        let (output, errors) = (child.stdout.take()?, child.stderr.take());
        while child.try_wait().ok()?.is_none() {
            if Instant::now() >= deadline {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            thread::sleep(Duration::from_millis(1));
        }
        let is_well = child.wait().is_ok_and(|status| status.success());
        let mut line = String::new();
        BufReader::new(output.take(LINE_BYTES)).read_line(&mut line).ok().filter(|_| is_well)?;
        if let Some(errors) = errors.filter(|_| line.is_empty()) {
            BufReader::new(errors.take(LINE_BYTES)).read_line(&mut line).ok()?;
        }
        Some(line)
    }
}

/// The BSDs, macOS and illumos: facts from sysctl(3), where names can be looked up.
#[cfg(all(unix, not(target_os = "linux")))]
mod bsd {
    use std::path::Path;

    use super::Collector;
    use crate::tunable::sysctl;

    pub(super) fn read(facts: &mut Collector, _scratch: Option<&Path>) {
        for (key, name) in [
            ("cpu.model", c"machdep.cpu.brand_string"),
            ("machine.product", c"hw.model"),
            ("clock.source", c"kern.timecounter.hardware"),
            ("clock.sources", c"kern.timecounter.choice"),
            ("machine.hypervisor", c"kern.vm_guest"),
            ("kernel.command_line", c"kern.bootargs"),
            ("kernel.version", c"kern.version"),
            ("os.distribution", c"kern.osproductversion"),
            ("cpu.frequency_levels", c"dev.cpu.0.freq_levels"),
            ("net.tcp_congestion_control", c"net.inet.tcp.cc.algorithm"),
        ] {
            facts.add(key, sysctl::text(name));
        }
        for (key, name) in [
            ("memory.total_bytes", c"hw.physmem"),
            ("memory.total_bytes", c"hw.physmem64"),
            ("memory.total_bytes", c"hw.memsize"),
            ("memory.swap_bytes", c"vm.swap_total"),
            ("cpu.online", c"hw.ncpu"),
            ("cpu.cores", c"hw.physicalcpu"),
            ("cpu.cores", c"kern.smp.cores"),
            ("cpu.packages", c"hw.packages"),
            ("cpu.cache.l1d_bytes", c"hw.l1dcachesize"),
            ("cpu.cache.l2_bytes", c"hw.l2cachesize"),
            ("cpu.cache.l3_bytes", c"hw.l3cachesize"),
            ("cpu.cache.line_bytes", c"hw.cachelinesize"),
            ("kernel.max_files", c"kern.maxfiles"),
            ("kernel.max_files_per_process", c"kern.maxfilesperproc"),
            ("kernel.max_processes", c"kern.maxproc"),
            ("kernel.hz", c"kern.hz"),
            ("net.somaxconn", c"kern.ipc.somaxconn"),
            ("net.port_first", c"net.inet.ip.portrange.first"),
            ("net.port_last", c"net.inet.ip.portrange.last"),
            ("security.jailed", c"security.jail.jailed"),
            ("kernel.aslr", c"kern.elf64.aslr.enable"),
            ("cpu.mitigations.pti", c"vm.pmap.pti"),
            ("cpu.mitigations.ibrs", c"hw.ibrs_active"),
            ("cpu.mitigations.mds", c"hw.mds_disable_state"),
        ] {
            facts.add(key, sysctl::number(name));
        }
        // FreeBSD's word for a machine of one's own.
        if let Some(guest) = facts.0.get("machine.hypervisor").cloned() {
            facts.add("machine.virtual", Some(if guest == "none" { "no" } else { "yes" }));
            if guest == "none" {
                facts.0.remove("machine.hypervisor");
            }
        }
        if facts.0.get("security.jailed").is_some_and(|jailed| jailed == "1") {
            facts.add("container", Some("jail"));
        }
    }
}

/// Windows: its version by RtlGetVersion, which manifests do not change, and its memory. Wine, which
/// implements the same calls on another kernel, is recognised by a function of its ntdll.dll.
#[cfg(windows)]
pub(crate) mod windows {
    use std::ffi::{CStr, c_char};
    use std::path::Path;

    use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
    use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleA, GetProcAddress};
    use windows_sys::Win32::System::SystemInformation::{
        GlobalMemoryStatusEx, MEMORYSTATUSEX, OSVERSIONINFOW,
    };

    use super::Collector;

    pub(super) fn read(facts: &mut Collector, _scratch: Option<&Path>) {
        facts.add("kernel.name", Some("Windows"));
        facts.add("kernel.release", version());
        facts.add("memory.page_bytes", Some(crate::memory::page_bytes()));
        if let Some(memory) = memory() {
            facts.add("memory.total_bytes", Some(memory.ullTotalPhys));
        }
        if let Some(version) = wine() {
            facts.add("machine.emulation", Some(format!("Wine {version}")));
        }
    }

    fn version() -> Option<String> {
        let size = size_of::<OSVERSIONINFOW>() as u32;
        let mut version = OSVERSIONINFOW { dwOSVersionInfoSize: size, ..OSVERSIONINFOW::default() };
        // SAFETY: the call fills the structure, which has the size that it says, and outlives it.
        let status = unsafe { RtlGetVersion(&raw mut version) };
        let numbers = [version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber];
        (status == 0).then(|| numbers.map(|number| number.to_string()).join("."))
    }

    /// Physical memory and how much of it is free.
    pub(crate) fn memory() -> Option<MEMORYSTATUSEX> {
        let mut memory =
            MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..MEMORYSTATUSEX::default() };
        // SAFETY: the call fills the structure, which has the size that it says, and outlives it.
        let answer = unsafe { GlobalMemoryStatusEx(&raw mut memory) };
        (answer != 0).then_some(memory)
    }

    /// The version of Wine, by the function that its developers recommend (Wine Developer's Guide).
    fn wine() -> Option<String> {
        // SAFETY: the names are C strings, and ntdll.dll is loaded as long as the process lives. The function
        // has no arguments and returns a constant C string.
        let version = unsafe {
            let library = GetModuleHandleA(c"ntdll.dll".as_ptr().cast());
            let function = GetProcAddress(library, c"wine_get_version".as_ptr().cast())?;
            let function: extern "C" fn() -> *const c_char = std::mem::transmute(function);
            CStr::from_ptr(function())
        };
        Some(version.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_says_what_it_is() {
        let facts = facts(None);
        for key in ["os.name", "machine.arch", "cpu.count"] {
            assert!(facts.contains_key(key), "{key} is missing");
        }
        for (key, value) in &facts {
            assert!(!value.is_empty() && !value.contains('\n'), "{key} = {value:?}");
            assert!(!key.contains(char::is_whitespace), "{key:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_names_its_kernel_clock_and_file_system() {
        let facts = facts(Some(Path::new("/")));
        for key in ["kernel.release", "memory.total_bytes", "scratch.file_system", "limit.descriptors.soft"] {
            assert!(facts.contains_key(key), "{key} is missing");
        }
        assert!(!facts.keys().any(|key| key.contains("host_name")));
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_fails_or_does_not_end_has_no_version() {
        use std::process::{Command, Stdio};
        use std::time::{Duration, Instant};

        let of = |script: &str, patience: Duration| {
            let mut command = Command::new("sh");
            let output = command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = output.spawn().unwrap();
            software::first_line(child, Instant::now() + patience)
        };
        let (long, short) = (Duration::from_secs(60), Duration::from_millis(10));
        assert_eq!(of("echo one; echo two", long).as_deref().map(str::trim_end), Some("one"));
        assert_eq!(of("echo one; exit 1", long), None);
        assert_eq!(of("echo a warning >&2; echo one", long).as_deref(), Some("one\n"));
        assert_eq!(of("echo one >&2", long).as_deref(), Some("one\n"));
        assert_eq!(of("exec sleep 60", short), None);
    }
}
