//! Where connections come from: one address has about 28 000 ports towards a server, and several have as many
//! each.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::Error;

/// Addresses that connections begin at, in turn. None: the system chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sources(pub Vec<IpAddr>);

/// More addresses than this are no plan but a slip of the pen.
const ADDRESSES_MAX: u32 = 4096;

/// Connections from one address before loopback targets get several by themselves.
pub const FROM_ONE_ADDRESS: usize = 20_000;

impl Sources {
    /// Reads `127.0.0.2-127.0.0.20`, `127.0.1.0/24`, single addresses, and lists of all of these with commas.
    ///
    /// # Errors
    /// [`Error::Settings`] says what cannot be read.
    pub fn parse(text: &str) -> Result<Sources, Error> {
        let mut addresses = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            addresses.extend(parse_part(part).ok_or_else(|| {
                Error::Settings(format!(
                    "{part:?} names no source addresses; write 127.0.0.2, \
                     127.0.0.2-127.0.0.20 or 127.0.1.0/24 \
                     (at most {ADDRESSES_MAX})"
                ))
            })?);
        }
        Ok(Sources(addresses))
    }

    /// As many addresses of this machine as so many connections to the target need; none for other targets,
    /// or few connections.
    pub fn for_loopback(target: IpAddr, connections: usize) -> Sources {
        let IpAddr::V4(target) = target else { return Sources::default() };
        if !target.is_loopback() || connections <= FROM_ONE_ADDRESS {
            return Sources::default();
        }
        let first = u32::from(Ipv4Addr::new(127, 0, 0, 2));
        let count = u32::try_from(connections.div_ceil(FROM_ONE_ADDRESS)).unwrap_or(ADDRESSES_MAX);
        Sources((0..count.min(ADDRESSES_MAX)).map(|place| Ipv4Addr::from(first + place).into()).collect())
    }

    /// Where the connection of that number begins; `None` leaves it to the system. Without a bind(2) at all
    /// the system has the widest choice of ports.
    #[inline]
    pub fn of(&self, number: usize) -> Option<SocketAddr> {
        let addresses = &self.0;
        (!addresses.is_empty()).then(|| SocketAddr::new(addresses[number % addresses.len()], 0))
    }
}

fn parse_part(part: &str) -> Option<Vec<IpAddr>> {
    let range = |first: u32, last: u32| {
        let count = last.checked_sub(first)?;
        (count < ADDRESSES_MAX)
            .then(|| (first..=last).map(|address| Ipv4Addr::from(address).into()).collect())
    };
    let number = |text: &str| text.trim().parse::<Ipv4Addr>().ok().map(u32::from);
    if let Some((first, last)) = part.split_once('-') {
        return range(number(first)?, number(last)?);
    }
    if let Some((network, bits)) = part.split_once('/') {
        let bits: u32 = bits.parse().ok().filter(|bits| (20..=32).contains(bits))?;
        let hosts = (1_u64 << (32 - bits)) - 1;
        let first = number(network)? & !(hosts as u32);
        let last = first + hosts as u32;
        // The first names the network and the last is its broadcast address.
        return if bits < 31 { range(first + 1, last - 1) } else { range(first, last) };
    }
    Some(vec![part.parse().ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> Option<usize> {
        Sources::parse(text).ok().map(|sources| sources.0.len())
    }

    #[test]
    fn lists_ranges_and_networks() {
        assert_eq!(count("127.0.0.2-127.0.0.20"), Some(19));
        assert_eq!(count("127.0.1.0/24"), Some(254));
        assert_eq!(count("127.0.0.9, 127.0.1.8/30"), Some(3));
        assert_eq!(count("::1"), Some(1));
        for wrong in ["127.0.0.9-127.0.0.2", "10.0.0.0/8", "host", "1.2.3"] {
            assert_eq!(count(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn loopback_gets_addresses_when_ports_run_short() {
        let sources = |target: &str, n| Sources::for_loopback(target.parse().unwrap(), n).0.len();
        assert_eq!(sources("127.0.0.1", 20_000), 0);
        assert_eq!(sources("127.0.0.1", 100_000), 5);
        assert_eq!(sources("10.0.0.1", 100_000), 0);
    }

    #[test]
    fn connections_take_turns() {
        let sources = Sources::parse("127.0.0.2-127.0.0.3").unwrap();
        assert_eq!(sources.of(0), sources.of(2));
        assert_ne!(sources.of(0), sources.of(1));
        assert_eq!(Sources::default().of(5), None);
    }
}
