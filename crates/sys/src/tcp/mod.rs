//! TCP as servers and load generators use it: listeners, connections, and one system call per name.
//!
//! The module `socket` has bare sockets for the curves; this module has connections that transfer data.

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

use std::fs::File;
use std::io;
use std::net::SocketAddr;

use crate::handle::AsHandle;
#[cfg(unix)]
pub use platform::BoundSocket;
pub use platform::{Connection, Listener};

/// TCP sockets that are open on this machine, of all processes; on Linux those of this network namespace.
///
/// # Errors
/// Unsupported.
pub fn in_use() -> io::Result<u64> {
    cfg_select! {
        target_os = "linux" => { sockstat::in_use() }
        _ => { Err(crate::Unsupported("open sockets are counted on Linux only").into()) }
    }
}

/// Closed TCP connections in TIME_WAIT (RFC 9293, 3.6), which take memory until that is over, of all
/// processes; on Linux those of this network namespace.
///
/// # Errors
/// Unsupported.
pub fn time_wait() -> io::Result<u64> {
    cfg_select! {
        target_os = "linux" => { sockstat::time_wait() }
        _ => { Err(crate::Unsupported("connections in TIME_WAIT are counted on Linux only").into()) }
    }
}

/// Bytes that the other end of a connection has acknowledged since it was made (tcp(7), `TCP_INFO`). They
/// only grow.
///
/// # Errors
/// Those of getsockopt(2); unsupported.
pub fn acknowledged(connection: &impl AsHandle) -> io::Result<u64> {
    cfg_select! {
        target_os = "linux" => { info::acknowledged(connection.handle()) }
        _ => { crate::error::unsupported("acknowledged bytes are read on Linux only", connection) }
    }
}

/// Bytes and segments that have arrived at this end of a connection since it was made.
///
/// # Errors
/// Those of getsockopt(2); unsupported.
pub fn received(connection: &impl AsHandle) -> io::Result<ReceivedBytes> {
    cfg_select! {
        target_os = "linux" => { info::received(connection.handle()) }
        _ => { crate::error::unsupported("the bytes of a connection are counted on Linux only", connection) }
    }
}

impl Connection {
    /// Begins to connect; a blocking one is connected when this returns. `from` is as for
    /// [`Connection::prepare`].
    ///
    /// # Errors
    /// Those of socket(2), bind(2) and connect(2).
    #[inline]
    pub fn connect(to: SocketAddr, from: Option<SocketAddr>, waiting: Waiting) -> io::Result<Connection> {
        let connection = Connection::prepare(to, from, waiting)?;
        connection.begin(to)?;
        Ok(connection)
    }

    /// One sendfile(2), or a read and a send where the system has none: up to `count` bytes of the file from
    /// `offset`, which moves on. 0 when the file is shorter.
    ///
    /// # Errors
    /// Those of sendfile(2).
    pub fn send_file(&self, file: &File, offset: &mut u64, count: usize) -> io::Result<usize> {
        cfg_select! {
            any(target_os = "linux", target_os = "android") => {
                Ok(rustix::fs::sendfile(self, file, Some(offset), count)?)
            }
            _ => {
                let mut chunk = [0_u8; 16 << 10];
                let wanted = chunk.len().min(count);
                let read = crate::file::read_some_at(file, &mut chunk[..wanted], *offset)?;
                let sent = self.send(&chunk[..read])?;
                *offset += sent as u64;
                Ok(sent)
            }
        }
    }
}

/// How a listener is made.
#[derive(Clone, Copy, Debug)]
pub struct Listening {
    /// Connections that may wait to be accepted; the system may cut it (`net.core.somaxconn`).
    pub backlog: u16,
    /// Several listeners share the port, and the system spreads connections over them (`SO_REUSEPORT`).
    pub share_port: bool,
    /// Connections come from this machine alone, whatever the address: every one of 127.0.0.0/8 can be
    /// served.
    pub loopback: bool,
    /// Whether `accept` waits.
    pub blocking: bool,
}

impl Default for Listening {
    fn default() -> Listening {
        Listening { backlog: 4096, share_port: false, loopback: false, blocking: false }
    }
}

/// Whether calls on a connection wait for the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// They wait.
    Blocking,
    /// They return `WouldBlock`.
    NonBlocking,
}

/// The kernel's counters of one end of a connection (tcp(7), `TCP_INFO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedBytes {
    /// Bytes that have arrived at this end.
    pub bytes: u64,
    /// Segments in both directions, acknowledgements too.
    pub segments: u64,
    /// Each segment carries timestamps, which make its header longer.
    pub has_timestamps: bool,
}

