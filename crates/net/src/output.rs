//! Output on its way to the other end: bytes, and ranges of files that need never become bytes here.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::Arc;

use sys::tcp::Connection;

/// The sending half of a connection, through which an output leaves; no call is repeated.
pub trait Sender {
    /// One send(2).
    fn send(&self, bytes: &[u8]) -> io::Result<usize>;

    /// One send(2) of bytes; more follow at once; see [`Connection::send_and_more`].
    #[inline]
    fn send_and_more(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes)
    }

    /// Several pieces by one sendmsg(2); where that cannot be, the first with content.
    fn send_pieces(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        pieces.iter().find(|piece| !piece.is_empty()).map_or(Ok(0), |piece| self.send(piece))
    }

    /// One sendfile(2): up to `count` bytes of the file from `offset`, which moves on; see
    /// [`Connection::send_file`]. Not all can do it.
    fn send_file(&self, _file: &File, _offset: &mut u64, _count: usize) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Sender for Connection {
    #[inline]
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes)
    }

    #[inline]
    fn send_and_more(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send_and_more(bytes)
    }

    #[inline]
    fn send_pieces(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.send_pieces(pieces)
    }

    #[inline]
    fn send_file(&self, file: &File, offset: &mut u64, count: usize) -> io::Result<usize> {
        self.send_file(file, offset, count)
    }
}

/// The output of one connection, in order. Empty, it holds at most one spare buffer.
#[derive(Debug, Default)]
pub struct Output {
    parts: VecDeque<Part>,
    /// Bytes of the first part that have left.
    gone: usize,
    spare: Vec<u8>,
    responses: u64,
    recipients: u64,
    /// Lines for the access log, if they were requested.
    pub log: Vec<u8>,
}

#[derive(Debug)]
enum Part {
    Bytes(Vec<u8>),
    Shared { bytes: Arc<[u8]>, range: Range<usize> },
    File { file: Arc<File>, offset: u64, count: u64 },
}

/// The progress of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Everything has left.
    All,
    /// The connection takes no more for now.
    Blocked,
}

/// Bytes that one connection may send while others wait.
const TURN_BYTES: u64 = 1 << 20;

/// A spare buffer larger than this is not kept.
const SPARE_BYTES: usize = 64 << 10;

