//! Counters of the system, read before and after a trial.
//!
//! An increase that should be zero (steal, swapping, throttling, dropped connections) explains why a trial is
//! an outlier. All values are in base units; what a system does not count is absent.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as system;

#[cfg(not(any(target_os = "linux", windows)))]
mod other;
#[cfg(not(any(target_os = "linux", windows)))]
use other as system;

mod snapshot;
#[cfg(unix)]
mod usage;

pub use snapshot::{Snapshot, difference};

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
}
