//! Reads a run back: line by line, or whole. Each frame is decoded separately, so that damage affects one
//! trial only.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use zstd::zstd_safe;

use crate::error::{Losses, UNPACKED_MAX};
use crate::line::parse_bytes;
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

/// Most bytes that one frame may hold, packed or unpacked: some ten million values. It bounds the memory
/// that a hostile or damaged file can take in a [`Reader`](crate::Reader), which is a few times as much; a
/// writer refuses to make a larger frame.
pub const FRAME_BYTES_MAX: usize = 128 << 20;

/// First bytes of every zstd frame (RFC 8878, 3.1.1).
const MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();

/// The bit of the byte behind the magic that says whether a checksum ends the frame (RFC 8878, 3.1.1.1.1).
const CHECKSUM_FLAG: u8 = 1 << 2;

/// Smallest amount to ask of the source at once.
const READ_BYTES: usize = 64 << 10;

/// How lines are packed into the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    /// As a writer makes it.
    Zstd,
    /// JSON Lines as they are, from `zstdcat` or `jq`; every line counts as a frame.
    Plain,
}

/// One frame, or its damaged place.
enum Chunk {
    /// Its text is in [`Chunks::text`]; the byte of the file at which it begins.
    Whole(u64),
    /// Bytes were dropped.
    Lost(Loss),
}

/// The frames of one source.
struct Chunks<R> {
    source: R,
    ended: bool,
    packing: Packing,
    /// Bytes of the source; `pending` of them were not examined yet.
    buffer: Vec<u8>,
    pending: Range<usize>,
    /// Where `pending` begins in the file.
    offset: u64,
    text: Vec<u8>,
    /// Bytes of all texts up to here.
    unpacked: u64,
}

impl<R: Read> Chunks<R> {
    /// Looks at the first bytes; `None` when they begin neither a frame nor a line.
    fn new(source: R) -> io::Result<Option<Self>> {
        let mut frames = Chunks {
            source,
            ended: false,
            packing: Packing::Zstd,
            buffer: Vec::new(),
            pending: 0..0,
            offset: 0,
            text: Vec::new(),
            unpacked: 0,
        };
        frames.more()?;
        let head = frames.rest();
        frames.packing = match head.first() {
            _ if head.is_empty() || head.starts_with(&MAGIC) => Packing::Zstd,
            Some(b'{') => Packing::Plain,
            _ => return Ok(None),
        };
        Ok(Some(frames))
    }

    /// The text of the frame that [`Chunks::next`] announced last.
    fn text(&self) -> &[u8] {
        &self.text
    }

    /// The next frame; `None` at the end of the file.
    fn next(&mut self) -> io::Result<Option<Chunk>> {
        if self.rest().is_empty() {
            self.more()?;
        }
        if self.rest().is_empty() {
            return Ok(None);
        }
        match self.packing {
            Packing::Zstd => self.next_zstd(),
            Packing::Plain => self.next_plain(),
        }
        .map(Some)
    }

    fn next_zstd(&mut self) -> io::Result<Chunk> {
        let begin = self.offset;
        while self.rest().len() < MAGIC.len() && self.more()? {}
        if !self.rest().starts_with(&MAGIC) {
            let cut = MAGIC.starts_with(self.rest());
            let skipped = self.seek_magic()?;
            let (count, reason) = if cut { (1, Reason::CutShort) } else { (skipped, Reason::Foreign) };
            return Ok(Chunk::Lost(Loss { offset: begin, count, reason }));
        }
        let reason = match self.whole(|rest| zstd_safe::find_frame_compressed_size(rest).ok())? {
            Some(length) if self.has_lost_checksum(length)? => Reason::Damaged("its checksum is lost".into()),
            Some(length) => match self.decode(length) {
                Ok(true) => {
                    self.advance(length);
                    self.unpacked += self.text.len() as u64;
                    if self.unpacked > FRAME_BYTES_MAX as u64 + UNPACKED_MAX * self.offset {
                        return Ok(Chunk::Lost(Loss { offset: begin, count: 1, reason: Reason::Inflated }));
                    }
                    return Ok(Chunk::Whole(begin));
                }
                Ok(false) => Reason::TooLarge,
                Err(error) => Reason::Damaged(error.to_string()),
            },
            None if self.rest().len() >= FRAME_BYTES_MAX => Reason::TooLarge,
            None => Reason::CutShort,
        };
        // The damage may be in the fields that give the length of the frame, so they are not trusted.
        self.advance(1);
        self.seek_magic()?;
        let reason = match reason {
            Reason::CutShort if !self.rest().is_empty() => Reason::Damaged("its length does not hold".into()),
            reason => reason,
        };
        Ok(Chunk::Lost(Loss { offset: begin, count: 1, reason }))
    }

