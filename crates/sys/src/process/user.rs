//! The user of a process: dropping privileges by setgroups(2), setgid(2) and setuid(2), and confining servers
//! that refuse to run as root, and that leave objects of System V behind when they are killed.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::process::Command;
use std::ptr;

use crate::error::checked;

/// Room for the strings of one entry of passwd(5).
const ENTRY_BYTES: usize = 16 << 10;

/// Whether this process has root's power.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Becomes the user of that name, with the groups of that user and no others, for good.
///
/// # Errors
/// `NotFound` when there is no such user; those of the calls named above; `Other` when the process could
/// become root again.
pub fn become_user(name: &str) -> io::Result<()> {
    let c_name = CString::new(name).map_err(|_| unknown(name))?;
    let mut entry = MaybeUninit::<libc::passwd>::uninit();
    let mut strings = vec![0; ENTRY_BYTES];
    let mut found = ptr::null_mut();
    // SAFETY: every pointer is to memory that lives as long as the call, and the length is that of the
    // buffer.
    let error = unsafe {
        libc::getpwnam_r(
            c_name.as_ptr(),
            entry.as_mut_ptr(),
            strings.as_mut_ptr(),
            strings.len(),
            &raw mut found,
        )
    };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    if found.is_null() {
        return Err(unknown(name));
    }
    // SAFETY: the call found an entry and so has written it.
    let (user, group) = unsafe { ((*found).pw_uid, (*found).pw_gid) };
    // The groups first: without root's power they could not be changed any more.
    // SAFETY: the name is a C string that lives as long as the call; the others take numbers.
    unsafe {
        checked(libc::initgroups(c_name.as_ptr(), group as _))?;
        checked(libc::setgid(group))?;
        checked(libc::setuid(user))?;
    }
    // SAFETY: takes a number; it is meant to fail.
    if user != 0 && unsafe { libc::setuid(0) } == 0 {
        return Err(io::Error::other("the process could become root again"));
    }
    Ok(())
}

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

/// The same.
///
/// # Errors
/// As above.
#[cfg(not(target_os = "linux"))]
pub fn confine(_command: &mut Command) -> io::Result<()> {
    if is_root() {
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

fn unknown(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no user {name:?}"))
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
