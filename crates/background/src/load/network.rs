//! Loads of the network: bytes on the loopback interface, and connections.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use sys::limit::{Resource, ceiling};
use sys::tcp::{Connection, Listener, Listening, Waiting};

use super::{Means, Work, failed};

/// Longer than this is more than one segment on an interface whose packets have up to 64 KiB.
const PIECE_MOST: f64 = 60_000.0;
/// Shorter pieces would consist mostly of headers.
const PIECE_LEAST: f64 = 500.0;
/// A piece is the amount for this time.
const PIECE_SECONDS: f64 = 0.004;
/// Bytes sent at once at most, so that no step takes long.
const SENT_AT_ONCE: f64 = 8e6;

/// Headers of Ethernet, IPv4 and TCP, which the interface counts, and the option with timestamps.
const HEADERS: u64 = 14 + 20 + 20;
const TIMESTAMPS: u64 = 12;

/// Bytes over one TCP connection of the process to itself.
pub(super) struct Net {
    sender: TcpStream,
    receiver: TcpStream,
    piece: Vec<u8>,
}

impl Net {
    pub(super) fn new(rate: f64) -> Result<Net, String> {
        let connect = || -> io::Result<(TcpStream, TcpStream)> {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let sender = TcpStream::connect(listener.local_addr()?)?;
            sender.set_nodelay(true)?;
            Ok((sender, listener.accept()?.0))
        };
        let (sender, receiver) = connect().map_err(failed("connect to itself on 127.0.0.1"))?;
        sys::tcp::received(&receiver).map_err(failed("read how many bytes the kernel counts"))?;
        let bytes = (rate * PIECE_SECONDS).clamp(PIECE_LEAST, PIECE_MOST);
        Ok(Net { sender, receiver, piece: vec![0x5A; bytes as usize] })
    }
}

impl Work for Net {
    fn work(&mut self, amount: f64) -> io::Result<()> {
        let pieces = (amount.min(SENT_AT_ONCE) / self.piece.len() as f64).max(1.0) as u64;
        for _ in 0..pieces {
            self.sender.write_all(&self.piece)?;
            self.receiver.read_exact(&mut self.piece)?;
        }
        Ok(())
    }

    fn counted(&mut self) -> io::Result<f64> {
        let received = sys::tcp::received(&self.receiver)?;
        let header = HEADERS + if received.has_timestamps { TIMESTAMPS } else { 0 };
        Ok((received.bytes + received.segments * header) as f64)
    }

    fn counted_of_system(&mut self) -> Option<f64> {
        sys::kernel_counter::loopback_bytes().ok().map(|bytes| bytes as f64)
    }

    fn means(&self) -> Means {
        let grain = self.piece.len() as f64;
        Means { grain, counter: "TCP_INFO", system_counter: "/proc/net/dev lo" }
    }
}

/// Connections to one port of the server: the ports of the client's side are used once for each.
const PER_LISTENER: u64 = 10_000;
/// Descriptors of a connection: one for each of its ends.
const DESCRIPTORS: u64 = 2;
/// Connections made at once at most, so that no step takes long.
const MADE_AT_ONCE: f64 = 1000.0;

/// A number of connections that stay open; new ones replace the oldest.
pub(super) struct Connections {
    listeners: Vec<(Listener, SocketAddr)>,
    /// Both ends of each, the oldest first.
    open: VecDeque<(Connection, Connection)>,
    next: usize,
    made: u64,
}

impl Connections {
    pub(super) fn new(count: u64) -> Result<Connections, String> {
        // A limit that cannot be raised holds as it stands.
        let _ = sys::limit::raise_soft_to_hard();
        if let Ok(bound) = ceiling(Resource::Descriptors)
            && count * DESCRIPTORS > bound.usable
        {
            return Err(format!(
                "{count} connections take {} descriptors, and {} is {}; {}",
                count * DESCRIPTORS,
                bound.limit,
                bound.value,
                bound.advice
            ));
        }
        let listen = || -> io::Result<(Listener, SocketAddr)> {
            let how = Listening { blocking: true, ..Listening::default() };
            let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into(), how)?;
            let address = listener.address()?;
            Ok((listener, address))
        };
        let listeners = (0..count.div_ceil(PER_LISTENER)).map(|_| listen()).collect::<io::Result<_>>();
        let listeners = listeners.map_err(failed("listen on 127.0.0.1"))?;
        let mut connections = Connections { listeners, open: VecDeque::new(), next: 0, made: 0 };
        for made in 0..count {
            connections.make().map_err(failed(&format!("make connection {} of {count}", made + 1)))?;
        }
        connections.made = 0;
        Ok(connections)
    }

    fn make(&mut self) -> io::Result<()> {
        self.next = (self.next + 1) % self.listeners.len();
        let (listener, address) = &self.listeners[self.next];
        let client = Connection::connect(*address, None, Waiting::Blocking)?;
        // A port in TIME_WAIT would be missing for the next minute, also in the measurement.
        client.reset_on_close()?;
        let server = listener.accept(Waiting::Blocking)?;
        self.open.push_back((client, server));
        self.made += 1;
        Ok(())
    }
}

impl Work for Connections {
    fn work(&mut self, amount: f64) -> io::Result<()> {
        for _ in 0..amount.clamp(1.0, MADE_AT_ONCE) as u64 {
            self.open.pop_front();
            self.make()?;
        }
        Ok(())
    }

    fn counted(&mut self) -> io::Result<f64> {
        Ok(self.made as f64)
    }

    fn counted_of_system(&mut self) -> Option<f64> {
        sys::kernel_counter::connections_opened().ok().map(|opened| opened as f64)
    }

    fn holds(&mut self) -> Option<f64> {
        Some(self.open.len() as f64)
    }

    fn means(&self) -> Means {
        Means { grain: 1.0, counter: "", system_counter: "/proc/net/snmp ActiveOpens" }
    }
}
