//! Writing a page of a file, by several workers at once.
//!
//! **Question.** Do P processors write P times as many pages into the page cache as one?
//!
//! **Method.** Each worker repeats pwrite(2) of one page, over the one that is there: of a file of its own,
//! or all of one file, each worker another page of it. With `…-append` all append 64 bytes to one file by
//! write(2) with `O_APPEND`, as programs write a log; it is empty in the beginning of each level.
//!
//! **Expected answer.** Own files scale. Writers of one file take the lock of its inode (`i_rwsem`), so they
//! are serial on most file systems, whichever pages they write; waiters spin, and later sleep.

use std::fs::File;
use std::io::{self, Write};

use sys::memory::page_bytes;
use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Trial, TrialError, Variant, Workload};

const THREADS_APPEND: Variant =
    Variant { name: "threads-append", summary: "threads of one process, all append to one file" };
const PROCESSES_APPEND: Variant =
    Variant { name: "processes-append", summary: "processes, all append to one file" };

/// A line of a log. More would fill the memory: the file grows by as much for each operation.
const APPENDED: &[u8] = &[b'.'; 64];

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-file-write",
    source: workload::page!("file_write.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, PROCESSES_SHARED, THREADS_APPEND, PROCESSES_APPEND],
    run: Ok(run),
    ..Workload::SCALING
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let folder = trial.own_folder()?;
    let appends = trial.is_one_of(&[THREADS_APPEND, PROCESSES_APPEND]);
    trial.scale(
        |_| if appends { File::create(folder.join("0")).map(drop) } else { Ok(()) },
        |(), worker| {
            let path = folder.join(worker.object().to_string());
            let all_of = |written: io::Result<usize>, bytes: &[u8]| match written {
                Ok(written) if written == bytes.len() => Ok(()),
                Ok(_) => Err(io::ErrorKind::WriteZero.into()),
                Err(error) => Err(error),
            };
            if appends {
                let mut file = File::options().append(true).open(path)?;
                return worker.repeat(|| all_of(file.write(APPENDED), APPENDED));
            }
            let file = File::options().write(true).create(true).truncate(false).open(path)?;
            let page = vec![2; page_bytes()];
            let offset = (page_bytes() * worker.number()) as u64;
            let write = || all_of(sys::file::write_at(&file, &page, offset), &page);
            write()?;
            worker.repeat(write)
        },
    )
}
