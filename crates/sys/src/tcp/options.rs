//! How a listener is made, and whether calls on a connection wait.

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
    /// They answer `WouldBlock`.
    NonBlocking,
}
