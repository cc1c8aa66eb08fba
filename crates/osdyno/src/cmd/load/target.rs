//! The target of a load: URLs of one server, or an address. Public addresses need an explicit flag.

use std::net::ToSocketAddrs;

use net::ServerAddress;
use net::client::Endpoint;

use crate::failure::Failure;

/// A server, and the paths to request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) address: ServerAddress,
    /// Whether it speaks TLS.
    pub(super) is_secure: bool,
    /// The rest of what was written, for the client.
    pub(super) endpoint: Endpoint,
}

impl Target {
    /// All that was written: one address, or URLs of one server.
    pub(super) fn parse(texts: &[String], allow_public: bool) -> Result<Target, Failure> {
        let mut targets = texts.iter().map(|text| Target::parse_one(text, allow_public));
        let none = || Failure::Usage("a load needs a target".to_owned());
        let mut target = targets.next().ok_or_else(none)??;
        for other in targets {
            let other = other?;
            let server = |one: &Target| (one.address.clone(), one.is_secure, one.endpoint.host.clone());
            let is_other = server(&other) != server(&target);
            if is_other || other.endpoint.paths.is_empty() {
                return Err(Failure::Usage(format!(
                    "{} and {} are not URLs of one server; load one server at a time",
                    target.address, other.address
                )));
            }
            target.endpoint.paths.extend(other.endpoint.paths);
        }
        Ok(target)
    }

    fn parse_one(text: &str, allow_public: bool) -> Result<Target, Failure> {
        if let Some(socket) = text.strip_prefix("http://unix:").or_else(|| text.strip_prefix("unix:")) {
            return Target::parse_unix(text, socket);
        }
        let usage = |why: &str| Failure::Usage(format!("{text:?} is not a target: {why}"));
        let (place, path) = match text.split_once("://") {
            Some(("http" | "https", rest)) => {
                let split = rest.find(['/', '?']).unwrap_or(rest.len());
                let path = match &rest[split..] {
                    "" => "/".to_owned(),
                    query if query.starts_with('?') => format!("/{query}"),
                    path => path.split('#').next().unwrap_or("/").to_owned(),
                };
                (&rest[..split], Some(path))
            }
            Some((scheme, _)) => {
                return Err(usage(&format!("{scheme} is not supported; use http://, https:// or host:port")));
            }
            None => (text, None),
        };
        if place.contains('@') {
            return Err(usage("user names and passwords are not supported"));
        }
        let has_port = place.rsplit_once(':').is_some_and(|(host, port)| {
            port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']'))
        });
        if !has_port && path.is_none() {
            return Err(usage("an address needs a port, as in 127.0.0.1:8080"));
        }
        let is_secure = text.starts_with("https://");
        let port = if is_secure { 443 } else { 80 };
        let with_port = if has_port { place.to_owned() } else { format!("{place}:{port}") };
        let mut addresses = with_port
            .to_socket_addrs()
            .map_err(|error| Failure::Refused(format!("cannot resolve {place}: {error}; check the name")))?;
        let address = addresses.next().ok_or_else(|| usage("the name has no address"))?;
        if !allow_public && !sys::address::is_private(address.ip()) {
            return Err(Failure::Usage(format!(
                "{} is a public address; if you may load this server, add --allow-public",
                address.ip()
            )));
        }
        Ok(Target {
            address: address.into(),
            is_secure,
            endpoint: Endpoint { host: place.to_owned(), paths: path.into_iter().collect() },
        })
    }
}

/// What a request says as its host, where the server has no name.
const LOCAL_HOST: &str = "localhost";

impl Target {
    /// The name of the server in its certificate: the host without its port.
    pub(super) fn name(&self) -> String {
        let host = &self.endpoint.host;
        let name = match host.strip_prefix('[') {
            Some(address) => address.split(']').next(),
            None => host.split(':').next(),
        };
        name.unwrap_or(host).to_owned()
    }

