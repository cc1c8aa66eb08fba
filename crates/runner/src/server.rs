//! Parses `--server`: where the server of a load runs, whether that address may be loaded, and whether its
//! clients can reach it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use fleet::NamedHost;
use record::Server;

use crate::Error;

/// Parses `ADDRESS`, where a server already runs, or `ADDRESS=COMMAND`, which starts programs there.
/// The address is a number, with a port or without: a name may mean another machine tomorrow. The command is
/// split into words as POSIX shells do.
///
/// # Errors
/// [`Error::Server`].
pub fn parse_server(text: &str) -> Result<Server, Error> {
    let refused = |reason| Error::Server { text: text.to_owned(), reason };
    let (address, command) = text.split_once('=').unwrap_or((text, ""));
    if ip(address).is_none() {
        return Err(refused("it is neither an IP address nor IP:PORT"));
    }
    let prefix = shlex::split(command).ok_or_else(|| refused("a quotation mark is not closed"))?;
    if prefix.first().is_some_and(String::is_empty) {
        return Err(refused("the command's first word is empty"));
    }
    Ok(Server { address: address.to_owned(), prefix })
}

/// Refuses an address beyond this machine and private networks, because a load there affects other people.
pub(crate) fn refuse_public(server: &Server) -> Result<(), Error> {
    match ip(&server.address) {
        Some(ip) if sys::address::is_private(ip) => Ok(()),
        _ => Err(Error::PublicServer { address: server.address.clone() }),
    }
}

/// Refuses a server on loopback where its clients are on other machines: each would load itself.
pub(crate) fn refuse_unreachable(server: Option<&Server>, clients: &[NamedHost]) -> Result<(), Error> {
    let address = server.map_or(Some(Ipv4Addr::LOCALHOST.into()), |server| ip(&server.address));
    let elsewhere = clients.iter().filter(|client| client.is_behind_ssh());
    let elsewhere: Vec<&str> = elsewhere.map(|client| client.name.as_str()).collect();
    match address.filter(IpAddr::is_loopback) {
        Some(address) if !elsewhere.is_empty() => {
            Err(Error::UnreachableServer { clients: elsewhere.join(", "), address })
        }
        _ => Ok(()),
    }
}

fn ip(address: &str) -> Option<IpAddr> {
    let with_port = || address.parse::<SocketAddr>().ok().map(|address| address.ip());
    address.parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_commands_are_told_apart() {
        let server = |text| parse_server(text).expect("a server");
        assert_eq!(server("10.0.0.2").prefix, [""; 0]);
        assert_eq!(server("[fd00::2]:8080").address, "[fd00::2]:8080");
        let behind = server("10.0.0.2:25=ip netns exec 'the other'");
        assert_eq!(
            (behind.address.as_str(), &behind.prefix[..]),
            ("10.0.0.2:25", &["ip", "netns", "exec", "the other"].map(str::to_owned)[..])
        );
        for wrong in ["", "localhost", "10.0.0", "10.0.0.2:", "=ssh", "10.0.0.2='ssh", "10.0.0.2='' ssh"] {
            assert!(parse_server(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn public_addresses_are_refused() {
        let is_refused = |text| refuse_public(&parse_server(text).expect("a server")).is_err();
        assert!(!is_refused("192.168.0.1:80") && !is_refused("fd12::1"));
        assert!(is_refused("[::ffff:9.9.9.9]:80") && is_refused("100.64.0.1"));
    }

    #[test]
    fn clients_elsewhere_need_an_address_that_they_can_reach() {
        let clients = |text| fleet::listed(&[text]).expect("hosts");
        let refused = |server: Option<&str>, text| {
            let server = server.map(|text| parse_server(text).expect("a server"));
            refuse_unreachable(server.as_ref(), &clients(text)).err().map(|error| error.to_string())
        };
        let why = refused(None, "here=,n[1-2]").expect("a refusal");
        assert!(why.contains("n1, n2") && why.contains("127.0.0.1") && why.contains("--server"), "{why}");
        assert!(refused(Some("127.0.0.2:80=env"), "n1=timeout 9 ssh n1").is_some());
        assert_eq!(refused(Some("10.0.0.2=env"), "n1"), None);
        assert_eq!(refused(None, "n[1-2]=env X={}"), None, "commands on this machine");
    }
}
