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

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Component, Path, PathBuf};

use workload::resource::{DISK, INODES, MEMORY};
use workload::{Expect, Need, Operation, Setting, Sizes, Trial, TrialError, Values, Workload};

use crate::work::Content;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "tree",
    source: workload::page!("tree.rs"),
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
            let counted = unpack(&archive, &first, files)?;
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

/// Files for each folder: new folders are opened at this rate, below one chosen at random.
const FILES_PER_FOLDER: usize = 12;

const BYTES_MEDIAN: f64 = 2048.0;
/// The standard deviation of the logarithm of the size: the mean is then 2.3 times the median.
const BYTES_SPREAD: f64 = 1.3;
/// No file is larger.
const BYTES_MAX: usize = 1 << 20;

/// The words that names are made of.
const WORDS: [&str; 16] = [
    "alias", "basic", "class", "debug", "entry", "frame", "graph", "index", "label", "macro", "parse",
    "queue", "reload", "stack", "table", "vector",
];
const ENDINGS: [&str; 6] = ["c", "h", "cc", "md", "texi", "in"];

/// A tree of folders and files like that of a large program's source, always the same for the same size.
#[derive(Debug, PartialEq)]
struct SourceTree {
    /// Each after the one that contains it.
    folders: Vec<PathBuf>,
    /// Files with their sizes.
    files: Vec<(PathBuf, usize)>,
}

impl SourceTree {
    fn with_files(count: usize) -> SourceTree {
        let mut random = fastrand::Rng::with_seed(count as u64);
        let mut folders = vec![PathBuf::from("tree")];
        let mut files = Vec::with_capacity(count);
        for number in 0..count {
            if number % FILES_PER_FOLDER == FILES_PER_FOLDER - 1 {
                let parent = &folders[random.usize(..folders.len())];
                let name = format!("{}{}", WORDS[random.usize(..WORDS.len())], folders.len());
                folders.push(parent.join(name));
            }
            let folder = &folders[random.usize(..folders.len())];
            let ending = ENDINGS[random.usize(..ENDINGS.len())];
            let words = [0, 1].map(|_| WORDS[random.usize(..WORDS.len())]);
            let name = format!("{}-{}{number}.{ending}", words[0], words[1]);
            files.push((folder.join(name), size(&mut random)));
        }
        SourceTree { folders, files }
    }

    /// Writes the tree as a tar archive.
    ///
    /// # Errors
    /// Those of writing.
    fn archive(&self, path: &Path) -> io::Result<()> {
        let mut builder = tar::Builder::new(BufWriter::new(File::create(path)?));
        for folder in &self.folders {
            let mut header = header(tar::EntryType::Directory, 0o755, 0);
            builder.append_data(&mut header, folder, io::empty())?;
        }
        let mut content = Content::new(self.files.len() as u64, BYTES_MAX);
        for (number, (path, bytes)) in self.files.iter().enumerate() {
            let content = content.bytes(number as u64, *bytes);
            let mut header = header(tar::EntryType::Regular, 0o644, content.len() as u64);
            builder.append_data(&mut header, path, content)?;
        }
        builder.into_inner()?.flush()
    }
}

fn header(kind: tar::EntryType, mode: u32, bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(bytes);
    header.set_mtime(0);
    header
}

/// Log-normal, by the method of Box and Muller (1958).
fn size(random: &mut fastrand::Rng) -> usize {
    let (radius, angle) = (1.0 - random.f64(), std::f64::consts::TAU * random.f64());
    let normal = (-2.0 * radius.ln()).sqrt() * angle.cos();
    ((BYTES_MEDIAN * (BYTES_SPREAD * normal).exp()) as usize).clamp(1, BYTES_MAX)
}

/// The counts of an unpacked tree.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    files: u64,
    bytes: u64,
}

