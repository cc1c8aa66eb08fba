//! Counters of the system, read before and after a trial.
//!
//! An increase that should be zero (steal, swapping, throttling, dropped connections) explains why a trial is
//! an outlier. All values are in base units; a counter that a system lacks is absent.

use std::collections::BTreeMap;

#[cfg(target_os = "linux")]
use linux as system;

#[cfg(windows)]
use windows as system;

#[cfg(not(any(target_os = "linux", windows)))]
use other as system;

/// Reads everything: about a dozen small files on Linux, well below a millisecond.
///
/// Counters of the process (getrusage(2)) are those of this process and of its children that have ended
/// and were waited for: `cpu_user_seconds`, `cpu_system_seconds`, `context_switches_voluntary`,
/// `context_switches_involuntary`, `page_faults_minor`, `page_faults_major`.
///
/// Counter of the calling thread: `run_delay_seconds`, while it could have run and waited for a processor.
///
/// Counters of the system: `steal_seconds`, `busy_seconds`, `idle_seconds`, `system_context_switches`,
/// `system_interrupts`, `system_forks`, `swap_in_pages`, `swap_out_pages`, `oom_kills`, `tcp_retransmits`,
/// `listen_drops`, `listen_overflows`, `psi_cpu_seconds`, `psi_memory_seconds`, `psi_io_seconds`,
/// `quota_throttled_seconds`, `thermal_throttles`. Of several processors they are sums.
///
/// Levels; a difference has their values at its end: `load_1m`, `memory_available_bytes`, `swap_used_bytes`.
pub fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot::default();
    #[cfg(unix)]
    usage::read(&mut snapshot);
    system::read(&mut snapshot);
    snapshot
}

/// All counters at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Counters since the start of the system, or of this process.
    counters: BTreeMap<&'static str, f64>,
    /// Levels, which rise and fall.
    levels: BTreeMap<&'static str, f64>,
}

impl Snapshot {
    /// One value by name: a counter since the start, or a level now.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.counters.get(name).or_else(|| self.levels.get(name)).copied()
    }

    fn count(&mut self, name: &'static str, value: Option<f64>) {
        self.counters.extend(value.map(|value| (name, value)));
    }

    pub(crate) fn level(&mut self, name: &'static str, value: Option<f64>) {
        self.levels.extend(value.map(|value| (name, value)));
    }
}

/// The growth of each counter from one snapshot to a later one, and the levels of the later one.
pub fn difference(before: &Snapshot, after: &Snapshot) -> BTreeMap<String, f64> {
    let grown = after.counters.iter().filter_map(|(name, value)| {
        // A counter that went back belongs to another start, or wrapped; it is left out.
        let growth = value - before.counters.get(name)?;
        (growth >= 0.0).then(|| ((*name).to_owned(), growth))
    });
    let levels = after.levels.iter().map(|(name, value)| ((*name).to_owned(), *value));
    grown.chain(levels).collect()
}

/// Usage of this process and its children: getrusage(2).
#[cfg(unix)]
pub(crate) mod usage {
    use super::Snapshot;

    pub(super) fn read(snapshot: &mut Snapshot) {
        let own = usage(libc::RUSAGE_SELF);
        let children = usage(libc::RUSAGE_CHILDREN);
        let (Some(own), Some(children)) = (own, children) else { return };
        let sum = |field: fn(&libc::rusage) -> f64| Some(field(&own) + field(&children));

        snapshot.count("cpu_user_seconds", sum(|usage| seconds(usage.ru_utime)));
        snapshot.count("cpu_system_seconds", sum(|usage| seconds(usage.ru_stime)));
        snapshot.count("context_switches_voluntary", sum(|usage| usage.ru_nvcsw as f64));
        snapshot.count("context_switches_involuntary", sum(|usage| usage.ru_nivcsw as f64));
        snapshot.count("page_faults_minor", sum(|usage| usage.ru_minflt as f64));
        snapshot.count("page_faults_major", sum(|usage| usage.ru_majflt as f64));
    }

    pub(crate) fn seconds(time: libc::timeval) -> f64 {
        time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
    }

    /// One getrusage(2).
    pub(crate) fn usage(who: libc::c_int) -> Option<libc::rusage> {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is to a whole rusage of ours, which the call only fills; all of its fields are
        // plain numbers, for which the zeros it starts with are values too.
        unsafe { (libc::getrusage(who, usage.as_mut_ptr()) == 0).then(|| usage.assume_init()) }
    }
}

