//! Rate at which a cold file is read: in one piece, in many, and beside a second client.
//!
//! **Question.** How fast does a cold file come from the disk, and how much slower if its blocks are
//! scattered, or if a second client reads another file meanwhile?
//!
//! **Method.** A file of random content, as long as the largest n, is made, written to disk and removed from
//! memory (posix_fadvise(2), checked with mincore(2)). Then it is read from its beginning, 128 KiB in each
//! read(2), and compared with the bytes that were written. The value at n is the rate over the first n MiB,
//! because the system reads ahead, and of single MiB some come from memory. The files are in the scratch
//! folder of the run: `--scratch DIR` puts them on another file system, and `--fs` on new ones.
//!
//! `contiguous` is written in one go, and lies in at most nine pieces and one for each 8 MiB. For
//! `fragmented` a file of twice the length is written, and every second piece of `--set piece-kib=KIB` (64)
//! is removed from it (fallocate(2)); where the file system cannot do that, two files are written in turns,
//! piece by piece, each to the disk. Where the file lies is read from the file system (FIEMAP): if it is not
//! so, or not in many pieces, the variant is unsupported. Blocks of the file system between those of a file,
//! such as the addresses of ext2, do not count. `contended` is contiguous too, while a second client reads
//! another cold file, at `--set second-mib=RATE` (4) MiB per second.
//!
//! **Expected answer.** The same rate over all n, once that is more than the read-ahead of the system. On a
//! disk with moving heads, a fragmented file and a second client cost a seek for each piece; solid-state
//! disks lose less.

use workload::resource::DISK;
use workload::{Expect, Need, Operation, Setting, Sizes, Unit, Values, Variant, Workload, levels};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "fragmentation",
    source: workload::page!("fragmentation.rs"),
    grows: "MiB delivered",
    sizes: Sizes::Levels(levels::one_two_five),
    variants: &[
        Variant { name: "contiguous", summary: "few pieces on the disk, long ones" },
        Variant { name: "fragmented", summary: "many pieces on the disk" },
        Variant { name: "contended", summary: "like contiguous, while a second client reads another file" },
    ],
    rivals: true,
    all_processors: true,
    settings: &[
        Setting {
            name: "piece-kib",
            default: "64",
            values: Values::OneOf(&["4", "16", "64", "256"]),
            summary: "KiB of a piece of the fragmented file",
        },
        Setting {
            name: "second-mib",
            default: "4",
            values: Values::Number { least: 1, most: 1000 },
            summary: "MiB per second that the second client reads",
        },
    ],
    operations: &[Operation::reported(
        "rate",
        Unit::BytesPerSecond,
        Expect::Constant,
        "the first n MiB read",
    )],
    needs: &[Need::new(DISK, 4 << 20)],
    top: Some(64),
    classic_n: 64,
    run: cfg_select! {
        unix => { Ok(measured::run) }
        _ => { Err("this system does not say in how many pieces a file lies") }
    },
    ..Workload::JOB
};

#[cfg(unix)]
mod measured {
    use std::fs::{self, File};
    use std::io::{self, Read, Seek, Write};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use sys::clock::Clock;
    use sys::memory::{Mapping, page_bytes};
    use sys::{Unsupported, file};
    use workload::{Trial, TrialError};

    use crate::work::Content;

    const MIB: usize = 1 << 20;
    const READ_BYTES: usize = 128 << 10;

    /// A piece that begins so shortly behind the one before belongs to it: ext2 keeps the addresses of its
    /// blocks between them, one block or two.
    const GAP_BYTES: u64 = 16 << 10;

    /// The first pieces of a growing file double on ext2, from 64 KiB to 8 MiB.
    const FIRST_PIECES: u64 = 8;

    /// A file may be in one piece more for each of this many MiB.
    const MIB_PER_PIECE: u64 = 8;

    /// The longest wait of the second client before it checks whether it should end.
    const WAIT: Duration = Duration::from_millis(5);