/// Unpacks the first `files` files of a tar archive below `target`, which exists, and the folders between
/// them. Everything else is left out: without links no name leads out of `target`.
///
/// # Errors
/// Those of reading and writing; `InvalidData` for an entry that would lie outside of `target`, and
/// `UnexpectedEof` where the archive has fewer files.
fn unpack(archive: &Path, target: &Path, files: u64) -> io::Result<Counted> {
    let failed = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", archive.display()));
    let mut opened = tar::Archive::new(File::open(archive).map_err(failed)?);
    let mut counted = Counted::default();
    let mut buffer = vec![0; 64 << 10];
    for entry in opened.entries()? {
        if counted.files == files {
            return Ok(counted);
        }
        let mut entry = entry.map_err(failed)?;
        let path = below(target, &entry.path()?)?;
        match entry.header().entry_type() {
            tar::EntryType::Directory => std::fs::create_dir_all(&path)?,
            tar::EntryType::Regular => {
                counted.bytes += write(&mut entry, &path, &mut buffer)?;
                counted.files += 1;
            }
            _ => {}
        }
    }
    if counted.files == files {
        return Ok(counted);
    }
    let words = format!("{} has only {} files; choose a smaller -n", archive.display(), counted.files);
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, words))
}

/// Writes a file of an archive, in a folder that the archive need not have, and returns its size.
fn write(entry: &mut impl Read, path: &Path, buffer: &mut [u8]) -> io::Result<u64> {
    let mut file = match (File::create_new(path), path.parent()) {
        (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder)?;
            File::create_new(path)?
        }
        (file, _) => file?,
    };
    let mut bytes = 0;
    loop {
        let read = entry.read(buffer)?;
        if read == 0 {
            return Ok(bytes);
        }
        file.write_all(&buffer[..read])?;
        bytes += read as u64;
    }
}

