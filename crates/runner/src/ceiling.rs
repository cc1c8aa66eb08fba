//! How far n can go on this machine, and what stops it there.

use sys::limit::{self, Resource};
use workload::Needs;

/// A limit that keeps n below what was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ceiling {
    pub(crate) n: u64,
    pub(crate) reason: String,
}

/// Memory that a workload may not take: half of what is available stays with the machine.
const MEMORY_SHARE: u64 = 2;

/// The tightest limit on a workload with these needs; `None` when nothing but time limits it.
pub(crate) fn of(needs: &Needs) -> Option<Ceiling> {
    let per_n = [
        (Resource::Descriptors, needs.descriptors),
        (Resource::Processes, needs.processes),
        (Resource::Threads, needs.threads),
        (Resource::Mappings, needs.mappings),
        (Resource::LocalPorts, needs.ports),
        (Resource::MemoryBytes, needs.memory_bytes * MEMORY_SHARE),
    ];
    let ceilings = per_n.into_iter().filter(|&(_, amount)| amount > 0).filter_map(|(resource, amount)| {
        let bound = limit::ceiling(resource).ok()?;
        let reason = format!("{} is {}; {}", bound.limit, bound.value, bound.advice);
        Some(Ceiling { n: bound.usable / amount, reason })
    });
    ceilings.min_by_key(|ceiling| ceiling.n)
}
