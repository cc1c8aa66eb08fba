//! Reads a run back: line by line, or whole.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::frame::{Chunk, Chunks};
use crate::json::parse_bytes;
use crate::loss::Losses;
use crate::upgrade::upgrade;
use crate::{Error, Line, Loss, Reason, Recording, Result, Run, SCHEMA};

/// Reads a whole run file, packed or plain, and reports its losses. The memory it takes is that of the
/// values, 8 bytes each, and of one frame.
///
/// # Errors
/// [`Error::Read`], [`Error::NotARun`], [`Error::Newer`]. Damage behind the first line is no error.
pub fn read(path: impl AsRef<Path>) -> Result<(Recording, Vec<Loss>)> {
    let mut reader = Reader::open(path)?;
    let mut failure = None;
    let lines = reader.by_ref().map_while(|line| line.map_err(|error| failure = Some(error)).ok());
    let recording = Recording::new(lines);
    match (failure, recording) {
        (None, Some(recording)) => Ok((recording, reader.into_losses())),
        (Some(error), _) => Err(error),
        (None, None) => unreachable!("a reader begins with a run line"),
    }
}

/// The lines of one run in the order they were written, the [`Run`] line first. Those of an older schema
/// are made into those of today, and the run line then says so.
///
/// Memory is bounded by the largest frame, and so by [`FRAME_BYTES_MAX`](crate::FRAME_BYTES_MAX). A frame
/// counts only as a whole: none of its lines appears unless all of it decodes. An `Err` ends the stream;
/// other faults are in [`Reader::losses`] instead.
pub struct Reader<R> {
    path: PathBuf,
    frames: Chunks<R>,
    /// Where the frame at hand begins in the file.
    frame_offset: u64,
    /// How much of the text of the frame at hand was read.
    text_read: usize,
    /// The first line, until it is asked for.
    run: Option<Run>,
    /// The schema of the file.
    schema: u32,
    /// Lines that the upgrade of the last one added.
    more: VecDeque<Line>,
    losses: Losses,
    ended: bool,
}

impl Reader<File> {
    /// Opens a run file.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::NotARun`], [`Error::Newer`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|source| Error::Read { path: path.into(), source })?;
        Self::new(file, path)
    }
}

impl<R: Read> Reader<R> {
    /// Reads from anything, standard input for one; `path` is its name in messages.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::NotARun`], [`Error::Newer`].
    pub fn new(source: R, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let refuse = |reason: String| Error::NotARun { path: path.clone(), reason };
        let failed = |source| Error::Read { path: path.clone(), source };

        let Some(mut frames) = Chunks::new(source).map_err(failed)? else {
            return Err(refuse("it begins neither with a zstd frame nor with a line of JSON".into()));
        };
        let frame_offset = match frames.next().map_err(failed)? {
            Some(Chunk::Whole(offset)) => offset,
            Some(Chunk::Lost(loss)) => return Err(refuse(format!("its beginning is lost: {}", loss.reason))),
            None => return Err(refuse("it is empty".into())),
        };
        let (text_read, run) = {
            let line = line_at(frames.text(), 0);
            (line.len(), first_line(line, &path)?)
        };
        let schema = run.schema;
        Ok(Reader {
            path,
            frames,
            frame_offset,
            text_read,
            run: Some(Run { schema: SCHEMA, ..run }),
            schema,
            more: VecDeque::new(),
            losses: Losses::default(),
            ended: false,
        })
    }

    /// The parts dropped so far; all of them once the iterator has ended.
    #[must_use]
    pub fn losses(&self) -> &[Loss] {
        self.losses.as_slice()
    }

    /// [`Reader::losses`], to keep.
    #[must_use]
    pub fn into_losses(self) -> Vec<Loss> {
        self.losses.into_vec()
    }

    /// The schema that the file was written in.
    #[must_use]
    pub fn schema(&self) -> u32 {
        self.schema
    }

    /// The next line, as one of today's schema.
    fn next_upgraded(&mut self) -> io::Result<Option<Line>> {
        if let Some(line) = self.more.pop_front() {
            return Ok(Some(line));
        }
        let mut line = self.next_line()?;
        if self.schema < 2
            && let Some(line) = &mut line
        {
            self.more.extend(upgrade(line));
        }
        Ok(line)
    }

    /// The next line that can be read, as it stands.
    fn next_line(&mut self) -> io::Result<Option<Line>> {
        loop {
            while self.text_read < self.frames.text().len() {
                let text = line_at(self.frames.text(), self.text_read);
                self.text_read += text.len();
                if text.trim_ascii().is_empty() {
                    continue;
                }
                let reason = match parse_bytes(text) {
                    Ok(Line::Run(_)) => {
                        self.stop(Reason::SecondRun);
                        return Ok(None);
                    }
                    Ok(line) => return Ok(Some(line)),
                    Err(error) => error.into(),
                };
                self.losses.add(Loss { offset: self.frame_offset, count: 1, reason });
            }
            self.text_read = 0;
            match self.frames.next()? {
                Some(Chunk::Whole(offset)) => self.frame_offset = offset,
                Some(Chunk::Lost(loss)) => {
                    self.frame_offset = loss.offset;
                    self.text_read = self.frames.text().len();
                    let ends = loss.reason == Reason::Inflated;
                    self.losses.add(loss);
                    if ends {
                        return Ok(None);
                    }
                }
                None => return Ok(None),
            }
            if self.losses.too_many() {
                self.stop(Reason::GaveUp);
                return Ok(None);
            }
        }
    }

    fn stop(&mut self, reason: Reason) {
        self.losses.add(Loss { offset: self.frame_offset, count: 1, reason });
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(run) = self.run.take() {
            return Some(Ok(Line::Run(run)));
        }
        if self.ended {
            return None;
        }
        let next = self.next_upgraded();
        self.ended = !matches!(next, Ok(Some(_)));
        next.map_err(|source| Error::Read { path: self.path.clone(), source }).transpose()
    }
}

impl<R> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("path", &self.path)
            .field("losses", &self.losses)
            .finish_non_exhaustive()
    }
}

/// The line that begins at byte `at`, with its line feed.
fn line_at(text: &[u8], at: usize) -> &[u8] {
    let rest = &text[at..];
    let end = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
    &rest[..end]
}

/// Checks the schema, before anything relies on the fields of this version.
fn first_line(text: &[u8], path: &Path) -> Result<Run> {
    #[derive(Deserialize)]
    struct Head {
        r#type: String,
        schema: u64,
    }
    #[derive(Deserialize)]
    struct Newer {
        tool: NewerTool,
    }
    #[derive(Deserialize)]
    struct NewerTool {
        version: String,
    }

    let refuse = |reason: String| Error::NotARun { path: path.into(), reason };
    let head = serde_json::from_slice::<Head>(text).ok().filter(|head| head.r#type == "run");
    let Some(Head { schema, .. }) = head else {
        return Err(refuse("its first line is not a run line".into()));
    };
    if schema > u64::from(SCHEMA) {
        let version =
            serde_json::from_slice(text).map_or("unknown version".into(), |n: Newer| n.tool.version);
        return Err(Error::Newer { path: path.into(), schema, version });
    }
    match parse_bytes(text) {
        Ok(Line::Run(run)) => Ok(run),
        Ok(_) => Err(refuse("its first line is not a run line".into())),
        Err(error) => Err(refuse(format!("its run line cannot be read: {error}"))),
    }
}
