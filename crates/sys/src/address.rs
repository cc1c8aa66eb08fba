//! Addresses that lie outside the Internet.

use std::net::{IpAddr, Ipv6Addr};

/// Whether the address belongs to this machine or to a private network, so that a load cannot reach
/// strangers: loopback (RFC 1122, RFC 4291), private use (RFC 1918), link-local of IPv6 (RFC 4291) and
/// unique local (RFC 4193).
///
/// 169.254.0.0/16 is not among them. Link-local addresses of IPv4 (RFC 3927) are where clouds have their
/// metadata services, which belong to the provider and give out credentials. Neither are the two unique local
/// addresses of such services, at Amazon EC2 and at Google Compute Engine.
///
/// 100.64.0.0/10 is not among them. It is shared address space between a provider and its customers (RFC
/// 6598, section 4): a host there may be the provider's equipment, or another customer's. Overlay networks
/// that borrow it need `--allow-public`.
pub fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_loopback() || address.is_private(),
        IpAddr::V6(address) => {
            let is_local = address.is_unique_local() && !METADATA.contains(&address);
            address.is_loopback() || is_local || address.is_unicast_link_local()
        }
    }
}

/// Metadata services at unique local addresses: Amazon EC2 and Google Compute Engine.
const METADATA: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254),
    Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_networks_of_ones_own_are_private() {
        let private = |text: &str| is_private(text.parse().expect("an address"));
        let own = [
            "127.0.0.9",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "::1",
            "fd12::1",
            "fd00:ec2::253",
            "fe80::1",
            "::ffff:10.0.0.1",
        ];
        for address in own {
            assert!(private(address), "{address}");
        }
        let others = [
            "8.8.8.8",
            "172.32.0.1",
            "100.64.0.1",
            "169.254.169.254",
            "::ffff:169.254.1.1",
            "fd00:ec2::254",
            "fd20:ce::254",
            "100.128.0.1",
            "192.0.2.1",
            "0.0.0.0",
            "2001:db8::1",
            "::ffff:9.9.9.9",
            "fec0::1",
        ];
        for address in others {
            assert!(!private(address), "{address}");
        }
    }
}
