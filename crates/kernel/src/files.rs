//! Cost of one more open and mapped file while n are open and mapped.
//!
//! **Question.** What does it cost to open, map and first touch one of thousands of small files, and does
//! it grow with the number of files that are open and mapped?
//!
//! **Method.** The files have about 150 bytes each, 100 per folder unless `--set per-folder=COUNT` says
//! otherwise, and are read once so that they are in the cache. Each is opened, mapped, and its first byte
//! read, each step timed. All stay open and mapped. Then each is unmapped and closed, in random order. Some
//! systems load the page when the file is mapped, others at the first access; therefore the sum of the
//! three steps is reported too.
//!
//! **Expected answer.** Flat, except for the mapping, which is at most logarithmic.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sys::memory::Mapping;
use workload::resource::{DESCRIPTORS, MAPPINGS, MEMORY};
use workload::{Expect, Need, Operation, Setting, Trial, TrialError, Values, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "files",
    source: workload::page!("files.rs"),
    grows: "open and mapped files",
    settings: &[Setting {
        name: "per-folder",
        default: "100",
        values: Values::Number { least: 1, most: 10_000_000 },
        summary: "files in each folder",
    }],
    operations: &[
        Operation::up("open", Expect::Constant, "one open(2), read-only, of a path of two folders"),
        Operation::up("mmap", Expect::Logarithmic, "one mmap(2) of the file's only page").detail(),
        Operation::up("touch", Expect::Constant, "the first read of its first byte").detail(),
        Operation::sum(
            "sum",
            &["open", "mmap", "touch"],
            Expect::Logarithmic,
            "open, mmap and touch together",
        ),
        Operation::down("unmap", Expect::Logarithmic, "one munmap(2), in random order").detail(),
        Operation::down("close", Expect::Constant, "one close(2), in random order"),
    ],
    needs: &[Need::new(DESCRIPTORS, 1), Need::new(MAPPINGS, 1), Need::new(MEMORY, 16 << 10)],
    helpers: true,
    run: Ok(run),
    ..Workload::CURVE
};

/// No file is shorter.
const FILE_BYTES: usize = 150;

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let root = trial.scratch().join("files");
    let per_folder = trial.number("per-folder")? as usize;
    let paths: Vec<PathBuf> = (0..trial.n()).map(|number| path(&root, number, per_folder)).collect();
    write_all(&root, &paths, per_folder)
        .map_err(TrialError::at(format!("to write files below {}", root.display())))?;
    read_all(&paths).map_err(TrialError::at(format!("to read the files below {}", root.display())))?;
    let paths = paths.iter().map(|path| sys::file::Path::try_from(path.as_path()));
    let paths = TrialError::collect("to name the files", paths)?;

    trial.warm(|| {
        let file = sys::file::open_read(&paths[0])?;
        let mapping = Mapping::read_only(&file, 0, FILE_BYTES)?;
        std::hint::black_box(mapping.first_byte());
        mapping.unmap()?;
        sys::file::close(file)
    });
    let files = trial.timed_steps(&["open", "mmap", "touch"], |number, lap| {
        let file = sys::file::open_read(&paths[number])?;
        lap.mark();
        let mapping = Mapping::read_only(&file, 0, FILE_BYTES)?;
        lap.mark();
        let byte = mapping.first_byte();
        lap.mark();
        Ok((file, mapping, byte, number))
    })?;
    trial.check(
        "every file held the bytes that were written into it",
        files.iter().all(|&(_, _, byte, number)| byte == initial(number)),
    );
    let files = trial.shuffled(files);
    trial.timed_steps_back(&["unmap", "close"], files, |(file, mapping, ..), lap| {
        mapping.unmap()?;
        lap.mark();
        sys::file::close(file)?;
        lap.mark();
        Ok(())
    })
}

fn path(root: &Path, number: usize, per_folder: usize) -> PathBuf {
    root.join((number / per_folder).to_string()).join(format!("{number}.html"))
}

fn initial(number: usize) -> u8 {
    b'a' + (number % 26) as u8
}

/// Writes the files that are missing; trials of one run share them.
fn write_all(root: &Path, paths: &[PathBuf], per_folder: usize) -> io::Result<()> {
    let whole = root.join(format!("{}.whole", paths.len()));
    if whole.exists() {
        return Ok(());
    }
    for (number, path) in paths.iter().enumerate() {
        if number % per_folder == 0 {
            fs::create_dir_all(root.join((number / per_folder).to_string()))?;
        }
        fs::write(path, text(number))?;
    }
    // Written back now, so that the disk is idle during the measurement.
    sys::file::write_back(root)?;
    File::create(whole)?;
    Ok(())
}

fn text(number: usize) -> String {
    let mut text = format!("{} <html><title>{number}</title><body>", initial(number) as char);
    while text.len() < FILE_BYTES - 8 {
        text.push_str("osdyno ");
    }
    text + "</body>\n"
}

fn read_all(paths: &[PathBuf]) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(FILE_BYTES * 2);
    paths.iter().try_for_each(|path| {
        buffer.clear();
        File::open(path)?.read_to_end(&mut buffer).map(drop)
    })
}
