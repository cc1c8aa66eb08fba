//! `smb`: a client of SMB 3.1.1 that keeps several requests under way, as those of systems do.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::mem;
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;

use super::client::{Client, connect, not_connected, protocol};
use crate::smb::{Account, OpenFile, Protection, SmbConnection, SmbResponse, packet_bytes};

/// Bytes of one request to read, unless the server allows fewer.
const READ_BYTES: u32 = 1 << 20;
/// Requests to read that are under way at once.
const READS: usize = 4;

/// The client.
pub(super) struct SmbClient {
    address: SocketAddr,
    share: &'static str,
    account: Account,
    protection: Protection,
    seed: u64,
    link: Option<Link>,
    file: OpenFile,
    /// How much of the file was asked for.
    asked: u64,
    /// In the order of the file.
    reads: VecDeque<Reading>,
    /// The packet with the piece that was given last.
    given: Vec<u8>,
}

/// A connection with its socket.
struct Link {
    stream: TcpStream,
    connection: SmbConnection,
    /// Frames that may be read into.
    spare: Vec<Vec<u8>>,
}

/// A request to read, and its response.
struct Reading {
    id: u64,
    bytes: u32,
    came: Option<(Vec<u8>, Range<usize>)>,
}

impl SmbClient {
    pub(super) fn new(
        address: SocketAddr,
        share: &'static str,
        account: Account,
        protection: Protection,
        seed: u64,
    ) -> SmbClient {
        let (file, reads) = (OpenFile { id: [0; 16], bytes: 0 }, VecDeque::new());
        SmbClient {
            address,
            share,
            account,
            protection,
            seed,
            link: None,
            file,
            asked: 0,
            reads,
            given: Vec::new(),
        }
    }

    fn link(&mut self) -> io::Result<&mut Link> {
        self.link.as_mut().ok_or_else(not_connected)
    }

    /// Asks for more of the file, as far as the server allows.
    fn ask(&mut self) -> io::Result<()> {
        let (file, link) = (self.file, self.link.as_mut().ok_or_else(not_connected)?);
        let most = link.connection.read_bytes_max().clamp(1, READ_BYTES);
        while self.reads.len() < READS && self.asked < file.bytes {
            let bytes = (file.bytes - self.asked).min(u64::from(most)) as u32;
            if !link.connection.may_read(bytes) && !self.reads.is_empty() {
                break;
            }
            let (id, packet) = link.connection.read(&file, self.asked, bytes)?;
            link.stream.write_all(&packet)?;
            self.reads.push_back(Reading { id, bytes, came: None });
            self.asked += u64::from(bytes);
        }
        Ok(())
    }
}

impl Link {
    /// Sends a request, and waits for its response.
    fn exchange(&mut self, request: Vec<u8>) -> io::Result<SmbResponse> {
        self.stream.write_all(&request)?;
        let (packet, received) = self.receive()?;
        self.spare.push(packet);
        Ok(received)
    }

    /// The next response, and its packet.
    fn receive(&mut self) -> io::Result<(Vec<u8>, SmbResponse)> {
        let mut packet = self.spare.pop().unwrap_or_default();
        loop {
            let mut length = [0; 4];
            self.stream.read_exact(&mut length)?;
            packet.resize(packet_bytes(length)?, 0);
            self.stream.read_exact(&mut packet)?;
            match self.connection.take(&mut packet)? {
                SmbResponse::Interim => {}
                received => return Ok((packet, received)),
            }
        }
    }
}

impl Client for SmbClient {
    fn connect(&mut self) -> io::Result<()> {
        let stream = connect(self.address)?;
        let connection = SmbConnection::new(self.account.clone(), self.protection, self.seed);
        let link = self.link.insert(Link { stream, connection, spare: Vec::new() });
        let request = link.connection.negotiate()?;
        link.exchange(request).map(drop)
    }

    fn authenticate(&mut self) -> io::Result<bool> {
        let path = format!("\\\\{}\\{}", self.address.ip(), self.share);
        let link = self.link()?;
        let request = link.connection.log_on()?;
        let SmbResponse::Challenge(proof) = link.exchange(request)? else {
            return Err(protocol("the server wants no proof of the user"));
        };
        let SmbResponse::Done = link.exchange(proof)? else {
            return Err(protocol("the server wants a second proof of the user"));
        };
        let request = link.connection.connect_share(&path)?;
        link.exchange(request)?;
        Ok(true)
    }

    fn open(&mut self, name: &str) -> io::Result<()> {
        let link = self.link()?;
        let request = link.connection.open(name)?;
        let SmbResponse::Opened(file) = link.exchange(request)? else {
            return Err(protocol("the server opened no file"));
        };
        (self.file, self.asked) = (file, 0);
        Ok(())
    }

    fn receive(&mut self) -> io::Result<&[u8]> {
        let link = self.link.as_mut().ok_or_else(not_connected)?;
        link.spare.push(mem::take(&mut self.given));
        self.ask()?;
        let piece = loop {
            match self.reads.front_mut().map(|reading| (reading.bytes, reading.came.take())) {
                None => return Ok(&[]),
                Some((bytes, Some((packet, place)))) if place.len() == bytes as usize => {
                    self.given = packet;
                    break place;
                }
                Some((_, Some(_))) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some((_, None)) => {}
            }
            let link = self.link.as_mut().ok_or_else(not_connected)?;
            let (packet, received) = link.receive()?;
            let SmbResponse::Piece(id, place) = received else {
                return Err(protocol("the server sent something else than the file"));
            };
            let reading = self.reads.iter_mut().find(|reading| reading.id == id);
            let reading = reading.ok_or_else(|| protocol("the server sent a piece twice"))?;
            reading.came = Some((packet, place));
        };
        self.reads.pop_front();
        Ok(&self.given[piece])
    }

    fn close(&mut self) -> io::Result<()> {
        let file = self.file;
        let mut link = self.link.take().ok_or_else(not_connected)?;
        for request in
            [link.connection.close(&file)?, link.connection.leave_share()?, link.connection.log_off()?]
        {
            link.exchange(request)?;
        }
        Ok(())
    }
}
