//! The server's end of a simulated connection, as the loops use it.

use std::io::{self, IoSlice};
use std::net::SocketAddr;

use super::world::{SERVER, Shared, World};
use crate::network::{Connected, Socket};
use crate::output::Sender;

/// The server's end of a link.
pub(super) struct ServerSocket {
    pub(super) world: Shared,
    pub(super) link: usize,
}

impl ServerSocket {
    fn sent(&self, world: &mut World, sent: io::Result<usize>) -> io::Result<usize> {
        let now_ns = world.now_ns;
        let blocked = world.links[self.link].ends[SERVER].blocked;
        world.trace(&("server", self.link), &("sent", &sent));
        world.links[self.link].witness.sent(&sent, blocked, now_ns);
        sent
    }
}

impl Sender for ServerSocket {
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        let sent = world.send(self.link, SERVER, &[bytes]);
        self.sent(&mut world, sent)
    }

    fn send_and_more(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes)
    }

    fn send_pieces(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        let pieces: Vec<&[u8]> = pieces.iter().map(|piece| &**piece).collect();
        let sent = world.send(self.link, SERVER, &pieces);
        self.sent(&mut world, sent)
    }

    fn send_file(&self, file: &std::fs::File, offset: &mut u64, count: usize) -> io::Result<usize> {
        let room = self.world.borrow().links[self.link].ends[SERVER].room();
        let mut bytes = vec![0; count.min(room.max(1))];
        let read = sys::file::read_some_at(file, &mut bytes, *offset)?;
        let sent = self.send(&bytes[..read])?;
        *offset += sent as u64;
        Ok(sent)
    }
}

impl Socket for ServerSocket {
    fn connected(&self, _now_ns: u64) -> io::Result<Connected> {
        unreachable!("a server does not connect")
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        let received = world.receive(self.link, SERVER, buffer);
        let now_ns = world.now_ns;
        world.trace(&("server", self.link), &("received", &received));
        world.links[self.link].witness.received(&received, now_ns);
        received
    }

    fn send_at_once(&self) -> io::Result<()> {
        Ok(())
    }

    fn finish_sending(&self) -> io::Result<()> {
        let mut world = self.world.borrow_mut();
        let now_ns = world.now_ns;
        world.trace(&("server", self.link), &"finishes");
        world.links[self.link].witness.finished(now_ns);
        world.finish_sending(self.link, SERVER)
    }

    fn reset_on_close(&self) -> io::Result<()> {
        let mut world = self.world.borrow_mut();
        world.links[self.link].witness.gave_up();
        world.reset_on_close(self.link, SERVER);
        Ok(())
    }

    fn acknowledged(&self) -> io::Result<u64> {
        Ok(self.world.borrow().links[self.link].witness.acknowledged_bytes)
    }

    fn peer(&self) -> io::Result<SocketAddr> {
        Ok(SocketAddr::from(([127, 0, 0, 1], 1)))
    }

    fn close(self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for ServerSocket {
    fn drop(&mut self) {
        let mut world = self.world.borrow_mut();
        world.trace(&("server", self.link), &"closes");
        world.closed_by_server(self.link);
        world.close(self.link, SERVER);
    }
}
