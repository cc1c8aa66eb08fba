//! TCP as servers and load generators use it: listeners, connections, and one system call per name.
//!
//! The module `socket` has bare sockets for the curves; this module has connections that transfer data.

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(not(unix))]
#[path = "other.rs"]
mod platform;

#[cfg(target_os = "linux")]
mod sockstat;

mod options;

pub use options::{Listening, Waiting};
pub use platform::{Connection, Listener};

/// TCP sockets that are open on this machine, whoever has them; of Linux those of this network namespace.
///
/// # Errors
/// Unsupported.
pub fn in_use() -> std::io::Result<u64> {
    cfg_select! {
        target_os = "linux" => { sockstat::in_use() }
        _ => { Err(crate::Unsupported("open sockets are counted on Linux only").into()) }
    }
}

/// Closed TCP connections that rest in TIME_WAIT (RFC 9293, 3.6) and take memory until that is over, whoever
/// had them; of Linux those of this network namespace.
///
/// # Errors
/// Unsupported.
pub fn time_wait() -> std::io::Result<u64> {
    cfg_select! {
        target_os = "linux" => { sockstat::time_wait() }
        _ => { Err(crate::Unsupported("connections in TIME_WAIT are counted on Linux only").into()) }
    }
}

/// Bytes that a connection was given to send and that the other end has not acknowledged yet (tcp(7),
/// `SIOCOUTQ`).
///
/// # Errors
/// Those of ioctl(2); unsupported.
#[cfg(unix)]
pub fn unacknowledged(connection: std::os::fd::BorrowedFd<'_>) -> std::io::Result<u64> {
    cfg_select! {
        target_os = "linux" => { platform::unacknowledged(connection) }
        _ => {
            let _ = connection;
            Err(crate::Unsupported("what is still to be acknowledged is asked for on Linux only").into())
        }
    }
}