    const PREPARING: &str = "to prepare the files";
    const CLAIM: &str = "the file was read as it was written";
    const CLAIM_COLD: &str = "no page of the file was in memory before it was read";
    const CLAIM_SECOND: &str = "the second client read no more than its share";

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let folder = trial.scratch().join("fragmentation");
        // A trial that was killed may have left it.
        let _ = fs::remove_dir_all(&folder);
        let measured = measure(trial, &folder);
        let removed = fs::remove_dir_all(&folder);
        measured.and(removed.map_err(TrialError::at(format!("to remove {}", folder.display()))))
    }

    fn measure(trial: &mut Trial<'_>, folder: &Path) -> Result<(), TrialError> {
        let (mib, variant) = (trial.n() as u64, trial.variant());
        let piece_bytes = (trial.number("piece-kib")? << 10) as usize;
        let bytes_per_second = trial.number("second-mib")? << 20;
        let mut content = Content::new(trial.seed(), MIB);
        let mut prepare = || -> io::Result<(PathBuf, PathBuf)> {
            fs::create_dir_all(folder)?;
            let (path, other) = (folder.join("file"), folder.join("other"));
            match variant {
                "fragmented" => fragmented(&path, mib, piece_bytes, &mut content)?,
                _ => contiguous(&path, mib, &mut content)?,
            }
            if variant == "contended" {
                contiguous(&other, mib, &mut content)?;
            }
            file::write_back(folder)?;
            Ok((path, other))
        };
        let (path, other) = prepare().map_err(TrialError::at(PREPARING))?;
        let is_cold = evict(&path).map_err(TrialError::at(PREPARING))?;
        trial.check(CLAIM_COLD, is_cold);
        let file = File::open(&path).map_err(TrialError::at(PREPARING))?;
        if variant != "contended" {
            return deliver(trial, &file, &mut content);
        }
        evict(&other).map_err(TrialError::at(PREPARING))?;
        let second = SecondClient { path: &other, bytes_per_second, is_over: AtomicBool::new(false) };
        let (delivered, taken) = thread::scope(|scope| {
            let client = scope.spawn(|| second.read());
            let delivered = deliver(trial, &file, &mut content);
            second.is_over.store(true, Ordering::Relaxed);
            (delivered, client.join().unwrap_or_else(|_| Err(io::Error::other("its thread has panicked"))))
        });
        let is_bounded = taken.map_err(TrialError::at("to read as the second client"))?;
        trial.check(CLAIM_SECOND, is_bounded);
        delivered
    }

    /// Reads the file to each level, and reports the rate until there.
    fn deliver(trial: &mut Trial<'_>, file: &File, content: &mut Content) -> Result<(), TrialError> {
        let clock = trial.clock();
        let (mut delivered, mut seconds) = (0, 0.0);
        trial.job(|mib, job| {
            job.level().doing("read");
            while delivered < mib {
                seconds += read_mib(file, content.buffer(), clock)?;
                job.level().check(CLAIM, content.verify(delivered, MIB).is_ok());
                delivered += 1;
            }
            job.value("rate", (mib * MIB as u64) as f64 / seconds);
            Ok(())
        })
    }

    /// The seconds that the next MiB took.
    fn read_mib(mut file: &File, buffer: &mut [u8], clock: &Clock) -> io::Result<f64> {
        let begun = clock.now();
        buffer.chunks_mut(READ_BYTES).try_for_each(|chunk| file.read_exact(chunk))?;
        Ok((clock.now() - begun) as f64 * clock.seconds_per_tick())
    }

    /// Writes the file in one go.
    fn contiguous(path: &Path, mib: u64, content: &mut Content) -> io::Result<()> {
        let mut file = File::create_new(path)?;
        (0..mib).try_for_each(|number| file.write_all(content.bytes(number, MIB)))?;
        file.sync_all()?;
        if file::pieces(&file, GAP_BYTES)? > 1 + FIRST_PIECES + mib / MIB_PER_PIECE {
            return Err(Unsupported("the free space is in pieces: no contiguous file can be made").into());
        }
        Ok(())
    }

    /// Writes the file so that its pieces do not follow each other on the disk.
    fn fragmented(path: &Path, mib: u64, piece_bytes: usize, content: &mut Content) -> io::Result<()> {
        let pieces = mib * (MIB / piece_bytes) as u64;
        match spread_by_removal(path, mib, piece_bytes, content) {
            Err(error) if is_refused(&error) => {
                fs::remove_file(path)?;
                spread_by_turns(path, mib, piece_bytes, content)?;
            }
            spread => spread?,
        }
        if file::pieces(&File::open(path)?, 0)? < pieces / 2 {
            return Err(Unsupported("this file system keeps the pieces of a file together").into());
        }
        Ok(())
    }

    /// Whether the file system cannot remove ranges, or none so short.
    fn is_refused(error: &io::Error) -> bool {
        sys::error::means_unsupported(error) || error.kind() == io::ErrorKind::InvalidInput
    }

    fn spread_by_removal(path: &Path, mib: u64, piece_bytes: usize, content: &mut Content) -> io::Result<()> {
        let mut file = File::create_new(path)?;
        for number in 0..mib {
            for piece in content.bytes(number, MIB).chunks(piece_bytes) {
                file.write_all(piece)?;
                file.write_all(piece)?;
            }
        }
        file.sync_all()?;
        let (pieces, bytes) = (mib * (MIB / piece_bytes) as u64, piece_bytes as u64);
        file.set_len((2 * pieces - 1) * bytes)?;
        // From the end, so that little has to move.
        (1..pieces).rev().try_for_each(|number| file::collapse(&file, (2 * number - 1) * bytes, bytes))?;
        file.sync_all()
    }

    /// Each piece to the disk before one of another file takes the place behind it.
    fn spread_by_turns(path: &Path, mib: u64, piece_bytes: usize, content: &mut Content) -> io::Result<()> {
        let other = path.with_extension("between");
        let append = |path: &Path, piece: &[u8]| -> io::Result<()> {
            // Opened for each piece: a file system keeps room behind an open file.
            let mut file = File::options().create(true).append(true).open(path)?;
            file.write_all(piece)?;
            file.sync_all()
        };
        for number in 0..mib {
            for piece in content.bytes(number, MIB).chunks(piece_bytes) {
                append(path, piece)?;
                append(&other, piece)?;
            }
        }
        fs::remove_file(other)
    }

    /// Removes a file from memory; returns whether it is gone.
    fn evict(path: &Path) -> io::Result<bool> {
        let opened = File::open(path)?;
        let bytes = opened.metadata()?.len() as usize;
        file::evict(&opened)?;
        let mapping = Mapping::read_only(&opened, 0, bytes)?;
        let resident = mapping.resident_pages()?;
        mapping.unmap()?;
        if 2 * resident * page_bytes() > bytes {
            return Err(Unsupported("this file system keeps files in memory, as tmpfs does").into());
        }
        Ok(resident == 0)
    }

    /// Another client, which reads its own file at a limited rate.
    struct SecondClient<'a> {
        path: &'a Path,
        bytes_per_second: u64,
        is_over: AtomicBool,
    }

    impl SecondClient<'_> {
        /// Reads until it is over, from the disk again where the file has ended. Whether it kept to its rate.
        fn read(&self) -> io::Result<bool> {
            let mut opened = File::open(self.path)?;
            let mut buffer = vec![0; READ_BYTES];
            let (begun, mut bytes) = (Instant::now(), 0);
            while !self.is_over.load(Ordering::Relaxed) {
                let due = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64);
                match due.checked_sub(begun.elapsed()) {
                    Some(early) => thread::sleep(early.min(WAIT)),
                    None => match opened.read(&mut buffer)? {
                        0 => {
                            file::evict(&opened)?;
                            opened.rewind()?;
                        }
                        read => bytes += read as u64,
                    },
                }
            }
            let share = begun.elapsed().as_secs_f64() * self.bytes_per_second as f64;
            Ok(bytes as f64 <= share + READ_BYTES as f64)
        }
    }
}
