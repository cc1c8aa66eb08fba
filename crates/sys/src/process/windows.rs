//! Processes on Windows: there is no fork, and job objects do what process groups do elsewhere.

use std::fs::File;
use std::io;
use std::os::windows::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::ptr;
use std::sync::OnceLock;

use windows_sys::Win32::Foundation::{CloseHandle, FILETIME, HANDLE, WAIT_OBJECT_0};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, GetCurrentProcess, GetProcessTimes, INFINITE, OpenProcess, PROCESS_SYNCHRONIZE,
    PROCESS_TERMINATE, TerminateProcess, WaitForSingleObject,
};

use super::ProcessTreeUsage;

/// Starts the command in a group of its own, so that the console's Ctrl-C does not reach it.
pub fn lead_group(command: &mut Command) {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

/// Nothing to do: all that the leader started ends with it, see [`die_with_parent`], or with this process.
pub fn kill_group(_leader: u32) {}

/// Waits for the end of a child. This process still has its handle, so that its number is not given to
/// another process.
///
/// # Errors
/// Those of OpenProcess and WaitForSingleObject.
pub fn await_end(child: u32) -> io::Result<()> {
    with_process(child, PROCESS_SYNCHRONIZE, |process| {
        // SAFETY: the handle is open until the call returns.
        match unsafe { WaitForSingleObject(process, INFINITE) } {
            WAIT_OBJECT_0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    })
}

/// From now on all that this process starts, with all descendants, ends with it.
pub fn adopt_orphans() {
    own_job();
}

/// Nothing to do: they end with this process, see [`adopt_orphans`].
pub fn kill_descendants() -> bool {
    false
}

/// Nothing to do: Windows has no zombies.
pub fn reap_orphans() {}

/// The parent has adopted this process, see [`adopt_orphans`]. Its own children end with it.
pub fn die_with_parent() {
    own_job();
}

/// The same: the process that has adopted it ends it, in either order.
pub fn die_with(_number: u32) -> bool {
    die_with_parent();
    true
}

/// Opens a process by its number for some work.
fn with_process<T>(number: u32, access: u32, work: impl FnOnce(HANDLE) -> io::Result<T>) -> io::Result<T> {
    // SAFETY: takes numbers only.
    let process = unsafe { OpenProcess(access, 0, number) };
    if process.is_null() {
        return Err(io::Error::last_os_error());
    }
    let done = work(process);
    // SAFETY: the handle is ours, and this is its last use.
    unsafe { CloseHandle(process) };
    done
}

/// Ends the process.
pub fn end_now(code: u8) -> ! {
    std::process::exit(i32::from(code))
}

/// Kills a process.
///
/// # Errors
/// Those of OpenProcess and TerminateProcess.
pub fn kill(process: u32) -> io::Result<()> {
    with_process(process, PROCESS_TERMINATE, |process| {
        // SAFETY: the handle is open until the call returns.
        match unsafe { TerminateProcess(process, u32::from(PANICKED)) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    })
}

/// The present usage of this process. A server has no descendants of its own: Windows cannot fork.
///
/// # Errors
/// Those of GetProcessTimes and K32GetProcessMemoryInfo.
pub fn process_tree_usage() -> io::Result<ProcessTreeUsage> {
    let mut times = [FILETIME::default(); 4];
    let mut memory = PROCESS_MEMORY_COUNTERS::default();
    let [created, ended, kernel, user] = &mut times;
    // SAFETY: the times and the structure, which is that long, outlive the calls; the handle is always valid.
    let is_known = unsafe {
        let process = GetCurrentProcess();
        GetProcessTimes(process, created, ended, kernel, user) != 0
            && K32GetProcessMemoryInfo(process, &raw mut memory, size_of_val(&memory) as u32) != 0
    };
    if !is_known {
        return Err(io::Error::last_os_error());
    }
    let ticks =
        |time: FILETIME| (u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)) as f64;
    let cpu_seconds = (ticks(times[2]) + ticks(times[3])) * SECONDS_PER_TICK;
    Ok(ProcessTreeUsage { processes: 1, memory_bytes: memory.PagefileUsage as u64, cpu_seconds })
}

/// Times of Windows are counted in tenths of a microsecond.
const SECONDS_PER_TICK: f64 = 1e-7;

/// The exit code of a worker that panicked.
pub const PANICKED: u8 = 255;

/// Puts this process into a job object of its own, once. No other process has a handle of it, and it stays
/// open as long as this process lives: its end closes the job, which kills all processes left in it. Jobs
/// nest since Windows 8, so a descendant may do the same.
fn own_job() {
    static JOINED: OnceLock<io::Result<()>> = OnceLock::new();
    // Where that is refused, our programs end with their standard input.
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

missing! {
    "Windows has no fork";
    pub fn fork(work: impl FnOnce() -> u8) -> io::Result<u32>;
    pub fn fork_in_two() -> io::Result<Option<u32>>;
    pub fn ended_child() -> io::Result<Option<(u32, ExitStatus)>>;
}

missing! {
    "leaving open files to other programs waits for the port";
    pub fn bequeath(file: &File) -> io::Result<i32>;
    pub fn inherited(number: i32) -> io::Result<File>;
}

missing! {
    "becoming another user waits for the port";
    pub fn become_user(name: &str) -> io::Result<()>;
}

/// Unsupported.
pub fn replace_by(_command: &mut Command) -> io::Error {
    crate::Unsupported("no program takes the place of another on this system").into()
}

/// Not known.
pub fn parent() -> i32 {
    0
}

/// Windows has no such user.
pub fn is_root() -> bool {
    false
}
