//! Time to copy a file of n MiB, by each way that the system offers.
//!
//! **Question.** How long does copying a file take, for each MiB, and which part of it: opening, copying,
//! writing to disk, closing? Is a copy within the kernel faster than read(2) and write(2)?
//!
//! **Method.** A file of n MiB of random content is copied to a new file until the window of time ends, at
//! least once. `total` is open, transfer and close together, as a user of cp(1) waits for it; `flush` is
//! the fsync(2) of the copy afterwards. The source is in memory. Before each copy the disk has nothing left
//! to write, and the last copy is compared with its source. The files are in the scratch folder of the run:
//! `--scratch DIR` puts them on another file system.
//!
//! `read-write` uses a buffer of 128 KiB, and its two calls are reported on their own too. `reflink` shares
//! the blocks of the source (FICLONE), and exists on file systems that can do so.
//!
//! **Expected answer.** Flat for each MiB; for `reflink` falling, because the call does not copy anything.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Instant;

use sys::file;
use sys::memory::Mapping;
use workload::resource::{DISK, MEMORY};
use workload::{Expect, Need, Operation, Sizes, Trial, TrialError, Variant, Workload, levels};

use crate::work::{Calls, Content};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "copy",
    source: workload::page!("copy.rs"),
    grows: "MiB",
    sizes: Sizes::Levels(levels::one_two_five),
    variants: &[
        Variant { name: "read-write", summary: "read(2) and write(2)" },
        Variant { name: "copy-file-range", summary: "copy_file_range(2)" },
        Variant { name: "sendfile", summary: "sendfile(2)" },
        Variant { name: "mmap", summary: "write(2) from a mapping of the source" },
        Variant { name: "reflink", summary: "shared blocks, ioctl_ficlone(2)" },
    ],
    rivals: true,
    operations: &[
        Operation::phase("total", Expect::Constant, "open, transfer and close, for each MiB"),
        Operation::phase(
            "open",
            Expect::Constant,
            "open(2) of the source and of the new file, for each copy",
        )
        .of_all(),
        Operation::phase("transfer", Expect::Constant, "the copying itself, for each MiB").of_unit(),
        Operation::phase("read", Expect::Constant, "all read(2), for each MiB").only(READ_WRITE),
        Operation::phase("write", Expect::Constant, "all write(2), for each MiB").only(READ_WRITE),
        Operation::phase("close", Expect::Constant, "close(2) of both files, for each copy").of_all(),
        Operation::phase("flush", Expect::Constant, "fsync(2) of the copy, for each MiB").of_unit(),
    ],
    needs: &[Need::new(MEMORY, 2 << 20), Need::new(DISK, 2 << 20)],
    top: Some(100),
    classic_n: 50,
    run: Ok(run),
    ..Workload::JOB
};

const READ_WRITE: &[&str] = &["read-write"];

const MIB: usize = 1 << 20;
const BUFFER_BYTES: usize = 128 << 10;

const CLAIM: &str = "the copy was equal to its source";

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let folder = trial.scratch().join("copy");
    fs::create_dir_all(&folder).map_err(TrialError::at(format!("to create {}", folder.display())))?;
    let (window, clock, seed) = (trial.window(), trial.clock(), trial.seed());
    let variant = trial.variant();
    let names: Vec<&'static str> =
        WORKLOAD.measured().map(|operation| operation.name).filter(|&name| name != "total").collect();
    let outcome = trial.job(|mib, job| {
        job.level().doing("the source");
        let mut copying = Copying::prepare(&folder, mib, variant, Calls::new(clock, &names)?, seed)?;
        job.level().doing(variant_call(variant));
        let begun = Instant::now();
        loop {
            copying.once()?;
            if begun.elapsed() >= window {
                break;
            }
        }
        let calls = &copying.calls;
        calls.report(job);
        let opened_and_closed = calls.mean_seconds("open") + calls.mean_seconds("close");
        job.value("total", calls.mean_seconds("transfer") + opened_and_closed / mib as f64);
        let held = copying.verify()?;
        job.level().check(CLAIM, held);
        Ok(())
    });
    // The error is that of the level.
    let _ = fs::remove_dir_all(&folder);
    outcome
}

