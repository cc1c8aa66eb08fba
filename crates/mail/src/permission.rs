//! The addresses that may be connected to: those of this machine and of private networks, and public ones
//! that a user named one by one.
//!
//! The check is right before connect(2), of the address and never of a name, so that no response of a DNS
//! server directs mail or load to a stranger.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

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
