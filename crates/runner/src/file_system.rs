//! File systems as systems: each is made in an image of its own or on a device of the user's, and its trials
//! have their files on it.
//!
//! Each trial gets a new one, in 0.1 s: an old one keeps folders that do not shrink, free space in pieces and
//! a full journal. All images of a run have one size, as the layout depends on it. A device is opened with
//! `O_EXCL` right before it is formatted (`sys/src/mount/device.rs`).

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use host::CommandRefusal;

use crate::target::{MOUNTED, OWN_PROGRAM, SCRATCH};
use crate::{Error, Target};

/// A file system may have this share of the free bytes: there may be several, and their images are sparse.
const SHARE: u64 = 4;
const BYTES_MAX: u64 = 8 << 30;
/// The smallest on which every kind can be made.
const BYTES_MIN: u64 = 512 << 20;

/// The bytes of a file system where so many are free: a power of two, so that it is the same in all trials
/// although the free space changes.
fn image_bytes(free: u64) -> u64 {
    let halves = std::iter::successors(Some(BYTES_MAX), |bytes| Some(bytes / 2));
    halves.take_while(|&bytes| bytes > BYTES_MIN).find(|&bytes| bytes <= free / SHARE).unwrap_or(BYTES_MIN)
}

/// The program that makes a file system of a kind, and its Debian package.
struct Maker {
    kind: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    package: &'static str,
}

/// The inode tables are written at once: otherwise the kernel would write them while trials are measured.
const MAKERS: [Maker; 6] = [
    Maker { kind: "ext2", program: "mkfs.ext2", arguments: WHOLE_EXT, package: "e2fsprogs" },
    Maker { kind: "ext3", program: "mkfs.ext3", arguments: WHOLE_EXT, package: "e2fsprogs" },
    Maker { kind: "ext4", program: "mkfs.ext4", arguments: WHOLE_EXT, package: "e2fsprogs" },
    Maker { kind: "xfs", program: "mkfs.xfs", arguments: &["-q", "-f"], package: "xfsprogs" },
    Maker { kind: "btrfs", program: "mkfs.btrfs", arguments: &["-q", "-f"], package: "btrfs-progs" },
    Maker { kind: "f2fs", program: "mkfs.f2fs", arguments: &["-q", "-f"], package: "f2fs-tools" },
];
const WHOLE_EXT: &[&str] = &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"];

/// The kind that is on no device.
const TMPFS: &str = "tmpfs";

/// The option of ext4 that is one of mkfs.ext4(8).
const NO_JOURNAL: &str = "nojournal";

/// A kind of file system with its options, as `ext4:nojournal:noatime`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    text: String,
    kind: String,
    options: Vec<String>,
}

/// How long the mount of the trial before, whose processes have ended, may keep the device.
const RELEASE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);

/// The remedy where an image cannot be attached.
const LOOP_DEVICES: &str = "; it takes root and a free loop device of the kernel: modprobe loop, losetup -a";

impl FileSystem {
    /// Reads a kind and its options, each behind a colon.
    ///
    /// # Errors
    /// An unknown kind, and empty options.
    pub fn parse(text: &str) -> Result<FileSystem, Error> {
        let refused = |reason: String| Error::FileSystem { text: text.to_owned(), reason };
        let mut words = text.split(':');
        let kind = words.next().unwrap_or_default();
        if kind != TMPFS && !MAKERS.iter().any(|maker| maker.kind == kind) {
            let known: Vec<&str> = MAKERS.iter().map(|maker| maker.kind).chain([TMPFS]).collect();
            return Err(refused(format!("the known kinds are {}", known.join(", "))));
        }
        let options: Vec<String> = words.map(str::to_owned).collect();
        if options.iter().any(|option| option.is_empty() || option.contains(char::is_control)) {
            return Err(refused("an option is empty".to_owned()));
        }
        Ok(FileSystem { text: text.to_owned(), kind: kind.to_owned(), options })
    }

    /// The system whose trials have their files on it. It is made on the device, if there is one.
    #[must_use]
    pub fn target(&self, device: Option<&str>) -> Target {
        let on = device.map_or(Vec::new(), |device| vec!["--device", device]);
        let prefix = [&[OWN_PROGRAM, MOUNTED], &on[..], &[&self.text, SCRATCH]].concat();
        let written = [&["--fs", &self.text], &on[..]].concat();
        let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
        let [prefix, written]: [Vec<String>; 2] = [prefix, written].map(owned);
        Target { written, ..Target::of_command(self.text.clone(), prefix) }
    }

    /// Whether it can be made on that device: a block device that nothing uses. All that is on it will be
    /// lost, so the user names it twice, the second time in `erase`.
    ///
    /// # Errors
    /// [`Error::Device`], with the reason.
    pub fn expect_erasable(&self, device: &str, erase: &str) -> Result<(), Error> {
        let reason = match () {
            () if device != erase => format!("--erase names {erase}; both must name the same"),
            () if self.kind == TMPFS => "tmpfs is on no device".to_owned(),
            () => match sys::mount::expect_unused(Path::new(device)) {
                Ok(()) => return Ok(()),
                Err(error) => error.to_string(),
            },
        };
        Err(Error::Device { device: device.to_owned(), reason })
    }

