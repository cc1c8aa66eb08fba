//! Bytes on the loopback interface: one TCP connection of the process to itself.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::work::{Means, Work, failed};

/// Longer than this is more than one segment on an interface whose packets have up to 64 KiB.
const PIECE_MOST: f64 = 60_000.0;
/// Shorter, and headers are most of what is sent.
const PIECE_LEAST: f64 = 500.0;
/// A piece is what is due in so long.
const PIECE_SECONDS: f64 = 0.004;
/// What is sent at once at most, so that no step takes long.
const AT_ONCE: f64 = 8e6;

/// Headers of Ethernet, IPv4 and TCP, which the interface counts, and the option with timestamps.
const HEADERS: u64 = 14 + 20 + 20;
const TIMESTAMPS: u64 = 12;

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
        let pieces = (amount.min(AT_ONCE) / self.piece.len() as f64).max(1.0) as u64;
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
