//! Cost of one more mapping while n exist.
//!
//! **Question.** Do mmap(2) of one page, the first access to it, and munmap(2) cost more when thousands
//! of mappings exist?
//!
//! **Method.** Every other page of a file is mapped, shared and read-only, one page per call, so that no
//! two mappings can be merged. Then its first byte is read. All mappings stay. At the end each is
//! unmapped, in random order. Where mappings begin at multiples of 64 KiB, as on Windows, the pages are that
//! far apart. The file is in the page cache beforehand. Variants differ in how it got
//! there, because some systems have separate caches for read(2) and mmap(2).
//!
//! **Expected answer.** At most logarithmic: mappings are kept in trees. The first access finds its page
//! in the cache, so it is a page fault without I/O, and flat; it may have steps where page tables grow.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use sys::memory::{Mapping, mapping_granularity, page_bytes};
use workload::resource::{MAPPINGS, MEMORY};
use workload::{Expect, Need, Operation, Trial, TrialError, Variant, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "mmap",
    source: workload::page!("mmap.rs"),
    grows: "mappings",
    variants: &[
        Variant { name: "read", summary: "the file is brought into the cache by read(2)" },
        Variant { name: "mmap", summary: "the file is brought into the cache by one large mapping" },
    ],
    operations: &[
        Operation::up("mmap", Expect::Logarithmic, "one mmap(2) of one page, shared and read-only"),
        Operation::up("touch", Expect::Constant, "the first read of the first byte of that page"),
        Operation::down("unmap", Expect::Logarithmic, "one munmap(2) of one page, in random order"),
    ],
    needs: &[Need::new(MAPPINGS, 1), Need::new(MEMORY, 16 << 10)],
    run: Ok(run),
    ..Workload::CURVE
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let pages = trial.n();
    let path = trial.scratch().join("pages");
    let file = paged_file(&path, pages).map_err(TrialError::at(format!("to write {}", path.display())))?;
    let primed = match trial.variant() {
        "mmap" => prime_by_mapping(&file, pages),
        _ => prime_by_reading(&file, pages),
    };
    primed.map_err(TrialError::at(format!("to bring {} into the cache", path.display())))?;

    trial.warm(|| {
        let mapping = map_page(&file, 0)?;
        std::hint::black_box(mapping.first_byte());
        mapping.unmap()
    });
    let mappings = trial.timed_steps(&["mmap", "touch"], |page, lap| {
        let mapping = map_page(&file, page)?;
        lap.mark();
        let byte = mapping.first_byte();
        lap.mark();
        Ok((mapping, byte))
    })?;
    let held = mappings.iter().enumerate().all(|(page, &(_, byte))| byte == content(page));
    trial.check("every page held the bytes of the file", held);
    let mappings = trial.shuffled(mappings);
    trial.timed_down("unmap", mappings, |(mapping, _)| mapping.unmap())
}

/// How far the mapped pages are apart in the file: neighbours could be merged, and some systems let a mapping
/// begin at larger multiples only.
fn stride() -> u64 {
    (2 * page_bytes()).max(mapping_granularity()) as u64
}

/// A file of empty pages, of which [`map_page`] maps every other one.
#[cfg(unix)]
pub(crate) fn empty_pages(path: &Path, pages: usize) -> io::Result<File> {
    let file = File::options().read(true).write(true).create_new(true).open(path)?;
    file.set_len(pages as u64 * stride())?;
    Ok(file)
}

pub(crate) fn map_page(file: &File, number: usize) -> io::Result<Mapping> {
    Mapping::read_only(file, number as u64 * stride(), page_bytes())
}

/// The first byte of every mapped page: pages that differ by less than 251 have different bytes.
fn content(page: usize) -> u8 {
    (page % 251) as u8 + 1
}

/// The file, with at least that many pages to map; trials of one run share it.
fn paged_file(path: &Path, pages: usize) -> io::Result<File> {
    let stride = stride();
    let wanted = pages as u64 * stride;
    if let Ok(file) = File::open(path)
        && file.metadata()?.len() >= wanted
    {
        return Ok(file);
    }
    // Under another name until it is whole: a trial may be killed while it writes.
    let unfinished = path.with_extension("unfinished");
    let mut writer = BufWriter::new(File::create(&unfinished)?);
    for page in 0..pages {
        writer.seek(SeekFrom::Start(page as u64 * stride))?;
        writer.write_all(&[content(page)])?;
    }
    let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.set_len(wanted)?;
    // Written back now, so that the disk is idle during the measurement.
    file.sync_all()?;
    std::fs::rename(&unfinished, path)?;
    File::open(path)
}

fn prime_by_reading(file: &File, pages: usize) -> io::Result<()> {
    let mut buffer = vec![0; page_bytes()];
    (0..pages as u64).try_for_each(|page| sys::file::read_at(file, &mut buffer, page * stride()))
}

fn prime_by_mapping(file: &File, pages: usize) -> io::Result<()> {
    let stride = stride() as usize;
    let whole = Mapping::read_only(file, 0, pages * stride)?;
    for page in 0..pages {
        std::hint::black_box(whole.byte(page * stride));
    }
    whole.unmap()
}
