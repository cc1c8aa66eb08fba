//! Linux: the event `cpu-clock` on one thread, which needs no performance monitoring unit.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use super::descendants::Descendants;
use super::perf_event::{Attributes, Record, Ring, parse_records};
use super::{COUNTERS, CodeMapping, Holding, KernelSymbols, Sample, parse_mappings};
use crate::clock::reading::read_ns;
use crate::error::checked;
use crate::{process_table, pseudo_file};

/// Takes samples of a process: of its first thread with counters, and of its other threads and its
/// descendants, which count as its own.
#[derive(Debug)]
pub struct Sampler {
    first: SampledEvent,
    counters: Vec<OwnedFd>,
    names: Vec<&'static str>,
    uncounted: String,
    /// An event for each processor. An inherited event would begin its period anew in each descendant, and
    /// would never see a child that ends before.
    processors: Vec<SampledEvent>,
    descendants: Descendants,
    unsampled: String,
    /// When the rings were read last.
    drained_ns: u64,
    lost: u64,
}

/// An event that samples, with its ring.
#[derive(Debug)]
struct SampledEvent {
    event: OwnedFd,
    ring: Ring,
    bytes: Vec<u8>,
}

impl SampledEvent {
    fn open(attributes: &Attributes, of: Sampled) -> io::Result<SampledEvent> {
        let event = open(attributes, of, None)?;
        let ring = Ring::map(&event).map_err(why_unmapped)?;
        Ok(SampledEvent { event, ring, bytes: Vec::new() })
    }

    fn enable(&self) -> io::Result<()> {
        // SAFETY: the event is open; the request takes no argument.
        checked(unsafe { libc::ioctl(self.event.as_raw_fd(), ENABLE, 0) }).map(drop)
    }

    /// Hands over the records since the last time, and returns how many were lost.
    fn drain(&mut self, on_record: &mut dyn FnMut(Record<'_>)) -> u64 {
        self.ring.take(&mut self.bytes);
        parse_records(&self.bytes, on_record)
    }
}

impl Sampler {
    /// Attaches to a process, which may run on these processors. It begins with [`Sampler::enable`].
    ///
    /// # Errors
    /// Those of perf_event_open(2), with the setting that would allow it; `Unsupported` elsewhere.
    pub fn attach(process: u32, period: Duration, processors: &[u32]) -> io::Result<Sampler> {
        let thread = Sampled::FirstThreadOf(process);
        let first = SampledEvent::open(&Attributes::of_samples(period), thread).map_err(why)?;
        let (mut counters, mut names, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for counter in COUNTERS {
            match open(&Attributes::of_counter(counter), thread, Some(&first.event)) {
                Ok(opened) => {
                    counters.push(opened);
                    names.push(counter.name);
                }
                Err(error) => refused.push((counter.name, error)),
            }
        }
        let uncounted = why_uncounted(&refused);
        let of_processor =
            |&processor| SampledEvent::open(&Attributes::of_processor(period), Sampled::Processor(processor));
        let opened: io::Result<Vec<SampledEvent>> = processors.iter().map(of_processor).collect();
        let (processors, unsampled) = match opened {
            Ok(processors) => (processors, String::new()),
            Err(error) => (Vec::new(), why_unsampled(&error)),
        };
        let descendants = Descendants::new(process);
        let (drained_ns, lost) = (sample_clock_ns(), 0);
        Ok(Sampler {
            first,
            counters,
            names,
            uncounted,
            processors,
            descendants,
            unsampled,
            drained_ns,
            lost,
        })
    }

    /// Begins.
    ///
    /// # Errors
    /// Those of ioctl(2).
    pub fn enable(&self) -> io::Result<()> {
        self.first.enable()?;
        self.processors.iter().try_for_each(SampledEvent::enable)
    }

    /// The names of the counters beside the samples of the first thread.
    pub fn counters(&self) -> &[&'static str] {
        &self.names
    }

    /// The missing counters, with the reason; empty where all are there.
    pub fn uncounted(&self) -> &str {
        &self.uncounted
    }

    /// Why other threads and descendants are not sampled; empty where they are.
    pub fn unsampled(&self) -> &str {
        &self.unsampled
    }

    /// Hands over samples since the last time. Those of other threads and of descendants come one time later.
    pub fn drain(&mut self, on_sample: &mut dyn FnMut(Sample<'_>)) {
        let begun_ns = sample_clock_ns();
        self.read(on_sample);
        self.descendants.settle(self.drained_ns, on_sample);
        self.drained_ns = begun_ns;
    }

    /// Hands over all that is left, once nothing more can come.
    pub fn finish(&mut self, on_sample: &mut dyn FnMut(Sample<'_>)) {
        self.read(on_sample);
        self.descendants.settle(u64::MAX, on_sample);
    }

    fn read(&mut self, on_sample: &mut dyn FnMut(Sample<'_>)) {
        let mut lost = self.first.drain(&mut |record| {
            if let Record::Sampled { sample, .. } = record {
                on_sample(sample);
            }
        });
        for processor in &mut self.processors {
            lost += processor.drain(&mut |record| self.descendants.add(record));
        }
        self.lost = self.lost.saturating_add(lost);
    }

    /// The code of programs that descendants executed. Their samples have addresses in it.
    pub fn code_of_others(&self) -> &[CodeMapping] {
        self.descendants.code()
    }

    /// How many samples found no room.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // Members of a group go before it.
        self.counters.clear();
    }
}

/// The target of an event.
#[derive(Clone, Copy, Debug)]
enum Sampled {
    FirstThreadOf(u32),
    Processor(u32),
}

/// `PERF_EVENT_IOC_ENABLE`: `_IO('$', 0)`, which is the same number on the processors we have.
const ENABLE: libc::Ioctl = 0x2400;
const CLOSE_ON_EXEC: u64 = 1 << 3;

fn open(attributes: &Attributes, of: Sampled, group: Option<&OwnedFd>) -> io::Result<OwnedFd> {
    const ANY: i32 = -1;
    let group = group.map_or(-1, AsRawFd::as_raw_fd);
    let (process, processor) = match of {
        Sampled::FirstThreadOf(process) => (process.cast_signed(), ANY),
        Sampled::Processor(processor) => (ANY, processor.cast_signed()),
    };
    // SAFETY: the attributes live through the call, in the layout and with the size that they state.
    let opened = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const *attributes,
            process,
            processor,
            group,
            CLOSE_ON_EXEC,
        )
    };
    // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
    checked(opened).map(|number| unsafe { OwnedFd::from_raw_fd(number as i32) })
}

/// The exact privilege that the user lacks.
fn why(error: io::Error) -> io::Error {
    let text = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            let paranoid = pseudo_file::text("/proc/sys/kernel/perf_event_paranoid");
            let level = paranoid.as_deref().and_then(|text| text.parse::<i32>().ok());
            match level {
                Some(level) if level > 1 => format!(
                    "samples of kernel stacks need root or CAP_PERFMON, because \
                     kernel.perf_event_paranoid is {level}; run as root, or lower it with \
                     sysctl kernel.perf_event_paranoid=1"
                ),
                _ => "perf_event_open(2) is forbidden here: a container or security module denies it; in \
                      a container add --cap-add=PERFMON and a seccomp profile that allows it"
                    .to_owned(),
            }
        }
        Some(libc::ENOSYS) => "this kernel has no perf_event_open(2)".to_owned(),
        Some(libc::ENOENT | libc::EOPNOTSUPP) => {
            "this kernel has no event cpu-clock, or a sandbox hides it".to_owned()
        }
        _ => return error,
    };
    io::Error::new(error.kind(), text)
}

