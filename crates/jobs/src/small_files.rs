//! Time to create, write and read back small files of n KiB in one folder.
//!
//! **Question.** How long does a file system need for each of thousands of small files in one folder, and
//! how does that depend on their size? Mail and news servers keep one message per file.
//!
//! **Method.** Files of n KiB are made in one empty folder, one after the other: create, write, close, open,
//! read, close. There are `--set files=COUNT` (10000) of them, or as many as the window of time allows and
//! as fit into half of the free space, and 100 at least; `--window 2s` is enough for all on most disks. Then
//! each is looked up and renamed, the folder is listed, and each file is removed; these go through the files
//! in random order. All of that is repeated until the window ends, and the file system writes everything to
//! disk before the next round. Each call is timed; the value is the mean for one file, and the record has
//! the distribution of each call. `total` is create, write, close, open, read and release together, with all
//! that `durable` adds. The content is random, different in each file, and compared when it is read. The
//! files are in the scratch folder of the run: `--scratch DIR` puts them on another file system.
//!
//! `warm` reads the bytes that were just written, from memory. `cold` first writes all files, flushes them to
//! disk and removes them from memory (posix_fadvise(2), checked with mincore(2)), and then reads them in
//! random order. `durable` calls fsync(2) for each file and for its folder, as a mail server must before it
//! accepts a message.
//!
//! **Expected answer.** Create, close, open, stat, rename and unlink do not depend on the size. Write and
//! read grow linearly from the size at which the bytes take longer than the call.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use sys::memory::Mapping;
use sys::{Unsupported, file};
use workload::resource::DISK;
use workload::{Expect, Need, Operation, Setting, Sizes, Trial, TrialError, Values, Variant, Workload};

use crate::work::{Calls, Content};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "small-files",
    source: workload::page!("small_files.rs"),
    grows: "KiB per file",
    sizes: Sizes::Levels(sizes),
    variants: &[
        Variant { name: "warm", summary: "read from memory, right after writing" },
        Variant { name: "cold", summary: "read from the disk, after all files were written" },
        Variant { name: "durable", summary: "fsync(2) of each file and of its folder" },
    ],
    settings: &[Setting {
        name: "files",
        default: "10000",
        values: Values::Number { least: 1, most: 10_000_000 },
        summary: "files in the folder at most",
    }],
    operations: &[
        Operation::phase("total", Expect::Linear, "create, write and read back one file"),
        Operation::phase("create", Expect::Constant, "one open(2) that creates the file").of_unit(),
        Operation::phase("write", Expect::Linear, "one write(2) of the whole file").of_unit(),
        Operation::phase("fsync", Expect::Linear, "one fsync(2) of the file").only(DURABLE).of_unit(),
        Operation::phase("close", Expect::Constant, "one close(2) of the written file").of_unit(),
        Operation::phase("fsync folder", Expect::Constant, "one fsync(2) of the folder")
            .only(DURABLE)
            .of_unit(),
        Operation::phase("open", Expect::Constant, "one open(2), read-only").of_unit(),
        Operation::phase("read", Expect::Linear, "read(2) of the whole file").of_unit(),
        Operation::phase("release", Expect::Constant, "one close(2) of the file that was read").of_unit(),
        Operation::phase("stat", Expect::Constant, "one stat(2)"),
        Operation::phase("rename", Expect::Constant, "one rename(2) within the folder"),
        Operation::phase("readdir", Expect::Constant, "the whole folder listed, for each of its names"),
        Operation::phase("unlink", Expect::Constant, "one unlink(2)"),
    ],
    // A hundred files, each in whole blocks.
    needs: &[Need::new(DISK, 200 << 10)],
    top: Some(128),
    classic_n: 128,
    run: Ok(run),
    ..Workload::JOB
};

const DURABLE: &[&str] = &["durable"];

/// From 4 KiB on, doubling, as in the experiment of 2001.
fn sizes(top: u64) -> Vec<u64> {
    let doubling = std::iter::successors(Some(4_u64), |size| size.checked_mul(2));
    let below = doubling.take_while(|&size| size < top);
    below.chain((top > 0).then_some(top)).collect()
}

/// However short the window is: a mean of fewer would be that of a few.
const FILES_MIN: usize = 100;

const CLAIM_COLD: &str = "no page of a file was in memory before it was read";

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let variant = FileVariant::named(trial.variant());
    let count = trial.number("files")? as usize;
    let scratch = trial.scratch();
    let folder = scratch.join("small-files");
    let (window, clock, seed) = (trial.window(), trial.clock(), trial.seed());
    let names: Vec<&'static str> =
        WORKLOAD.measured().map(|operation| operation.name).filter(|&name| name != "total").collect();
    // A trial that was killed may have left it.
    let _ = fs::remove_dir_all(&folder);
    let paths = Paths::new(&folder, count).map_err(TrialError::at("to name the files"))?;
    let outcome = trial.job(|kib, job| {
        let bytes = (kib << 10) as usize;
        let fitting = file::free(scratch)?.files_of(kib << 10) as usize / 2;
        let mut round = Round {
            variant,
            folder: &folder,
            paths: &paths,
            bytes,
            content: Content::new(seed, bytes),
            random: fastrand::Rng::with_seed(seed),
            calls: Calls::new(clock, &names)?,
            made: 0,
            most: fitting.max(FILES_MIN).min(count),
            deadline: Instant::now() + window,
            all_cold: true,
        };
        job.level().doing("small files");
        round.run()?;
        while Instant::now() < round.deadline {
            round.run()?;
        }
        round.calls.report(job);
        job.value("total", round.total_seconds());
        if variant == FileVariant::Cold {
            job.level().check(CLAIM_COLD, round.all_cold);
        }
        Ok(())
    });
    // Remains of a level that was refused; the error is that of the level.
    let _ = fs::remove_dir_all(&folder);
    outcome
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum FileVariant {
    Warm,
    Cold,
    Durable,
}

