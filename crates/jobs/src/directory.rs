//! Cost of one more file in a folder that holds n.
//!
//! **Question.** What does it cost to create, open, look up, rename and remove a file in a folder of n
//! files? Does it grow, as in file systems that search a folder from its beginning?
//!
//! **Method.** Empty files are created in one folder. After each one, a file chosen at random is opened,
//! another one is looked up, and the new one gets its final name; each call is timed. Then all are removed
//! in random order. Everything stays in memory. The folder is in the scratch folder of the run;
//! `--scratch DIR` puts it on another file system.
//!
//! `new` starts with a new folder. In `emptied`, ten times as many files were there before and have been
//! removed; some file systems never make a folder smaller, and search its empty blocks. Where there is no
//! time for so many, n is smaller.
//!
//! **Expected answer.** At most logarithmic where folders have an index (ext4, XFS, Btrfs, ZFS, UFS with
//! dirhash), linear where they do not (ext2, older UFS).

use std::path::Path;
use std::{fs, io};

use sys::file;
use workload::resource::{DISK, INODES, MEMORY};
use workload::{Expect, Need, Operation, Trial, TrialError, Variant, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "directory",
    source: workload::page!("directory.rs"),
    grows: "files in the folder",
    variants: &[
        Variant { name: "new", summary: "a new folder" },
        Variant { name: "emptied", summary: "a folder that held ten times as many files before" },
    ],
    operations: &[
        Operation::up("create", Expect::Logarithmic, "one open(2) that creates an empty file"),
        Operation::up("open", Expect::Logarithmic, "one open(2) of a file chosen at random"),
        Operation::up("lookup", Expect::Logarithmic, "one stat(2) of a file chosen at random"),
        Operation::up("rename", Expect::Logarithmic, "one rename(2) within the folder"),
        Operation::down("unlink", Expect::Logarithmic, "one unlink(2), in random order"),
    ],
    // An inode of the kernel with its name, of which there are two while it is renamed; on the disk, ten of
    // them where the folder is emptied first.
    needs: &[Need::new(MEMORY, 2 << 10), Need::new(DISK, 8 << 10), Need::new(INODES, 10)],
    run: Ok(run),
    ..Workload::CURVE
};

/// How many more files an emptied folder held.
const EMPTIED: usize = 10;

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let folder = trial.scratch().join("directory");
    // A trial that was killed may have left it.
    let _ = fs::remove_dir_all(&folder);
    let attempted = || format!("to prepare {}", folder.display());
    fs::create_dir_all(&folder).map_err(TrialError::at(attempted()))?;
    if trial.variant() == "emptied" {
        fill_and_empty(trial, &folder).map_err(TrialError::at(attempted()))?;
    }
    let mut random = fastrand::Rng::with_seed(trial.seed());
    let files = Files::named(&folder, trial.n(), &mut random).map_err(TrialError::at(attempted()))?;
    trial.warm(|| {
        file::close(file::create_new(&files.fresh[0])?)?;
        file::rename(&files.fresh[0], &files.renamed[0])?;
        file::status(&files.renamed[0])?;
        file::unlink(&files.renamed[0])
    });
    let made = trial.timed_steps(&["create", "open", "lookup", "rename"], |number, lap| {
        let created = file::create_new(&files.fresh[number])?;
        lap.mark();
        file::close(created)?;
        let (first, second) = files.others(number);
        lap.skip();
        let opened = file::open_read(first)?;
        lap.mark();
        file::close(opened)?;
        lap.skip();
        file::status(second)?;
        lap.mark();
        file::rename(&files.fresh[number], &files.renamed[number])?;
        lap.mark();
        Ok(number)
    })?;
    let listed = fs::read_dir(&folder).map_err(TrialError::at(attempted()))?.count();
    trial.check("the folder held as many files as were created", listed >= made.len());
    let made = trial.shuffled(made);
    trial.timed_down("unlink", made, |number| file::unlink(&files.renamed[number]))?;
    let removed = fs::remove_dir_all(&folder);
    removed.map_err(TrialError::at(format!("to remove {}", folder.display())))
}

/// Makes and removes the earlier files, as many as there is time for.
fn fill_and_empty(trial: &mut Trial<'_>, folder: &Path) -> io::Result<()> {
    let path = |number: usize| folder.join(format!("before-{number}"));
    let create = |number: usize| fs::File::create_new(path(number)).map(drop);
    trial.prepare(|part| (0..EMPTIED).try_for_each(|place| create(part * EMPTIED + place)))?;
    (0..trial.n() * EMPTIED).try_for_each(|number| fs::remove_file(path(number)))
}

/// The names of all files, and of the one to look up after each, chosen before anything is timed.
struct Files {
    fresh: Vec<file::Path>,
    renamed: Vec<file::Path>,
    /// For each file, two that were there before it.
    others: Vec<[usize; 2]>,
}

impl Files {
    fn named(folder: &Path, count: usize, random: &mut fastrand::Rng) -> io::Result<Files> {
        let mut names = |prefix: &str| -> io::Result<Vec<file::Path>> {
            // In no order, as names of mail and of objects are.
            let name = |number| format!("{prefix}{:08x}-{number}", random.u32(..));
            let paths = (0..count).map(name).map(|name| folder.join(name));
            paths.map(|path| file::Path::try_from(path.as_path())).collect()
        };
        let (fresh, renamed) = (names("new-")?, names("")?);
        let others = (0..count).map(|number| [0, 1].map(|_| random.usize(..number.max(1)))).collect();
        Ok(Files { fresh, renamed, others })
    }

    /// The file to look up after that file was created: the first one has none beside it.
    fn others(&self, number: usize) -> (&file::Path, &file::Path) {
        let name = |other: usize| if number == 0 { &self.fresh[0] } else { &self.renamed[other] };
        let [first, second] = self.others[number];
        (name(first), name(second))
    }
}