/// Linux: the counters in /proc and /sys (proc(5), Documentation/accounting/psi.rst).
#[cfg(target_os = "linux")]
mod linux {
    use std::path::PathBuf;
    use std::sync::OnceLock;

    use super::Snapshot;
    use crate::control_group;
    use crate::pseudo_file::{column, counter, field_bytes, number, text};

    /// Throttling is read for at most so many processors, because each is a file.
    const THROTTLE_CPUS: u32 = 64;

    pub(super) fn read(snapshot: &mut Snapshot) {
        if let Some(stat) = text("/proc/stat") {
            processors(snapshot, &stat);
        }
        if let Some(vmstat) = text("/proc/vmstat") {
            for (name, key) in
                [("swap_in_pages", "pswpin"), ("swap_out_pages", "pswpout"), ("oom_kills", "oom_kill")]
            {
                snapshot.count(name, counter(&vmstat, key).map(|count| count as f64));
            }
        }
        let counted =
            |table: &str, group: &str, name: &str| column(table, group, name).map(|count| count as f64);
        // The tables are per network namespace, ours is the one that counts.
        if let Some(snmp) = text("/proc/net/snmp") {
            snapshot.count("tcp_retransmits", counted(&snmp, "Tcp:", "RetransSegs"));
        }
        if let Some(netstat) = text("/proc/net/netstat") {
            snapshot.count("listen_drops", counted(&netstat, "TcpExt:", "ListenDrops"));
            snapshot.count("listen_overflows", counted(&netstat, "TcpExt:", "ListenOverflows"));
        }
        snapshot.count("run_delay_seconds", crate::thread::run_delay_ns().map(|ns| ns as f64 * 1e-9));
        for (name, file) in [
            ("psi_cpu_seconds", "/proc/pressure/cpu"),
            ("psi_memory_seconds", "/proc/pressure/memory"),
            ("psi_io_seconds", "/proc/pressure/io"),
        ] {
            snapshot.count(name, text(file).as_deref().and_then(stalled));
        }
        snapshot.count("quota_throttled_seconds", throttled_by_quota());
        snapshot.count("thermal_throttles", throttled_by_heat());

        if let Some(load) = text("/proc/loadavg") {
            snapshot.level("load_1m", load.split(' ').next().and_then(|load| load.parse().ok()));
        }
        if let Some(memory) = text("/proc/meminfo") {
            let bytes = |name| field_bytes(&memory, name).map(|bytes| bytes as f64);
            snapshot.level("memory_available_bytes", bytes("MemAvailable"));
            let swapped = bytes("SwapTotal").zip(bytes("SwapFree")).map(|(total, free)| total - free);
            snapshot.level("swap_used_bytes", swapped);
        }
    }

    /// `cpu  user nice system idle iowait irq softirq steal guest guest_nice`, in ticks; guest time is part
    /// of user time already.
    fn processors(snapshot: &mut Snapshot, stat: &str) {
        let tick = 1.0 / rustix::param::clock_ticks_per_second() as f64;
        let times: Vec<f64> = stat
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .skip(1)
            .filter_map(|ticks| ticks.parse::<f64>().ok())
            .map(|ticks| ticks * tick)
            .collect();
        if let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = times[..] {
            snapshot.count("busy_seconds", Some(user + nice + system + irq + softirq));
            snapshot.count("idle_seconds", Some(idle + iowait));
            snapshot.count("steal_seconds", Some(steal));
        }
        // The first number of the line "intr" is the sum of all the others.
        let total = |key: &str| {
            let line = stat.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?;
            line.split(' ').next()?.parse::<f64>().ok()
        };
        snapshot.count("system_context_switches", total("ctxt"));
        snapshot.count("system_interrupts", total("intr"));
        snapshot.count("system_forks", total("processes"));
    }

    /// `some avg10=6.38 avg60=2.01 avg300=0.66 total=4962615`: microseconds in which a task waited.
    pub(super) fn stalled(pressure: &str) -> Option<f64> {
        let total = pressure.lines().next()?.split_once("total=")?.1;
        Some(total.parse::<f64>().ok()? * 1e-6)
    }

