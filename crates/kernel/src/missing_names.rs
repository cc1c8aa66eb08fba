//! Cost of one more name that was looked up and does not exist.
//!
//! **Question.** Programs look for files that do not exist: along `PATH`, along include paths, for caches and
//! locks. The kernel remembers each as a negative dentry. What do n of them cost the next miss, and calls on
//! the folder in which they were missed?
//!
//! **Method.** With `one` all names are missed in one new folder, with `many` 100 in each. A new name is
//! looked up by stat(2), timed, and then one of those that were missed before, chosen at random. Then, each
//! timed, the folder gets a watch of inotify(7), and a file gets a name in it (link(2)), which is changed
//! (rename(2)); the watch and the name are removed again, untimed. At the end the file gets each missed
//! name, in random order, timed. No file is created: that takes an inode as well, and ext4 without a journal
//! passes over all that were freed in the last minute (`recently_deleted` in fs/ext4/ialloc.c). With
//! `removed` a new folder is made for every n, n names are missed in it, untimed, and its removal by
//! rmdir(2) is timed; n goes as far as the allowed time. The memory that a name takes is a remark of the
//! trials, where root measures (/proc/slabinfo).
//!
//! **Expected answer.** Flat for misses, in the hash table of names (fs/dcache.c), and for link and rename.
//! A watch is linear in `one`: Linux marks every child of a folder that gets its first watch, also those that
//! do not exist (`fsnotify_update_children_dentry_flags`); machines with millions of them stopped for seconds
//! (LWN 814535 of 2020, 894098 of 2022). rmdir(2) is linear as well: it discards them one by one.

use workload::resource::{INODES, INOTIFY_INSTANCES, INOTIFY_WATCHES, MEMORY};
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "missing-names",
    source: workload::page!("missing_names.rs"),
    grows: "missing names",
    variants: &[
        Variant { name: "one", summary: "all in one folder" },
        Variant { name: "many", summary: "100 in each folder" },
        Variant { name: "removed", summary: "all in one folder, which is removed" },
    ],
    remedies: &[("one", "keep such names in a folder of their own")],
    operations: &[
        Operation::up("miss", Expect::Constant, "one stat(2) of a new name that does not exist").only(KEPT),
        Operation::up("miss-again", Expect::Constant, "one stat(2) of a name that was missed before")
            .only(KEPT)
            .detail(),
        Operation::up("watch", Expect::Linear, "one inotify_add_watch(2) of the folder")
            .except(&[("many", Expect::Constant)])
            .only(KEPT),
        Operation::up("link", Expect::Constant, "one link(2) that gives a file a name in the folder")
            .only(KEPT),
        Operation::up("rename", Expect::Constant, "one rename(2) of that name within the folder")
            .only(KEPT)
            .detail(),
        Operation::down("link-missed", Expect::Constant, "one link(2) that gives a file a missed name")
            .only(KEPT)
            .detail(),
        Operation::up("rmdir", Expect::Linear, "one rmdir(2) of the folder").only(&["removed"]),
    ],
    // A dentry has 192 bytes, which hold a short name.
    needs: &[
        Need::new(MEMORY, 256),
        Need::new(INODES, 1).only_in(&["many"]),
        Need::new(MEMORY, 1 << 10).only_in(KEPT),
    ],
    fixed_needs: &[Need::new(INOTIFY_INSTANCES, 1), Need::new(INOTIFY_WATCHES, 1)],
    run: on_linux!(measured::run, "folders are watched by inotify(7) on Linux only"),
    ..Workload::CURVE
};

const KEPT: &[&str] = &["one", "many"];

#[cfg(target_os = "linux")]
mod measured {
    use std::io::{self, ErrorKind};
    use std::path::Path;

    use sys::file;
    use sys::watch::Watcher;
    use workload::{OwnFolder, Trial, TrialError};

