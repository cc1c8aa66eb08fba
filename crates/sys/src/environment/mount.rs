//! The file system a folder is on, with its mount options and its device (proc_pid_mountinfo(5)).

use std::path::{Path, PathBuf};

use super::Collector;
use crate::mount::table::{self, Mount};
use crate::pseudo_file::text;

pub(super) fn read(facts: &mut Collector, folder: &Path) {
    let Ok(folder) = folder.canonicalize() else { return };
    let Some(mount) = mount_of(table::mounts(), &folder) else { return };
    facts.add("scratch.file_system", Some(&mount.kind));
    facts.add("scratch.options", Some(&mount.options));
    facts.add("scratch.super_options", Some(&mount.super_options));
    // Sources other than devices are names of people's servers and folders, and are not recorded.
    if !mount.source.starts_with("/dev/") {
        return;
    }
    facts.add("scratch.device", mount.source.strip_prefix("/dev/"));
    let queue = queue_of(&mount.device);
    let setting = |name: &str| text(queue.join(name));
    facts.add("scratch.scheduler", setting("scheduler").as_deref().map(chosen));
    facts.add("scratch.rotational", setting("rotational"));
    facts.add("scratch.write_cache", setting("write_cache"));
    facts.add("scratch.block_bytes", setting("logical_block_size"));
    facts.add("scratch.read_ahead_kb", setting("read_ahead_kb"));
}

/// A partition has no queue of its own; its disk, the folder above, has one.
fn queue_of(device: &str) -> PathBuf {
    let block = PathBuf::from(format!("/sys/dev/block/{device}"));
    let own = block.join("queue");
    if own.exists() { own } else { block.join("../queue") }
}

/// The one in brackets: `none [mq-deadline] kyber`; the whole line where there are none.
pub(super) fn chosen(choices: &str) -> &str {
    let between = || choices.split_once('[')?.1.split_once(']').map(|(chosen, _)| chosen);
    between().unwrap_or(choices)
}

/// The mount that covers a folder: the longest mount point above it, and of several on one point the last.
fn mount_of(mounts: Vec<Mount>, folder: &Path) -> Option<Mount> {
    let covering = mounts.into_iter().filter(|mount| folder.starts_with(&mount.point));
    // max_by_key keeps the last of equals.
    covering.max_by_key(|mount| mount.point.as_os_str().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
25 24 0:23 / /tmp rw,nosuid - tmpfs tmpfs rw,size=24684096k
28 25 0:31 / /tmp rw,noexec shared:7 - xfs /dev/sdb1 rw,logbufs=8
29 27 0:40 / /two\\040words rw - btrfs /dev/sdc rw
";

    #[test]
    fn the_longest_and_last_mount_covers() {
        let kind = |folder: &str| mount_of(table::parse(MOUNTS), Path::new(folder)).map(|mount| mount.kind);
        assert_eq!(kind("/srv/data").as_deref(), Some("ext4"));
        assert_eq!(kind("/tmp/x").as_deref(), Some("xfs"));
        assert_eq!(kind("/tmpfile").as_deref(), Some("ext4"), "a name is not a folder");
        assert_eq!(kind("/two words/x").as_deref(), Some("btrfs"));
    }

    #[test]
    fn the_chosen_one_stands_in_brackets() {
        assert_eq!(chosen("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
    }
}
