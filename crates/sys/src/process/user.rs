//! Dropping privileges: setgroups(2), setgid(2), setuid(2).

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

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
        done(libc::initgroups(c_name.as_ptr(), group as _))?;
        done(libc::setgid(group))?;
        done(libc::setuid(user))?;
    }
    // SAFETY: takes a number; it is meant to fail.
    if user != 0 && unsafe { libc::setuid(0) } == 0 {
        return Err(io::Error::other("the process could become root again"));
    }
    Ok(())
}

fn unknown(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no user {name:?}"))
}

fn done(answer: libc::c_int) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
