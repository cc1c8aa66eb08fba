//! The target of a load: URLs of one server, or an address. Public ones need an explicit flag, and of the
//! addresses of a name the first that accepts a connection is taken.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use net::ServerAddress;
use net::client::Endpoint;
use net::load::Sources;
use serde::Serialize;
use url::{Host, ParseError, Position, Url};

use crate::console::Failure;

/// A server, and the paths to request.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) address: ServerAddress,
    /// Whether it speaks TLS.
    pub(super) is_secure: bool,
    /// The name of the server in its certificate.
    pub(super) name: String,
    /// The rest of the text, for the client.
    pub(super) endpoint: Endpoint,
    /// The address of the name that was taken; `None` where an address was written.
    pub(super) resolved: Option<Resolved>,
}

/// The form of a client's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetForm {
    /// A URL; the scheme may be missing, and is http then.
    Url,
    /// host:port.
    Address,
}

/// One target as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Written {
    server: Server,
    is_secure: bool,
    /// The host in a request.
    host: String,
    /// Path and query, of a URL.
    path: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Server {
    Network(ServerName),
    Unix(String),
}

/// A server as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ServerName {
    /// A name or an address, without brackets.
    host: String,
    /// The zone of a link-local address: the name or the number of an interface.
    zone: Option<String>,
    port: u16,
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

/// The host in a request, where the server has no name.
const LOCAL_HOST: &str = "localhost";

/// An address that accepts no connection within this time is skipped.
const CONNECT: Duration = Duration::from_secs(3);

impl Target {
    /// All that was written: one address, or URLs of one server. `sources` decide between IPv4 and IPv6 where
    /// a name has both.
    pub(super) fn parse(
        texts: &[String],
        form: TargetForm,
        allow_public: bool,
        sources: &Sources,
    ) -> Result<Target, Failure> {
        let written = texts.iter().map(|text| parse_one(text, form)).collect::<Result<Vec<_>, _>>()?;
        let first = written.first().ok_or_else(|| Failure::Usage("a load needs a target".to_owned()))?;
        let server = |one: &Written| (one.server.clone(), one.is_secure);
        let is_other = |other: &&Written| form == TargetForm::Address || server(other) != server(first);
        if let Some(other) = written.iter().skip(1).find(is_other) {
            return Err(Failure::Usage(format!(
                "{} and {} are not URLs of one server; load one server at a time",
                first.host, other.host
            )));
        }
        let (address, name, resolved) = match &first.server {
            Server::Unix(path) => (ServerAddress::Unix(path.into()), LOCAL_HOST.to_owned(), None),
            Server::Network(name) => {
                let (address, resolved) = resolve(name, allow_public, sources)?;
                (address.into(), name.host.clone(), resolved)
            }
        };
        let paths = written.iter().filter_map(|one| one.path.clone()).collect();
        let endpoint = Endpoint { host: first.host.clone(), paths };
        Ok(Target { address, is_secure: first.is_secure, name, endpoint, resolved })
    }
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

fn parse_one(text: &str, form: TargetForm) -> Result<Written, Failure> {
    let usage = |why: &str| Failure::Usage(format!("{text:?} is not a target: {why}"));
    if let Some(socket) = text.strip_prefix("http://unix:").or_else(|| text.strip_prefix("unix:")) {
        return parse_unix(socket).ok_or_else(|| usage("a path is missing, as in unix:/run/server.sock"));
    }
    if form == TargetForm::Address {
        return parse_address(text).map_err(|why| usage(&why));
    }
    let scheme = scheme(text);
    if scheme.is_some_and(|scheme| !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)))
    {
        let scheme = scheme.unwrap_or_default();
        return Err(usage(&format!("{scheme} is not supported; use http://, https:// or host:port")));
    }
    let whole = if scheme.is_some() { text.to_owned() } else { format!("http://{text}") };
    let (url, zone) = parse_url(&whole).map_err(|why| usage(&why))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(usage("user names and passwords are not supported; use -H @FILE for credentials"));
    }
    let port = url.port_or_known_default().filter(|&port| port > 0).ok_or_else(|| usage(&no_port("0")))?;
    let host = url.host_str().unwrap_or_default();
    Ok(Written {
        server: Server::Network(ServerName { host: bare_host(&url), zone, port }),
        is_secure: url.scheme() == "https",
        host: url.port().map_or(host.to_owned(), |port| format!("{host}:{port}")),
        path: Some(url[Position::BeforePath..Position::AfterQuery].to_owned()),
    })
}

/// `host:port`, which has no default port.
fn parse_address(text: &str) -> Result<Written, String> {
    let (url, zone) = parse_url(&format!("tcp://{text}"))?;
    if scheme(text).is_some() || !url[Position::BeforePath..].is_empty() {
        return Err("URLs are for --client http only; write host:port".to_owned());
    }
    let port = url.port().filter(|&port| port > 0);
    let port = port.ok_or("an address needs a port, as in 127.0.0.1:8080")?;
    let host = format!("{}:{port}", url.host_str().unwrap_or_default());
    let server = Server::Network(ServerName { host: bare_host(&url), zone, port });
    Ok(Written { server, is_secure: false, host, path: None })
}

