//! Many mounts of a mount namespace: bind mounts, mounts in memory, and one of them by its number.

use std::io;

use rustix::mount::{MountFlags, UnmountFlags};

use crate::file::Path;

/// Shows the folder at another place too.
///
/// # Errors
/// Those of mount(2).
#[inline]
pub fn bind(source: &Path, folder: &Path) -> io::Result<()> {
    Ok(rustix::mount::mount_bind(source.as_c_str(), folder.as_c_str())?)
}

/// Mounts an empty file system in memory.
///
/// # Errors
/// Those of mount(2).
#[inline]
pub fn mount_memory(folder: &Path) -> io::Result<()> {
    Ok(rustix::mount::mount(c"none", folder.as_c_str(), c"tmpfs", MountFlags::empty(), None)?)
}

/// Ends the mount at that folder.
///
/// # Errors
/// Those of umount2(2): `EBUSY` while anything there is in use.
#[inline]
pub fn unmount(folder: &Path) -> io::Result<()> {
    Ok(rustix::mount::unmount(folder.as_c_str(), UnmountFlags::NOFOLLOW)?)
}

/// The number of a mount, by which [`describe`] finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountNumber(u64);

// <linux/stat.h>, <linux/mount.h>: Linux 6.8.
const STATX_MNT_ID_UNIQUE: u32 = 0x4000;
const STATMOUNT_MNT_BASIC: u64 = 2;
/// New calls have one number on all processors.
const SYS_STATMOUNT: libc::c_long = 457;
/// `struct statmount` without the texts behind it.
const ANSWER_WORDS: usize = 64;
/// `mnt_id` of `struct statmount`, behind the fields of the file system.
const MOUNT_NUMBER_WORD: usize = 5;

/// The number of the mount that the folder is the top of.
///
/// # Errors
/// Those of statx(2); unsupported before Linux 6.8.
pub fn number(folder: &Path) -> io::Result<MountNumber> {
    let mut answer = std::mem::MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the path ends with a zero, and the answer has the size of the structure.
    let done = unsafe {
        libc::statx(libc::AT_FDCWD, folder.as_c_str().as_ptr(), 0, STATX_MNT_ID_UNIQUE, answer.as_mut_ptr())
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeros are a value of this type, and the call has written it.
    let answer = unsafe { answer.assume_init() };
    if answer.stx_mask & STATX_MNT_ID_UNIQUE == 0 {
        return Err(crate::Unsupported("statmount(2) needs Linux 6.8").into());
    }
    Ok(MountNumber(answer.stx_mnt_id))
}

/// `struct mnt_id_req` of its first version.
#[repr(C)]
struct Request {
    bytes: u32,
    spare: u32,
    number: u64,
    wanted: u64,
}

/// Asks the kernel for what it knows of one mount, and returns the number that it answers with.
///
/// # Errors
/// Those of statmount(2): `ENOSYS` before Linux 6.8.
#[inline]
pub fn describe(mount: MountNumber) -> io::Result<MountNumber> {
    let request = Request {
        bytes: size_of::<Request>() as u32,
        spare: 0,
        number: mount.0,
        wanted: STATMOUNT_MNT_BASIC,
    };
    let mut answer = [0_u64; ANSWER_WORDS];
    // SAFETY: the request and the answer live through the call, with the sizes that are given.
    let done = unsafe {
        libc::syscall(
            SYS_STATMOUNT,
            &raw const request,
            answer.as_mut_ptr(),
            size_of_val(&answer) as libc::size_t,
            0 as libc::c_uint,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(MountNumber(answer[MOUNT_NUMBER_WORD])) }
}
