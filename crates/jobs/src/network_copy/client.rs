//! The interface of a protocol for the workload: a server for one trial, and a client that copies one file at
//! a time.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use workload::{Trial, TrialError};

/// The silence after which a server has failed.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// A server that has the files of the trial. Dropped, it ends.
pub(super) trait Server {
    /// A client of it.
    fn client(&self) -> io::Result<Box<dyn Client>>;

    /// The error, or why the server has ended, if that caused it.
    fn cause(&mut self, error: io::Error) -> io::Error;

    /// Ends it in order, and checks its results.
    fn stop(self: Box<Self>, trial: &mut Trial<'_>) -> Result<(), TrialError>;
}

/// The client's side of one copy after the other. Its methods are called in this order, and none after an
/// error.
pub(super) trait Client {
    /// Connects.
    fn connect(&mut self) -> io::Result<()>;

    /// Authenticates the user. Returns whether the protocol does that.
    fn authenticate(&mut self) -> io::Result<bool> {
        Ok(false)
    }

    /// Opens a file.
    fn open(&mut self, name: &str) -> io::Result<()>;

    /// The next piece of the file; empty at its end.
    fn receive(&mut self) -> io::Result<&[u8]>;

    /// Closes the file and the connection.
    fn close(&mut self) -> io::Result<()>;
}

/// Connects to a server that may not be silent for long.
pub(super) fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    stream.set_write_timeout(Some(SILENCE_MAX))?;
    // Requests are shorter than a packet, and nothing follows them.
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// An unused port of loopback. Another program may take it before the server, which then reports that.
pub(super) fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// For a response that a server must not give.
pub(super) fn protocol(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// For a call that comes before its turn.
pub(super) fn not_connected() -> io::Error {
    io::ErrorKind::NotConnected.into()
}
