//! Splits a file into frames and decodes each separately, so that damage affects one trial only.

use std::io::{self, Read};
use std::ops::Range;

use zstd::zstd_safe;

use crate::loss::UNPACKED_MAX;
use crate::{Loss, Reason};

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
pub(crate) enum Packing {
    /// As a writer makes it.
    Zstd,
    /// JSON Lines as they are, from `zstdcat` or `jq`; every line counts as a frame.
    Plain,
}

/// One frame, or its damaged place.
pub(crate) enum Chunk {
    /// Its text is in [`Chunks::text`]; the byte of the file at which it begins.
    Whole(u64),
    /// Bytes were dropped.
    Lost(Loss),
}

/// The frames of one source.
pub(crate) struct Chunks<R> {
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
    pub(crate) fn new(source: R) -> io::Result<Option<Self>> {
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
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The next frame; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> io::Result<Option<Chunk>> {
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
