//! Windows: what the processes of the job used that this process is in (QueryInformationJobObject), and how
//! much memory is free.

use windows_sys::Win32::System::JobObjects::{
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JobObjectBasicAccountingInformation, QueryInformationJobObject,
};

use super::snapshot::Snapshot;
use crate::environment::windows::memory;

/// Times of Windows are counted in tenths of a microsecond.
const SECONDS_PER_TICK: f64 = 1e-7;

pub(super) fn read(snapshot: &mut Snapshot) {
    snapshot.level("memory_available_bytes", memory().map(|memory| memory.ullAvailPhys as f64));
    let Some(usage) = usage() else { return };
    snapshot.count("cpu_user_seconds", Some(usage.TotalUserTime as f64 * SECONDS_PER_TICK));
    snapshot.count("cpu_system_seconds", Some(usage.TotalKernelTime as f64 * SECONDS_PER_TICK));
}

/// Processor time of the job's processes, ended ones included; nothing outside of a job, and nothing where
/// the system does not count it.
fn usage() -> Option<JOBOBJECT_BASIC_ACCOUNTING_INFORMATION> {
    let mut usage = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
    let length = size_of_val(&usage) as u32;
    let (job, returned) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: no handle stands for the job of this process; the structure has the type that its number says,
    // is that long and outlives the call, and the length is not asked for.
    let answer = unsafe {
        let usage = (&raw mut usage).cast();
        QueryInformationJobObject(job, JobObjectBasicAccountingInformation, usage, length, returned)
    };
    (answer != 0 && usage.TotalUserTime + usage.TotalKernelTime > 0).then_some(usage)
}
