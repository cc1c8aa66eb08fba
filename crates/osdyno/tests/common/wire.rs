//! A client that does what no good client would: it has the connection's bytes in its own hands.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// No response takes longer where nothing is wrong.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection; it counts what goes through it.
pub(crate) struct Wire {
    stream: TcpStream,
    /// Received and not taken yet.
    held: Vec<u8>,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
}

/// A response of HTTP.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// All up to the empty line.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// A field's value, by its name in any letters.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Wire {
    pub(crate) fn connect(address: SocketAddr) -> Wire {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Wire { stream, held: Vec::new(), sent_bytes: 0, received_bytes: 0 }
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.stream.write_all(bytes).expect("sending");
        self.sent_bytes += bytes.len() as u64;
    }

    /// Sends until the other end does not want it; whether it took all.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> bool {
        match self.stream.write_all(bytes) {
            Ok(()) => self.sent_bytes += bytes.len() as u64,
            Err(_) => return false,
        }
        true
    }

    /// Each byte in a segment of its own.
    pub(crate) fn send_split(&mut self, bytes: impl AsRef<[u8]>) {
        for byte in bytes.as_ref() {
            self.send([*byte]);
            std::thread::sleep(Duration::from_micros(150));
        }
    }

    /// Sends no more, and still receives.
    pub(crate) fn finish(&mut self) {
        // An error says that the other end has closed already.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Closes by a reset.
    pub(crate) fn reset(self) {
        let at_once = Some(Duration::ZERO);
        rustix::net::sockopt::set_socket_linger(&self.stream, at_once).expect("SO_LINGER");
    }

    /// Receives once more into what is held; how much. 0 is the end.
    fn receive(&mut self) -> std::io::Result<usize> {
        let mut chunk = [0; 64 << 10];
        let count = loop {
            match self.stream.read(&mut chunk) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.received_bytes += count as u64;
        self.held.extend_from_slice(&chunk[..count]);
        Ok(count)
    }

    /// So many bytes.
    pub(crate) fn take(&mut self, count: usize) -> Vec<u8> {
        while self.held.len() < count {
            let received = self.receive().expect("receiving");
            assert_ne!(received, 0, "the end after {} of {count} bytes", self.held.len());
        }
        self.cut(count)
    }

    fn cut(&mut self, count: usize) -> Vec<u8> {
        let rest = self.held.split_off(count);
        std::mem::replace(&mut self.held, rest)
    }

    /// All until the other end has finished, and that in order.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        while self.receive().expect("receiving to the end") > 0 {}
        std::mem::take(&mut self.held)
    }

    /// The same, where a reset is as good an end; how long that took.
    pub(crate) fn until_closed(&mut self) -> Duration {
        let began = Instant::now();
        loop {
            match self.receive() {
                Ok(0) => return began.elapsed(),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    panic!("not closed within {PATIENCE:?}")
                }
                Err(_) => return began.elapsed(),
            }
        }
    }

    /// What was received and not taken, for a look after `until_closed`.
    pub(crate) fn held(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// A response to GET.
    pub(crate) fn response(&mut self) -> Response {
        let head = self.head();
        let length = head.field("content-length").map_or(0, |length| length.parse().expect("a length"));
        let body = if matches!(head.status, 204 | 304) { Vec::new() } else { self.take(length) };
        Response { body, ..head }
    }

    /// A response to HEAD, or the beginning of one to GET.
    pub(crate) fn head(&mut self) -> Response {
        let end = loop {
            if let Some(at) = self.held.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            let received = self.receive().expect("receiving a head");
            assert_ne!(received, 0, "the end within a head: {:?}", super::text(&self.held));
        };
        let head = super::text(&self.cut(end));
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        Response { status: status.unwrap_or_else(|| panic!("no response: {head:?}")), head, body: Vec::new() }
    }

    /// Nothing more comes: the other end has finished.
    pub(crate) fn expect_end(&mut self) {
        let rest = self.rest();
        assert!(rest.is_empty(), "unasked: {:?}", super::text(&rest));
    }

    /// Nothing has come, and the connection is open.
    pub(crate) fn expect_open(&mut self) {
        self.stream.set_nonblocking(true).expect("nonblocking");
        let received = self.receive();
        self.stream.set_nonblocking(false).expect("blocking");
        let is_open = received.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        assert!(is_open && self.held.is_empty(), "not open and silent: {received:?}");
    }
}

/// A request that a good client would send.
pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")
}

/// The last of a connection.
pub(crate) fn get_and_close(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
}
