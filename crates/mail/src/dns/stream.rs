//! One query over TCP: a connection, the query after its length, and the response after its length (RFC 7766,
//! section 8). For answers that are too long for a datagram, which are few: none is kept open for another.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use sys::handle::{AsHandle, Handle};
use sys::tcp::{Connection, Waiting};

/// Bytes of the length.
const PREFIX_BYTES: usize = 2;

/// Reads of one turn; the longest response takes 16.
const READ_BYTES: usize = 4096;

/// A query on its way.
#[derive(Debug)]
pub(super) struct StreamQuery {
    connection: Connection,
    pub(super) server: usize,
    pub(super) id: u16,
    pub(super) deadline_ns: u64,
    output: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
}

impl StreamQuery {
    /// Begins to connect.
    pub(super) fn connect(
        to: SocketAddr,
        server: usize,
        id: u16,
        message: &[u8],
        deadline_ns: u64,
    ) -> io::Result<StreamQuery> {
        let connection = Connection::connect(to, None, Waiting::NonBlocking)?;
        // A query has less than 300 bytes.
        let length = u16::try_from(message.len()).unwrap_or(u16::MAX).to_be_bytes();
        let output = [&length, message].concat();
        Ok(StreamQuery { connection, server, id, deadline_ns, output, sent: 0, input: Vec::new() })
    }

    pub(super) fn handle(&self) -> Handle<'_> {
        self.connection.handle()
    }

    pub(super) fn is_sent(&self) -> bool {
        self.sent == self.output.len()
    }

    /// Sends and receives what is possible now; the response, once it is here as a whole.
    pub(super) fn exchange(&mut self) -> io::Result<Option<&[u8]>> {
        while !self.is_sent() {
            match self.connection.send(&self.output[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if is_not_yet(&error) => {
                    self.connection.connected()?;
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        let mut buffer = [0; READ_BYTES];
        while self.wanted() > 0 {
            let wanted = self.wanted().min(READ_BYTES);
            match self.connection.receive(&mut buffer[..wanted]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.input.extend_from_slice(&buffer[..count]),
                Err(error) if is_not_yet(&error) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(&self.input[PREFIX_BYTES..]))
    }

    /// Bytes that the response still lacks; of a length that is not here yet those of the length.
    fn wanted(&self) -> usize {
        match self.input.first_chunk::<PREFIX_BYTES>() {
            Some(length) => PREFIX_BYTES + usize::from(u16::from_be_bytes(*length)) - self.input.len(),
            None => PREFIX_BYTES - self.input.len(),
        }
    }
}

/// Nothing can be sent or received now. Some systems say that of a connection that is not made yet in another
/// way.
fn is_not_yet(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::NotConnected)
}
