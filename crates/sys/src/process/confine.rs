//! Confines servers that refuse to run as root, and that leave objects of System V behind when they are
//! killed.

use std::io;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

/// Makes the command run as a user other than root, with the same access to files and its own shared memory,
/// and be killed when the calling thread ends. On Linux by namespaces: user_namespaces(7), ipc_namespaces(7).
/// Elsewhere nothing is changed.
///
/// # Errors
/// Unsupported where this process is root, and the system has no such namespaces. The command itself fails to
/// start with the error of unshare(2) where the system does not permit them.
#[cfg(target_os = "linux")]
pub fn confine(command: &mut Command) -> io::Result<()> {
    use std::os::unix::process::CommandExt;

    use rustix::process::{getegid, geteuid};

    // initdb wants a user that has a name, and 65534 is `nobody` on most systems.
    let user = format!("65534 {} 1\n", geteuid().as_raw());
    let group = format!("65534 {} 1\n", getegid().as_raw());
    let parent = std::process::id();
    // SAFETY: between fork and execve the closure only makes system calls, on memory that was allocated
    // before.
    unsafe { command.pre_exec(move || enter(user.as_bytes(), group.as_bytes(), parent)) };
    Ok(())
}

#[cfg(target_os = "linux")]
fn enter(user: &[u8], group: &[u8], parent: u32) -> io::Result<()> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    use rustix::io::write;
    use rustix::thread::{UnshareFlags, unshare_unsafe};

    // SAFETY: the process has one thread between fork and execve.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWIPC)? };
    // The kernel wants the second before the third.
    for (path, text) in [
        (c"/proc/self/uid_map", user),
        (c"/proc/self/setgroups", b"deny".as_slice()),
        (c"/proc/self/gid_map", group),
    ] {
        let file = openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        write(&file, text)?;
    }
    // Last, because a change of user resets it. The caller waits for the server's end in the thread that
    // started it.
    if super::die_with(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
}

/// The same.
///
/// # Errors
/// As above.
#[cfg(not(target_os = "linux"))]
pub fn confine(_command: &mut Command) -> io::Result<()> {
    if super::is_root() {
        let reason = "databases refuse to be executed by root, and this system has no namespaces of users";
        return Err(crate::Unsupported(reason).into());
    }
    Ok(())
}

/// The name of the user that such a command has.
///
/// # Errors
/// Unsupported where it has none.
pub fn confined_user() -> io::Result<String> {
    if cfg!(target_os = "linux") {
        return Ok("nobody".to_owned());
    }
    std::env::var("LOGNAME").map_err(|_| crate::Unsupported("LOGNAME does not name the user").into())
}

/// Makes the command run on one processor, where the system can do that.
pub fn pin(command: &mut Command, cpu: u32) {
    use std::os::unix::process::CommandExt;

    // Otherwise the system chooses the processor.
    let pin = move || {
        let _ = crate::cpu::pin(cpu);
        Ok(())
    };
    // SAFETY: between fork and execve the closure only makes a system call.
    unsafe { command.pre_exec(pin) };
}

/// Asks a process to end at once, by SIGQUIT, but to end its own children first.
///
/// # Errors
/// Those of kill(2).
pub fn quit(process: u32) -> io::Result<()> {
    send(process, Signal::QUIT)
}

/// Asks a process to end, by SIGTERM.
///
/// # Errors
/// Those of kill(2).
pub fn terminate(process: u32) -> io::Result<()> {
    send(process, Signal::TERM)
}

fn send(process: u32, signal: Signal) -> io::Result<()> {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    let process = process.ok_or_else(|| io::Error::other("no process has that number"))?;
    Ok(kill_process(process, signal)?)
}