/// Which counters the machine refused, and why the first of them.
fn why_uncounted(refused: &[(&str, io::Error)]) -> String {
    let Some((_, first)) = refused.first() else { return String::new() };
    let reason = match first.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            "this machine, like many virtual machines, offers no performance monitoring unit".to_owned()
        }
        Some(libc::EACCES | libc::EPERM) => "the kernel does not allow it here".to_owned(),
        _ => first.to_string(),
    };
    let names: Vec<&str> = refused.iter().map(|(name, _)| *name).collect();
    format!("not counted: {}, because {reason}", names.join(", "))
}

/// Why a whole processor cannot be sampled, as the end of a sentence.
fn why_unsampled(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            "samples of processes that come and go need root or CAP_PERFMON where \
             kernel.perf_event_paranoid is above 0; run as root, or lower it with \
             sysctl kernel.perf_event_paranoid=0"
                .to_owned()
        }
        _ => error.to_string(),
    }
}

fn why_unmapped(error: io::Error) -> io::Error {
    let text = "the buffer for samples cannot be locked in memory; raise kernel.perf_event_mlock_kb or \
                RLIMIT_MEMLOCK";
    match error.raw_os_error() {
        Some(libc::EPERM) => io::Error::new(error.kind(), text),
        _ => error,
    }
}

/// The clock of [`Sample::time_ns`].
pub fn sample_clock_ns() -> u64 {
    read_ns(libc::CLOCK_MONOTONIC_RAW)
}

