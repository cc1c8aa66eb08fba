//! Linux: the counters in /proc and /sys (proc(5), Documentation/accounting/psi.rst).

use std::path::PathBuf;
use std::sync::OnceLock;

use super::Snapshot;
use crate::cgroup;
use crate::pseudo_file::{counter, field_bytes, number, text};

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
    // The tables are per network namespace, ours is the one that counts.
    if let Some(snmp) = text("/proc/net/snmp") {
        snapshot.count("tcp_retransmits", column(&snmp, "Tcp:", "RetransSegs"));
    }
    if let Some(netstat) = text("/proc/net/netstat") {
        snapshot.count("listen_drops", column(&netstat, "TcpExt:", "ListenDrops"));
        snapshot.count("listen_overflows", column(&netstat, "TcpExt:", "ListenOverflows"));
    }
    snapshot.count("run_delay_seconds", text("/proc/thread-self/schedstat").as_deref().and_then(delayed));
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

/// `cpu  user nice system idle iowait irq softirq steal guest guest_nice`, in ticks; guest time is part of
/// user time already.
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

/// Tables of two lines each: `Tcp: NAME NAME …` above `Tcp: 1 2 …`.
fn column(table: &str, group: &str, name: &str) -> Option<f64> {
    let mut lines = table.lines().filter(|line| line.starts_with(group));
    let index = lines.next()?.split(' ').position(|column| column == name)?;
    lines.next()?.split(' ').nth(index)?.parse().ok()
}

/// `some avg10=6.38 avg60=2.01 avg300=0.66 total=4962615`: microseconds in which a task waited.
fn stalled(pressure: &str) -> Option<f64> {
    let total = pressure.lines().next()?.split_once("total=")?.1;
    Some(total.parse::<f64>().ok()? * 1e-6)
}

/// `6051023 120304 17`: nanoseconds that the thread ran, that it waited for a processor, times it ran.
fn delayed(schedstat: &str) -> Option<f64> {
    Some(schedstat.split_whitespace().nth(1)?.parse::<f64>().ok()? * 1e-9)
}

fn throttled_by_quota() -> Option<f64> {
    // A process seldom moves to another group, and looking for the groups costs more than reading them.
    static GROUPS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let (_, seconds) = cgroup::throttled(GROUPS.get_or_init(|| cgroup::folders("cpu")))?;
    Some(seconds)
}

fn throttled_by_heat() -> Option<f64> {
    let count =
        |cpu: u32| number(format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count"));
    let counts: Vec<u64> = (0..THROTTLE_CPUS).map_while(count).collect();
    (!counts.is_empty()).then(|| counts.iter().sum::<u64>() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let table = "Ip: A B\nIp: 1 2\nTcp: ActiveOpens RetransSegs InErrs\nTcp: 76 5 0\n";
        assert_eq!(column(table, "Tcp:", "RetransSegs"), Some(5.0));
        assert_eq!(column(table, "Tcp:", "NoSuch"), None);
    }

    #[test]
    fn times_become_seconds() {
        assert_eq!(delayed("6051023 500000000 17"), Some(0.5));
        assert_eq!(stalled("some avg10=0.00 total=2500000\nfull avg10=0.00 total=0"), Some(2.5));
    }
}
