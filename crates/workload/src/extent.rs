//! How far n goes on a system: the tightest limit of what a workload needs, and the helpers that go beyond
//! those of one process.
//!
//! A run plans with this, and `osdyno doctor` predicts with it: they cannot differ.

use record::{ResourceLimit, System, resource};

use crate::definition::{Needs, Workload};
use crate::helpers::{DESCRIPTORS_OF_HELPER, HELPERS_MAX};

/// Memory that a workload may not take: half of what is available stays with the machine.
const MEMORY_SHARE: u64 = 2;

/// What is in use changes from moment to moment, and with it what is left of a limit: n that differ by less
/// than this share count as equal.
const ALIKE_SHARE: f64 = 0.1;

/// A limit of a system for what a workload needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// The n that it suffices for.
    pub n: u64,
    /// What it limits, of [`resource`]; `None` is the number of processors.
    pub resource: Option<&'static str>,
    /// How much of that one n takes.
    pub per_n: u64,
    /// How much of it a trial takes in any case.
    pub in_any_case: u64,
    /// The limit itself.
    pub limit: ResourceLimit,
}

/// How far n goes in one variant of a workload on one system.
#[derive(Clone, Debug, PartialEq)]
pub struct Extent {
    /// The largest n.
    pub n: u64,
    /// How far it would go without limits.
    pub wanted: u64,
    /// What limits it, if anything does.
    pub ceiling: Option<Ceiling>,
    /// Processes that make objects beside the trial.
    pub helpers: u32,
}

impl Ceiling {
    /// All limits of a system on something of which one n and a trial in any case have these needs, the
    /// tightest first.
    pub fn all(needs: &Needs, in_any_case: &Needs, system: &System) -> Vec<Ceiling> {
        let of = |(resource, per_n): (&'static str, u64)| {
            let limits = system.limits.get(resource).map_or(&[][..], Vec::as_slice);
            let limits = if per_n == 0 { &[] } else { limits };
            limits.iter().map(move |limit| Ceiling {
                n: limit.usable / per_n,
                resource: Some(resource),
                per_n,
                in_any_case: 0,
                limit: limit.clone(),
            })
        };
        let too_low = |(resource, in_any_case): (&'static str, u64)| {
            let limits = system.limits.get(resource).into_iter().flatten();
            limits.filter(move |limit| limit.usable < in_any_case).map(move |limit| Ceiling {
                n: 0,
                resource: Some(resource),
                per_n: 0,
                in_any_case,
                limit: limit.clone(),
            })
        };
        let in_any_case = amounts(in_any_case).into_iter().flat_map(too_low);
        let mut ceilings: Vec<Ceiling> = amounts(needs).into_iter().flat_map(of).chain(in_any_case).collect();
        ceilings.extend(most_by_processors(needs, system).map(|n| {
            let count = n * needs.processors;
            let advice = "-n beyond it measures waiting".to_owned();
            let name = "the number of processors".to_owned();
            let limit = ResourceLimit { name, value: count, usable: count, advice };
            Ceiling { n, resource: None, per_n: needs.processors, in_any_case: 0, limit }
        }));
        ceilings.sort_by_key(|ceiling| ceiling.n);
        ceilings
    }

    /// The tightest of [`Ceiling::all`]; `None` if only time limits it.
    pub fn of(needs: &Needs, in_any_case: &Needs, system: &System) -> Option<Ceiling> {
        Ceiling::all(needs, in_any_case, system).into_iter().next()
    }

    /// Its value with a unit, if it has one.
    pub fn value(&self) -> String {
        match self.resource {
            Some(resource::MEMORY | resource::DISK) => format!("{} MiB", self.limit.value >> 20),
            _ => self.limit.value.to_string(),
        }
    }

    /// `RLIMIT_NOFILE is 1024; raise it with …`, to follow "because".
    pub fn reason(&self) -> String {
        format!("{} is {}; {}", self.limit.name, self.value(), self.limit.advice)
    }
}

impl Extent {
    /// As far as the ceiling allows, which is that of the workload on this system; with helpers, beyond those
    /// of one process.
    pub fn within(ceiling: Option<Ceiling>, wanted: u64, workload: &Workload, system: &System) -> Extent {
        let n = match &ceiling {
            Some(ceiling) => ceiling.n.min(wanted),
            None => wanted,
        };
        let alone = Extent { n, wanted, ceiling, helpers: 0 };
        if !workload.helpers || n == 0 || is_near(n, wanted) {
            return alone;
        }
        let Needs { descriptors, mappings, .. } = workload.needs;
        let of_process = Needs { descriptors, mappings, ..Needs::NOTHING };
        let of_machine = Needs { descriptors: 0, mappings: 0, ..workload.needs };
        let Some(process) = Ceiling::of(&of_process, &Needs::NOTHING, system) else { return alone };
        let machine = Ceiling::of(&of_machine, &Needs::NOTHING, system).filter(|ceiling| ceiling.n < wanted);
        let most = machine.as_ref().map_or(wanted, |ceiling| ceiling.n);
        let held = |helpers: u32| {
            let taken = u64::from(helpers) * DESCRIPTORS_OF_HELPER.div_ceil(descriptors.max(1));
            process.n.saturating_sub(taken) * (u64::from(helpers) + 1)
        };
        let enough = (1..=HELPERS_MAX).find(|&helpers| held(helpers) >= most);
        let helpers = enough.or((1..=HELPERS_MAX).max_by_key(|&helpers| held(helpers))).unwrap_or(0);
        let n = held(helpers).min(most);
        let ceiling = if n < most { Some(process) } else { machine };
        Extent { n: n - n % (u64::from(helpers) + 1), wanted, ceiling, helpers }
    }

    /// The limit that ends it before what is wanted.
    pub fn stopped_by(&self) -> Option<&Ceiling> {
        self.ceiling.as_ref().filter(|by| self.n < self.wanted && by.n < self.wanted)
    }
}

/// How much of each resource that is.
fn amounts(needs: &Needs) -> [(&'static str, u64); 12] {
    [
        (resource::DESCRIPTORS, needs.descriptors),
        (resource::PROCESSES, needs.processes),
        (resource::THREADS, needs.threads),
        (resource::MAPPINGS, needs.mappings),
        (resource::PORTS, needs.ports),
        (resource::MEMORY, needs.memory_bytes * MEMORY_SHARE),
        (resource::EPOLL_WATCHES, needs.epoll_watches),
        (resource::INOTIFY_WATCHES, needs.inotify_watches),
        (resource::INOTIFY_INSTANCES, needs.inotify_instances),
        (resource::TRACKED, needs.tracked_connections),
        (resource::DISK, needs.disk_bytes),
        (resource::INODES, needs.inodes),
    ]
}

/// How many n the processors of the system suffice for, where n takes any.
pub fn most_by_processors(needs: &Needs, system: &System) -> Option<u64> {
    let online = system.processors.as_ref().map(|processors| u64::from(processors.online));
    online.filter(|_| needs.processors > 0).map(|online| online / needs.processors)
}

/// Whether n comes so near to what is wanted that nothing need be done for the rest.
pub fn is_near(n: u64, wanted: u64) -> bool {
    n as f64 >= (1.0 - ALIKE_SHARE) * wanted as f64
}