/// How many sockets Linux has: /proc/net/sockstat and sockstat6 (proc_pid_net(5)).
#[cfg(target_os = "linux")]
mod sockstat {
    use std::io;

    use crate::pseudo_file::text;

    pub(super) fn in_use() -> io::Result<u64> {
        // A kernel without IPv6 has no such file.
        let v6 = count("/proc/net/sockstat6", "TCP6:", "inuse").unwrap_or(0);
        count("/proc/net/sockstat", "TCP:", "inuse").map(|v4| v4 + v6).ok_or_else(unreadable)
    }

    pub(super) fn time_wait() -> io::Result<u64> {
        // Those of IPv6 are among them.
        count("/proc/net/sockstat", "TCP:", "tw").ok_or_else(unreadable)
    }

    /// The number after the name in the line of the protocol: `TCP: inuse 8 orphan 0 tw 2`.
    pub(super) fn count(file: &str, protocol: &str, name: &str) -> Option<u64> {
        let text = text(file)?;
        let mut words = text.lines().find_map(|line| line.strip_prefix(protocol))?.split_whitespace();
        words.find(|word| *word == name)?;
        words.next()?.parse().ok()
    }

    fn unreadable() -> io::Error {
        io::Error::other("/proc/net/sockstat cannot be read")
    }
}

/// `TCP_INFO` of Linux (tcp(7)): the kernel's counters of a connection.
#[cfg(target_os = "linux")]
mod info {
    use std::io;
    use std::os::fd::{AsRawFd, BorrowedFd};

    use super::ReceivedBytes;
    use crate::error::checked;

    /// `tcpi_bytes_acked` of `struct tcp_info` in linux/tcp.h, since Linux 4.1: eight bytes and 24 numbers of
    /// four come first, then two of eight.
    const BYTES_ACKED: usize = (8 + 24 * 4 + 2 * 8) / 8;

    pub(super) fn acknowledged(connection: BorrowedFd<'_>) -> io::Result<u64> {
        let mut info = [0_u64; BYTES_ACKED + 1];
        fill_info(connection, &mut info)?;
        Ok(info[BYTES_ACKED])
    }

    /// `tcpi_bytes_received` follows it, then `tcpi_segs_out` and `tcpi_segs_in`, of four bytes each (Linux
    /// 4.2).
    const BYTES_RECEIVED: usize = BYTES_ACKED + 1;
    const SEGMENTS: usize = BYTES_RECEIVED + 1;

    pub(super) fn received(connection: BorrowedFd<'_>) -> io::Result<ReceivedBytes> {
        /// `tcpi_options` is the sixth byte, and `TCPI_OPT_TIMESTAMPS` its first bit.
        const OPTIONS: usize = 5;
        let mut info = [0_u64; SEGMENTS + 1];
        fill_info(connection, &mut info)?;
        let both = info[SEGMENTS];
        Ok(ReceivedBytes {
            bytes: info[BYTES_RECEIVED],
            segments: (both >> 32) + (both & u64::from(u32::MAX)),
            has_timestamps: info[0].to_ne_bytes()[OPTIONS] & 1 == 1,
        })
    }

    /// Fills in the beginning of the connection's `struct tcp_info`.
    fn fill_info(connection: BorrowedFd<'_>, info: &mut [u64]) -> io::Result<()> {
        let mut length = size_of_val(info) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes into `info`, and how many into `length`; both live
        // as long as the call.
        let answered = unsafe {
            libc::getsockopt(
                connection.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        checked(answered)?;
        if (length as usize) < size_of_val(info) {
            return Err(crate::Unsupported("this kernel is older than Linux 4.2, which counts them").into());
        }
        Ok(())
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn what_the_other_end_has_taken_is_acknowledged() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut one = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut other = listener.accept().unwrap().0;
        let before = info::acknowledged(one.as_fd()).unwrap();
        one.write_all(&[7; 50_000]).unwrap();
        other.read_exact(&mut [0; 50_000]).unwrap();
        // The acknowledgement may be delayed.
        other.write_all(b"!").unwrap();
        one.read_exact(&mut [0]).unwrap();
        assert_eq!(info::acknowledged(one.as_fd()).unwrap() - before, 50_000);
        let received = info::received(other.as_fd()).unwrap();
        assert_eq!(received.bytes, 50_000);
        assert!(received.segments >= 4, "both directions: {received:?}");
    }

    #[test]
    fn sockets_are_counted_by_name() {
        assert!(in_use().is_ok());
        assert!(time_wait().is_ok());
        assert_eq!(sockstat::count("/proc/net/sockstat", "TCP:", "no such name"), None);
    }
}
