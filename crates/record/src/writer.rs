//! Writes a run file, one frame after the other.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use crate::{End, Error, FRAME_BYTES_MAX, Line, Result, Run, SentLine, TrialKey, write_line};

/// On digits the levels from 5 to 9 take four times as long and make larger frames than this one.
const LEVEL: i32 = 3;

/// The storage for the frames of a run: a file, and in simulations a disk that fails at a chosen byte.
pub trait Storage: Write + Send {
    /// Cuts the file to this length, and goes on from there.
    ///
    /// # Errors
    /// Those of ftruncate(2) and lseek(2).
    fn truncate(&mut self, bytes: u64) -> io::Result<()>;

    /// Waits until all of it is on the disk.
    ///
    /// # Errors
    /// Those of fsync(2).
    fn sync(&mut self) -> io::Result<()>;
}

impl Storage for File {
    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)?;
        self.seek(SeekFrom::Start(bytes)).map(drop)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// A run file that is being made.
///
/// Each frame is handed to the system as it is appended, so a killed run loses nothing that was appended. It
/// is not forced to the disk before [`Writer::finish`]: the writes would disturb the measurement, and after a
/// power failure a run is measured again. Without `finish` the file has no [`End`] line and counts as
/// interrupted.
pub struct Writer {
    path: PathBuf,
    file: Box<dyn Storage>,
    /// Length of the file up to its last whole frame.
    whole: u64,
    compressor: Compressor<'static>,
}

impl Writer {
    /// Makes the file and writes its first frame, the `run` line, systems and workloads. Leaves no file
    /// behind when that fails.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Create`], [`Error::Write`].
    pub fn create(path: impl AsRef<Path>, run: Run, head: &[Line]) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(|source| {
            let path = path.clone();
            match source.kind() {
                io::ErrorKind::AlreadyExists => Error::Exists { path },
                _ => Error::Create { path, source },
            }
        })?;
        Writer::to(Box::new(file), &path, run, head).inspect_err(|_| drop(fs::remove_file(&path)))
    }

    /// The same to any storage; `path` is its name in messages.
    ///
    /// # Errors
    /// [`Error::Create`].
    pub fn to(file: Box<dyn Storage>, path: &Path, run: Run, head: &[Line]) -> Result<Self> {
        let failed = |source| Error::Create { path: path.to_owned(), source };
        let mut compressor = Compressor::new(LEVEL).map_err(failed)?;
        compressor.set_parameter(CParameter::ChecksumFlag(true)).map_err(failed)?;
        let mut writer = Writer { path: path.to_owned(), file, whole: 0, compressor };
        writer.append_all([&Line::Run(run)].into_iter().chain(head)).map_err(|error| match error {
            // Nothing was measured yet, so nothing is kept.
            Error::Write { path, source } => Error::Create { path, source },
            other => other,
        })?;
        Ok(writer)
    }

    /// Appends one frame of `lines`: all lines of one trial, the smallest unit that can be lost.
    ///
    /// # Errors
    /// [`Error::Write`] when the disk is full, for example: the file then ends with the frame before and
    /// the writer can be used on. [`Error::TooLarge`] when no reader would accept the frame.
    pub fn append(&mut self, lines: &[Line]) -> Result<()> {
        self.append_all(lines)
    }

    /// The same for received lines, which are written as they came.
    ///
    /// # Errors
    /// Those of [`Writer::append`].
    pub fn append_sent(&mut self, lines: &[SentLine]) -> Result<()> {
        let mut text = Vec::new();
        lines.iter().try_for_each(|line| line.write(&mut text)).map_err(|source| self.failed(source))?;
        self.append_text(&text)
    }

    /// Appends the last line and waits until all of the file is on the disk.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn finish(mut self, end: End) -> Result<()> {
        self.append_all([&Line::End(end)])?;
        self.file.sync().map_err(|source| self.failed(source))
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn append_all<'a>(&mut self, lines: impl IntoIterator<Item = &'a Line>) -> Result<()> {
        let mut text = Vec::new();
        for line in lines {
            write_line(line, &mut text).map_err(|source| self.failed(source))?;
        }
        self.append_text(&text)
    }

    fn append_text(&mut self, text: &[u8]) -> Result<()> {
        if text.len() > FRAME_BYTES_MAX {
            return Err(Error::TooLarge { path: self.path.clone(), bytes: text.len() });
        }
        let frame = self.compressor.compress(text).map_err(|source| self.failed(source))?;
        if let Err(source) = self.file.write_all(&frame) {
            // If even this fails, a reader still separates the whole frames from the rest.
            let _ = self.file.truncate(self.whole);
            return Err(self.failed(source));
        }
        self.whole += frame.len() as u64;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Write { path: self.path.clone(), source }
    }
}

/// A frame of a dense file holds at least this many bytes of lines, but for the last one: lines that resemble
/// each other take less room together. A file that is cut off loses at most one.
const DENSE_FRAME_BYTES: usize = 4 << 20;
/// It takes seconds, and nothing is being measured.
const DENSE_LEVEL: i32 = 19;

/// Writes all lines of a run, the `run` line first, in as few bytes as possible. The lines of a trial are in
/// one frame.
///
/// # Errors
/// Those of `out`.
pub fn write_dense(lines: &[Line], out: &mut dyn Write) -> io::Result<()> {
    let mut compressor = Compressor::new(DENSE_LEVEL)?;
    compressor.set_parameter(CParameter::ChecksumFlag(true))?;
    let mut text = Vec::new();
    let mut of: Option<TrialKey> = None;
    for line in lines {
        let trial = line.trial();
        // The head is a frame of its own, which is the least that can be read.
        let begins = trial != of && (of.is_none() || text.len() >= DENSE_FRAME_BYTES);
        if begins && !text.is_empty() {
            out.write_all(&compressor.compress(&text)?)?;
            text.clear();
        }
        of = trial;
        write_line(line, &mut text)?;
    }
    out.write_all(&compressor.compress(&text)?)
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("path", &self.path).field("whole", &self.whole).finish_non_exhaustive()
    }
}
