//! A job object of this process: whatever it starts ends with it, however it ends.

use std::io;
use std::ptr;
use std::sync::OnceLock;

use windows_sys::Win32::Foundation::CloseHandle;
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

/// Puts this process into a job object of its own, once. Nobody else has a handle of it, and it stays open as
/// long as the process lives: its end closes the job, which kills all that is left in it. Jobs nest since
/// Windows 8, so a descendant may do the same.
pub(super) fn own() {
    static JOINED: OnceLock<io::Result<()>> = OnceLock::new();
    // Where that is refused, programs of ours end with their standard input.
    let _ = JOINED.get_or_init(join);
}

fn join() -> io::Result<()> {
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    let length = size_of_val(&limits) as u32;
    // SAFETY: without attributes the job has no name, and nobody inherits it; the limits have the type that
    // their number says, are that long and outlive the call. The handle stays open on purpose.
    unsafe {
        let job = CreateJobObjectW(ptr::null(), ptr::null());
        if job.is_null() {
            return Err(io::Error::last_os_error());
        }
        let limits = (&raw const limits).cast();
        let is_ours = SetInformationJobObject(job, JobObjectExtendedLimitInformation, limits, length) != 0
            && AssignProcessToJobObject(job, GetCurrentProcess()) != 0;
        if !is_ours {
            let error = io::Error::last_os_error();
            CloseHandle(job);
            return Err(error);
        }
    }
    Ok(())
}
