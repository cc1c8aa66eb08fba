//! A connection in our own hands: what the witness and the hostile clients send and receive through.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How long one call waits; between calls a client looks whether it is to go on.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Largest head that is taken for one.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// A connection, and what was received and not taken yet.
pub(super) struct Wire {
    stream: TcpStream,
    held: Vec<u8>,
}

/// A response; its body may be cut short.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) length: usize,
    pub(super) body: Vec<u8>,
    pub(super) is_last: bool,
}

impl Wire {
    pub(super) fn connect(address: SocketAddr) -> Result<Wire> {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(LOOK))?;
        stream.set_nodelay(true)?;
        Ok(Wire { stream, held: Vec::new() })
    }

    /// Sends it all, unless the other end does not take it while one call waits.
    pub(super) fn send(&mut self, bytes: impl AsRef<[u8]>) -> Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// Sends no more.
    pub(super) fn finish(&self) {
        // An error says that the other end has closed already.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Closes by a reset.
    pub(super) fn reset(self) {
        let _ = rustix::net::sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO));
    }

    /// Receives what is there, at most so much; 0 is the end, `WouldBlock` is nothing yet.
    pub(super) fn receive(&mut self, most: usize) -> Result<usize> {
        let mut chunk = vec![0; most];
        let count = self.stream.read(&mut chunk)?;
        self.held.extend_from_slice(&chunk[..count]);
        Ok(count)
    }

    /// Whether the other end has not closed; waits for nothing.
    pub(super) fn is_open(&mut self) -> bool {
        let _ = self.stream.set_nonblocking(true);
        let received = self.receive(4096);
        let _ = self.stream.set_nonblocking(false);
        match received {
            Ok(count) => count > 0,
            Err(error) => is_timeout(&error),
        }
    }

    /// What was received and not taken.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Receives more before the deadline and while it is wanted; whether there was any.
    fn more(&mut self, deadline: Instant, is_wanted: &dyn Fn() -> bool) -> Result<bool> {
        loop {
            match self.receive(64 << 10) {
                Ok(count) => return Ok(count > 0),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => {
                    if Instant::now() > deadline || !is_wanted() {
                        return Err(Error::new(ErrorKind::TimedOut, "no response in time"));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// A response to GET. Its body is shorter than its length says where the other end closed in between.
    pub(super) fn response(&mut self, deadline: Instant, is_wanted: &dyn Fn() -> bool) -> Result<Response> {
        let end = loop {
            if let Some(at) = self.held.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if self.held.len() > HEAD_BYTES_MAX {
                return Err(Error::new(ErrorKind::InvalidData, "a head without end"));
            }
            if !self.more(deadline, is_wanted)? {
                let (kind, text) = if self.held.is_empty() {
                    (ErrorKind::ConnectionAborted, "closed before a response")
                } else {
                    (ErrorKind::UnexpectedEof, "closed within a head")
                };
                return Err(Error::new(kind, text));
            }
        };
        let head: Vec<u8> = self.held.drain(..end).collect();
        let mut response = parse_head(&head)
            .ok_or_else(|| Error::new(ErrorKind::InvalidData, format!("no response: {head:?}")))?;
        while self.held.len() < response.length && self.more(deadline, is_wanted)? {}
        let end = response.length.min(self.held.len());
        response.body = self.held.drain(..end).collect();
        Ok(response)
    }

    /// Whether bytes came that nobody asked for.
    pub(super) fn has_rest(&self) -> bool {
        !self.held.is_empty()
    }
}

pub(super) fn is_timeout(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn parse_head(head: &[u8]) -> Option<Response> {
    let head = std::str::from_utf8(head).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let field = |name: &str| {
        head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    };
    let length = match field("content-length") {
        Some(length) => length.parse().ok()?,
        None => 0,
    };
    let is_last = field("connection") == Some("close");
    Some(Response { status, length, body: Vec::new(), is_last })
}

/// A request on a connection that is kept.
pub(super) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: soak\r\n\r\n")
}

/// The last request of a connection.
pub(super) fn get_and_close(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: soak\r\nConnection: close\r\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_status_and_length() {
        let head = b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 12\r\nConnection: close\r\n\r\n";
        let response = parse_head(head).expect("a response");
        assert_eq!((response.status, response.length, response.is_last), (200, 12, true));
        assert!(parse_head(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n").is_none());
        assert!(parse_head(b"garbage\r\n\r\n").is_none());
    }
}
