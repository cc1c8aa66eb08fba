//! The limits of a process, as POSIX has them: getrlimit(2), setrlimit(2).

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

/// Goes all the way, or as far as the system says that a process may go.
fn raise(resource: Rlimit, hard: Option<u64>) -> io::Result<()> {
    let set = |soft| setrlimit(resource, rustix::process::Rlimit { current: soft, maximum: hard });
    let refusal = match set(hard) {
        Ok(()) => return Ok(()),
        Err(refusal) => refusal,
    };
    // macOS calls the hard limit infinite and yet refuses more than a system-wide number.
    #[cfg(target_os = "macos")]
    if let Some(most) = crate::sysctl::number(match resource {
        Rlimit::Nproc => c"kern.maxprocperuid",
        _ => c"kern.maxfilesperproc",
    }) {
        let _ = set(Some(most));
    }
    Err(refusal.into())
}
