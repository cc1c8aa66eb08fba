//! Time to unpack, walk, copy and remove a source tree of n files.
//!
//! **Question.** How long does a file system need for each file of a large source tree, from unpacking the
//! archive to removing it? In 2003 the answers differed by a factor of 70 between file systems and their
//! options.
//!
//! **Method.** A tree of n files is unpacked from a tar archive that lies in memory, every file and folder of
//! it is looked up, the tree is copied, and the first copy is removed. Each of these phases is divided by n.
//! The tree is made of the same folders, names, sizes and bytes for the same n on every system: twelve files
//! in each folder, in median 2 KiB and on average 5 KiB long, of random content; or it is the first n files
//! of `--set tar=FILE` (generated), an archive that is not compressed, without its links. Before a phase
//! begins, the file system has written all data of the phase before it to disk. With `--set flush=yes` each
//! phase that writes includes that (syncfs(2)). The tree is in the scratch folder of the run: `--scratch DIR`
//! puts it on another file system.
//!
//! **Expected answer.** Flat: a file costs the same in a large tree as in a small one.

use std::path::{Path, PathBuf};
use std::{fs, io};

use workload::resource::{DISK, INODES, MEMORY};
use workload::{Expect, Need, Operation, Setting, Sizes, Trial, TrialError, Values, Workload};

use crate::source_tree::{self, Counted, SourceTree};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "tree",
    source: include_str!("tree.rs"),
    grows: "files in the tree",
    sizes: Sizes::Levels(sizes),
    settings: &[
        Setting {
            name: "flush",
            default: "no",
            values: Values::OneOf(&["no", "yes"]),
            summary: "whether a phase lasts until everything is on the disk",
        },
        Setting {
            name: "tar",
            default: GENERATED,
            values: Values::WordOrFile(GENERATED),
            summary: "the archive that is unpacked, instead of a generated one",
        },
    ],
    operations: &[
        Operation::phase("unpack", Expect::Constant, "the archive unpacked, for each file").of_unit(),
        Operation::phase("walk", Expect::Constant, "all folders listed, all files looked up, for each file")
            .of_unit(),
        Operation::phase("copy", Expect::Constant, "the tree copied, for each file").of_unit(),
        Operation::phase("remove", Expect::Constant, "the tree removed, for each file").of_unit(),
    ],
    // The archive and two copies; files fill whole blocks, and every twelfth has a folder.
    needs: &[Need::new(MEMORY, 16 << 10), Need::new(DISK, 32 << 10), Need::new(INODES, 3)],
    top: Some(60_000),
    classic_n: 60_000,
    run: Ok(run),
    ..Workload::JOB
};

/// The archive of a run without `--set tar`.
const GENERATED: &str = "generated";

/// A thousand files, ten thousand, and all of them.
fn sizes(top: u64) -> Vec<u64> {
    let below = [1000, 10_000].into_iter().filter(|&size| size < top);
    below.chain((top > 0).then_some(top)).collect()
}

const CLAIM: &str = "the tree had as many files and bytes when it was unpacked, walked and copied";

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let folder = trial.scratch().join("tree");
    // A trial that was killed may have left it.
    let _ = fs::remove_dir_all(&folder);
    let flushes = trial.setting("flush")? == "yes";
    let own = Some(trial.setting("tar")?).filter(|&name| name != GENERATED).map(Path::new);
    let scratch = trial.scratch();
    let outcome = trial.job(|files, job| {
        job.level().doing("the archive");
        let archive = own.map_or_else(|| generated(files, scratch), |own| Ok(own.to_owned()))?;
        let (first, second) = (folder.join("first"), folder.join("second"));
        fs::create_dir_all(&first)?;
        sys::file::write_back(scratch)?;
        let done = |folder: &Path| if flushes { sys::file::write_back(folder) } else { Ok(()) };
        let unpacked = job.phase("unpack", files, || {
            let counted = source_tree::unpack(&archive, &first, files)?;
            done(&first).map(|()| counted)
        })?;
        sys::file::write_back(&folder)?;
        let walked = job.phase("walk", files, || walk(&first))?;
        let copied = job.phase("copy", files, || {
            let counted = copy(&first, &second)?;
            done(&second).map(|()| counted)
        })?;
        sys::file::write_back(&folder)?;
        job.phase("remove", files, || {
            fs::remove_dir_all(&first)?;
            done(&folder)
        })?;
        job.level().check(CLAIM, unpacked.files == files && walked == unpacked && copied == unpacked);
        fs::remove_dir_all(&folder)
    });
    // Remains of a level that was refused; the error is that of the level.
    let _ = fs::remove_dir_all(&folder);
    outcome
}

/// The generated archive; it is written whole or not at all, because trials of one run share it.
fn generated(files: u64, scratch: &Path) -> io::Result<PathBuf> {
    let archive = scratch.join(format!("tree-{files}.tar"));
    if !archive.exists() {
        let unfinished = archive.with_extension("unfinished");
        SourceTree::with_files(files as usize).archive(&unfinished)?;
        fs::rename(unfinished, &archive)?;
    }
    Ok(archive)
}

/// Lists every folder and looks up every file.
fn walk(folder: &Path) -> io::Result<Counted> {
    let mut counted = Counted::default();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                counted.files += 1;
                counted.bytes += metadata.len();
            }
        }
    }
    Ok(counted)
}

/// Copies a file, and returns its length. CopyFileExW tells it by a function that it calls, which Wine
/// leaves out.
fn copy_file(from: &Path, to: &Path) -> io::Result<u64> {
    let copied = fs::copy(from, to)?;
    if cfg!(windows) { Ok(fs::metadata(to)?.len()) } else { Ok(copied) }
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> io::Result<Counted> {
    let mut counted = Counted::default();
    let mut folders = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        fs::create_dir(&to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push((entry.path(), target));
            } else {
                counted.bytes += copy_file(&entry.path(), &target)?;
                counted.files += 1;
            }
        }
    }
    Ok(counted)
}
