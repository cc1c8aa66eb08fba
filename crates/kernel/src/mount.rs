//! Cost of one more mount while a mount namespace has n.
//!
//! **Question.** What does it cost to mount and to unmount, to ask for one mount, to read the table of all,
//! and to copy all for a new namespace, when there are thousands? Container runtimes, package managers and
//! automounters do all of that.
//!
//! **Method.** The trial has a mount namespace of its own, in which nothing is shared with others, and in it
//! an empty file system in memory with one folder for each mount. `bind` shows one folder at each of them;
//! `tmpfs` mounts a new file system in memory there; both time mount(2), and umount2(2) in random order. The
//! other variants make bind mounts, untimed, and time one call after each: `statmount` asks by statmount(2)
//! for one mount, chosen at random; `table` reads /proc/thread-self/mountinfo once, which must have a line
//! for each; `unshare` makes a copy of the namespace, and goes back, which ends the copy with all its mounts.
//!
//! **Expected answer.** `tmpfs` and `statmount` are flat: mounts are found in a hash table by their folder,
//! and in a tree by their number. `bind` is linear here: the mount that holds the shown folder holds all
//! others too, and Linux looks through them for one that is locked (`has_locked_children` in fs/namespace.c).
//! `table` and `unshare` are linear, for they visit every mount: statmount(2) and listmount(2) were made
//! because monitors read the whole table after each change. The sweep ends at fs.mount-max. See
//! mount_namespaces(7).

use workload::resource::{MEMORY, MOUNTS};
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "mount",
    source: workload::page!("mount.rs"),
    grows: "mounts",
    variants: &[
        Variant { name: "bind", summary: "one folder at many places" },
        Variant { name: "tmpfs", summary: "many file systems in memory" },
        Variant { name: "statmount", summary: "one mount by its number" },
        Variant { name: "table", summary: "/proc/thread-self/mountinfo" },
        Variant { name: "unshare", summary: "a copy of the namespace" },
    ],
    remedies: &[
        ("bind", "keep fewer mounts in a namespace"),
        ("tmpfs", "keep fewer mounts in a namespace"),
        ("unshare", "unmount before unshare(2)"),
    ],
    operations: &[
        Operation::up("mount", Expect::Constant, "one mount(2)")
            .except(&[("bind", Expect::Linear)])
            .only(&["bind", "tmpfs"]),
        Operation::up("ask", Expect::Constant, "statmount(2) of one mount, chosen at random")
            .only(&["statmount"]),
        Operation::up("read", Expect::Linear, "open, read and close of /proc/thread-self/mountinfo")
            .only(&["table"]),
        Operation::up("copy", Expect::Linear, "unshare(2) of the mount namespace").only(&["unshare"]),
        Operation::up("end copy", Expect::Linear, "setns(2) back, which ends the copy").only(&["unshare"]),
        Operation::down("unmount", Expect::Constant, "one umount2(2), in random order")
            .only(&["bind", "tmpfs"]),
    ],
    needs: &[
        Need::new(MOUNTS, 1),
        Need::new(MEMORY, 2 << 10),
        Need::new(MEMORY, 8 << 10).only_in(&["tmpfs"]),
        // The copy is there while the first ones are.
        Need::new(MEMORY, 1 << 10).only_in(&["unshare"]),
    ],
    run: on_linux!(measured::run, "a process has mounts of its own on Linux only"),
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
mod measured {
    use std::fs::File;
    use std::io::{self, Read};

    use sys::file::Path;
    use sys::mount::{MountNumber, bind, describe, mount_memory, number, unmount};
    use sys::namespace::{NamespaceKind, Namespaces, permit, renew};
    use workload::{Trial, TrialError};

