//! Counters of the system, read before and after a trial.
//!
//! An increase that should be zero (steal, swapping, throttling, dropped connections) explains why a trial is
//! an outlier. All values are in base units; what a system does not count is absent.

use std::collections::BTreeMap;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
use other as system;

#[cfg(unix)]
mod usage;

/// All counters at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// What only grows: from the start of the system, or of this process.
    counters: BTreeMap<&'static str, f64>,
    /// What rises and falls.
    levels: BTreeMap<&'static str, f64>,
}

impl Snapshot {
    /// One value by name: a counter since the start, or a level now.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.counters.get(name).or_else(|| self.levels.get(name)).copied()
    }

    /// Sets a value by hand: for tests, and for what was read elsewhere.
    pub fn set_level(&mut self, name: &'static str, value: f64) {
        self.levels.insert(name, value);
    }

    #[cfg(any(unix, test))]
    fn count(&mut self, name: &'static str, value: Option<f64>) {
        self.counters.extend(value.map(|value| (name, value)));
    }

    #[cfg(unix)]
    fn level(&mut self, name: &'static str, value: Option<f64>) {
        self.levels.extend(value.map(|value| (name, value)));
    }
}

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
/// Levels, which a difference shows as they were at its end: `load_1m`, `memory_available_bytes`,
/// `swap_used_bytes`.
pub fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot::default();
    #[cfg(unix)]
    usage::read(&mut snapshot);
    system::read(&mut snapshot);
    snapshot
}

/// What grew from one snapshot to a later one, and the levels of the later one.
pub fn difference(before: &Snapshot, after: &Snapshot) -> BTreeMap<String, f64> {
    let grown = after.counters.iter().filter_map(|(name, value)| {
        // A counter that went back belongs to another start, or wrapped; either way it says nothing.
        let growth = value - before.counters.get(name)?;
        (growth >= 0.0).then(|| ((*name).to_owned(), growth))
    });
    let levels = after.levels.iter().map(|(name, value)| ((*name).to_owned(), *value));
    grown.chain(levels).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_subtracted_and_levels_are_not() {
        let mut before = Snapshot::default();
        before.count("steal_seconds", Some(1.5));
        before.count("interrupts", Some(10.0));
        before.set_level("load_1m", 7.0);
        let mut after = Snapshot::default();
        after.count("steal_seconds", Some(2.0));
        after.count("interrupts", Some(3.0));
        after.count("new", Some(1.0));
        after.set_level("load_1m", 0.5);
        let expected = BTreeMap::from([("steal_seconds".to_owned(), 0.5), ("load_1m".to_owned(), 0.5)]);
        assert_eq!(difference(&before, &after), expected);
    }

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
}
