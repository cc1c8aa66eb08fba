//! The processors: the topology, the affinity of this process, and binding to one processor.

use std::io;

use crate::Unsupported;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(any(target_os = "freebsd", target_os = "dragonfly"))]
use bsd as system;

#[cfg(windows)]
use windows as system;

#[cfg(not(any(target_os = "linux", target_os = "freebsd", target_os = "dragonfly", windows)))]
use other as system;

#[cfg(target_arch = "x86_64")]
pub(crate) mod cpuid;
mod topology;

pub use topology::{
    Border, BorderKind, Cache, CacheKind, Cpu, Placed, Placement, ProcessorBounds, Throttling, Topology,
};

/// Reads the topology.
///
/// # Errors
/// [`Unsupported`] where the system does not report it, or hides it from this process.
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

/// How many processors this process can use at once, all the time: the allowed ones, and no more than the
/// whole ones of a control group's quota. 1 if the system does not say, and for a quota of less.
pub fn count() -> usize {
    // The standard library sees 1,024 processors, and version 2 of control groups at its usual place.
    let allowed = allowed().ok().map(|cpus| cpus.len());
    let count = allowed.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    quota().map_or(count, |quota| count.min(quota as usize)).max(1)
}

/// The share of processor time that control groups allow to this process, as processors: 1.5 is one and a
/// half. `None` where none limits it.
pub fn quota() -> Option<f64> {
    cfg_select! {
        target_os = "linux" => { crate::control_group::cpus() }
        _ => { None }
    }
}

/// The time that the quotas of control groups have taken from this process, and from others in its groups.
/// `None` where none limits them.
pub fn throttling() -> Option<Throttling> {
    cfg_select! {
        target_os = "linux" => {
            let (times, seconds) = crate::control_group::throttled(&crate::control_group::folders("cpu"))?;
            Some(Throttling { times, seconds })
        }
        _ => { None }
    }
}

/// The processors of the machine that this process may not use, and why.
pub fn bounds() -> ProcessorBounds {
    cfg_select! {
        target_os = "linux" => { linux::bounds() }
        _ => { ProcessorBounds::default() }
    }
}

/// Whether a program executes their instructions, so that many processors share few real ones.
pub fn are_emulated() -> bool {
    cfg_select! {
        target_arch = "x86_64" => { cpuid::is_emulator() }
        _ => { false }
    }
}

/// Binds the calling thread, and the threads and processes it starts from now on, to one processor.
/// See sched_setaffinity(2).
///
/// # Errors
/// `InvalidInput` (`EINVAL`) if there is no such processor or it is not allowed to us; `Unsupported` where
/// threads cannot be bound.
pub fn pin(cpu: u32) -> io::Result<()> {
    system::confine(&[cpu])
}

/// Binds the calling thread, and the threads and processes it starts from now on, to these processors.
///
/// # Errors
/// As [`pin`].
pub fn confine(cpus: &[u32]) -> io::Result<()> {
    system::confine(cpus)
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

/// The allowed processors in the order in which workers get them.
///
/// # Errors
/// [`Unsupported`] where threads cannot be bound to processors.
pub fn placed(placement: Placement) -> Result<Placed, Unsupported> {
    Ok(topology().unwrap_or_default().placed(&allowed()?, placement))
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

/// FreeBSD and DragonFly: sched_setaffinity(2), up to 1,024 processors. The topology is XML, which is not
/// parsed here.
#[cfg(any(target_os = "freebsd", target_os = "dragonfly"))]
mod bsd {
    use std::io;

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use super::Topology;
    use crate::Unsupported;

    pub(super) fn topology() -> Result<Topology, Unsupported> {
        Err(Unsupported("kern.sched.topology_spec is not read yet"))
    }

    pub(super) fn allowed() -> Result<Vec<u32>, Unsupported> {
        let set = sched_getaffinity(None).map_err(|_| {
            Unsupported("the processors of this thread cannot be read; more than 1024 of them, or a sandbox")
        })?;
        Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect())
    }

    pub(super) fn confine(cpus: &[u32]) -> io::Result<()> {
        let mut set = CpuSet::new();
        for &cpu in cpus {
            let cpu = cpu as usize;
            if cpu >= CpuSet::MAX_CPU {
                return Err(rustix::io::Errno::INVAL.into());
            }
            set.set(cpu);
        }
        Ok(sched_setaffinity(None, &set)?)
    }
}

/// Windows: affinity masks of up to 64 processors, which are one processor group.
#[cfg(windows)]
mod windows {
    use std::io;

    use windows_sys::Win32::System::Threading::{
        GetCurrentProcess, GetCurrentThread, GetProcessAffinityMask, SetThreadAffinityMask,
    };

    use super::Topology;
    use crate::Unsupported;

    pub(super) fn topology() -> Result<Topology, Unsupported> {
        Err(Unsupported("the topology of the processors is not read on Windows"))
    }

    pub(super) fn allowed() -> Result<Vec<u32>, Unsupported> {
        let (mut of_process, mut of_system) = (0_usize, 0_usize);
        // SAFETY: both masks outlive the call, and the handle is always valid.
        let answer =
            unsafe { GetProcessAffinityMask(GetCurrentProcess(), &raw mut of_process, &raw mut of_system) };
        if answer == 0 || of_process == 0 {
            return Err(Unsupported("this process is in several processor groups, which are not read"));
        }
        Ok((0..usize::BITS).filter(|cpu| of_process >> cpu & 1 == 1).collect())
    }

    pub(super) fn confine(cpus: &[u32]) -> io::Result<()> {
        let mut mask = 0;
        for &cpu in cpus {
            mask |= 1_usize.checked_shl(cpu).ok_or(io::ErrorKind::InvalidInput)?;
        }
        // SAFETY: takes numbers only; the handle is always valid.
        match unsafe { SetThreadAffinityMask(GetCurrentThread(), mask) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

/// Systems on which a thread is not bound to a processor: macOS and OpenBSD have no call for it; those of
/// NetBSD and illumos are not used yet.
#[cfg(not(any(target_os = "linux", target_os = "freebsd", target_os = "dragonfly", windows)))]
mod other {
    use std::io;

    use super::Topology;
    use crate::Unsupported;

    missing! {
        "the topology of the processors is not read on this system";
        pub(super) fn topology() -> Result<Topology, Unsupported>;
    }

    missing! {
        "threads cannot be bound to processors on this system";
        pub(super) fn allowed() -> Result<Vec<u32>, Unsupported>;
        pub(super) fn confine(processors: &[u32]) -> io::Result<()>;
    }
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
            assert_eq!(confine(&[]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        })
        .join()
        .unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_confined_thread_may_run_in_some_places() {
        let several = allowed().unwrap();
        std::thread::spawn(move || {
            pin(several[0]).unwrap();
            confine(&several).unwrap();
            assert_eq!(allowed().unwrap(), several);
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
