//! Other processes, as the system shows them: their parents, threads, descriptors, sockets and memory, and
//! the wait of each thread.
//!
//! Nothing here stops a process or attaches to it. A process may end between two calls, and another user's
//! may be hidden: each call is an error by itself, which [`is_gone`] and [`is_kept_from_us`] tell apart.

#[cfg(target_os = "linux")]
mod call;
#[cfg(target_os = "linux")]
mod diagnosis;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(not(target_os = "linux"))]
use other as system;

mod entry;
pub mod proc_text;
pub mod sock_diag;

use std::io;

#[cfg(target_os = "linux")]
pub use diagnosis::TcpDiagnosis;
pub use entry::{
    Descriptor, DescriptorKind, EpollWatch, ProcessEntry, ProcessMemory, SocketEntry, SocketPlace,
    SocketState, ThreadUse, ThreadWait, WaitCall, WaitSource, is_gone, is_kept_from_us,
};

/// The processes that this user may see. Threads of the kernel are among them.
///
/// # Errors
/// Unsupported, or those of reading /proc.
pub fn processes() -> io::Result<Vec<ProcessEntry>> {
    system::processes()
}

/// How many processes there are, by their names in /proc. It allocates nothing.
///
/// # Errors
/// As [`processes`].
pub fn count() -> io::Result<u64> {
    system::count()
}

/// One process.
///
/// # Errors
/// Unsupported; [`is_gone`] where no process has that number.
pub fn process(pid: u32) -> io::Result<ProcessEntry> {
    system::process(pid)
}

/// The file that it executes.
///
/// # Errors
/// As [`process`]; [`is_kept_from_us`] for another user's.
pub fn program(pid: u32) -> io::Result<String> {
    system::program(pid)
}

/// The words of its command line, which it may change: untrusted text.
///
/// # Errors
/// As [`process`].
pub fn command(pid: u32) -> io::Result<Vec<String>> {
    system::command(pid)
}

/// Its open descriptors.
///
/// # Errors
/// As [`program`].
pub fn descriptors(pid: u32) -> io::Result<Vec<Descriptor>> {
    system::descriptors(pid)
}

/// The entries of the epoll(7) set of that descriptor.
///
/// # Errors
/// As [`program`].
pub fn epoll_watches(pid: u32, descriptor: i32) -> io::Result<Vec<EpollWatch>> {
    system::epoll_watches(pid, descriptor)
}

/// Whether a signal says that the descriptor is ready (`O_ASYNC`).
///
/// # Errors
/// As [`program`].
pub fn sends_signals(pid: u32, descriptor: i32) -> io::Result<bool> {
    system::sends_signals(pid, descriptor)
}

/// The sockets of TCP and unix(7) in the network namespace of a process that listen or are connected.
///
/// # Errors
/// As [`process`].
pub fn sockets(pid: u32) -> io::Result<Vec<SocketEntry>> {
    system::sockets(pid)
}

/// The network namespace of a process, as a number.
///
/// # Errors
/// As [`program`].
pub fn network_namespace(pid: u32) -> io::Result<u64> {
    system::network_namespace(pid)
}

/// Its memory. `is_shared_known` asks how much of it is shared, for which the kernel walks all its pages.
///
/// # Errors
/// As [`process`].
pub fn memory(pid: u32, is_shared_known: bool) -> io::Result<ProcessMemory> {
    system::memory(pid, is_shared_known)
}

/// Its threads.
///
/// # Errors
/// As [`process`].
pub fn threads(pid: u32) -> io::Result<Vec<u32>> {
    system::threads(pid)
}

/// The usage of a thread so far.
///
/// # Errors
/// As [`process`].
pub fn thread_use(pid: u32, thread: u32) -> io::Result<ThreadUse> {
    system::thread_use(pid, thread)
}

/// The wait of a thread at this moment. The thread is not stopped.
///
/// # Errors
/// As [`program`].
pub fn thread_wait(pid: u32, thread: u32) -> io::Result<ThreadWait> {
    system::thread_wait(pid, thread)
}

/// Whether /proc hides the processes of other users from this one.
pub fn hides_others() -> bool {
    system::hides_others()
}

/// Systems whose processes we cannot look into.
#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;

    use super::entry::{
        Descriptor, EpollWatch, ProcessEntry, ProcessMemory, SocketEntry, ThreadUse, ThreadWait,
    };
    use crate::Unsupported;

    const REASON: Unsupported = Unsupported("the waits of other processes are read from Linux's /proc only");

    macro_rules! unsupported {
        ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
            $(pub(super) fn $name($($argument: $type),*) -> io::Result<$result> {
                $(let _ = $argument;)*
                Err(REASON.into())
            })*
        };
    }

    unsupported! {
        processes() -> Vec<ProcessEntry>;
        count() -> u64;
        process(pid: u32) -> ProcessEntry;
        program(pid: u32) -> String;
        command(pid: u32) -> Vec<String>;
        descriptors(pid: u32) -> Vec<Descriptor>;
        epoll_watches(pid: u32, descriptor: i32) -> Vec<EpollWatch>;
        sends_signals(pid: u32, descriptor: i32) -> bool;
        sockets(pid: u32) -> Vec<SocketEntry>;
        network_namespace(pid: u32) -> u64;
        memory(pid: u32, is_shared_known: bool) -> ProcessMemory;
        threads(pid: u32) -> Vec<u32>;
        thread_use(pid: u32, thread: u32) -> ThreadUse;
        thread_wait(pid: u32, thread: u32) -> ThreadWait;
    }

    pub(super) fn hides_others() -> bool {
        false
    }
}