/// The limits, and the operations that they are attributed to.
fn variant_call(variant: &str) -> &'static str {
    match variant {
        "copy-file-range" => "copy_file_range",
        "sendfile" => "sendfile",
        "mmap" => "mmap",
        "reflink" => "FICLONE",
        _ => "write",
    }
}

/// A source, and the copies of it.
struct Copying<'a> {
    variant: &'a str,
    source: file::Path,
    target: file::Path,
    folder: &'a Path,
    mib: u64,
    calls: Calls<'a>,
    buffer: Vec<u8>,
}

impl<'a> Copying<'a> {
    fn prepare(
        folder: &'a Path,
        mib: u64,
        variant: &'a str,
        calls: Calls<'a>,
        seed: u64,
    ) -> io::Result<Copying<'a>> {
        let mut content = Content::new(seed, MIB);
        let mut source = File::create(folder.join("source"))?;
        (0..mib).try_for_each(|number| source.write_all(content.bytes(number, MIB)))?;
        let path = |name: &str| file::Path::try_from(folder.join(name).as_path());
        let buffer = vec![0; BUFFER_BYTES];
        Ok(Copying { variant, source: path("source")?, target: path("copy")?, folder, mib, calls, buffer })
    }

    fn once(&mut self) -> io::Result<()> {
        match file::unlink(&self.target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => file::write_back(self.folder)?,
        }
        self.calls.begin();
        let source = file::open_read(&self.source)?;
        let target = file::create_new(&self.target)?;
        self.calls.end("open");
        let begun = self.calls.now();
        self.transfer(&source, &target)?;
        self.calls.add("transfer", self.calls.now() - begun, self.mib);
        self.calls.begin();
        file::close(source)?;
        file::close(target)?;
        self.calls.end("close");
        let copied = file::open_flush(&self.target)?;
        self.calls.begin();
        copied.sync_all()?;
        self.calls.end_of("flush", self.mib);
        Ok(())
    }

    fn transfer(&mut self, source: &File, target: &File) -> io::Result<()> {
        let bytes = self.mib * MIB as u64;
        match self.variant {
            "copy-file-range" => whole(bytes, |left| file::copy_range(source, target, left)),
            "sendfile" => whole(bytes, |left| file::send(source, target, left)),
            "reflink" => file::share_blocks(source, target),
            "mmap" => {
                let mapping = Mapping::read_only(source, 0, bytes as usize)?;
                mapping.write_to(target)?;
                mapping.unmap()
            }
            _ => self.read_and_write(source, target),
        }
    }

    fn read_and_write(&mut self, mut source: &File, mut target: &File) -> io::Result<()> {
        let (mut reading, mut writing) = (0, 0);
        loop {
            let begun = self.calls.now();
            let read = source.read(&mut self.buffer)?;
            let between = self.calls.now();
            target.write_all(&self.buffer[..read])?;
            writing += self.calls.now() - between;
            reading += between - begun;
            if read == 0 {
                break;
            }
        }
        self.calls.add("read", reading, self.mib);
        self.calls.add("write", writing, self.mib);
        Ok(())
    }

    /// Whether the copy is its source.
    fn verify(&self) -> io::Result<bool> {
        let (mut source, mut target) = (file::open_read(&self.source)?, file::open_read(&self.target)?);
        let (mut first, mut second) = (vec![0; MIB], vec![0; MIB]);
        for _ in 0..self.mib {
            source.read_exact(&mut first)?;
            target.read_exact(&mut second)?;
            if first != second {
                return Ok(false);
            }
        }
        Ok(target.read(&mut second)? == 0)
    }
}

/// Repeats a call that may do less than it is asked for.
fn whole(mut left: u64, mut some: impl FnMut(u64) -> io::Result<u64>) -> io::Result<()> {
    while left > 0 {
        match some(left)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            done => left = left.saturating_sub(done),
        }
    }
    Ok(())
}
