//! Mounts by unshare(2) and mount(2), images by loop(4).

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::mount::{MountFlags, MountPropagationFlags, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Gives this process mounts of its own: only it and its children see its later mounts, which end with the
/// last of them.
///
/// # Errors
/// Those of unshare(2) and mount(2): `EPERM` without `CAP_SYS_ADMIN`.
pub fn own_namespace() -> io::Result<()> {
    // SAFETY: only unsharing the table of descriptors could confuse other threads, and it is not unshared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS)? };
    // Else the mounts would be handed on to the namespace of the parent.
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// Mounts a file system of that kind on the folder. The options are those of mount(8).
///
/// # Errors
/// Those of mount(2); unsupported is a kind that this kernel does not know (`ENODEV`).
pub fn mount(source: &Path, folder: &Path, kind: &str, options: &[String]) -> io::Result<()> {
    let (mut flags, mut data) = (MountFlags::empty(), Vec::new());
    for option in options {
        match flag(option) {
            Some(flag) => flags |= flag,
            None => data.push(option.as_str()),
        }
    }
    let data = CString::new(data.join(","))?;
    rustix::mount::mount(source, folder, kind, flags, data.as_c_str()).map_err(|error| match error {
        rustix::io::Errno::NODEV => {
            io::Error::new(io::ErrorKind::Unsupported, format!("this kernel has no {kind}"))
        }
        error => error.into(),
    })
}

/// The options that the kernel takes as flags.
fn flag(option: &str) -> Option<MountFlags> {
    Some(match option {
        "noatime" => MountFlags::NOATIME,
        "relatime" => MountFlags::RELATIME,
        "strictatime" => MountFlags::STRICTATIME,
        "nodiratime" => MountFlags::NODIRATIME,
        "lazytime" => MountFlags::LAZYTIME,
        "sync" => MountFlags::SYNCHRONOUS,
        "dirsync" => MountFlags::DIRSYNC,
        "nosuid" => MountFlags::NOSUID,
        "nodev" => MountFlags::NODEV,
        _ => return None,
    })
}

/// An image as a block device. The kernel removes the device when it is neither open nor mounted, be it
/// because this process was killed.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    device: File,
}

// <linux/loop.h>
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
const LOOP_GET_STATUS64: libc::Ioctl = 0x4C05;
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    descriptor: u32,
    block_bytes: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

const NO_INFO: LoopInfo = LoopInfo {
    device: 0,
    inode: 0,
    rdevice: 0,
    offset: 0,
    size_limit: 0,
    number: 0,
    encrypt_type: 0,
    encrypt_key_size: 0,
    flags: 0,
    file_name: [0; 64],
    crypt_name: [0; 64],
    encrypt_key: [0; 32],
    init: [0; 2],
};

/// Another process may take the free device before us.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

impl LoopDevice {
    /// Attaches the image, past the page cache of its own file system where that is possible: otherwise reads
    /// from the disk would come from memory.
    ///
    /// # Errors
    /// Those of open(2) and of loop(4).
    pub fn attach(image: &File) -> io::Result<LoopDevice> {
        let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control")?;
        let mut tries = 0;
        loop {
            // SAFETY: the request has no argument and returns the number of a device.
            let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            match LoopDevice::configure(PathBuf::from(format!("/dev/loop{number}")), image) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) && tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(BETWEEN_TRIES);
                }
                attached => return attached,
            }
        }
    }

    fn configure(path: PathBuf, image: &File) -> io::Result<LoopDevice> {
        let device = OpenOptions::new().read(true).write(true).open(&path)?;
        let config = LoopConfig {
            descriptor: image.as_raw_fd().cast_unsigned(),
            block_bytes: 0,
            info: LoopInfo { flags: LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO, ..NO_INFO },
            reserved: [0; 8],
        };
        // SAFETY: the argument is the structure that this request reads, and lives until it returns.
        let configured = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) };
        if configured < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(LoopDevice { path, device })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it passes the page cache of the file system of its image.
    ///
    /// # Errors
    /// Those of loop(4).
    pub fn is_direct(&self) -> io::Result<bool> {
        let mut info = NO_INFO;
        // SAFETY: the argument is the structure that this request fills, and nobody else has it.
        let told = unsafe { libc::ioctl(self.device.as_raw_fd(), LOOP_GET_STATUS64, &raw mut info) };
        if told < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(info.flags & LO_FLAGS_DIRECT_IO != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_are_those_of_the_kernel() {
        assert_eq!((size_of::<LoopInfo>(), size_of::<LoopConfig>()), (232, 304));
    }
}
