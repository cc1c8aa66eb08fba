//! Linux: the event `cpu-clock` on one thread, which needs no performance monitoring unit.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use super::attributes::Attributes;
use super::ring::Ring;
use super::{COUNTERS, CodeMapping, KernelSymbols, Sample, parse_mappings, records};
use crate::clock::reading::read_ns;
use crate::pseudo_file;

/// Takes samples of one thread.
#[derive(Debug)]
pub struct Sampler {
    event: OwnedFd,
    counters: Vec<OwnedFd>,
    names: Vec<&'static str>,
    ring: Ring,
    bytes: Vec<u8>,
    lost: u64,
}

impl Sampler {
    /// Attaches to the first thread of a process; children and other threads are not seen. It begins with
    /// [`Sampler::enable`].
    ///
    /// # Errors
    /// Those of perf_event_open(2), with what would allow it; `Unsupported` elsewhere.
    pub fn attach(process: u32, period: Duration) -> io::Result<Sampler> {
        let event = open(&Attributes::of_samples(period), process, None).map_err(why)?;
        let ring = Ring::map(&event).map_err(why_unmapped)?;
        let (mut counters, mut names) = (Vec::new(), Vec::new());
        for counter in COUNTERS {
            // One that the machine lacks is left out: `counters` says which there are.
            if let Ok(opened) = open(&Attributes::of_counter(counter), process, Some(&event)) {
                counters.push(opened);
                names.push(counter.name);
            }
        }
        Ok(Sampler { event, counters, names, ring, bytes: Vec::new(), lost: 0 })
    }

    /// Begins.
    ///
    /// # Errors
    /// Those of ioctl(2).
    pub fn enable(&self) -> io::Result<()> {
        // SAFETY: the event is open; the request takes no argument.
        let done = unsafe { libc::ioctl(self.event.as_raw_fd(), ENABLE, 0) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The names of what is counted beside the samples.
    pub fn counters(&self) -> &[&'static str] {
        &self.names
    }

    /// Hands over all samples since the last time.
    pub fn drain(&mut self, on_sample: &mut dyn FnMut(Sample<'_>)) {
        self.ring.take(&mut self.bytes);
        self.lost += records::handle(&self.bytes, on_sample);
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

/// `PERF_EVENT_IOC_ENABLE`: `_IO('$', 0)`, which is the same number on the processors we have.
const ENABLE: libc::Ioctl = 0x2400;
const CLOSE_ON_EXEC: u64 = 1 << 3;

fn open(attributes: &Attributes, process: u32, group: Option<&OwnedFd>) -> io::Result<OwnedFd> {
    let (any_processor, group) = (-1_i32, group.map_or(-1, AsRawFd::as_raw_fd));
    // SAFETY: the attributes live through the call, in the layout and with the size that they state.
    let opened = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const *attributes,
            process,
            any_processor,
            group,
            CLOSE_ON_EXEC,
        )
    };
    if opened < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(opened as i32) })
}

/// What an unprivileged user lacks, exactly.
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
/// Why their addresses are not known, with what would reveal them.
pub fn kernel_symbols() -> io::Result<KernelSymbols> {
    let text = std::fs::read("/proc/kallsyms")?;
    let symbols = KernelSymbols::parse(String::from_utf8_lossy(&text).into_owned());
    if symbols.is_empty() {
        let restrict = pseudo_file::text("/proc/sys/kernel/kptr_restrict");
        let restrict = restrict.as_deref().unwrap_or("not readable");
        return Err(io::Error::other(format!(
            "the names of kernel functions are hidden, because kernel.kptr_restrict is {restrict}; as root, \
             sysctl kernel.kptr_restrict=1 reveals them to root"
        )));
    }
    Ok(symbols)
}

/// What a process may execute.
///
/// # Errors
/// Those of reading /proc/PID/maps.
pub fn mappings(process: u32) -> io::Result<Vec<CodeMapping>> {
    let text = std::fs::read(format!("/proc/{process}/maps"))?;
    Ok(parse_mappings(&String::from_utf8_lossy(&text)))
}

/// Whether a process sleeps until something comes, as one does that has been loaded and reads its input.
pub fn waits_for_input(process: u32) -> bool {
    let Some(stat) = pseudo_file::text(format!("/proc/{process}/stat")) else { return false };
    // Its name, in parentheses, may hold anything.
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('S'))
}
