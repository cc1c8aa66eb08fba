//! The processors: which there are, which this process may use, and how to stay on one.

use std::io;

use crate::Unsupported;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(any(target_os = "freebsd", target_os = "dragonfly"))]
mod bsd;
#[cfg(any(target_os = "freebsd", target_os = "dragonfly"))]
use bsd as system;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
use windows as system;

#[cfg(not(any(target_os = "linux", target_os = "freebsd", target_os = "dragonfly", windows)))]
mod other;
#[cfg(not(any(target_os = "linux", target_os = "freebsd", target_os = "dragonfly", windows)))]
use other as system;

#[cfg(any(target_os = "linux", target_os = "freebsd", target_os = "dragonfly"))]
mod affinity;
mod topology;

pub use topology::{Cache, CacheKind, Cpu, Topology};

/// Reads the topology.
///
/// # Errors
/// [`Unsupported`] where the system does not tell it, or not to us.
pub fn topology() -> Result<Topology, Unsupported> {
    system::topology()
}

/// The processors this thread may run on, by rising number. See sched_getaffinity(2).
///
/// # Errors
/// [`Unsupported`] where threads cannot be bound to processors; [`count`] works everywhere.
pub fn allowed() -> Result<Vec<u32>, Unsupported> {
    system::allowed()
}

/// How many processors this process can use at once: the allowed ones, less what a control group's quota
/// takes away. 1 if the system does not say.
pub fn count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Binds the calling thread, and the threads and processes it starts from now on, to one processor.
/// See sched_setaffinity(2).
///
/// # Errors
/// `InvalidInput` (`EINVAL`) if there is no such processor or it is not allowed to us; `Unsupported` where
/// threads cannot be bound.
pub fn pin(cpu: u32) -> io::Result<()> {
    system::pin(cpu)
}

/// The allowed processors, best place for a measurement first: fast cores before slow ones, isolated before
/// shared, and processor 0 with its siblings last, since most systems serve their interrupts and their
/// housekeeping there. Of SMT siblings the first comes before all second ones.
///
/// # Errors
/// [`Unsupported`] where threads cannot be bound to processors.
pub fn preferred() -> Result<Vec<u32>, Unsupported> {
    Ok(rank(&allowed()?, &topology().unwrap_or_default()))
}

fn rank(allowed: &[u32], topology: &Topology) -> Vec<u32> {
    let mut ranked = allowed.to_vec();
    let housekeeping = topology.siblings(0);
    ranked.sort_by_key(|number| {
        let cpu = topology.cpus.iter().find(|cpu| cpu.number == *number);
        let slowness = cpu.map_or(0, |cpu| u32::MAX - cpu.capacity);
        let shared = cpu.is_some_and(|cpu| !cpu.isolated);
        let second = cpu.is_some_and(|cpu| cpu.core != *number);
        (slowness, shared, housekeeping.contains(number), *number == 0, second, *number)
    });
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(number: u32, core: u32, capacity: u32) -> Cpu {
        Cpu { number, core, package: 0, node: None, capacity, isolated: false }
    }

    #[test]
    fn processor_0_and_slow_cores_come_last() {
        // Two fast cores of two threads each, two slow ones.
        let cpus = vec![
            cpu(0, 0, 1024),
            cpu(1, 0, 1024),
            cpu(2, 2, 1024),
            cpu(3, 2, 1024),
            cpu(4, 4, 600),
            cpu(5, 5, 600),
        ];
        let topology = Topology { cpus, caches: Vec::new() };
        assert_eq!(rank(&[0, 1, 2, 3, 4, 5], &topology), [2, 3, 1, 0, 4, 5]);
        assert_eq!(topology.cores(), 4);
        assert_eq!(topology.siblings(3), [2, 3]);
    }

    #[test]
    fn isolated_processors_come_first() {
        let mut cpus = vec![cpu(0, 0, 1024), cpu(1, 1, 1024), cpu(2, 2, 1024)];
        cpus[2].isolated = true;
        assert_eq!(rank(&[0, 1, 2], &Topology { cpus, caches: Vec::new() }), [2, 1, 0]);
    }

    #[test]
    fn without_a_topology_processor_0_still_comes_last() {
        assert_eq!(rank(&[0, 1, 2], &Topology::default()), [1, 2, 0]);
        assert_eq!(rank(&[0], &Topology::default()), [0]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pinned_thread_may_run_in_one_place_only() {
        let best = preferred().unwrap()[0];
        std::thread::spawn(move || {
            pin(best).unwrap();
            assert_eq!(allowed().unwrap(), [best]);
            assert_eq!(pin(1_000_000).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        })
        .join()
        .unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_topology_has_every_allowed_processor() {
        let topology = topology().unwrap();
        for number in allowed().unwrap() {
            assert!(topology.siblings(number).contains(&number));
        }
        assert!(topology.packages() >= 1 && topology.cores() >= topology.packages());
    }
}
