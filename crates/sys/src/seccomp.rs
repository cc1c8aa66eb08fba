//! Filters of system calls, seccomp(2). They bind the calling thread and those that it creates, and cannot be
//! removed: use them in a thread that ends.

use std::io;
use std::thread::ScopedJoinHandle;

use crate::error::checked;

/// The call whose argument the filters examine: one that does almost nothing.
const EXAMINED: u32 = libc::SYS_getpgid as u32;

/// Where `struct seccomp_data` has the number of the call, and the lower half of its first argument.
const NUMBER_OFFSET: u32 = 0;
const ARGUMENT_OFFSET: u32 = if cfg!(target_endian = "big") { 20 } else { 16 };

/// Instructions of a filter besides those that examine the argument.
const FRAME: usize = 4;

/// A filter that allows every call, and reads the argument of getpgid(2) so many times before that.
#[derive(Debug)]
pub struct SeccompFilter(Vec<libc::sock_filter>);

impl SeccompFilter {
    /// A filter of so many reads. seccomp(2) refuses more than 4092 of them.
    pub fn examining(reads: usize) -> SeccompFilter {
        let load = |offset| instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, offset);
        let allow = instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW);
        // The call is examined behind the next instruction, which is for all others.
        let is_examined = instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, EXAMINED);
        let mut program = Vec::with_capacity(reads + FRAME);
        program.extend([load(NUMBER_OFFSET), is_examined, allow]);
        program.extend(std::iter::repeat_n(load(ARGUMENT_OFFSET), reads));
        program.push(allow);
        SeccompFilter(program)
    }

    /// Adds it to those of this thread, by one seccomp(2). The thread and what it executes give up the gain
    /// of privileges for that: `PR_SET_NO_NEW_PRIVS`.
    ///
    /// # Errors
    /// Those of prctl(2) and seccomp(2), `ENOMEM` when all filters together are too long.
    pub fn add(&self) -> io::Result<()> {
        rustix::thread::set_no_new_privs(true)?;
        let len = u16::try_from(self.0.len()).map_err(io::Error::other)?;
        let program = libc::sock_fprog { len, filter: self.0.as_ptr().cast_mut() };
        let (operation, flags) = (libc::SECCOMP_SET_MODE_FILTER, 0);
        // SAFETY: the program has so many instructions, which the kernel only reads, and lives as long as the
        // call.
        checked(unsafe { libc::syscall(libc::SYS_seccomp, operation, flags, &raw const program) }).map(drop)
    }
}

const fn instruction(code: u32, jump_if_true: u8, operand: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: jump_if_true, jf: 0, k: operand }
}

/// The call that filters examine: one getpgid(2) of this process. Returns its process group.
#[inline]
pub fn examined_call() -> i32 {
    rustix::process::Pid::as_raw(rustix::process::getpgid(None).ok())
}

/// Executes `work` in a thread of its own, whose filters end with it.
///
/// # Errors
/// Those of the work, and of pthread_create(3).
pub fn in_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread: ScopedJoinHandle<'_, io::Result<T>> =
            std::thread::Builder::new().spawn_scoped(scope, work)?;
        thread.join().map_err(|_| io::Error::other("a thread panicked"))?
    })
}
