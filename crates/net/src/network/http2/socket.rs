//! What the loop takes for a connection: one exchange.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::rc::Rc;

use sys::event::Interest;

use super::exchanges::Exchanges;
use crate::network::{Connected, Socket};
use crate::output::Sender;

pub(crate) struct StreamSocket<S: Socket> {
    shared: Rc<RefCell<Exchanges<S>>>,
    number: usize,
}

impl<S: Socket> StreamSocket<S> {
    pub(super) fn new(shared: Rc<RefCell<Exchanges<S>>>, number: usize) -> StreamSocket<S> {
        StreamSocket { shared, number }
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }
}

impl<S: Socket> Sender for StreamSocket<S> {
    /// Starts the request with this number.
    #[inline]
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let number: [u8; 4] = bytes.try_into().map_err(|_| ErrorKind::InvalidInput)?;
        self.shared.borrow_mut().request(self.number, u32::from_le_bytes(number) as usize)?;
        Ok(bytes.len())
    }

    fn send_and_more(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send(bytes)
    }

    fn send_pieces(&self, _pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        Err(ErrorKind::Unsupported.into())
    }

    fn send_file(&self, _file: &File, _offset: &mut u64, _count: usize) -> io::Result<usize> {
        Err(ErrorKind::Unsupported.into())
    }
}

impl<S: Socket> Socket for StreamSocket<S> {
    /// A request can be sent when the connection is there.
    fn connected(&self, _now_ns: u64) -> io::Result<Connected> {
        let shared = self.shared.borrow();
        match shared.connected(self.number)? {
            Some(handshake_from_ns) => Ok(Connected::Yes { handshake_from_ns }),
            None => Ok(Connected::NotYet(Interest::Write)),
        }
    }

    fn is_opener(&self) -> bool {
        self.shared.borrow().is_opener(self.number)
    }

    #[inline]
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.shared.borrow_mut().receive(self.number, buffer)
    }

    /// Connections do so from their beginning.
    fn send_at_once(&self) -> io::Result<()> {
        Ok(())
    }

    fn finish_sending(&self) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn reset_on_close(&self) -> io::Result<()> {
        self.shared.borrow_mut().reset_on_close(self.number);
        Ok(())
    }

    fn acknowledged(&self) -> io::Result<u64> {
        Err(ErrorKind::Unsupported.into())
    }

    fn peer(&self) -> io::Result<SocketAddr> {
        Err(ErrorKind::Unsupported.into())
    }

    /// Gives up a request that is under way; the last exchange of a connection closes it.
    fn close(self) -> io::Result<()> {
        self.shared.borrow_mut().close(self.number);
        Ok(())
    }
}