    /// Makes the file system, mounts it on the folder for this process alone, and executes the command in
    /// place of this process. It is on the device, or else in an image, which has no name any more: it and
    /// the mount are gone with the last process of the command. `warn` gets remarks for the record.
    ///
    /// # Errors
    /// The attempt, and why it failed.
    pub fn execute(
        &self,
        folder: &Path,
        device: Option<&Path>,
        command: &[OsString],
        warn: impl FnOnce(&str),
    ) -> Result<std::convert::Infallible, CommandRefusal> {
        let [program, arguments @ ..] = command else { return Err(broken("there is no command".to_owned())) };
        sys::mount::own_namespace().map_err(unsupported("make a mount namespace", "; run osdyno as root"))?;
        if self.kind == TMPFS {
            self.mount(Path::new(TMPFS), folder)?;
        } else if let Some(device) = device {
            wait_until_unused(device).map_err(failed(&format!("format {}", device.display()), ""))?;
            self.make(device)?;
            self.mount(device, folder)?;
        } else {
            // No other system of the run has this name, nor one that was started before.
            let path = folder.join(format!("{}-{}.image", self.kind, std::process::id()));
            let image = image(folder, &path)?;
            let attached = self.make(&path).and_then(|()| {
                sys::mount::LoopDevice::attach(&image)
                    .map_err(unsupported("attach a loop device", LOOP_DEVICES))
            });
            // The device keeps it, and below the mount nothing could remove it.
            let _ = std::fs::remove_file(path);
            let device = attached?;
            if !device.is_direct().unwrap_or(false) {
                warn(&format!("the image of {} is cached by the file system that it lies on", self.text));
            }
            self.mount(device.path(), folder)?;
        }
        let error = sys::process::replace_by(Command::new(program).args(arguments));
        Err(failed(&format!("execute {}", program.display()), "")(error))
    }

    /// Makes the file system in an image or on a device.
    fn make(&self, path: &Path) -> Result<(), CommandRefusal> {
        let maker = MAKERS.iter().find(|maker| maker.kind == self.kind);
        let maker = maker.ok_or_else(|| broken(format!("{} is on no device", self.kind)))?;
        let mut command = Command::new(maker.program);
        command.args(maker.arguments);
        if self.options.iter().any(|option| option == NO_JOURNAL) {
            command.args(["-O", "^has_journal"]);
        }
        let ended = command.arg(path).output().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => CommandRefusal {
                is_unsupported: true,
                reason: format!(
                    "{} is not installed; it is in the package {package}: apt-get install {package}",
                    maker.program,
                    package = maker.package
                ),
            },
            _ => failed(&format!("execute {}", maker.program), "")(error),
        })?;
        if !ended.status.success() {
            let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
            return Err(broken(format!("{} failed, {}: {said}", maker.program, ended.status)));
        }
        Ok(())
    }

    fn mount(&self, device: &Path, folder: &Path) -> Result<(), CommandRefusal> {
        let attempted = format!("mount {} on {}", self.text, folder.display());
        sys::mount::mount(device, folder, &self.kind, &self.mount_options()).map_err(|error| {
            let advice = match error.kind() {
                io::ErrorKind::Unsupported => {
                    format!("; modprobe {} loads it where it is a module", self.kind)
                }
                _ => "; dmesg may say more".to_owned(),
            };
            unsupported(&attempted, &advice)(error)
        })
    }

    fn mount_options(&self) -> Vec<String> {
        self.options.iter().filter(|option| *option != NO_JOURNAL).cloned().collect()
    }
}

/// A sparse file in the folder.
fn image(folder: &Path, path: &Path) -> Result<File, CommandRefusal> {
    let made = sys::file::free(folder).and_then(|free| {
        let image = File::options().read(true).write(true).create_new(true).open(path)?;
        image.set_len(image_bytes(free.bytes))?;
        Ok(image)
    });
    made.map_err(failed(&format!("make {}", path.display()), ""))
}

fn wait_until_unused(device: &Path) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match sys::mount::expect_unused(device) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && begun.elapsed() < RELEASE => {
                std::thread::sleep(PAUSE);
            }
            found => return found,
        }
    }
}

/// A facility that this machine lacks.
fn unsupported(attempted: &str, advice: &str) -> impl FnOnce(io::Error) -> CommandRefusal {
    move |error| CommandRefusal { is_unsupported: true, ..failed(attempted, advice)(error) }
}

/// A failure.
fn failed(attempted: &str, advice: &str) -> impl FnOnce(io::Error) -> CommandRefusal {
    move |error| broken(format!("cannot {attempted}: {error}{advice}"))
}

fn broken(reason: String) -> CommandRefusal {
    CommandRefusal { is_unsupported: false, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_has_the_same_size_while_a_little_more_or_less_is_free() {
        let mebibytes = |free_gib: u64| image_bytes(free_gib << 30) >> 20;
        assert_eq!(
            [100, 32, 31, 17, 15, 4, 1, 0].map(mebibytes),
            [8192, 8192, 4096, 4096, 2048, 1024, 512, 512]
        );
    }

    #[test]
    fn kinds_and_options_are_read() {
        let parsed = FileSystem::parse("ext4:nojournal:noatime").expect("a file system");
        assert_eq!((parsed.kind.as_str(), parsed.mount_options()), ("ext4", vec!["noatime".to_owned()]));
        let target = parsed.target(None);
        assert_eq!(target.name, "ext4:nojournal:noatime");
        assert_eq!(target.written, ["--fs", "ext4:nojournal:noatime"]);
        assert_eq!(target.prefix, ["{osdyno}", "mounted", "ext4:nojournal:noatime", "{scratch}"]);
        let on = parsed.target(Some("/dev/sdb1"));
        assert_eq!(on.prefix[..4], ["{osdyno}", "mounted", "--device", "/dev/sdb1"]);
        assert_eq!(on.written[2..], ["--device", "/dev/sdb1"]);
        assert!(target.is_new_in_each_trial() && on.is_new_in_each_trial());
        for wrong in ["", "ext5", "ext4:", "ext4::noatime", ":noatime", "ext4:a\nb"] {
            assert!(FileSystem::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
