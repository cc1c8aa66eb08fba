//! The settings of an engine and of its sessions, and the addresses that may be connected to: those of this
//! machine and of private networks, and public ones that a user named one by one.
//!
//! The check of an address is right before connect(2), and never of a name, so that no response of a DNS
//! server directs mail or load to a stranger.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use net::load::Sources;
use net::smtp::{ArgumentText, Mailbox};
use serde::{Deserialize, Serialize};

use crate::MailError;
use crate::connection::MailTls;
use crate::joint::Share;
use crate::message::Message;
use crate::queue::QueueSettings;
use crate::route::Routing;

/// The settings of an engine, beside its list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EngineSettings {
    /// The settings of each session.
    pub session: SessionSettings,
    /// Limits, and the reaction to failures.
    pub queue: QueueSettings,
    /// Where the mail of each domain goes.
    pub routing: Routing,
    /// Addresses that connections begin at.
    pub sources: Sources,
    /// The addresses that may be connected to.
    pub permission: Permission,
    /// Whether connections are encrypted.
    pub tls: MailTls,
    /// The longest that a connection waits for a step (RFC 5321, section 4.5.3.2, asks for minutes).
    pub step_timeout: Duration,
}

impl EngineSettings {
    /// The share of one of several engines: each has no more connections to a host than its part.
    pub(crate) fn of_share(&self, share: Share) -> EngineSettings {
        let connections_per_host = share.part(self.queue.connections_per_host);
        EngineSettings { queue: QueueSettings { share, connections_per_host, ..self.queue }, ..self.clone() }
    }
}

/// The steps for each recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Every step of a delivery with RSET in place of DATA, each after the reply to the one before: the
    /// experiment of 2001.
    Test,
    /// The same with whole transactions sent back to back.
    TestPipelined,
    /// The message is delivered.
    Deliver,
}

/// The settings that all sessions of an engine share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionSettings {
    /// The steps for each recipient.
    pub mode: Mode,
    /// The name by which the engine introduces itself (RFC 5321, section 4.1.1.1).
    pub helo: String,
    /// The address to which failures would be reported; empty is the null path (section 4.5.5).
    pub sender: String,
    /// The message; test mode states its size only.
    pub message: Arc<Message>,
    /// Recipients for which one connection is used.
    pub deliveries_per_connection: u32,
}

impl SessionSettings {
    /// Whether the names in it can be sent.
    pub(crate) fn check(&self) -> Result<(), MailError> {
        if ArgumentText::new(&self.helo).is_none_or(|name| name.get().is_empty() || name.get().contains(' '))
        {
            return Err(MailError::Settings(format!("{:?} cannot be the name in EHLO", self.helo)));
        }
        match Mailbox::parse(&self.sender) {
            Err(reason) if !self.sender.is_empty() => {
                Err(MailError::Settings(format!("{:?} cannot be the sender: {reason}", self.sender)))
            }
            _ => Ok(()),
        }
    }
}

/// The permissions of a user.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Permission {
    public: HashSet<IpAddr>,
}

/// An address that must not be connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is a public address; only this machine and private networks are connected to. If its owner agrees, \
     write the address into a file and name it with --allow-public"
)]
pub struct NotPermitted(pub IpAddr);

impl Permission {
    /// Allows, beside private networks, the addresses of a text: one a line, `#` begins a comment.
    ///
    /// # Errors
    /// The line that is no address, with its number.
    pub fn parse(text: &str) -> Result<Permission, String> {
        let mut public = HashSet::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let address = line.parse::<IpAddr>().map_err(|_| {
                format!("line {}: {line:?} is no address; names and networks are not allowed", index + 1)
            })?;
            public.insert(address.to_canonical());
        }
        Ok(Permission { public })
    }

    /// Whether the address may be connected to.
    ///
    /// # Errors
    /// [`NotPermitted`].
    pub fn check(&self, address: SocketAddr) -> Result<(), NotPermitted> {
        let address = address.ip().to_canonical();
        if sys::address::is_private(address) || self.public.contains(&address) {
            Ok(())
        } else {
            Err(NotPermitted(address))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(permission: &Permission, address: &str) -> bool {
        permission.check(address.parse().expect("an address")).is_ok()
    }

    #[test]
    fn public_addresses_must_be_named() {
        let none = Permission::default();
        assert!(check(&none, "127.0.0.1:25") && check(&none, "[::1]:25") && check(&none, "10.0.0.1:25"));
        assert!(!check(&none, "192.0.2.1:25") && !check(&none, "[::ffff:192.0.2.1]:25"));
        let one = Permission::parse("# ours\n192.0.2.1 # the test server\n\n").expect("a list");
        assert!(check(&one, "192.0.2.1:25") && check(&one, "[::ffff:192.0.2.1]:25"));
        assert!(!check(&one, "192.0.2.2:25"));
    }

    #[test]
    fn a_name_is_not_an_address() {
        let error = Permission::parse("127.0.0.1\nmail.example\n").expect_err("a name");
        assert!(error.contains("line 2") && error.contains("mail.example"), "{error}");
        assert!(Permission::parse("192.0.2.0/24").is_err());
    }
}