/// The text before `://`, unless that belongs to a path or a query.
fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once("://")?;
    (!scheme.contains(['/', '?', '#'])).then_some(scheme)
}

/// A URL, and the zone of its address: that is for the socket alone (RFC 4007, section 11.2), and no part of
/// a URL.
fn parse_url(text: &str) -> Result<(Url, Option<String>), String> {
    if authority(text).is_empty() {
        return Err("it names no server".to_owned());
    }
    let (text, zone) = without_zone(text);
    match Url::parse(&text) {
        Ok(url) if url.has_host() => Ok((url, zone)),
        Ok(_) | Err(ParseError::EmptyHost) => Err("it names no server".to_owned()),
        Err(ParseError::InvalidPort) => Err(no_port(&written_port(&text))),
        Err(error) => Err(error.to_string()),
    }
}

/// The text without the zone of an address in brackets, `%eth0` or, by RFC 6874, `%25eth0`.
fn without_zone(text: &str) -> (String, Option<String>) {
    let authority = authority(text);
    let zoned = authority.split_once('%').and_then(|(before, rest)| {
        let (zone, after) = rest.split_once(']')?;
        before.contains('[').then_some((before, zone, after))
    });
    let Some((before, zone, after)) = zoned else { return (text.to_owned(), None) };
    let zone = zone.strip_prefix("25").filter(|zone| !zone.is_empty()).unwrap_or(zone);
    (text.replacen(authority, &format!("{before}]{after}"), 1), Some(zone.to_owned()))
}

