//! Linux: mounts by unshare(2) and mount(2), images by loop(4), one of many mounts by its number, and whether
//! a block device may be formatted.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{major, makedev, minor};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::table::mounts;
use crate::error::checked;
use crate::file;
use crate::process_table::proc_text;

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

/// Shows the folder at another place too.
///
/// # Errors
/// Those of mount(2).
#[inline]
pub fn bind(source: &file::Path, folder: &file::Path) -> io::Result<()> {
    Ok(rustix::mount::mount_bind(source.as_c_str(), folder.as_c_str())?)
}

/// Mounts an empty file system in memory.
///
/// # Errors
/// Those of mount(2).
#[inline]
pub fn mount_memory(folder: &file::Path) -> io::Result<()> {
    Ok(rustix::mount::mount(c"none", folder.as_c_str(), c"tmpfs", MountFlags::empty(), None)?)
}

/// Ends the mount at that folder.
///
/// # Errors
/// Those of umount2(2): `EBUSY` while anything there is in use.
#[inline]
pub fn unmount(folder: &file::Path) -> io::Result<()> {
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
pub fn number(folder: &file::Path) -> io::Result<MountNumber> {
    let mut answer = std::mem::MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the path ends with a zero, and the answer has the size of the structure.
    let done = unsafe {
        libc::statx(libc::AT_FDCWD, folder.as_c_str().as_ptr(), 0, STATX_MNT_ID_UNIQUE, answer.as_mut_ptr())
    };
    checked(done)?;
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
    checked(done)?;
    Ok(MountNumber(answer[MOUNT_NUMBER_WORD]))
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
            let number = checked(unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) })?;
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
        checked(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) })?;
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
        checked(unsafe { libc::ioctl(self.device.as_raw_fd(), LOOP_GET_STATUS64, &raw mut info) })?;
        Ok(info.flags & LO_FLAGS_DIRECT_IO != 0)
    }
}

/// Makes sure that the path is an unused block device without partitions: no mount, in whichever namespace,
/// no swap, no RAID or volume above it, and no process that has it open for writing.
///
/// # Errors
/// `InvalidInput` for any other path; `ResourceBusy` for a device that is mounted or in use, even if only for
/// a moment longer; those of open(2).
pub fn expect_unused(device: &Path) -> io::Result<()> {
    let metadata = fs::metadata(device)?;
    let refused = |reason: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    if !metadata.file_type().is_block_device() {
        return refused("it is not a block device");
    }
    let number = format!("{}:{}", major(metadata.rdev()), minor(metadata.rdev()));
    let parts = fs::read_dir(format!("/sys/dev/block/{number}")).into_iter().flatten().flatten();
    if parts.into_iter().any(|part| part.path().join("partition").exists()) {
        return refused("it has partitions; name one of them");
    }
    let path = device.canonicalize()?;
    let is_on_it = |source: &str| Path::new(source).canonicalize().is_ok_and(|source| source == path);
    let mounts = mounts();
    if let Some(mount) = mounts.iter().find(|mount| mount.device == number || is_on_it(&mount.source)) {
        let reason = format!("it is mounted on {}", mount.point.display());
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, reason));
    }
    if let Some(loop_device) = loop_device_on(&path) {
        let reason = format!("it is the image of {}; losetup --detach frees it", loop_device.display());
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, reason));
    }
    if let Some((pid, name)) = holder(&with_its_disk(metadata.rdev(), &number)) {
        let reason = format!("process {pid} ({name}) has it open for writing; end that first");
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, reason));
    }
    // O_EXCL fails for a block device that something in the kernel uses exclusively (open(2)).
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(device);
    opened.map(drop).map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => {
            io::Error::new(error.kind(), "it is in use: a mount, swap space, RAID or volume")
        }
        _ => error,
    })
}

/// The first process that has one of the devices open for writing, with its name, of those whose descriptors
/// this user sees. That is no exclusive use to the kernel, as by an emulator with the disk of its guest.
fn holder(devices: &[u64]) -> Option<(u32, String)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let pid = numbers.into_iter().find(|pid| holds(*pid, devices))?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some((pid, name.trim_end().to_owned()))
}

fn holds(pid: u32, devices: &[u64]) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    descriptors.into_iter().any(|descriptor| {
        let is_of_device = fs::metadata(descriptor.path())
            .is_ok_and(|file| file.file_type().is_block_device() && devices.contains(&file.rdev()));
        let info = format!("/proc/{pid}/fdinfo/{}", descriptor.file_name().to_string_lossy());
        is_of_device && fs::read_to_string(info).is_ok_and(|info| proc_text::is_writable(&info))
    })
}

/// The device and, for a partition, its disk: writes to the disk change the partition.
fn with_its_disk(device: u64, number: &str) -> Vec<u64> {
    let folder = PathBuf::from(format!("/sys/dev/block/{number}"));
    // The folder of a partition is in that of its disk.
    let disk = folder.join("partition").exists().then(|| fs::read_to_string(folder.join("../dev")).ok());
    let disk = disk.flatten().and_then(|number| {
        let (major, minor) = number.trim().split_once(':')?;
        Some(makedev(major.parse().ok()?, minor.parse().ok()?))
    });
    [Some(device), disk].into_iter().flatten().collect()
}

/// The loop device whose image the device is.
fn loop_device_on(device: &Path) -> Option<PathBuf> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let is_on_it = |loop_device: &fs::DirEntry| {
        fs::read_to_string(loop_device.path().join("loop/backing_file"))
            .is_ok_and(|image| Path::new(image.trim_end()) == device)
    };
    let found = devices.into_iter().find(is_on_it)?;
    Some(Path::new("/dev").join(found.file_name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_a_process_writes_to_is_refused_with_its_name() {
        let image = rustix::fs::memfd_create("disk", rustix::fs::MemfdFlags::CLOEXEC).expect("a file");
        let image = File::from(image);
        image.set_len(1 << 20).expect("a size");
        let device = match LoopDevice::attach(&image) {
            Ok(device) => device,
            Err(error) => return println!("skipped: no loop device: {error}"),
        };
        let error = expect_unused(device.path()).expect_err("this process has it open").to_string();
        assert!(error.contains(&format!("process {} (", std::process::id())), "{error}");
        let reader = File::open(device.path()).expect("the device");
        let path = device.path().to_owned();
        // Open for reading only, as by programs that look for labels.
        drop(device);
        // A child that another test forked meanwhile has it until it executes its program.
        let is_unused = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            expect_unused(&path).is_ok()
        });
        assert!(is_unused, "{:?}", expect_unused(&path));
        drop(reader);
    }

    #[test]
    fn what_is_no_block_device_or_mounted_is_refused() {
        let kind = |path: &str| expect_unused(Path::new(path)).expect_err("a reason").kind();
        assert_eq!(kind("/dev/null"), io::ErrorKind::InvalidInput);
        assert_eq!(kind("/"), io::ErrorKind::InvalidInput);
        assert_eq!(kind("/dev/missing"), io::ErrorKind::NotFound);
        let mounted = mounts().into_iter().map(|mount| mount.source);
        let mut devices = mounted.filter(|source| Path::new(source).exists() && source.starts_with("/dev/"));
        match devices.next() {
            Some(device) => assert_eq!(kind(&device), io::ErrorKind::ResourceBusy, "{device}"),
            None => println!("skipped: no device is mounted here"),
        }
    }

    #[test]
    fn the_structures_are_those_of_the_kernel() {
        assert_eq!((size_of::<LoopInfo>(), size_of::<LoopConfig>()), (232, 304));
    }
}