/// The place of an entry: its name may not lead out of the folder.
fn below(target: &Path, name: &Path) -> io::Result<PathBuf> {
    let is_inside = name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let refused = || format!("cannot unpack {}: its name leads out of the archive", name.display());
    is_inside.then(|| target.join(name)).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, refused()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_the_same_for_the_same_size_and_every_folder_comes_after_its_parent() {
        let tree = SourceTree::with_files(5000);
        assert_eq!(tree, SourceTree::with_files(5000));
        assert_eq!((tree.files.len(), tree.folders.len()), (5000, 1 + 5000 / FILES_PER_FOLDER));
        for (place, folder) in tree.folders.iter().enumerate().skip(1) {
            assert!(tree.folders[..place].contains(&folder.parent().unwrap().to_path_buf()));
        }
        let mut names: Vec<&PathBuf> = tree.files.iter().map(|(path, _)| path).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 5000, "no name twice");
        let mean = tree.files.iter().map(|(_, bytes)| *bytes as f64).sum::<f64>() / 5000.0;
        assert!((3500.0..6500.0).contains(&mean), "{mean}");
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let scratch = tempfile::tempdir().unwrap();
        let tree = SourceTree::with_files(40);
        tree.archive(&scratch.path().join("tree.tar")).unwrap();
        let counted = unpack(&scratch.path().join("tree.tar"), scratch.path(), 40).unwrap();
        assert_eq!(counted.files, 40);
        for (path, bytes) in &tree.files {
            let there = std::fs::metadata(scratch.path().join(path)).unwrap().len();
            assert_eq!(there, (*bytes).max(8) as u64, "{}", path.display());
        }
    }

    /// An archive with one entry of that raw name.
    fn archive_of(name: &str, kind: tar::EntryType, folder: &Path) -> PathBuf {
        let mut header = header(kind, 0o644, 0);
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        let path = folder.join("hostile.tar");
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend([0; 1024]);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn nothing_is_unpacked_outside_of_the_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let target = scratch.path().join("target");
        std::fs::create_dir(&target).unwrap();
        for name in ["../outside", "/tmp/osdyno-outside", "a/../../outside"] {
            let archive = archive_of(name, tar::EntryType::Regular, scratch.path());
            let error = unpack(&archive, &target, 1).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{name}: {error}");
        }
        for kind in [tar::EntryType::Symlink, tar::EntryType::Link, tar::EntryType::Fifo] {
            let archive = archive_of("inside", kind, scratch.path());
            let error = unpack(&archive, &target, 1).unwrap_err();
            assert!(error.to_string().contains("has only 0 files"), "{kind:?}: {error}");
        }
        assert!(!scratch.path().join("outside").exists());
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0);
    }

    /// Names that lead everywhere, in headers and in the extensions for long names, of entries of every kind
    /// and of sizes that need not be true.
    #[test]
    fn whatever_an_archive_says_nothing_lands_outside_of_the_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let (archive, target) = (scratch.path().join("any.tar"), scratch.path().join("target"));
        let outside = scratch.path().join("outside");
        let mut random = fastrand::Rng::with_seed(1);
        let (mut unpacked, mut refused) = (0, 0);
        for round in 0..1000 {
            let entries = (0..random.usize(1..6)).flat_map(|_| any_entry(&mut random, &outside));
            std::fs::write(&archive, entries.chain([0; 1024]).collect::<Vec<u8>>()).unwrap();
            std::fs::create_dir(&target).unwrap();
            match unpack(&archive, &target, 1) {
                Ok(counted) => unpacked += counted.files,
                Err(error) => refused += u64::from(error.to_string().contains("leads out of the archive")),
            }
            std::fs::remove_dir_all(&target).unwrap();
            assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1, "in round {round}");
        }
        assert!(unpacked > 100 && refused > 100, "{unpacked} unpacked, {refused} refused: it tests little");
    }

    /// Where it names another file, that is `outside`.
    fn any_entry(random: &mut fastrand::Rng, outside: &Path) -> Vec<u8> {
        let parts = ["a", "b", "c", ".", "", "..", outside.to_str().unwrap()];
        let name: Vec<&str> = (0..random.usize(1..4)).map(|_| parts[random.usize(..parts.len())]).collect();
        let name = name.join("/");
        let kind = *b"000000123567gxLKS\0".get(random.usize(..18)).unwrap();
        let content = if b"gx".contains(&kind) { pax(&name) } else { name.clone().into_bytes() };
        let bytes = match random.u8(..8) {
            0 => random.u64(..) >> random.u32(..64),
            _ => content.len() as u64,
        };
        let mut header = header(tar::EntryType::new(kind), 0o644, bytes);
        let short = &name.as_bytes()[..name.len().min(100)];
        header.as_mut_bytes()[..short.len()].copy_from_slice(short);
        header.set_link_name(outside).unwrap();
        header.set_cksum();
        let mut entry = [&header.as_bytes()[..], &content].concat();
        entry.resize(entry.len().next_multiple_of(512), 0);
        entry
    }

    /// An extended header of pax(1) that gives the name of the next entry; its length counts itself.
    fn pax(name: &str) -> Vec<u8> {
        let rest = format!(" path={name}\n");
        let length = (1..).find(|length: &usize| length.to_string().len() + rest.len() == *length);
        format!("{}{rest}", length.unwrap()).into_bytes()
    }

    /// As tar(1) makes them: names begin with `./`, and folders may be missing.
    #[test]
    fn the_first_files_of_an_archive_of_others() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("own.tar");
        let mut builder = tar::Builder::new(File::create(&path).unwrap());
        for name in ["./a/one", "b/two", "b/three"] {
            let mut header = header(tar::EntryType::Regular, 0o644, 4);
            builder.append_data(&mut header, name, &b"text"[..]).unwrap();
        }
        builder.into_inner().unwrap();
        let target = scratch.path().join("target");
        std::fs::create_dir(&target).unwrap();
        assert_eq!(unpack(&path, &target, 2).unwrap(), Counted { files: 2, bytes: 8 });
        assert!(target.join("a/one").exists() && target.join("b/two").exists());
        assert!(!target.join("b/three").exists());
        let error = unpack(&path, &scratch.path().join("again"), 4).unwrap_err();
        assert!(error.to_string().ends_with("own.tar has only 3 files; choose a smaller -n"), "{error}");
    }

    #[test]
    fn an_archive_that_is_cut_short_is_an_error() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("tree.tar");
        SourceTree::with_files(40).archive(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert!(unpack(&path, scratch.path(), 40).is_err());
    }
}
