//! Cost of one more watched file while n are watched by one instance.
//!
//! **Question.** What does it cost to watch a file, to hear that a watched file was opened, and to end a
//! watch, when one instance of inotify(7) or fanotify(7) has n watches? Editors, indexers and synchronisation
//! of folders watch whole source trees.
//!
//! **Method.** The files are empty, 1 000 per folder, and exist before; trials of one run share them. Each is
//! added to one instance, timed. After each, one of the watched files is chosen at random and opened, and the
//! event is read, both timed: it must name that file and no other. At the end all watches are removed in
//! random order, each timed; the events that report the end of a watch are read in between, untimed.
//!
//! **Expected answer.** Flat. Watches hang on their inodes and are found by their numbers in a tree of radix
//! (inotify(7), fs/notify/mark.c). Linux ends the sweep at `fs.inotify.max_user_watches` or
//! `fs.fanotify.max_user_marks`, which it computes from the memory of the machine.

use workload::resource::{FANOTIFY_MARKS, INODES, INOTIFY_INSTANCES, INOTIFY_WATCHES, MEMORY};
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "watch",
    source: workload::page!("watch.rs"),
    grows: "watched files",
    variants: &[
        Variant { name: "inotify", summary: "inotify(7), events have the number of the watch" },
        Variant { name: "fanotify", summary: "fanotify(7), events have an open descriptor of the file" },
    ],
    operations: &[
        Operation::up("add", Expect::Constant, "one inotify_add_watch(2) or fanotify_mark(2)"),
        Operation::up("open", Expect::Constant, "one open(2) of a watched file, which causes the event")
            .detail(),
        Operation::up("read", Expect::Constant, "one read(2) of that event").detail(),
        Operation::sum("event", &["open", "read"], Expect::Constant, "open and read together"),
        Operation::down(
            "remove",
            Expect::Constant,
            "one inotify_rm_watch(2) or fanotify_mark(2), in random order",
        ),
    ],
    // A watch keeps the inode of its file in memory, and the inode of an empty file takes about 1 KiB.
    needs: &[
        Need::new(INOTIFY_WATCHES, 1).only_in(&["inotify"]),
        Need::new(FANOTIFY_MARKS, 1).only_in(&["fanotify"]),
        Need::new(INODES, 1),
        Need::new(MEMORY, 2 << 10),
    ],
    fixed_needs: &[Need::new(INOTIFY_INSTANCES, 1).only_in(&["inotify"])],
    run: on_linux!(measured::run, "files are watched by their paths on Linux only"),
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
mod measured {
    use std::fs::{self, File};
    use std::io::{self, ErrorKind};
    use std::path::{Path, PathBuf};

    use sys::watch::Watcher;
    use workload::{Trial, TrialError};

    const FILES_PER_FOLDER: usize = 1000;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let instance = if trial.variant() == "fanotify" { Watcher::fanotify() } else { Watcher::inotify() };
        let mut watcher = instance.map_err(TrialError::at("to open an instance"))?;
        let root = trial.scratch().join("watch");
        let paths: Vec<PathBuf> = (0..trial.n()).map(|number| path(&root, number)).collect();
        create_all(&paths).map_err(TrialError::at(format!("to create files below {}", root.display())))?;
        let paths = paths.iter().map(|path| sys::file::Path::try_from(path.as_path()));
        let paths = TrialError::collect("to name the files", paths)?;

        trial.warm(|| {
            let watch = watcher.add(&paths[0])?;
            sys::file::close(sys::file::open_read(&paths[0])?)?;
            discard(&mut watcher)?;
            watcher.remove(watch, &paths[0])?;
            discard(&mut watcher)
        });
        let mut random = fastrand::Rng::with_seed(trial.seed());
        let (mut watches, mut wrong) = (Vec::with_capacity(trial.n()), 0);
        trial.compact_steps(&["add", "open", "read"], |n, lap| {
            let watch = watcher.add(&paths[n])?;
            lap.mark();
            watches.push(watcher.name(watch, &paths[n])?);
            let chosen = random.usize(..=n);
            lap.skip();
            let file = sys::file::open_read(&paths[chosen])?;
            lap.mark();
            let length = watcher.read()?;
            lap.mark();
            wrong += usize::from(watcher.opened(length)? != [watches[chosen]]);
            sys::file::close(file)?;
            lap.skip();
            Ok(())
        })?;
        trial.check("every event named the opened file and no other", wrong == 0);
        // One may have been added whose event failed.
        watches.truncate(trial.n());
        let watches = trial.shuffled(watches.into_iter().zip(&paths).collect());
        trial.compact_steps_back(&["remove"], watches, |(watch, path), lap| {
            watcher.remove(watch, path)?;
            lap.mark();
            discard(&mut watcher)?;
            lap.skip();
            Ok(())
        })?;
        let unheard =
            sys::file::open_read(&paths[0]).and_then(sys::file::close).and_then(|()| watcher.read());
        let is_silent = unheard.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        trial.check("a file whose watch was removed causes no event", is_silent);
        Ok(())
    }

    fn path(root: &Path, number: usize) -> PathBuf {
        root.join((number / FILES_PER_FOLDER).to_string()).join(number.to_string())
    }

    /// Creates the files that are missing.
    fn create_all(paths: &[PathBuf]) -> io::Result<()> {
        for (number, path) in paths.iter().enumerate() {
            if let Some(folder) = path.parent().filter(|_| number % FILES_PER_FOLDER == 0) {
                fs::create_dir_all(folder)?;
            }
            if !path.exists() {
                File::create(path)?;
            }
        }
        Ok(())
    }

    /// Reads and forgets the events that wait.
    fn discard(watcher: &mut Watcher) -> io::Result<()> {
        match watcher.read().and_then(|length| watcher.opened(length)) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            read => read.map(drop),
        }
    }
}