    /// Whether the frame of the first `length` bytes had a checksum when it was written, but its flag is
    /// gone, so that nothing would be checked. Frames that somebody packed without checksums have another
    /// frame behind them, or the end.
    fn has_lost_checksum(&mut self, length: usize) -> io::Result<bool> {
        if self.rest()[MAGIC.len()] & CHECKSUM_FLAG != 0 {
            return Ok(false);
        }
        while self.rest().len() < length + MAGIC.len() && self.more()? {}
        let behind = &self.rest()[length..];
        Ok(!behind.is_empty() && !behind.starts_with(&MAGIC))
    }

    /// Decodes the first `length` bytes into `text`; `false` when that would be too much.
    fn decode(&mut self, length: usize) -> io::Result<bool> {
        self.text.clear();
        let packed = &self.buffer[self.pending.start..self.pending.start + length];
        let decoder = zstd::stream::read::Decoder::with_buffer(packed)?.single_frame();
        decoder.take(FRAME_BYTES_MAX as u64 + 1).read_to_end(&mut self.text)?;
        Ok(self.text.len() <= FRAME_BYTES_MAX)
    }

    fn next_plain(&mut self) -> io::Result<Chunk> {
        let begin = self.offset;
        let line_feed = |rest: &[u8]| rest.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let length = match self.whole(line_feed)? {
            Some(length) => length,
            None if self.rest().len() >= FRAME_BYTES_MAX => {
                self.seek(|rest| rest.iter().position(|byte| *byte == b'\n'), 0)?;
                return Ok(Chunk::Lost(Loss { offset: begin, count: 1, reason: Reason::TooLarge }));
            }
            None => self.rest().len(),
        };
        self.text.clear();
        self.text.extend_from_slice(&self.buffer[self.pending.start..self.pending.start + length]);
        self.advance(length);
        Ok(Chunk::Whole(begin))
    }

    /// Reads on until `length` finds the end of a frame; `None` when the file ends before, or when it
    /// would be too large.
    fn whole(&mut self, length: impl Fn(&[u8]) -> Option<usize>) -> io::Result<Option<usize>> {
        loop {
            if let Some(length) = length(self.rest()).filter(|length| *length <= self.rest().len()) {
                return Ok(Some(length));
            }
            if self.rest().len() >= FRAME_BYTES_MAX || !self.more()? {
                return Ok(None);
            }
        }
    }

    /// Drops bytes up to the next that may begin a frame, or all; how many.
    fn seek_magic(&mut self) -> io::Result<u64> {
        self.seek(|rest| rest.windows(MAGIC.len()).position(|window| window == MAGIC), MAGIC.len() - 1)
    }

    /// Drops bytes up to the match of `find`, or all; returns how many. The end of the bytes read so far may
    /// cut a match, so `find` gets the last `keep` bytes again.
    fn seek(&mut self, find: impl Fn(&[u8]) -> Option<usize>, keep: usize) -> io::Result<u64> {
        let begin = self.offset;
        loop {
            if let Some(at) = find(self.rest()) {
                self.advance(at);
                break;
            }
            self.advance(self.rest().len().saturating_sub(keep));
            if !self.more()? {
                self.advance(self.rest().len());
                break;
            }
        }
        Ok(self.offset - begin)
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.pending.clone()]
    }

    fn advance(&mut self, length: usize) {
        self.pending.start += length;
        self.offset += length as u64;
    }

    /// Reads more from the source, doubling the buffer; `false` at its end.
    fn more(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.buffer.truncate(self.pending.end);
        self.buffer.drain(..self.pending.start);
        let ask = self.buffer.len().clamp(READ_BYTES, FRAME_BYTES_MAX);
        let got = self.source.by_ref().take(ask as u64).read_to_end(&mut self.buffer)?;
        self.pending = 0..self.buffer.len();
        self.ended = got < ask;
        Ok(got > 0)
    }
}