/// The text between `://` and the path.
fn authority(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

fn written_port(text: &str) -> String {
    authority(text).rsplit_once(':').map_or(String::new(), |(_, port)| port.to_owned())
}

fn no_port(text: &str) -> String {
    format!("{text:?} is no port; a port is a number from 1 to 65535")
}

/// The host in the form of a resolver and a certificate: without brackets.
fn bare_host(url: &Url) -> String {
    match url.host() {
        Some(Host::Ipv6(address)) => address.to_string(),
        Some(host) => host.to_string(),
        None => String::new(),
    }
}

/// `/run/server.sock`, or `/run/server.sock:/path` as nginx writes it.
fn parse_unix(rest: &str) -> Option<Written> {
    let (socket, path) = rest.split_once(":/").map_or((rest, "/".to_owned()), |(socket, path)| {
        let path = path.split('#').next().unwrap_or_default();
        (socket, format!("/{path}"))
    });
    let server = Server::Unix(socket.to_owned());
    let written = Written { server, is_secure: false, host: LOCAL_HOST.to_owned(), path: Some(path) };
    (!socket.is_empty()).then_some(written)
}

/// The address to load; for a name, with its description. `sources` are of the family to take.
fn resolve(
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

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str, form: TargetForm, allow_public: bool) -> Result<Target, Failure> {
        Target::parse(&[text.to_owned()], form, allow_public, &Sources::default())
    }

    fn parse(text: &str, form: TargetForm) -> Option<(String, String, Option<String>)> {
        let target = target(text, form, false).ok()?;
        Some((target.address.to_string(), target.endpoint.host, target.endpoint.paths.first().cloned()))
    }

    fn of(address: &str, host: &str, path: Option<&str>) -> Option<(String, String, Option<String>)> {
        Some((address.to_owned(), host.to_owned(), path.map(str::to_owned)))
    }

    #[test]
    fn several_urls_are_of_one_server() {
        let parse = |texts: &[&str], form| {
            let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
            Target::parse(&texts, form, false, &Sources::default()).map(|target| target.endpoint.paths).ok()
        };
        let paths = |paths: &[&str]| Some(paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>());
        let (url, address) = (TargetForm::Url, TargetForm::Address);
        assert_eq!(parse(&["http://127.0.0.1:8/a", "127.0.0.1:8/b?c"], url), paths(&["/a", "/b?c"]));
        assert_eq!(parse(&["127.0.0.1:8", "HTTP://127.0.0.1:8/b"], url), paths(&["/", "/b"]));
        assert_eq!(parse(&["127.0.0.1:8"], address), paths(&[]));
        assert_eq!(parse(&["http://127.0.0.1:8/", "http://127.0.0.1:9/"], url), None);
        assert_eq!(parse(&["127.0.0.1:8", "127.0.0.1:8"], address), None);
        assert_eq!(parse(&["http://127.0.0.1:8/", "https://127.0.0.1:8/"], url), None);
    }

    #[test]
    fn urls_and_addresses() {
        let url = |text: &str| parse(text, TargetForm::Url);
        assert_eq!(url("http://127.0.0.1"), of("127.0.0.1:80", "127.0.0.1", Some("/")));
        assert_eq!(url("127.0.0.1"), of("127.0.0.1:80", "127.0.0.1", Some("/")));
        assert_eq!(url("http://127.0.0.1:81/a?b#c"), of("127.0.0.1:81", "127.0.0.1:81", Some("/a?b")));
        assert_eq!(url("http://127.0.0.1:81?b#c"), of("127.0.0.1:81", "127.0.0.1:81", Some("/?b")));
        assert_eq!(url("http://127.0.0.1:81#c"), of("127.0.0.1:81", "127.0.0.1:81", Some("/")));
        assert_eq!(url("http://[::1]:81?b"), of("[::1]:81", "[::1]:81", Some("/?b")));
        assert_eq!(url("HTTP://[::1]/"), of("[::1]:80", "[::1]", Some("/")));
        assert_eq!(url("127.0.0.1:7"), of("127.0.0.1:7", "127.0.0.1:7", Some("/")));
        assert_eq!(
            url("127.0.0.1:7/a?u=http://b/"),
            of("127.0.0.1:7", "127.0.0.1:7", Some("/a?u=http://b/"))
        );
        assert_eq!(url("127.0.0.1:7/ü b"), of("127.0.0.1:7", "127.0.0.1:7", Some("/%C3%BC%20b")));
        assert_eq!(url("unix:/a/b.sock"), of("unix:/a/b.sock", "localhost", Some("/")));
        assert_eq!(url("unix:b.sock:/c?d#e"), of("unix:b.sock", "localhost", Some("/c?d")));
        assert_eq!(url("http://unix:/b:/c"), of("unix:/b", "localhost", Some("/c")));
        assert_eq!(url("https://127.0.0.1"), of("127.0.0.1:443", "127.0.0.1", Some("/")));
        let address = |text: &str| parse(text, TargetForm::Address);
        assert_eq!(address("127.0.0.1:7"), of("127.0.0.1:7", "127.0.0.1:7", None));
        assert_eq!(address("[::1]:80"), of("[::1]:80", "[::1]:80", None));
    }

    #[test]
    fn wrong_targets_say_why() {
        for (text, form, why) in [
            ("unix:", TargetForm::Url, "a path is missing"),
            ("ftp://127.0.0.1/", TargetForm::Url, "ftp is not supported"),
            ("http://u:p@127.0.0.1/", TargetForm::Url, "-H @FILE"),
            ("http://127.0.0.1:99999/", TargetForm::Url, "\"99999\" is no port"),
            ("127.0.0.1:0", TargetForm::Url, "\"0\" is no port"),
            ("http:///a", TargetForm::Url, "names no server"),
            ("http://[::1/", TargetForm::Url, "IPv6"),
            ("127.0.0.1", TargetForm::Address, "needs a port"),
            ("127.0.0.1:99999", TargetForm::Address, "\"99999\" is no port"),
            ("http://127.0.0.1:8/", TargetForm::Address, "--client http only"),
            ("127.0.0.1:8/a", TargetForm::Address, "--client http only"),
        ] {
            let refused = target(text, form, false).err().map(|failure| failure.to_string());
            assert!(refused.as_ref().is_some_and(|refused| refused.contains(why)), "{text}: {refused:?}");
        }
    }

    #[test]
    fn the_zone_of_an_address_is_for_the_socket_alone() {
        for zone in ["%7", "%257"] {
            let text = format!("http://[fe80::9{zone}]:81/a");
            assert_eq!(parse(&text, TargetForm::Url), of("[fe80::9%7]:81", "[fe80::9]:81", Some("/a")));
        }
        // An escape in a path is none.
        assert_eq!(parse("127.0.0.1/%25]", TargetForm::Url), of("127.0.0.1:80", "127.0.0.1", Some("/%25]")));
    }

    #[test]
    fn the_name_of_a_server_has_no_port() {
        let name = |text: &str| target(text, TargetForm::Url, false).expect("a target").name;
        assert_eq!(name("https://127.0.0.1:8443/a:b"), "127.0.0.1");
        assert_eq!(name("https://[::1]:8443/"), "::1");
        assert_eq!(name("https://LOCALHOST/"), "localhost");
    }

    #[test]
    fn public_addresses_are_refused_unless_allowed() {
        let public = ["192.0.2.1", "172.32.0.1", "[2001:db8::1]", "100.64.0.1", "169.254.169.254"];
        for address in public {
            let refused = target(address, TargetForm::Url, false);
            assert!(matches!(&refused, Err(Failure::Usage(_))), "{address}: {refused:?}");
            assert!(target(address, TargetForm::Url, true).is_ok(), "{address}");
        }
        for private in ["10.1.2.3:1", "172.16.0.1:1", "192.168.1.1:1", "[fe80::1%1]:1", "[fd00::1]:1"] {
            assert!(target(private, TargetForm::Address, false).is_ok(), "{private}");
        }
    }
}
