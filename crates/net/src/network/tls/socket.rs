//! One connection of a client that speaks TLS, rustls in front of a socket, and the client's side of TLS on a
//! connection that began without it (STARTTLS, RFC 3207).
//!
//! It keeps the promises of a plain one: no call waits; bytes count as sent only when they have left; and all
//! decrypted bytes are handed on at once, because the set of sockets would not report bytes that lie here.

use std::cell::{Cell, RefCell, RefMut};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use sys::event::Interest;
use sys::handle::{AsHandle, Handle};
use sys::tcp::Connection;

use super::{TlsFault, TlsSettings, encrypted_buffer};
use crate::Error;
use crate::network::{Connected, Socket};
use crate::output::Sender;

/// The configuration that the connections of a client share; it belongs to one thread.
pub struct TlsClient {
    config: Arc<ClientConfig>,
    /// The name that certificates must have; `None` if any certificate will do.
    name: Option<ServerName<'static>>,
    encrypted: Rc<RefCell<Box<[u8]>>>,
}

impl TlsClient {
    /// A client for servers with those certificates; without settings any certificate will do, which protects
    /// only against passive listeners (RFC 7435).
    ///
    /// # Errors
    /// [`Error::Settings`] where a certificate cannot be read, [`Error::Unsupported`] where there is no
    /// cryptography.
    pub fn new(settings: Option<&TlsSettings>) -> Result<TlsClient, Error> {
        let anyone = TlsSettings { name: "localhost".to_owned(), cacert: None, insecure: true };
        let (config, name) = settings.unwrap_or(&anyone).open(None)?;
        let name = settings.map(|_| name);
        Ok(TlsClient { config: Arc::new(config), name, encrypted: encrypted_buffer() })
    }

    /// Speaks TLS from now on; the handshake begins with [`TlsConnection::handshake`].
    ///
    /// # Errors
    /// The error of the library, with the connection as it was.
    pub fn start(
        &self,
        connection: Connection,
        to: IpAddr,
    ) -> Result<TlsConnection, (Connection, io::Error)> {
        // The address of a server is not sent: SNI has only names (RFC 6066, section 3).
        let name = self.name.clone().unwrap_or(ServerName::IpAddress(to.into()));
        match ClientConnection::new(Arc::clone(&self.config), name) {
            Ok(tls) => Ok(TlsConnection(TlsSocket::new(connection, tls, Rc::clone(&self.encrypted)))),
            Err(error) => Err((connection, TlsFault::from(error).into())),
        }
    }
}

/// How far a handshake came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// Both ends speak TLS.
    Done,
    /// It goes on when the connection is ready for that.
    Waits(Interest),
}

/// A connection that speaks TLS. No call waits.
pub struct TlsConnection(TlsSocket<Connection>);

impl TlsConnection {
    /// Goes on with the handshake.
    ///
    /// # Errors
    /// Those of the connection; a certificate that is not accepted; a server that speaks something else.
    pub fn handshake(&self) -> io::Result<Handshake> {
        Ok(match self.0.connected(0)? {
            Connected::Yes { .. } => Handshake::Done,
            Connected::NotYet(interest) => Handshake::Waits(interest),
        })
    }

    /// One recv(2), decrypted; 0 is the end. The buffer must have room for 64 KiB.
    ///
    /// # Errors
    /// Those of recv(2), and a server that breaks the protocol.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.receive(buffer)
    }

    /// Sends `close_notify`, and closes.
    pub fn close(self) {
        // An error can be ignored: nothing depends on it.
        let _ = self.0.close();
    }
}

impl AsHandle for TlsConnection {
    fn handle(&self) -> Handle<'_> {
        self.0.plain().handle()
    }
}

impl Sender for TlsConnection {
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes)
    }
}

pub(crate) struct TlsSocket<S> {
    socket: S,
    tls: RefCell<ClientConnection>,
    encrypted: Rc<RefCell<Box<[u8]>>>,
    /// When the connection was there, and the handshake began.
    handshake_ns: Cell<Option<u64>>,
    /// Bytes that were given to be sent, are encrypted and have not left: they are not counted as sent yet.
    unsent: Cell<usize>,
    /// The server has sent `close_notify`.
    has_ended: Cell<bool>,
    /// Nothing is sent before the close.
    is_reset: Cell<bool>,
}

/// Bytes that are encrypted before any of them has left.
const SEND_BYTES: usize = 32 << 10;

impl<S: Socket> TlsSocket<S> {
    pub(super) fn new(socket: S, tls: ClientConnection, encrypted: Rc<RefCell<Box<[u8]>>>) -> TlsSocket<S> {
        TlsSocket {
            socket,
            tls: RefCell::new(tls),
            encrypted,
            handshake_ns: Cell::default(),
            unsent: Cell::default(),
            has_ended: Cell::default(),
            is_reset: Cell::default(),
        }
    }

    pub(super) fn plain(&self) -> &S {
        &self.socket
    }