    /// `/run/server.sock`, or `/run/server.sock:/path` as nginx writes it.
    fn parse_unix(text: &str, rest: &str) -> Result<Target, Failure> {
        let (socket, path) = rest
            .split_once(":/")
            .map_or((rest, "/".to_owned()), |(socket, path)| (socket, format!("/{path}")));
        if socket.is_empty() {
            let text = format!("{text:?} is not a target: a path is missing, as in unix:/run/server.sock");
            return Err(Failure::Usage(text));
        }
        let endpoint = Endpoint { host: LOCAL_HOST.to_owned(), paths: vec![path] };
        Ok(Target { address: ServerAddress::Unix(socket.into()), is_secure: false, endpoint })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<(String, String, Option<String>)> {
        let target = Target::parse_one(text, false).ok()?;
        Some((target.address.to_string(), target.endpoint.host, target.endpoint.paths.first().cloned()))
    }

    #[test]
    fn several_urls_are_of_one_server() {
        let parse = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
            Target::parse(&texts, false).map(|target| target.endpoint.paths).ok()
        };
        let paths = |paths: &[&str]| Some(paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>());
        assert_eq!(parse(&["http://127.0.0.1:8/a", "http://127.0.0.1:8/b?c"]), paths(&["/a", "/b?c"]));
        assert_eq!(parse(&["127.0.0.1:8"]), paths(&[]));
        assert_eq!(parse(&["http://127.0.0.1:8/", "http://127.0.0.1:9/"]), None);
        assert_eq!(parse(&["127.0.0.1:8", "127.0.0.1:8"]), None);
        assert_eq!(parse(&["http://127.0.0.1:8/", "https://127.0.0.1:8/"]), None);
    }

    #[test]
    fn urls_and_addresses() {
        let of = |address: &str, host: &str, path: Option<&str>| {
            Some((address.to_owned(), host.to_owned(), path.map(str::to_owned)))
        };
        assert_eq!(parse("http://127.0.0.1"), of("127.0.0.1:80", "127.0.0.1", Some("/")));
        assert_eq!(parse("http://127.0.0.1:81/a?b#c"), of("127.0.0.1:81", "127.0.0.1:81", Some("/a?b")));
        assert_eq!(parse("http://[::1]:81?b"), of("[::1]:81", "[::1]:81", Some("/?b")));
        assert_eq!(parse("http://[::1]/"), of("[::1]:80", "[::1]", Some("/")));
        assert_eq!(parse("unix:/a/b.sock"), of("unix:/a/b.sock", "localhost", Some("/")));
        assert_eq!(parse("unix:b.sock:/c?d"), of("unix:b.sock", "localhost", Some("/c?d")));
        assert_eq!(parse("http://unix:/b:/c"), of("unix:/b", "localhost", Some("/c")));
        assert_eq!(parse("unix:"), None);
        assert_eq!(parse("127.0.0.1:7"), of("127.0.0.1:7", "127.0.0.1:7", None));
        assert_eq!(parse("https://127.0.0.1"), of("127.0.0.1:443", "127.0.0.1", Some("/")));
        for wrong in ["127.0.0.1", "ftp://127.0.0.1/", "http://u:p@127.0.0.1/"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_name_of_a_server_has_no_port() {
        let name = |text: &str| Target::parse_one(text, false).expect("a target").name();
        assert_eq!(name("https://127.0.0.1:8443/a:b"), "127.0.0.1");
        assert_eq!(name("https://[::1]:8443/"), "::1");
        assert_eq!(name("https://localhost/"), "localhost");
    }

    #[test]
    fn public_addresses_are_refused_unless_allowed() {
        for public in
            ["http://192.0.2.1/", "http://172.32.0.1/", "http://[2001:db8::1]/", "8.8.8.8:53", "100.64.0.1:1"]
        {
            assert!(matches!(Target::parse_one(public, false), Err(Failure::Usage(_))), "{public}");
            assert!(Target::parse_one(public, true).is_ok(), "{public}");
        }
        for private in ["10.1.2.3:1", "172.16.0.1:1", "192.168.1.1:1", "169.254.1.1:1", "[fd00::1]:1"] {
            assert!(Target::parse_one(private, false).is_ok(), "{private}");
        }
    }
}
