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
#[cfg(target_os = "linux")]
mod sockstat;

mod options;
mod received;

pub use options::{Listening, Waiting};
pub use platform::{Connection, Listener};
pub use received::ReceivedBytes;

use crate::handle::AsHandle;

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

/// Bytes that the other end of a connection has acknowledged since it was made (tcp(7), `TCP_INFO`). They
/// only grow, whatever is given to send meanwhile.
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

/// What has arrived at this end of a connection since it was made, and in how many segments.
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
