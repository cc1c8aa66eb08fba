//! Affinity of a thread, as Linux, FreeBSD and DragonFly have it: sched_setaffinity(2).

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::Unsupported;

pub(super) fn allowed() -> Result<Vec<u32>, Unsupported> {
    let set = sched_getaffinity(None).map_err(|_| {
        Unsupported("the processors of this thread cannot be read; more than 1024 of them, or a sandbox")
    })?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect())
}

pub(super) fn pin(cpu: u32) -> io::Result<()> {
    let cpu = cpu as usize;
    if cpu >= CpuSet::MAX_CPU {
        return Err(rustix::io::Errno::INVAL.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}
