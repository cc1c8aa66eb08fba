//! The program that has a block device open. Opening it for writing, as an emulator does with the disk of its
//! guest, is no exclusive use to the kernel (open(2), `O_EXCL`).

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::makedev;

use crate::process_table::proc_text;

/// A process that has a device open for writing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Holder {
    /// Its number.
    pub(super) pid: u32,
    /// The name of its program.
    pub(super) name: String,
}

/// The first process that has one of the devices open for writing, of those whose descriptors this user sees.
pub(super) fn holder(devices: &[u64]) -> Option<Holder> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let pid = numbers.into_iter().find(|pid| holds(*pid, devices))?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(Holder { pid, name: name.trim_end().to_owned() })
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
pub(super) fn with_its_disk(device: u64, number: &str) -> Vec<u64> {
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
pub(super) fn loop_device_on(device: &Path) -> Option<PathBuf> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let is_on_it = |loop_device: &fs::DirEntry| {
        fs::read_to_string(loop_device.path().join("loop/backing_file"))
            .is_ok_and(|image| Path::new(image.trim_end()) == device)
    };
    let found = devices.into_iter().find(is_on_it)?;
    Some(Path::new("/dev").join(found.file_name()))
}
