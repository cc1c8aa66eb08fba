//! Windows: affinity masks of up to 64 processors, which are one processor group.

use std::io;

use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThread, GetProcessAffinityMask, SetThreadAffinityMask,
};

use super::topology::Topology;
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

pub(super) fn pin(cpu: u32) -> io::Result<()> {
    let mask = 1_usize.checked_shl(cpu).ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: takes numbers only; the handle is always valid.
    match unsafe { SetThreadAffinityMask(GetCurrentThread(), mask) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
