//! File systems as systems: each is made in an image of its own, and its trials have their files on it.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::target::{MOUNTED, OWN_PROGRAM, SCRATCH};
use crate::{Error, Target};

/// A file system may have this share of the free bytes: there may be several, and their images are sparse.
const SHARE: u64 = 4;
const BYTES_MAX: u64 = 8 << 30;
/// The smallest on which every kind can be made.
const BYTES_MIN: u64 = 512 << 20;

/// The bytes of a file system where so many are free: a power of two, so that it is the same in all trials
/// although what is free changes.
fn image_bytes(free: u64) -> u64 {
    let halves = std::iter::successors(Some(BYTES_MAX), |bytes| Some(bytes / 2));
    halves.take_while(|&bytes| bytes > BYTES_MIN).find(|&bytes| bytes <= free / SHARE).unwrap_or(BYTES_MIN)
}

/// What makes a file system of a kind, and the Debian package that has it.
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

/// The kind that needs no image.
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

/// What to do where an image cannot be attached.
const LOOP_DEVICES: &str = "; it takes root and a free loop device of the kernel: modprobe loop, losetup -a";

impl FileSystem {
    /// Reads a kind and its options, each behind a colon.
    ///
    /// # Errors
    /// A kind that nothing is known to make, and options that are empty.
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

    /// The system whose trials have their files on it.
    #[must_use]
    pub fn target(&self) -> Target {
        let prefix = [OWN_PROGRAM, MOUNTED, &self.text, SCRATCH].map(str::to_owned).to_vec();
        let written = vec!["--fs".to_owned(), self.text.clone()];
        Target { name: self.text.clone(), prefix, written, is_guest: false, engine: None }
    }

    /// Makes the file system, mounts it on the folder for this process alone, and executes the command in
    /// place of this process. The image has no name any more; it and the mount are gone with the last process
    /// of the command. `warn` gets what a reader of the record should know.
    ///
    /// # Errors
    /// What was attempted, and why it failed.
    pub fn execute(
        &self,
        folder: &Path,
        command: &[OsString],
        warn: impl FnOnce(&str),
    ) -> Result<std::convert::Infallible, String> {
        let [program, arguments @ ..] = command else { return Err("there is no command".to_owned()) };
        sys::mount::own_namespace().map_err(failed("make a mount namespace", "; run osdyno as root"))?;
        let attempted = format!("mount {} on {}", self.text, folder.display());
        if self.kind == TMPFS {
            sys::mount::mount(Path::new(TMPFS), folder, TMPFS, &self.options)
                .map_err(failed(&attempted, ""))?;
        } else {
            // No other system of the run has this name, nor one that was started before.
            let path = folder.join(format!("{}-{}.image", self.kind, std::process::id()));
            let image = self.make(folder, &path)?;
            let attached = sys::mount::LoopDevice::attach(&image);
            // The device keeps it, and below the mount nobody could remove it.
            let _ = std::fs::remove_file(path);
            let device = attached.map_err(failed("attach a loop device", LOOP_DEVICES))?;
            if !device.is_direct().unwrap_or(false) {
                warn(&format!("the image of {} is cached by the file system that it lies on", self.text));
            }
            let advice = format!("; does this kernel have {}?", self.kind);
            sys::mount::mount(device.path(), folder, &self.kind, &self.mount_options())
                .map_err(failed(&attempted, &advice))?;
        }
        let error = sys::process::replace_by(Command::new(program).args(arguments));
        Err(failed(&format!("execute {}", program.display()), "")(error))
    }

    /// Makes the file system in an image in the folder.
    fn make(&self, folder: &Path, path: &Path) -> Result<File, String> {
        let maker = MAKERS.iter().find(|maker| maker.kind == self.kind);
        let maker = maker.ok_or_else(|| format!("{} needs no image", self.kind))?;
        let made = sys::file::free(folder).and_then(|free| {
            let image = File::options().read(true).write(true).create_new(true).open(path)?;
            image.set_len(image_bytes(free.bytes))?;
            Ok(image)
        });
        let image = made.map_err(failed(&format!("make {}", path.display()), ""))?;
        let mut command = Command::new(maker.program);
        command.args(maker.arguments);
        if self.options.iter().any(|option| option == NO_JOURNAL) {
            command.args(["-O", "^has_journal"]);
        }
        let ended = command.arg(path).output().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                format!("{} is not installed; it is in the package {}", maker.program, maker.package)
            }
            _ => format!("cannot execute {}: {error}", maker.program),
        })?;
        if !ended.status.success() {
            let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
            return Err(format!("{} failed, {}: {said}", maker.program, ended.status));
        }
        Ok(image)
    }

    fn mount_options(&self) -> Vec<String> {
        self.options.iter().filter(|option| *option != NO_JOURNAL).cloned().collect()
    }
}

fn failed(attempted: &str, advice: &str) -> impl FnOnce(io::Error) -> String {
    move |error| format!("cannot {attempted}: {error}{advice}")
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
        let target = parsed.target();
        assert_eq!(target.name, "ext4:nojournal:noatime");
        assert_eq!(target.written, ["--fs", "ext4:nojournal:noatime"]);
        assert_eq!(target.prefix, ["{osdyno}", "mounted", "ext4:nojournal:noatime", "{scratch}"]);
        for wrong in ["", "ext5", "ext4:", "ext4::noatime", ":noatime", "ext4:a\nb"] {
            assert!(FileSystem::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
