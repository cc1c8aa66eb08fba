//! Bytes to the disk: writes one file over and over, past the cache.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sys::kernel_counter::{ProcessIo, device_written_bytes};

use super::{Means, Work, failed, size};

/// Lengths, places and memory of a write past the cache are multiples of this (open(2), `O_DIRECT`).
const BLOCK: usize = 4096;
const PIECE_MOST: usize = 1 << 20;
/// A piece is the amount for this time.
const PIECE_SECONDS: f64 = 0.008;
/// The file is no larger than this, nor than this share of the free space.
const FILE_MOST: u64 = 64 << 20;
const FREE_SHARE: u64 = 4;
/// The most bytes written at once, so that no step takes long.
const AT_ONCE: f64 = 8e6;

pub(super) struct Disk {
    file: File,
    /// Whether writes bypass the cache; if not, they are flushed.
    is_direct: bool,
    file_bytes: u64,
    place: u64,
    memory: Vec<u8>,
    piece: usize,
    io: ProcessIo,
    folder: PathBuf,
}

impl Disk {
    pub(super) fn new(rate: f64, folder: &Path) -> Result<Disk, String> {
        let io = ProcessIo::open().map_err(failed("read how many bytes the kernel counts"))?;
        let shown = folder.display();
        let free = sys::file::free(folder).map_err(failed(&format!("look at {shown}")))?.bytes;
        let piece = ((rate * PIECE_SECONDS) as usize / BLOCK * BLOCK).clamp(BLOCK, PIECE_MOST);
        let file_bytes = (free / FREE_SHARE).min(FILE_MOST) / PIECE_MOST as u64 * PIECE_MOST as u64;
        if file_bytes == 0 {
            return Err(format!("{shown} has {} free, which is too little for its file", size(free)));
        }
        let path = folder.join(format!("background-{}", std::process::id()));
        let (file, is_direct) = create(&path).map_err(failed(&format!("make a file in {shown}")))?;
        // It has no name, and ends with this process.
        std::fs::remove_file(&path).map_err(failed(&format!("unlink a file in {shown}")))?;
        let memory = vec![0x5A; PIECE_MOST + BLOCK];
        let mut disk =
            Disk { file, is_direct, file_bytes, place: 0, memory, piece, io, folder: folder.to_owned() };
        disk.fill().map_err(failed(&format!("write {} in {shown}", size(file_bytes))))?;
        // The kernel counts nothing of file systems that keep files in memory.
        match disk.io.written_bytes() {
            Ok(0) => Err(format!("{shown} is in memory, not on a disk; name another folder with --scratch")),
            _ => Ok(disk),
        }
    }

    /// Gives the file its blocks, so that later writes only overwrite them.
    fn fill(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.piece, PIECE_MOST);
        for _ in 0..self.file_bytes / PIECE_MOST as u64 {
            self.write()?;
        }
        self.file.sync_all()?;
        self.piece = piece;
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        if self.place + self.piece as u64 > self.file_bytes {
            self.place = 0;
        }
        let begin = self.memory.as_ptr().align_offset(BLOCK);
        self.file.seek(SeekFrom::Start(self.place))?;
        self.file.write_all(&self.memory[begin..begin + self.piece])?;
        self.place += self.piece as u64;
        if self.is_direct { Ok(()) } else { self.file.sync_data() }
    }
}

/// A file past the cache, or one in it where the file system allows nothing else.
fn create(path: &Path) -> io::Result<(File, bool)> {
    match sys::file::create_direct(path) {
        Ok(file) => Ok((file, true)),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            let _ = std::fs::remove_file(path);
            Ok((File::options().write(true).create_new(true).open(path)?, false))
        }
        Err(error) => Err(error),
    }
}

impl Work for Disk {
    fn work(&mut self, amount: f64) -> io::Result<()> {
        for _ in 0..(amount.min(AT_ONCE) / self.piece as f64).max(1.0) as u64 {
            self.write()?;
        }
        Ok(())
    }

    fn counted(&mut self) -> io::Result<f64> {
        Ok(self.io.written_bytes()? as f64)
    }

    fn counted_of_system(&mut self) -> Option<f64> {
        device_written_bytes(&self.folder).ok().map(|bytes| bytes as f64)
    }

    fn means(&self) -> Means {
        Means {
            grain: self.piece as f64,
            counter: "/proc/PID/io write_bytes",
            system_counter: "/sys/dev/block stat",
        }
    }
}
