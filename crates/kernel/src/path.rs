//! Cost of a path with n components, a chain of n links, or a folder of n entries.
//!
//! **Question.** What does it cost to find a file when its path is deep, leads over many symbolic links, or
//! through a folder with many entries?
//!
//! **Method.** With `depth` every n has a folder in the folder of the one before, whose name is a letter;
//! with `links` a symbolic link to the link of the one before; with `entries` one more file in the same
//! folder. Making them is not timed. Then the deepest folder, the last link, or a file chosen at random is
//! found by stat(2) and opened by open(2), each timed. All names are in the cache, because they were just
//! made: the cost of a disk is not measured. At the end nothing is timed.
//!
//! **Expected answer.** Linear for depth and links, each component being a search in the hash table of names
//! (path-lookup.rst); flat for entries. Limits are results: a path has less than 4 096 bytes
//! (`ENAMETOOLONG`), and Linux follows 40 links (`ELOOP`, path_resolution(7)).

use workload::resource::{INODES, MEMORY};
use workload::{Expect, Need, Operation, Variant, Workload, on_unix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "path",
    source: workload::page!("path.rs"),
    grows: "components, links or entries",
    variants: &[
        Variant { name: "depth", summary: "folders, each in the one before" },
        Variant { name: "links", summary: "symbolic links, each to the one before" },
        Variant { name: "entries", summary: "files of one folder" },
    ],
    operations: &[
        Operation::up("look up", Expect::Linear, "one stat(2) of the path")
            .except(&[("entries", Expect::Constant)]),
        Operation::up("open", Expect::Linear, "one open(2) of the path")
            .except(&[("entries", Expect::Constant)]),
        Operation::down("remove", Expect::Constant, "one unlink(2) or rmdir(2) of one of them")
            .except(&[("depth", Expect::Linear)]),
    ],
    // An inode and its name in the caches of the kernel.
    needs: &[Need::new(INODES, 1), Need::new(MEMORY, 2 << 10)],
    run: on_unix!(measured::run, "symbolic links need a privilege here"),
    ..Workload::CURVE
};

#[cfg(unix)]
mod measured {
    use std::io;

    use sys::file::{self, Path};
    use workload::{OwnFolder, Trial, TrialError};

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let folder = trial.own_folder()?;
        let mut paths =
            Paths::new(trial.variant(), &folder).map_err(TrialError::at("to make the first entry"))?;
        let (mut choice, mut wrong) = (fastrand::Rng::with_seed(trial.seed()), 0);
        let made = trial.compact_steps(&["look up", "open"], |n, lap| {
            paths.add(n)?;
            let path = paths.choose(&mut choice)?;
            lap.skip();
            file::status(&path)?;
            lap.mark();
            let opened = file::open_read(&path)?;
            lap.mark();
            wrong += usize::from(!paths.is_expected(&opened)?);
            file::close(opened)?;
            lap.skip();
            Ok(n)
        })?;
        trial.check("every path led to its file or folder", wrong == 0);
        // Entries are removed in random order; the others hold each other.
        let made = if trial.variant() == "entries" { trial.shuffled(made).collect() } else { made };
        trial.compact_steps_back(&["remove"], made.into_iter().rev(), |n, lap| {
            let path = paths.of(n)?;
            lap.skip();
            if paths.variant == "depth" {
                file::remove_folder(&path)?
            } else {
                file::unlink(&path)?
            }
            lap.mark();
            Ok(())
        })
    }

    /// The paths that exist at n.
    struct Paths<'a> {
        variant: &'a str,
        folder: &'a OwnFolder,
        /// The deepest folder, or the last link.
        last: std::path::PathBuf,
        count: usize,
    }

    impl<'a> Paths<'a> {
        fn new(variant: &'a str, folder: &'a OwnFolder) -> io::Result<Paths<'a>> {
            let last = match variant {
                "links" => {
                    let target = folder.join("target");
                    std::fs::write(&target, CONTENT)?;
                    target
                }
                _ => folder.path().to_owned(),
            };
            Ok(Paths { variant, folder, last, count: 0 })
        }

        fn add(&mut self, n: usize) -> io::Result<()> {
            match self.variant {
                "depth" => {
                    self.last.push("d");
                    std::fs::create_dir(&self.last)?;
                }
                "links" => {
                    let link = self.folder.join(n.to_string());
                    std::os::unix::fs::symlink(&self.last, &link)?;
                    self.last = link;
                }
                _ => std::fs::write(self.folder.join(n.to_string()), CONTENT)?,
            }
            self.count += 1;
            Ok(())
        }

        /// The path of the one that n has made.
        fn of(&self, n: usize) -> io::Result<Path> {
            match self.variant {
                "depth" => {
                    let mut path = self.folder.path().to_owned();
                    (0..=n).for_each(|_| path.push("d"));
                    Path::try_from(path.as_path())
                }
                _ => Path::try_from(self.folder.join(n.to_string()).as_path()),
            }
        }

        /// The path that is measured.
        fn choose(&self, choice: &mut fastrand::Rng) -> io::Result<Path> {
            match self.variant {
                "entries" => {
                    Path::try_from(self.folder.join(choice.usize(..self.count).to_string()).as_path())
                }
                _ => Path::try_from(self.last.as_path()),
            }
        }

        fn is_expected(&self, opened: &std::fs::File) -> io::Result<bool> {
            let found = opened.metadata()?;
            Ok(if self.variant == "depth" { found.is_dir() } else { found.len() == CONTENT.len() as u64 })
        }
    }

    const CONTENT: &[u8] = b"found\n";
}