/// The functions of the kernel.
///
/// # Errors
/// Why their addresses are not known, with the setting that reveals them.
pub fn kernel_symbols() -> io::Result<KernelSymbols> {
    let text = std::fs::read("/proc/kallsyms")?;
    let symbols = KernelSymbols::parse(String::from_utf8_lossy(&text).into_owned());
    if symbols.is_empty() {
        let setting = |name: &str| pseudo_file::text(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
        let why = why_nameless(setting("kptr_restrict").trim(), setting("perf_event_paranoid").trim());
        return Err(io::Error::other(format!("the names of kernel functions are hidden, because {why}")));
    }
    Ok(symbols)
}

/// The setting that hides the names, as kallsyms_show_value() of the kernel decides, and the remedy.
fn why_nameless(kptr_restrict: &str, perf_event_paranoid: &str) -> String {
    match kptr_restrict {
        "0" => format!(
            "kernel.perf_event_paranoid is {perf_event_paranoid} and this user lacks CAP_SYSLOG; run as \
             root, or lower it with sysctl kernel.perf_event_paranoid=1"
        ),
        "1" => {
            "kernel.kptr_restrict is 1, which shows them to root or with CAP_SYSLOG; run as root, or lower \
             both with sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1"
                .to_owned()
        }
        "" => "kernel.kptr_restrict cannot be read here, as in some containers; run outside of it".to_owned(),
        other => format!(
            "kernel.kptr_restrict is {other}, which hides them from root too; as root, sysctl \
             kernel.kptr_restrict=1 reveals them to root"
        ),
    }
}

/// The executable mappings of a process.
///
/// # Errors
/// Those of reading /proc/PID/maps.
pub fn mappings(process: u32) -> io::Result<Vec<CodeMapping>> {
    let text = std::fs::read(format!("/proc/{process}/maps"))?;
    Ok(parse_mappings(&String::from_utf8_lossy(&text)))
}

/// The objects that a process and its network name space hold now; unreadable counts are left out. Where
/// there are many mappings it takes milliseconds, in which the process cannot change them.
pub fn in_use(process: u32) -> Vec<Holding> {
    let file = |name: &str| std::fs::read_to_string(format!("/proc/{process}/{name}")).ok();
    let mut all: Vec<Holding> = file("status").iter().flat_map(|text| of_status(text)).collect();
    all.extend(file("maps").map(|text| Holding { name: "mappings", value: text.lines().count() as u64 }));
    // Its size is the number of descriptors from Linux 6.2 on, and zero before.
    let descriptors = std::fs::metadata(format!("/proc/{process}/fd")).map_or(0, |folder| folder.len());
    all.extend((descriptors > 0).then_some(Holding { name: "descriptors", value: descriptors }));
    all.extend(file("net/sockstat").and_then(|text| of_sockets(&text)));
    all
}

/// Whether a process sleeps until an event, like a loaded program that reads its input.
pub fn waits_for_input(process: u32) -> bool {
    process_table::process(process).is_ok_and(|process| process.state == 'S')
}

/// Lines of /proc/PID/status (proc_pid_status(5)).
const STATUS: &[(&str, &str)] =
    &[("VmPTE:", "page tables (KiB)"), ("VmRSS:", "resident memory (KiB)"), ("Threads:", "threads")];

/// Of /proc/PID/status.
fn of_status(text: &str) -> impl Iterator<Item = Holding> + '_ {
    STATUS.iter().filter_map(|&(key, name)| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        Some(Holding { name, value: line.split_whitespace().next()?.parse().ok()? })
    })
}

/// Of /proc/PID/net/sockstat: all sockets of the network name space.
fn of_sockets(text: &str) -> Option<Holding> {
    let value = text.lines().find_map(|line| line.strip_prefix("sockets: used "))?;
    Some(Holding { name: "sockets", value: value.trim().parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_the_names_is_named_with_what_reveals_them() {
        let of_paranoid = why_nameless("0", "2");
        assert!(of_paranoid.contains("perf_event_paranoid is 2") && of_paranoid.contains("CAP_SYSLOG"));
        assert!(why_nameless("1", "2").contains("kptr_restrict=0 kernel.perf_event_paranoid=1"));
        assert!(why_nameless("2", "2").contains("from root too"));
        assert!(why_nameless("", "").contains("cannot be read"));
    }

    #[test]
    fn counters_that_a_machine_lacks_are_named_with_the_reason() {
        let refused = |errno| [("instructions", io::Error::from_raw_os_error(errno))];
        assert_eq!(why_uncounted(&[]), "");
        let words = why_uncounted(&refused(libc::ENOENT));
        assert!(words.starts_with("not counted: instructions, because this machine"), "{words}");
        assert!(why_uncounted(&refused(libc::EACCES)).contains("does not allow it"));
    }

    #[test]
    fn what_the_kernel_says_is_understood_and_nonsense_is_nothing() {
        let status = "Name:\tVmPTE: 7\nVmRSS:\t    1236 kB\nVmPTE:\t      52 kB\nThreads:\t3\n";
        let all: Vec<(&str, u64)> = of_status(status).map(|one| (one.name, one.value)).collect();
        assert_eq!(all, [("page tables (KiB)", 52), ("resident memory (KiB)", 1236), ("threads", 3)]);
        assert_eq!(of_status("VmPTE:\nThreads: many\n").count(), 0);
        let sockets = "sockets: used 301\nTCP: inuse 5 orphan 0 tw 1 alloc 9 mem 3\n";
        assert_eq!(of_sockets(sockets), Some(Holding { name: "sockets", value: 301 }));
        assert_eq!(of_sockets("TCP: inuse 5\n"), None);
    }
}
