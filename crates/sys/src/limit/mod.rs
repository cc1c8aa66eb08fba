//! Limits that end a sweep: those of the process, of its control group and of the system.
//!
//! Each limit has a name and advice, so that a report names the limit that ended the sweep and the remedy,
//! instead of an errno alone.

use std::io;
use std::path::Path;

use crate::Unsupported;

mod definition;

pub use definition::{Bound, DESCRIPTORS_RESERVED, FolderResource, Kind, Limit, Raise, Resource};

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as bound;

#[cfg(all(unix, not(target_os = "linux")))]
mod bsd;
#[cfg(all(unix, not(target_os = "linux")))]
use bsd as bound;

#[cfg(unix)]
use unix as process;

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

/// All the limits that bound a resource, the tightest first. Read anew at every call, since usage changes;
/// call it after [`raise_soft_to_hard`], because the soft limits bind.
///
/// # Errors
/// [`Unsupported`] where this system names no limit for the resource.
pub fn bounds(resource: Resource) -> Result<Vec<Bound>, Unsupported> {
    let mut bounds = bound::bounds(resource);
    bounds.sort_by_key(|bound| bound.usable);
    if bounds.is_empty() {
        return Err(resource.unreadable());
    }
    Ok(bounds)
}

/// The tightest of the [`bounds`]: how far n can go, and the limit that stops it.
///
/// # Errors
/// [`Unsupported`] where this system names no limit for the resource.
pub fn ceiling(resource: Resource) -> Result<Bound, Unsupported> {
    Ok(bounds(resource)?.swap_remove(0))
}

/// The tightest limit on these resources at which the system refuses with this error, if there is one.
pub fn refusing(error: &io::Error, resources: impl Iterator<Item = Resource>) -> Option<Bound> {
    let name = crate::error::name(error);
    let refusing = resources.filter(|resource| resource.refusal() == Some(&*name));
    refusing.filter_map(|resource| ceiling(resource).ok()).min_by_key(|bound| bound.usable)
}

const ADVICE: &str = "remove files, or choose a larger file system with --scratch DIR";

/// The limit on a resource of the file system that the folder is on. A tenth stays free: file systems become
/// slow when they are nearly full.
///
/// # Errors
/// [`Unsupported`] where the file system does not report it, because it makes inodes when it needs them.
pub fn bound_of_folder(resource: FolderResource, folder: &Path) -> Result<Bound, Unsupported> {
    let free = crate::file::free(folder).map_err(|_| Unsupported("the free space cannot be read here"))?;
    let (limit, value) = match resource {
        FolderResource::DiskBytes => ("free space", Some(free.bytes)),
        FolderResource::Inodes => ("number of free inodes", free.inodes),
    };
    let value = value.ok_or(Unsupported("this file system has no fixed number of inodes"))?;
    Ok(Bound { usable: value - value / 10, limit: limit.into(), value, advice: ADVICE.into() })
}

/// The limits of a process on POSIX systems: getrlimit(2), setrlimit(2).
#[cfg(unix)]
mod unix {
    use std::io;

    use rustix::process::{Resource as Rlimit, getrlimit, setrlimit};

    use super::definition::{Kind, Limit, Raise};
    use crate::Unsupported;

    fn rlimit(kind: Kind) -> Result<Rlimit, Unsupported> {
        match kind {
            Kind::Descriptors => Ok(Rlimit::Nofile),
            Kind::Stack => Ok(Rlimit::Stack),
            #[cfg(not(any(target_os = "solaris", target_os = "illumos")))]
            Kind::Processes => Ok(Rlimit::Nproc),
            #[cfg(not(any(target_os = "solaris", target_os = "illumos")))]
            Kind::LockedMemory => Ok(Rlimit::Memlock),
            #[cfg(not(any(target_os = "openbsd", target_os = "netbsd")))]
            Kind::AddressSpace => Ok(Rlimit::As),
            #[cfg(target_os = "linux")]
            Kind::QueueBytes => Ok(Rlimit::Msgqueue),
            #[allow(unreachable_patterns)]
            _ => Err(Unsupported("this system has no such limit of a process")),
        }
    }

    pub(super) fn get(kind: Kind) -> Result<Limit, Unsupported> {
        let limit = getrlimit(rlimit(kind)?);
        Ok(Limit { soft: limit.current, hard: limit.maximum })
    }

    pub(super) fn raise_soft_to_hard() -> Result<Vec<Raise>, Unsupported> {
        let mut raises = Vec::new();
        for kind in [Kind::Descriptors, Kind::Processes] {
            let Ok(resource) = rlimit(kind) else { continue };
            let before = get(kind)?;
            let refusal = if before.soft == before.hard { None } else { raise(resource, before.hard).err() };
            raises.push(Raise { kind, before, after: get(kind)?, stopped_by: refusal });
        }
        Ok(raises)
    }

    /// Raises it fully, or to the largest value that the system allows a process.
    fn raise(resource: Rlimit, hard: Option<u64>) -> io::Result<()> {
        let set = |soft| setrlimit(resource, rustix::process::Rlimit { current: soft, maximum: hard });
        let refusal = match set(hard) {
            Ok(()) => return Ok(()),
            Err(refusal) => refusal,
        };
        // macOS calls the hard limit infinite and yet refuses more than a system-wide number.
        #[cfg(target_os = "macos")]
        if let Some(most) = crate::tunable::sysctl::number(match resource {
            Rlimit::Nproc => c"kern.maxprocperuid",
            _ => c"kern.maxfilesperproc",
        }) {
            let _ = set(Some(most));
        }
        Err(refusal.into())
    }
}

/// Systems without POSIX resource limits, such as Windows: handles and processes are bounded by memory only.
#[cfg(not(unix))]
mod other {
    use super::definition::{Bound, Kind, Limit, Raise, Resource};
    use crate::Unsupported;

    pub(super) fn get(_: Kind) -> Result<Limit, Unsupported> {
        Err(Unsupported("processes have no resource limits on this system"))
    }

    pub(super) fn raise_soft_to_hard() -> Result<Vec<Raise>, Unsupported> {
        Err(Unsupported("processes have no resource limits on this system"))
    }

    pub(super) fn bounds(_: Resource) -> Vec<Bound> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bound_says_its_name_and_what_to_do() {
        for &resource in Resource::ALL {
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
        // Kernels without these facilities have no limits of them, and some limits are not those of root.
        let optional = [
            Resource::TrackedConnections,
            Resource::DescriptorsInFlight,
            Resource::FanotifyMarks,
            Resource::PipePages,
            Resource::SharedSegments,
            Resource::SharedPages,
            Resource::MessageQueues,
            Resource::PosixQueues,
            Resource::PosixMessages,
            Resource::QueueBytes,
            Resource::Terminals,
            Resource::Mounts,
            Resource::MountNamespaces,
            Resource::NetworkNamespaces,
            Resource::IpcNamespaces,
            Resource::UtsNamespaces,
        ];
        for resource in Resource::ALL.iter().copied().filter(|one| !optional.contains(one)) {
            assert!(ceiling(resource).unwrap().usable > 0, "{resource}");
        }
    }
}
