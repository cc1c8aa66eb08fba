//! Reading a page that is not in memory, by several workers at once.
//!
//! **Question.** Do P processors read P times as many pages from the disk as one?
//!
//! **Method.** Each worker removes a page of a file from the page cache (posix_fadvise(2) with
//! `POSIX_FADV_DONTNEED`) and reads it by pread(2): of a file of its own, or each another page of one file.
//! Nothing is read ahead. It is checked once that a removed page is gone: a file system in memory keeps all.
//!
//! **Expected answer.** The disk decides: a worker waits for it most of the time, and so does a processor
//! that it leaves idle, so that several workers exceed one where the disk serves several requests at once.
//! One file has one tree of pages under one lock, which is short beside a request.

use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-page-cache",
    source: workload::page!("page_cache.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, PROCESSES_SHARED],
    run: on_linux!(measured::run, "whether a page is in memory can be checked on Linux only"),
    ..Workload::SCALING
};

#[cfg(target_os = "linux")]
mod measured {
    use std::fs::File;
    use std::io::{self, Write};
    use std::path::Path;

    use sys::file::{evict, evict_range, read_at, read_nothing_ahead};
    use sys::memory::{Mapping, page_bytes};
    use workload::{Trial, TrialError};

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let folder = trial.own_folder()?;
        let workers = trial.n();
        trial.scale(
            |objects| {
                // One file has a page for each worker.
                let pages = if objects == 1 { workers } else { 1 };
                (0..objects).try_for_each(|object| write_to_disk(&folder.join(object.to_string()), pages))?;
                expect_cold(&folder.join("0"))
            },
            |(), worker| {
                let file = File::open(folder.join(worker.object().to_string()))?;
                read_nothing_ahead(&file)?;
                let bytes = page_bytes();
                let mut page = vec![0; bytes];
                let offset = if worker.is_shared() { (bytes * worker.number()) as u64 } else { 0 };
                worker.repeat(|| {
                    evict_range(&file, offset, bytes)?;
                    read_at(&file, &mut page, offset)
                })
            },
        )
    }

    /// Only pages that are on the disk can be removed from memory. Pages that are written together may be one
    /// large folio in memory, of which no part can be removed; pages that workers read one by one are not.
    fn write_to_disk(path: &Path, pages: usize) -> io::Result<()> {
        let mut file = File::create(path)?;
        file.write_all(&vec![3; page_bytes() * pages])?;
        file.sync_all()?;
        evict(&file)
    }

    fn expect_cold(path: &Path) -> io::Result<()> {
        const KEPT: sys::Unsupported =
            sys::Unsupported("the file system of the scratch folder keeps its pages in memory");
        let (file, bytes) = (File::open(path)?, page_bytes());
        read_nothing_ahead(&file)?;
        read_at(&file, &mut vec![0; bytes], 0)?;
        evict_range(&file, 0, bytes)?;
        match Mapping::read_only(&file, 0, bytes)?.resident_pages()? {
            0 => Ok(()),
            _ => Err(KEPT.into()),
        }
    }
}