    /// Names in each folder of `many`.
    const PER_FOLDER: usize = 100;
    /// Names of one file: ext4 allows 65,000.
    const PER_FILE: usize = 60_000;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        if trial.variant() == "removed" { removed(trial) } else { kept(trial) }
    }

    fn kept(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let root = trial.own_folder()?;
        let per_folder = if trial.variant() == "many" { PER_FOLDER } else { usize::MAX };
        let folders =
            (0..trial.n().div_ceil(per_folder)).map(|number| Folder::make(&root.join(number.to_string())));
        let folders = TrialError::collect("to make the folders", folders)?;
        let watcher = Watcher::inotify().map_err(TrialError::at("to open an instance of inotify"))?;
        let names = (0..trial.n()).map(|number| path(&root.join((number / per_folder).to_string()), number));
        let names = TrialError::collect("to name the files", names)?;
        let files = (0..trial.n().div_ceil(PER_FILE)).map(|number| make_file(&root, number));
        let files = TrialError::collect("to make the files", files)?;
        let mut random = fastrand::Rng::with_seed(trial.seed());
        let mut found = 0;
        let missed = trial.compact_steps(&["miss", "miss-again", "watch", "link", "rename"], |n, lap| {
            let missed = file::status(&names[n]);
            lap.mark();
            let chosen = random.usize(..=n);
            lap.skip();
            let again = file::status(&names[chosen]);
            lap.mark();
            found += usize::from(!is_missing(&missed)) + usize::from(!is_missing(&again));
            let folder = &folders[chosen / per_folder];
            lap.skip();
            let watch = watcher.add(&folder.path)?;
            lap.mark();
            watcher.remove(watch, &folder.path)?;
            lap.skip();
            file::link(&files[0], &folder.linked)?;
            lap.mark();
            file::rename(&folder.linked, &folder.renamed)?;
            lap.mark();
            file::unlink(&folder.renamed)?;
            lap.skip();
            Ok(n)
        })?;
        trial.check("no missing name was found", found == 0);
        if let Some(bytes) = sys::memory::kernel_object_bytes("dentry") {
            trial.remark(format!(
                "Each missing name takes {bytes} bytes of kernel memory until it is reclaimed."
            ));
        }
        let missed = trial.shuffled(missed);
        trial.compact_steps_back(&["link-missed"], missed, |n, lap| {
            file::link(&files[n / PER_FILE], &names[n])?;
            lap.mark();
            Ok(())
        })
    }

    fn removed(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let root = trial.own_folder()?;
        let folder = root.join("removed");
        let names = (0..trial.n()).map(|number| path(&folder, number));
        let names = TrialError::collect("to name the files", names)?;
        let mut found = 0;
        trial.compact_steps(&["rmdir"], |n, lap| {
            std::fs::create_dir(&folder)?;
            found += names[..=n].iter().filter(|name| !is_missing(&file::status(name))).count();
            lap.skip();
            std::fs::remove_dir(&folder)?;
            lap.mark();
            Ok(())
        })?;
        trial.check("no missing name was found", found == 0);
        Ok(())
    }

    /// A folder and the names of a file that come and go in it.
    struct Folder {
        path: file::Path,
        linked: file::Path,
        renamed: file::Path,
    }

    impl Folder {
        fn make(path: &Path) -> io::Result<Folder> {
            std::fs::create_dir(path)?;
            let name = |name: &str| file::Path::try_from(path.join(name).as_path());
            Ok(Folder { path: path.try_into()?, linked: name("linked")?, renamed: name("renamed")? })
        }
    }

    fn make_file(folder: &OwnFolder, number: usize) -> io::Result<file::Path> {
        let path = folder.join(format!("file-{number}"));
        std::fs::File::create(&path)?;
        path.as_path().try_into()
    }

    fn path(folder: &Path, number: usize) -> io::Result<file::Path> {
        file::Path::try_from(folder.join(format!("missing-{number}")).as_path())
    }

    fn is_missing(status: &io::Result<()>) -> bool {
        status.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }
}
