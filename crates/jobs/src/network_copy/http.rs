//! `http`: osdyno's own server in a process of its own, and a client that requests one file on each
//! connection (RFC 9112).

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;

use net::client::http::{Framing, Head, head_end};
use workload::server::{ServerUnderTest, web};
use workload::{Trial, TrialError};

use super::measure::{Client, Server, connect, not_connected};
use crate::instance::protocol;

const BUFFER_BYTES: usize = 128 << 10;

pub(super) struct Http(ServerUnderTest);

impl Http {
    /// Starts it; it serves the content of the folder then, and later content where it is on this machine.
    pub(super) fn start(trial: &Trial<'_>) -> Result<Http, TrialError> {
        if trial.server().is_some_and(|server| server.prefix.is_empty()) {
            let text = "it has not the file; --server ADDRESS=COMMAND starts one there that has";
            return Err(TrialError::at("to use that server")(io::Error::other(text)));
        }
        ServerUnderTest::start(trial, web(trial, trial.setting("arch")?)).map(Http)
    }
}

impl Server for Http {
    fn client(&self) -> io::Result<Box<dyn Client>> {
        let (address, buffer) = (self.0.address(), vec![0; BUFFER_BYTES]);
        Ok(Box::new(HttpClient { address, stream: None, buffer, received: 0..0, left: 0 }))
    }

    fn cause(&mut self, error: io::Error) -> io::Error {
        self.0.cause(error)
    }

    fn stop(self: Box<Self>, trial: &mut Trial<'_>) -> Result<(), TrialError> {
        self.0.stop(trial)
    }
}

struct HttpClient {
    address: SocketAddr,
    stream: Option<TcpStream>,
    buffer: Vec<u8>,
    /// The part of the buffer that belongs to the body and was not given yet.
    received: Range<usize>,
    /// Bytes of the body that have to come.
    left: u64,
}

impl Client for HttpClient {
    fn connect(&mut self) -> io::Result<()> {
        self.stream = Some(connect(self.address)?);
        Ok(())
    }

    fn open(&mut self, name: &str) -> io::Result<()> {
        let stream = self.stream.as_mut().ok_or_else(not_connected)?;
        let request = format!("GET /{name} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes())?;
        let (mut filled, mut end) = (0_usize, None);
        while end.is_none() {
            // Earlier bytes may end within the empty line.
            let from = filled.saturating_sub(3);
            filled += some(stream, &mut self.buffer[filled..])?;
            end = head_end(&self.buffer[..filled], from);
        }
        let end = end.unwrap_or(filled);
        let wrong = |_| protocol("the server did not answer in HTTP/1.1");
        let head = Head::parse(&self.buffer[..end]).map_err(wrong)?;
        let Head { status: 200, framing: Framing::Length(bytes), .. } = head else {
            return Err(protocol(format!("the server answered {}, and not with a file", head.status)));
        };
        (self.received, self.left) = (end..filled, bytes);
        Ok(())
    }

    fn receive(&mut self) -> io::Result<&[u8]> {
        let stream = self.stream.as_mut().ok_or_else(not_connected)?;
        if self.received.is_empty() && self.left > 0 {
            self.received = 0..some(stream, &mut self.buffer)?;
        }
        let piece = std::mem::take(&mut self.received);
        let excess = || protocol("the server sent more than the file");
        self.left = self.left.checked_sub(piece.len() as u64).ok_or_else(excess)?;
        Ok(&self.buffer[piece])
    }

    fn close(&mut self) -> io::Result<()> {
        self.stream.take().map(drop).ok_or_else(not_connected)
    }
}

/// At least one byte, into room that must not be empty.
fn some(stream: &mut TcpStream, room: &mut [u8]) -> io::Result<usize> {
    if room.is_empty() {
        return Err(protocol("the head of the response is too long"));
    }
    match stream.read(room)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        bytes => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// The output of a client whose server sends these pieces after the request, and closes.
    fn received(pieces: &'static [&'static str]) -> io::Result<Vec<u8>> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let server = thread::spawn(move || -> io::Result<()> {
            let (mut stream, _) = listener.accept()?;
            let mut request = [0; 4096];
            let bytes = stream.read(&mut request)?;
            assert!(request[..bytes].starts_with(b"GET /7.bin HTTP/1.1\r\n"));
            for piece in pieces {
                stream.write_all(piece.as_bytes())?;
                thread::sleep(std::time::Duration::from_millis(5));
            }
            Ok(())
        });
        let mut client = HttpClient { address, stream: None, buffer: vec![0; 256], received: 0..0, left: 0 };
        let mut copy = || -> io::Result<Vec<u8>> {
            client.connect()?;
            client.open("7.bin")?;
            let mut whole = Vec::new();
            loop {
                match client.receive()? {
                    [] => break,
                    piece => whole.extend(piece),
                }
            }
            client.close()?;
            Ok(whole)
        };
        let copied = copy();
        server.join().expect("the server has not panicked")?;
        copied
    }

    #[test]
    fn a_file_is_received_however_it_is_cut() {
        let whole = received(&["HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ncontent"]);
        assert_eq!(whole.expect("a file"), b"content");
        let pieces = received(&["HTTP/1.1 200 OK\r\nContent-", "Length: 7\r\n", "\r", "\nco", "nten", "t"]);
        assert_eq!(pieces.expect("a file"), b"content");
    }

    #[test]
    fn what_is_no_file_is_an_error() {
        let kind = |pieces| received(pieces).expect_err("an error").kind();
        assert_eq!(kind(&["HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ncont"]), io::ErrorKind::UnexpectedEof);
        assert_eq!(kind(&["HTTP/1.1 200"]), io::ErrorKind::UnexpectedEof);
        for wrong in [
            &["HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"][..],
            &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
            &["SSH-2.0-OpenSSH\r\n\r\n"],
            &["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc"],
        ] {
            assert_eq!(kind(wrong), io::ErrorKind::InvalidData, "{wrong:?}");
        }
        let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(300)).leak();
        assert_eq!(kind(vec![&*long].leak()), io::ErrorKind::InvalidData);
    }
}