impl Output {
    /// Where more bytes can be written.
    #[inline]
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        if !matches!(self.parts.back(), Some(Part::Bytes(_))) {
            let spare = std::mem::take(&mut self.spare);
            self.parts.push_back(Part::Bytes(spare));
        }
        match self.parts.back_mut() {
            Some(Part::Bytes(bytes)) => bytes,
            // Not reached: it was pushed above.
            _ => &mut self.spare,
        }
    }

    /// Whether at most 64 KiB wait, all in one piece. Beyond, what can be shared should be: a flood of
    /// requests whose responses the client does not read must not fill the memory with copies.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        match self.parts.front() {
            None => true,
            Some(Part::Bytes(bytes)) => self.parts.len() == 1 && bytes.len() <= SPARE_BYTES,
            Some(_) => false,
        }
    }

    /// Adds bytes that many connections share.
    pub fn shared(&mut self, bytes: Arc<[u8]>) {
        let range = 0..bytes.len();
        self.shared_range(bytes, range);
    }

    /// Adds a range of bytes that many connections share; nothing for a range beyond them.
    pub(crate) fn shared_range(&mut self, bytes: Arc<[u8]>, range: Range<usize>) {
        if bytes.get(range.clone()).is_some_and(|bytes| !bytes.is_empty()) {
            self.parts.push_back(Part::Shared { bytes, range });
        }
    }

    /// Adds `count` bytes of a file from `offset`.
    pub fn file(&mut self, file: Arc<File>, offset: u64, count: u64) {
        if count > 0 {
            self.parts.push_back(Part::File { file, offset, count });
        }
    }

    /// Notes that one request was answered.
    #[inline]
    pub fn answered(&mut self) {
        self.responses += 1;
    }

    /// The requests answered since the last call.
    #[inline]
    pub fn take_responses(&mut self) -> u64 {
        std::mem::take(&mut self.responses)
    }

    /// Notes that one recipient of a message was accepted.
    #[inline]
    pub(crate) fn accepted_recipient(&mut self) {
        self.recipients += 1;
    }

    /// The recipients accepted since the last call.
    #[inline]
    pub(crate) fn take_recipients(&mut self) -> u64 {
        std::mem::take(&mut self.recipients)
    }

    /// Whether everything has left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        match self.parts.front() {
            None => true,
            Some(Part::Bytes(bytes)) => self.parts.len() == 1 && bytes.len() == self.gone,
            Some(_) => false,
        }
    }

    /// Sends as much as the connection takes, and adds the bytes that left to `sent_bytes`.
    ///
    /// # Errors
    /// Those of send(2) and sendfile(2), without `EINTR`; `UnexpectedEof` when a file became shorter.
    #[inline]
    pub fn send(&mut self, connection: &impl Sender, sent_bytes: &mut u64) -> io::Result<Sent> {
        self.send_at_most(u64::MAX, connection, sent_bytes)
    }

    /// Sends as much as the connection takes, or a little more than `TURN_BYTES`: a connection that is
    /// emptied as fast as it is filled must not hold up all others. `Blocked` then, although it would take
    /// more.
    ///
    /// # Errors
    /// Those of [`Output::send`].
    #[inline]
    pub(crate) fn send_turn(&mut self, connection: &impl Sender, sent_bytes: &mut u64) -> io::Result<Sent> {
        self.send_at_most(TURN_BYTES, connection, sent_bytes)
    }

    #[inline]
    fn send_at_most(
        &mut self,
        most: u64,
        connection: &impl Sender,
        sent_bytes: &mut u64,
    ) -> io::Result<Sent> {
        let before = *sent_bytes;
        loop {
            if *sent_bytes - before >= most && !self.is_empty() {
                return Ok(Sent::Blocked);
            }
            let more_follow = self.parts.len() > 1;
            let sent = match self.parts.front_mut() {
                None => return Ok(Sent::All),
                Some(Part::Bytes(bytes)) if bytes.len() == self.gone => Ok(0),
                Some(Part::Bytes(_)) => match self.parts.get(1) {
                    Some(Part::Shared { .. }) => self.send_pieces(connection),
                    _ => send_bytes(connection, &self.first()[self.gone..], more_follow),
                },
                Some(Part::Shared { .. }) => send_bytes(connection, &self.first()[self.gone..], more_follow),
                Some(Part::File { file, offset, count }) => {
                    match connection.send_file(file, offset, (*count).min(TURN_BYTES) as usize) {
                        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                        Ok(sent) => {
                            *count -= sent as u64;
                            *sent_bytes += sent as u64;
                            if *count == 0 {
                                self.parts.pop_front();
                            }
                            continue;
                        }
                        Err(error) => Err(error),
                    }
                }
            };
            match sent {
                Ok(sent) => {
                    *sent_bytes += sent as u64;
                    self.gone += sent;
                    self.drop_what_left();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Sent::Blocked),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Moves up to `chunk`'s capacity of the next bytes into `chunk`, for interfaces that send only bytes.
    ///
    /// # Errors
    /// Those of pread(2); `UnexpectedEof` when a file became shorter.
    pub fn fill(&mut self, chunk: &mut Vec<u8>) -> io::Result<()> {
        while chunk.len() < chunk.capacity() {
            let room = chunk.capacity() - chunk.len();
            match self.parts.front_mut() {
                None => return Ok(()),
                Some(Part::File { file, offset, count }) => {
                    let begin = chunk.len();
                    let wanted = (*count).min(room as u64) as usize;
                    chunk.resize(begin + wanted, 0);
                    let read = sys::file::read_some_at(file, &mut chunk[begin..], *offset)?;
                    chunk.truncate(begin + read);
                    if read == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    *offset += read as u64;
                    *count -= read as u64;
                    if *count == 0 {
                        self.parts.pop_front();
                    }
                }
                Some(_) => {
                    let rest = &self.first()[self.gone..];
                    let taken = rest.len().min(room);
                    chunk.extend_from_slice(&rest[..taken]);
                    self.gone += taken;
                    self.drop_what_left();
                }
            }
        }
        Ok(())
    }

    /// The first part, where it is in memory.
    fn first(&self) -> &[u8] {
        match self.parts.front() {
            Some(Part::Bytes(bytes)) => bytes,
            Some(Part::Shared { bytes, range }) => &bytes[range.clone()],
            _ => &[],
        }
    }

    fn send_pieces(&self, connection: &impl Sender) -> io::Result<usize> {
        let second: &[u8] = match self.parts.get(1) {
            Some(Part::Shared { bytes, range }) => &bytes[range.clone()],
            _ => &[],
        };
        connection.send_pieces(&[IoSlice::new(&self.first()[self.gone..]), IoSlice::new(second)])
    }

    /// Drops the parts in memory that have left as a whole.
    #[inline]
    fn drop_what_left(&mut self) {
        loop {
            let length = match self.parts.front() {
                Some(Part::Bytes(bytes)) => bytes.len(),
                Some(Part::Shared { range, .. }) => range.len(),
                _ => return,
            };
            if self.gone < length {
                return;
            }
            self.gone -= length;
            if let Some(Part::Bytes(mut bytes)) = self.parts.pop_front()
                && bytes.capacity() <= SPARE_BYTES
            {
                bytes.clear();
                self.spare = bytes;
            }
            if self.parts.is_empty() {
                return;
            }
        }
    }
}

#[inline]
fn send_bytes(connection: &impl Sender, bytes: &[u8], more_follow: bool) -> io::Result<usize> {
    if more_follow { connection.send_and_more(bytes) } else { connection.send(bytes) }
}