impl FileVariant {
    fn named(name: &str) -> FileVariant {
        match name {
            "cold" => FileVariant::Cold,
            "durable" => FileVariant::Durable,
            _ => FileVariant::Warm,
        }
    }
}

/// The paths of all files, before and after they are renamed.
struct Paths {
    first: Vec<file::Path>,
    renamed: Vec<file::Path>,
}

impl Paths {
    fn new(folder: &Path, count: usize) -> io::Result<Paths> {
        let named = |prefix: &str| -> io::Result<Vec<file::Path>> {
            let path = |number: usize| -> PathBuf { folder.join(format!("{prefix}{number}")) };
            (0..count).map(|number| file::Path::try_from(path(number).as_path())).collect()
        };
        Ok(Paths { first: named("new-")?, renamed: named("done-")? })
    }
}

/// All files once: made, read, renamed and removed.
struct Round<'a> {
    variant: FileVariant,
    folder: &'a Path,
    paths: &'a Paths,
    bytes: usize,
    content: Content,
    random: fastrand::Rng,
    calls: Calls<'a>,
    /// How many files there are in this round.
    made: usize,
    /// How many there may be.
    most: usize,
    /// When the window ends.
    deadline: Instant,
    /// Whether the files were out of memory whenever they had to be.
    all_cold: bool,
}

impl Round<'_> {
    fn run(&mut self) -> io::Result<()> {
        fs::create_dir(self.folder)?;
        self.make()?;
        self.rename()?;
        self.list()?;
        self.remove()?;
        fs::remove_dir(self.folder)?;
        // The disk must be idle when the next round is timed.
        self.folder.parent().map_or(Ok(()), file::write_back)
    }

    fn make(&mut self) -> io::Result<()> {
        let folder = file::open_folder(self.folder)?;
        self.made = 0;
        while self.made < self.most {
            self.write(self.made, &folder)?;
            if self.variant != FileVariant::Cold {
                self.read(self.made)?;
            }
            self.made += 1;
            if self.made >= FILES_MIN && Instant::now() >= self.deadline {
                break;
            }
        }
        if self.variant != FileVariant::Cold {
            return Ok(());
        }
        file::write_back(self.folder)?;
        for number in 0..self.made {
            let is_cold = self.evict(number)?;
            if number == 0 && !is_cold {
                return Err(Unsupported("this file system keeps files in memory, as tmpfs does").into());
            }
            self.all_cold &= is_cold;
        }
        self.shuffled().into_iter().try_for_each(|number| self.read(number))
    }

    fn write(&mut self, number: usize, folder: &fs::File) -> io::Result<()> {
        let content = self.content.bytes(number as u64, self.bytes);
        self.calls.begin();
        let mut file = file::create_new(&self.paths.first[number])?;
        self.calls.end("create");
        file.write_all(content)?;
        self.calls.end("write");
        if self.variant == FileVariant::Durable {
            file.sync_all()?;
            self.calls.end("fsync");
        }
        file::close(file)?;
        self.calls.end("close");
        if self.variant == FileVariant::Durable {
            file::sync_folder(folder)?;
            self.calls.end("fsync folder");
        }
        Ok(())
    }

    fn read(&mut self, number: usize) -> io::Result<()> {
        let buffer = &mut self.content.buffer()[..self.bytes];
        self.calls.begin();
        let mut file = file::open_read(&self.paths.first[number])?;
        self.calls.end("open");
        file.read_exact(buffer)?;
        self.calls.end("read");
        file::close(file)?;
        self.calls.end("release");
        self.content.verify(number as u64, self.bytes)
    }

    /// Removes a file from memory; returns whether it is gone.
    fn evict(&self, number: usize) -> io::Result<bool> {
        let file = file::open_read(&self.paths.first[number])?;
        file::evict(&file)?;
        let mapping = Mapping::read_only(&file, 0, self.bytes)?;
        let is_cold = mapping.resident_pages()? == 0;
        mapping.unmap()?;
        Ok(is_cold)
    }

    fn rename(&mut self) -> io::Result<()> {
        for number in self.shuffled() {
            self.calls.begin();
            file::status(&self.paths.first[number])?;
            self.calls.end("stat");
        }
        for number in self.shuffled() {
            self.calls.begin();
            file::rename(&self.paths.first[number], &self.paths.renamed[number])?;
            self.calls.end("rename");
        }
        Ok(())
    }

    fn list(&mut self) -> io::Result<()> {
        self.calls.begin();
        let folder = file::open_folder(self.folder)?;
        let names = file::names(&folder, usize::MAX)?;
        self.calls.end_of("readdir", names.len() as u64);
        if names.len() == self.made {
            return Ok(());
        }
        let message = format!("the folder lists {} of {} files", names.len(), self.made);
        Err(io::Error::new(io::ErrorKind::InvalidData, message))
    }

    fn remove(&mut self) -> io::Result<()> {
        for number in self.shuffled() {
            self.calls.begin();
            file::unlink(&self.paths.renamed[number])?;
            self.calls.end("unlink");
        }
        Ok(())
    }

    fn shuffled(&mut self) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..self.made).collect();
        self.random.shuffle(&mut numbers);
        numbers
    }

    fn total_seconds(&self) -> f64 {
        let always = ["create", "write", "close", "open", "read", "release"];
        let durable: &[&str] =
            if self.variant == FileVariant::Durable { &["fsync", "fsync folder"] } else { &[] };
        always.iter().chain(durable).map(|name| self.calls.mean_seconds(name)).sum()
    }
}
