//! Ways for bytes within a machine: pipes, pairs of sockets, and pipes with names.

use std::fs::File;
use std::io;

use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::error::checked;
use crate::file::Path;

/// Both ends of a channel.
#[derive(Debug)]
pub struct Channel {
    input: File,
    output: File,
}

impl Channel {
    /// One pipe(2).
    ///
    /// # Errors
    /// Those of pipe(2).
    #[inline]
    pub fn pipe() -> io::Result<Channel> {
        let (input, output) = rustix::pipe::pipe()?;
        Ok(Channel { input: input.into(), output: output.into() })
    }

    /// One socketpair(2) of stream sockets.
    ///
    /// # Errors
    /// Those of socketpair(2).
    #[inline]
    pub fn socket_pair() -> io::Result<Channel> {
        let (family, flags) = (AddressFamily::UNIX, SocketFlags::empty());
        let (input, output) = rustix::net::socketpair(family, SocketType::STREAM, flags, None)?;
        Ok(Channel { input: input.into(), output: output.into() })
    }

    /// Opens both ends of a pipe that has a name, by two open(2).
    ///
    /// # Errors
    /// Those of open(2).
    #[inline]
    pub fn named(path: &Path) -> io::Result<Channel> {
        let open = |flags| rustix::fs::open(path.as_c_str(), flags, Mode::empty());
        // Otherwise it would wait for the other end.
        let input = open(OFlags::RDONLY | OFlags::NONBLOCK)?;
        Ok(Channel { input: input.into(), output: open(OFlags::WRONLY)?.into() })
    }

    /// Sends a byte through it, by one write(2) and one read(2), and returns the byte that arrived.
    ///
    /// # Errors
    /// Those of both calls.
    #[inline]
    pub fn pass(&self, byte: u8) -> io::Result<u8> {
        let mut arrived = [0];
        rustix::io::write(&self.output, &[byte])?;
        match rustix::io::read(&self.input, &mut arrived)? {
            1 => Ok(arrived[0]),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Closes both ends, by two close(2).
    ///
    /// # Errors
    /// Those of close(2).
    #[inline]
    pub fn close(self) -> io::Result<()> {
        crate::file::close(self.input)?;
        crate::file::close(self.output)
    }
}

/// Makes a name for a pipe, by one mkfifo(3).
///
/// # Errors
/// Those of mkfifo(3).
#[inline]
pub fn make_named_pipe(path: &Path) -> io::Result<()> {
    // SAFETY: the path ends with a zero byte and lives as long as the call.
    checked(unsafe { libc::mkfifo(path.as_c_str().as_ptr(), 0o600) }).map(drop)
}
