//! From the name of a server to the address that is loaded: public ones need an explicit flag, and of several
//! the first that accepts a connection is taken.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use net::load::Sources;
use serde::Serialize;

use crate::failure::Failure;

/// A server as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerName {
    /// A name or an address, without brackets.
    pub(super) host: String,
    /// The zone of a link-local address: the name or the number of an interface.
    pub(super) zone: Option<String>,
    pub(super) port: u16,
}

/// The address of a name that is loaded, and why others are not.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Resolved {
    name: String,
    address: SocketAddr,
    /// Addresses that come before it.
    skipped: Vec<Skipped>,
}

#[derive(Clone, Debug, Serialize)]
struct Skipped {
    address: SocketAddr,
    reason: String,
}

/// An address that accepts no connection within this time is skipped.
const CONNECT: Duration = Duration::from_secs(3);

/// The address to load; for a name, with its description. `sources` are of the family to take.
pub(super) fn resolve(
    name: &ServerName,
    allow_public: bool,
    sources: &Sources,
) -> Result<(SocketAddr, Option<Resolved>), Failure> {
    if let Ok(address) = name.host.parse::<IpAddr>() {
        let address = literal(name, address)?;
        return match allow_public || sys::address::is_private(address.ip()) {
            true => Ok((address, None)),
            false => Err(public(&address.ip().to_string())),
        };
    }
    let addresses = look_up(&name.host, name.port)?;
    let is_permitted = |address: &SocketAddr| allow_public || sys::address::is_private(address.ip());
    if !addresses.iter().any(is_permitted) {
        let all: Vec<String> = addresses.iter().map(|address| address.ip().to_string()).collect();
        return Err(public(&format!("{} of {}", all.join(", "), name.host)));
    }
    let mut skipped = Vec::new();
    let last = addresses.len() == 1;
    for address in addresses {
        let reason = match sources.0.first() {
            _ if !is_permitted(&address) => "public: --allow-public permits it".to_owned(),
            Some(source) if source.is_ipv4() != address.is_ipv4() => {
                "not of the family of --source".to_owned()
            }
            // A single one is loaded in any case: its failures are counted.
            _ => match if last { Ok(()) } else { accepts(address) } {
                Ok(()) => {
                    return Ok((address, Some(Resolved { name: name.host.clone(), address, skipped })));
                }
                Err(reason) => reason,
            },
        };
        skipped.push(Skipped { address, reason });
    }
    let all: Vec<String> = skipped.iter().map(Skipped::text).collect();
    Err(Failure::Refused(format!(
        "cannot connect to any address of {}: {}; start the server, or check the port",
        name.host,
        all.join("; ")
    )))
}

/// An address with its zone, without which a link-local one leads nowhere.
fn literal(name: &ServerName, address: IpAddr) -> Result<SocketAddr, Failure> {
    let is_link_local = matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
    match &name.zone {
        None if is_link_local => Err(Failure::Usage(format!(
            "{address} is a link-local address, which needs the zone of its network: write [{address}%eth0] \
             with the interface that leads there"
        ))),
        None => Ok(SocketAddr::new(address, name.port)),
        Some(_) if !is_link_local => {
            Err(Failure::Usage(format!("{address} is not link-local and has no zone; leave the % out")))
        }
        Some(zone) => (format!("{address}%{zone}").as_str(), name.port)
            .to_socket_addrs()
            .ok()
            .and_then(|mut addresses| addresses.next())
            .ok_or_else(|| Failure::Usage(format!("{zone:?}, the zone of {address}, is no interface here"))),
    }
}

/// All addresses of a name, each once, in the order in which this system prefers them (RFC 6724).
fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
    let found = (host, port).to_socket_addrs();
    let found =
        found.map_err(|error| Failure::Refused(format!("cannot resolve {host}: {error}; check the name")))?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    match addresses.is_empty() {
        true => Err(Failure::Refused(format!("{host} has no address; check the name"))),
        false => Ok(addresses),
    }
}

fn accepts(address: SocketAddr) -> Result<(), String> {
    TcpStream::connect_timeout(&address, CONNECT).map(drop).map_err(|error| match error.kind() {
        std::io::ErrorKind::TimedOut => format!("no connection within {} s", CONNECT.as_secs()),
        _ => sys::error::name(&error),
    })
}

fn public(address: &str) -> Failure {
    Failure::Usage(format!("{address} is a public address; if you may load this server, add --allow-public"))
}

impl Resolved {
    /// `127.0.0.1:8080, of pair.test; [::1]:8080: ECONNREFUSED`.
    pub(super) fn text(&self) -> String {
        let skipped = self.skipped.iter().map(|skipped| format!("; {}", skipped.text()));
        format!("{}, of {}{}", self.address, self.name, skipped.collect::<String>())
    }
}

impl Skipped {
    fn text(&self) -> String {
        format!("{}: {}", self.address, self.reason)
    }
}