    /// As much of the table is read by one call.
    const TABLE_BYTES: usize = 64 << 10;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let own = trial.own_folder()?;
        let home = own_mounts(own.path()).map_err(TrialError::at("to have mounts of its own"))?;
        let folders =
            folders(own.path(), trial.n()).map_err(TrialError::at("to make the folders of the mounts"))?;
        let result = measure(trial, &home, &folders);
        // The folder is that of all processes again, and can be removed.
        home.enter().map_err(TrialError::at("to leave the mount namespace"))?;
        result
    }

    /// Makes a mount namespace with an empty file system in memory at that folder, and returns the first one.
    fn own_mounts(folder: &std::path::Path) -> io::Result<Namespaces> {
        permit()?;
        let first = Namespaces::own(&[NamespaceKind::Mount])?;
        sys::mount::own_namespace()?;
        mount_memory(&Path::try_from(folder)?)?;
        Ok(first)
    }

    /// One for each mount, and first the one that bind mounts show.
    fn folders(root: &std::path::Path, count: usize) -> io::Result<Vec<Path>> {
        let folder = |number: usize| {
            let path = root.join(number.to_string());
            std::fs::create_dir(&path)?;
            Path::try_from(path.as_path())
        };
        (0..=count).map(folder).collect()
    }

    fn measure(trial: &mut Trial<'_>, first: &Namespaces, folders: &[Path]) -> Result<(), TrialError> {
        let (shown, folders) = folders.split_first().ok_or_else(|| TrialError {
            attempted: "to have a folder".to_owned(),
            error: io::ErrorKind::NotFound.into(),
        })?;
        let mut random = fastrand::Rng::with_seed(trial.seed());
        let mount =
            if trial.variant() == "tmpfs" { |_: &Path, folder: &Path| mount_memory(folder) } else { bind };
        trial.warm(|| {
            mount(shown, shown)?;
            unmount(shown)
        });
        match trial.variant() {
            "statmount" => {
                let (mut numbers, mut is_right) = (Vec::<MountNumber>::with_capacity(folders.len()), true);
                trial.compact_steps(&["ask"], |n, lap| {
                    bind(shown, &folders[n])?;
                    numbers.push(number(&folders[n])?);
                    let chosen = numbers[random.usize(..=n)];
                    lap.skip();
                    let answer = describe(chosen)?;
                    lap.mark();
                    is_right &= answer == chosen;
                    Ok(())
                })?;
                trial.check("the kernel answered for the mount that was asked for", is_right);
                Ok(())
            }
            "table" => {
                let (mut table, mut has_all) = (vec![0; TABLE_BYTES], true);
                trial.compact_steps(&["read"], |n, lap| {
                    bind(shown, &folders[n])?;
                    lap.skip();
                    let lines = lines("/proc/thread-self/mountinfo", &mut table)?;
                    lap.mark();
                    has_all &= lines > n;
                    Ok(())
                })?;
                trial.check("the table had a line for every mount", has_all);
                Ok(())
            }
            "unshare" => {
                let own = Namespaces::own(&[NamespaceKind::Mount]);
                let own = own.map_err(TrialError::at("to keep the mount namespace"))?;
                trial.compact_steps(&["copy", "end copy"], |n, lap| {
                    bind(shown, &folders[n])?;
                    lap.skip();
                    renew(&[NamespaceKind::Mount])?;
                    lap.mark();
                    own.enter()?;
                    lap.mark();
                    Ok(())
                })?;
                first
                    .enter()
                    .and_then(|()| own.enter())
                    .map_err(TrialError::at("to change the mount namespace"))
            }
            _ => {
                let mounted = trial.timed("mount", |n| mount(shown, &folders[n]).map(|()| n))?;
                let mounted = trial.shuffled(mounted);
                trial.compact_down("unmount", mounted, |n| unmount(&folders[n]))
            }
        }
    }

    /// How many lines a file has.
    fn lines(path: &str, buffer: &mut [u8]) -> io::Result<usize> {
        let (mut file, mut lines) = (File::open(path)?, 0);
        loop {
            match file.read(buffer)? {
                0 => return Ok(lines),
                read => lines += buffer[..read].iter().filter(|&&byte| byte == b'\n').count(),
            }
        }
    }
}
