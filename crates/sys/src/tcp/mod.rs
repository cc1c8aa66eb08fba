//! TCP as servers and load generators use it: listeners, connections, and one system call per name.
//!
//! The module `socket` has bare sockets for the curves; this module has connections that transfer data.

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

#[cfg(target_os = "linux")]
mod info;

#[cfg(unix)]
pub use platform::BoundSocket;
pub use platform::{Connection, Listener};

use crate::handle::AsHandle;

/// TCP sockets that are open on this machine, of all processes; on Linux those of this network namespace.
///
/// # Errors
/// Unsupported.
pub fn in_use() -> std::io::Result<u64> {
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
pub fn time_wait() -> std::io::Result<u64> {
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
pub fn acknowledged(connection: &impl AsHandle) -> std::io::Result<u64> {
    cfg_select! {
        target_os = "linux" => { info::acknowledged(connection.handle()) }
        _ => {
            let _ = connection;
            Err(crate::Unsupported("acknowledged bytes are read on Linux only").into())
        }
    }
}

/// Bytes and segments that have arrived at this end of a connection since it was made.
///
/// # Errors
/// Those of getsockopt(2); unsupported.
pub fn received(connection: &impl AsHandle) -> std::io::Result<ReceivedBytes> {
    cfg_select! {
        target_os = "linux" => { info::received(connection.handle()) }
        _ => {
            let _ = connection;
            Err(crate::Unsupported("the bytes of a connection are counted on Linux only").into())
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
    fn count(file: &str, protocol: &str, name: &str) -> Option<u64> {
        let text = text(file)?;
        let mut words = text.lines().find_map(|line| line.strip_prefix(protocol))?.split_whitespace();
        words.find(|word| *word == name)?;
        words.next()?.parse().ok()
    }

    fn unreadable() -> io::Error {
        io::Error::other("/proc/net/sockstat cannot be read")
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn sockets_are_counted_by_name() {
            assert!(super::in_use().is_ok());
            assert!(super::time_wait().is_ok());
            assert_eq!(super::count("/proc/net/sockstat", "TCP:", "no such name"), None);
        }
    }
}
