//! Which DNS servers there are.

use std::net::{IpAddr, SocketAddr};

/// The port of DNS (RFC 1035, section 4.2).
const PORT: u16 = 53;

/// Servers that are asked; resolv.conf(5) has as many.
pub(super) const SERVERS_MAX: usize = 3;

/// The servers that a resolv.conf(5) names, the first three. Lines that are none are passed over, as the
/// system's own resolver does.
pub fn of_resolv_conf(text: &str) -> Vec<SocketAddr> {
    let server = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let address: IpAddr =
            (words.next()? == "nameserver").then(|| words.next()?.parse().ok()).flatten()?;
        Some(SocketAddr::new(address, PORT))
    };
    text.lines().filter_map(server).take(SERVERS_MAX).collect()
}