    fn throttled_by_quota() -> Option<f64> {
        // A process seldom moves to another group, and looking for the groups costs more than reading them.
        static GROUPS: OnceLock<Vec<PathBuf>> = OnceLock::new();
        let (_, seconds) = control_group::throttled(GROUPS.get_or_init(|| control_group::folders("cpu")))?;
        Some(seconds)
    }

    fn throttled_by_heat() -> Option<f64> {
        let count = |cpu: u32| {
            number(format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count"))
        };
        let counts: Vec<u64> = (0..THROTTLE_CPUS).map_while(count).collect();
        (!counts.is_empty()).then(|| counts.iter().sum::<u64>() as f64)
    }
}

/// Systems whose own counters are not read yet: getrusage(2) and the load average only.
#[cfg(not(any(target_os = "linux", windows)))]
mod other {
    use super::Snapshot;

    pub(super) fn read(snapshot: &mut Snapshot) {
        let mut load = [0.0_f64];
        // SAFETY: the call fills at most one number of the array, as its argument says.
        let filled = unsafe { libc::getloadavg(load.as_mut_ptr(), 1) };
        snapshot.level("load_1m", (filled == 1).then_some(load[0]));
    }
}

/// Windows: the usage of the processes of this process's job (QueryInformationJobObject), and free memory.
#[cfg(windows)]
mod windows {
    use windows_sys::Win32::System::JobObjects::{
        JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JobObjectBasicAccountingInformation,
        QueryInformationJobObject,
    };

    use super::Snapshot;
    use crate::environment::windows::memory;

    /// Times of Windows are counted in tenths of a microsecond.
    const SECONDS_PER_TICK: f64 = 1e-7;

    pub(super) fn read(snapshot: &mut Snapshot) {
        snapshot.level("memory_available_bytes", memory().map(|memory| memory.ullAvailPhys as f64));
        let Some(usage) = usage() else { return };
        snapshot.count("cpu_user_seconds", Some(usage.TotalUserTime as f64 * SECONDS_PER_TICK));
        snapshot.count("cpu_system_seconds", Some(usage.TotalKernelTime as f64 * SECONDS_PER_TICK));
    }

    /// Processor time of the job's processes, ended ones included; nothing outside of a job, and nothing
    /// where the system does not count it.
    fn usage() -> Option<JOBOBJECT_BASIC_ACCOUNTING_INFORMATION> {
        let mut usage = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        let length = size_of_val(&usage) as u32;
        let (job, returned) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: no handle stands for the job of this process; the structure has the type that its number
        // says, is that long and outlives the call, and the length is not asked for.
        let answer = unsafe {
            let usage = (&raw mut usage).cast();
            QueryInformationJobObject(job, JobObjectBasicAccountingInformation, usage, length, returned)
        };
        (answer != 0 && usage.TotalUserTime + usage.TotalKernelTime > 0).then_some(usage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn our_own_work_is_counted() {
        let before = snapshot();
        // A fresh page for each step: every one of them is a fault.
        let pages = std::hint::black_box(vec![1_u8; 8 << 20]);
        let difference = difference(&before, &snapshot());
        assert!(difference["page_faults_minor"] > 0.0, "{difference:?} after {} bytes", pages.len());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_counts_the_system() {
        let before = snapshot();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let difference = difference(&before, &snapshot());
        for name in ["steal_seconds", "idle_seconds", "system_context_switches", "load_1m"] {
            assert!(difference.contains_key(name), "{name} is missing from {difference:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn waits_for_pressure_become_seconds() {
        let pressure = "some avg10=0.00 total=2500000\nfull avg10=0.00 total=0";
        assert_eq!(linux::stalled(pressure), Some(2.5));
    }

    #[test]
    fn counters_are_subtracted_and_levels_are_not() {
        let mut before = Snapshot::default();
        before.count("steal_seconds", Some(1.5));
        before.count("interrupts", Some(10.0));
        before.level("load_1m", Some(7.0));
        let mut after = Snapshot::default();
        after.count("steal_seconds", Some(2.0));
        after.count("interrupts", Some(3.0));
        after.count("new", Some(1.0));
        after.level("load_1m", Some(0.5));
        let expected = BTreeMap::from([("steal_seconds".to_owned(), 0.5), ("load_1m".to_owned(), 0.5)]);
        assert_eq!(difference(&before, &after), expected);
    }
}
