//! Limits that end a sweep: those of the process, of its control group and of the system.
//!
//! Each limit has a name and advice, so that a report says which limit ended the sweep and what to do about
//! it, instead of an errno alone.

use crate::Unsupported;

mod definition;
mod folder;

pub use definition::{Bound, DESCRIPTORS_RESERVED, FolderResource, Kind, Limit, Raise, Resource};
pub use folder::bound_of_folder;

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

/// Reads one limit of this process. See getrlimit(2).
///
/// # Errors
/// [`Unsupported`] where the system has no such limit.
pub fn get(kind: Kind) -> Result<Limit, Unsupported> {
    process::get(kind)
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
            Resource::EpollWatches => "no limit on descriptors watched by epoll can be read here",
            Resource::InotifyWatches => "no limit on watched files can be read here",
            Resource::InotifyInstances => "no limit on inotify instances can be read here",
            Resource::Backlog => "no limit on waiting connections can be read here",
            Resource::TrackedConnections => "connections are not tracked here",
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
    fn a_folder_has_the_limits_of_its_file_system() {
        let here = std::path::Path::new(".");
        let bound = bound_of_folder(FolderResource::DiskBytes, here).unwrap();
        assert!(bound.usable > 0 && bound.usable <= bound.value, "{bound:?}");
        let nowhere = bound_of_folder(FolderResource::DiskBytes, &here.join("no-such-folder"));
        assert!(nowhere.is_err(), "{nowhere:?}");
        // Some file systems make inodes as they need them.
        if let Ok(bound) = bound_of_folder(FolderResource::Inodes, here) {
            assert!(bound.value > 0, "{bound:?}");
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
        // Few kernels have a packet filter that tracks connections.
        for resource in Resource::ALL.into_iter().filter(|one| *one != Resource::TrackedConnections) {
            assert!(ceiling(resource).unwrap().usable > 0, "{resource}");
        }
    }
}
