//! Limits that end a sweep: those of the process, of its control group and of the system.
//!
//! Each limit has a name and advice, so that a report says which limit ended the sweep and what to do about
//! it, instead of an errno alone.

use std::fmt;

use crate::Unsupported;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as bound;

#[cfg(all(unix, not(target_os = "linux")))]
mod bsd;
#[cfg(all(unix, not(target_os = "linux")))]
use bsd as bound;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as process;

#[cfg(not(unix))]
mod other;
#[cfg(not(unix))]
use other as bound;
#[cfg(not(unix))]
use other as process;

/// A limit of the process, getrlimit(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Open descriptors, `RLIMIT_NOFILE`.
    Descriptors,
    /// Processes of this user; on Linux its threads count too. `RLIMIT_NPROC`.
    Processes,
    /// Bytes of the main thread's stack, `RLIMIT_STACK`.
    Stack,
    /// Bytes of address space, `RLIMIT_AS`.
    AddressSpace,
    /// Bytes of memory locked against paging, `RLIMIT_MEMLOCK`.
    LockedMemory,
}

/// Both values of one limit; `None` is "unlimited".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What is enforced now.
    pub soft: Option<u64>,
    /// How far the process itself may raise it.
    pub hard: Option<u64>,
}

/// Reads one limit of this process. See getrlimit(2).
///
/// # Errors
/// [`Unsupported`] where the system has no such limit.
pub fn get(kind: Kind) -> Result<Limit, Unsupported> {
    process::get(kind)
}

/// What became of raising one limit.
#[derive(Debug)]
pub struct Raise {
    /// The limit.
    pub kind: Kind,
    /// Both values before.
    pub before: Limit,
    /// Both values after.
    pub after: Limit,
    /// What kept the soft value below the hard one; `None` when they are now equal.
    pub stopped_by: Option<std::io::Error>,
}

/// Raises the soft limits of descriptors and processes to their hard limits, as far as the system lets it.
/// Children inherit them. No privilege is needed, and nothing outside this process changes.
/// See setrlimit(2).
///
/// # Errors
/// [`Unsupported`] where processes have no such limits. A refusal is no error but part of the answer.
pub fn raise_soft_to_hard() -> Result<Vec<Raise>, Unsupported> {
    process::raise_soft_to_hard()
}

/// What piles up during a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// Descriptors of one process.
    Descriptors,
    /// Processes alive at once.
    Processes,
    /// Threads of one process.
    Threads,
    /// Memory mappings of one process.
    Mappings,
    /// Bytes of memory.
    MemoryBytes,
    /// Local ports that the system hands out by itself, for one local address and one peer.
    LocalPorts,
}

impl Resource {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Descriptors,
        Self::Processes,
        Self::Threads,
        Self::Mappings,
        Self::MemoryBytes,
        Self::LocalPorts,
    ];
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descriptors => "descriptors",
            Self::Processes => "processes",
            Self::Threads => "threads",
            Self::Mappings => "mappings",
            Self::MemoryBytes => "bytes of memory",
            Self::LocalPorts => "local ports",
        })
    }
}

/// One limit as it bounds one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// How many a sweep may use: the limit less what is in use now, less a reserve for the program itself
    /// and for the machine around it.
    pub usable: u64,
    /// The limit's name as its manual page spells it: `RLIMIT_NOFILE`, `vm.max_map_count`.
    pub limit: String,
    /// The limit's value.
    pub value: u64,
    /// How to raise it, as the end of a sentence: ``raise it with `ulimit -n 65536` ``.
    pub advice: String,
}

/// All the limits that bound a resource, the tightest first. Read anew at every call, since what is in use
/// changes; call it after [`raise_soft_to_hard`], for it is the soft limits that bind.
///
/// # Errors
/// [`Unsupported`] where this system names no limit for the resource.
pub fn bounds(resource: Resource) -> Result<Vec<Bound>, Unsupported> {
    let mut bounds = bound::bounds(resource);
    bounds.sort_by_key(|bound| bound.usable);
    if bounds.is_empty() {
        return Err(Unsupported(match resource {
            Resource::Descriptors => "no limit on descriptors can be read here",
            Resource::Processes => "no limit on processes can be read here",
            Resource::Threads => "no limit on threads can be read here",
            Resource::Mappings => "no limit on mappings can be read here",
            Resource::MemoryBytes => "the available memory cannot be read here",
            Resource::LocalPorts => "the range of local ports cannot be read here",
        }));
    }
    Ok(bounds)
}

/// The tightest of the [`bounds`]: how far n can go, and what stops it there.
///
/// # Errors
/// [`Unsupported`] where this system names no limit for the resource.
pub fn ceiling(resource: Resource) -> Result<Bound, Unsupported> {
    Ok(bounds(resource)?.swap_remove(0))
}

/// Descriptors that a trial needs for itself: the standard three, its clocks, its files, and some to spare.
#[cfg(unix)]
const DESCRIPTORS_RESERVED: u64 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bound_says_its_name_and_what_to_do() {
        for resource in Resource::ALL {
            let Ok(bounds) = bounds(resource) else { continue };
            assert!(bounds.is_sorted_by_key(|bound| bound.usable), "{resource}");
            for bound in bounds {
                assert!(bound.usable <= bound.value, "{resource}: {bound:?}");
                assert!(!bound.limit.is_empty() && !bound.advice.is_empty(), "{resource}: {bound:?}");
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn soft_limits_rise_to_hard_ones_or_say_why_not() {
        for raise in raise_soft_to_hard().unwrap() {
            let risen = raise.after.soft == raise.after.hard;
            assert!(risen != raise.stopped_by.is_some(), "{raise:?}");
            assert_eq!(get(raise.kind).unwrap(), raise.after);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_bounds_every_resource() {
        for resource in Resource::ALL {
            assert!(ceiling(resource).unwrap().usable > 0, "{resource}");
        }
    }
}