    /// Sends the encrypted bytes. True if all of them have left.
    fn flush(&self, tls: &mut RefMut<'_, ClientConnection>) -> io::Result<bool> {
        while tls.wants_write() {
            match tls.write_tls(&mut Leaving(&self.socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(self.last_alert(tls).unwrap_or(error)),
            }
        }
        Ok(true)
    }

    /// Why the server has closed, if it sent an alert, which lies unread while this side still sends.
    #[cold]
    fn last_alert(&self, tls: &mut RefMut<'_, ClientConnection>) -> Option<io::Error> {
        let mut encrypted = self.encrypted.try_borrow_mut().ok()?;
        let received = self.socket.receive(&mut encrypted).ok()?;
        let mut rest = &encrypted[..received];
        while !rest.is_empty() {
            tls.read_tls(&mut rest).ok()?;
            if let Err(error @ rustls::Error::AlertReceived(_)) = tls.process_new_packets() {
                return Some(TlsFault::from(error).into());
            }
        }
        None
    }

    /// One recv(2), and all that can be decrypted with it.
    fn decrypt(&self, tls: &mut RefMut<'_, ClientConnection>, plain: &mut [u8]) -> io::Result<usize> {
        let mut encrypted = self.encrypted.borrow_mut();
        let received = self.socket.receive(&mut encrypted)?;
        if received == 0 {
            let is_open = tls.is_handshaking();
            return Err(if is_open { TlsFault::Unfinished.into() } else { TlsFault::Truncated.into() });
        }
        let mut rest = &encrypted[..received];
        let mut decrypted = 0;
        while !rest.is_empty() && !self.has_ended.get() {
            tls.read_tls(&mut rest)?;
            let state = tls.process_new_packets().map_err(|error| {
                // The server gets the reason; if that fails, nothing is lost.
                let _ = self.flush(tls);
                TlsFault::from(error)
            })?;
            decrypted += take(tls, &mut plain[decrypted..]);
            self.has_ended.set(state.peer_has_closed());
        }
        // A reply to a key update of the server; bytes that do not leave now leave with the next request.
        self.flush(tls)?;
        Ok(decrypted)
    }
}

fn take(tls: &mut RefMut<'_, ClientConnection>, plain: &mut [u8]) -> usize {
    let mut taken = 0;
    while let Ok(read @ 1..) = tls.reader().read(&mut plain[taken..]) {
        taken += read;
    }
    taken
}

/// The destination of encrypted bytes.
struct Leaving<'a, S>(&'a S);

impl<S: Socket> Write for Leaving<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<S: Socket> Sender for TlsSocket<S> {
    /// Bytes are sent when they have left. Where the socket takes no more, the same ones must be given again,
    /// as a loop does with those that were not sent.
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut tls = self.tls.borrow_mut();
        let has_room = self.flush(&mut tls)?;
        if tls.is_handshaking() || !has_room {
            return Err(ErrorKind::WouldBlock.into());
        }
        let mut sent = self.unsent.take();
        while sent < bytes.len() {
            let end = bytes.len().min(sent + SEND_BYTES);
            let taken = tls.writer().write(&bytes[sent..end])?;
            if taken == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
            if !self.flush(&mut tls)? {
                self.unsent.set(taken);
                break;
            }
            sent += taken;
        }
        if sent > 0 { Ok(sent) } else { Err(ErrorKind::WouldBlock.into()) }
    }
}

impl<S: Socket> Socket for TlsSocket<S> {
    /// The connection is ready when the handshake is over, which ends with a message of the client.
    fn connected(&self, now_ns: u64) -> io::Result<Connected> {
        if self.handshake_ns.get().is_none() {
            if let Connected::NotYet(interest) = self.socket.connected(now_ns)? {
                return Ok(Connected::NotYet(interest));
            }
            self.handshake_ns.set(Some(now_ns));
            let _ = self.socket.send_at_once();
        }
        let mut tls = self.tls.borrow_mut();
        loop {
            let has_left = self.flush(&mut tls)?;
            match (tls.is_handshaking(), has_left) {
                (false, true) => break,
                (_, false) => return Ok(Connected::NotYet(Interest::Write)),
                (true, true) => {}
            }
            match self.decrypt(&mut tls, &mut []) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(Connected::NotYet(Interest::Read));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Connected::Yes { handshake_from_ns: self.handshake_ns.get() })
    }

    #[inline]
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_ended.get() {
            return Ok(0);
        }
        let mut tls = self.tls.borrow_mut();
        // Bytes right behind the handshake.
        let before = take(&mut tls, buffer);
        if before > 0 {
            return Ok(before);
        }
        match self.decrypt(&mut tls, buffer)? {
            0 if !self.has_ended.get() => Err(ErrorKind::WouldBlock.into()),
            decrypted => Ok(decrypted),
        }
    }

    fn send_at_once(&self) -> io::Result<()> {
        self.socket.send_at_once()
    }

    fn finish_sending(&self) -> io::Result<()> {
        self.socket.finish_sending()
    }

    fn reset_on_close(&self) -> io::Result<()> {
        self.is_reset.set(true);
        self.socket.reset_on_close()
    }

    fn acknowledged(&self) -> io::Result<u64> {
        self.socket.acknowledged()
    }

    fn peer(&self) -> io::Result<SocketAddr> {
        self.socket.peer()
    }

    /// Sends `close_notify`, unless the server has closed already, which would cause a reset.
    fn close(self) -> io::Result<()> {
        let mut tls = self.tls.borrow_mut();
        if !self.has_ended.get() && !self.is_reset.get() && !tls.is_handshaking() {
            tls.send_close_notify();
            let _ = self.flush(&mut tls);
        }
        drop(tls);
        self.socket.close()
    }
}
