//! Whether a block device may be formatted.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{major, minor};

use super::holder::{Holder, holder, loop_device_on, with_its_disk};
use super::table::mounts;

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
    if let Some(Holder { pid, name }) = holder(&with_its_disk(metadata.rdev(), &number)) {
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

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::super::LoopDevice;
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
}
