//! The target of a load: URLs of one server, or an address. Public addresses need an explicit flag.

use std::net::{SocketAddr, ToSocketAddrs};

use net::client::Endpoint;

use crate::failure::Failure;

/// A server, and the paths to request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) address: SocketAddr,
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
            if other.endpoint.host != target.endpoint.host || other.endpoint.paths.is_empty() {
                return Err(Failure::Usage(format!(
                    "{} and {} are not URLs of one server; load one server at a time",
                    target.endpoint.host, other.endpoint.host
                )));
            }
            target.endpoint.paths.extend(other.endpoint.paths);
        }
        Ok(target)
    }

    fn parse_one(text: &str, allow_public: bool) -> Result<Target, Failure> {
        let usage = |why: &str| Failure::Usage(format!("{text:?} is not a target: {why}"));
        let (place, path) = match text.split_once("://") {
            Some(("http", rest)) => {
                let split = rest.find(['/', '?']).unwrap_or(rest.len());
                let path = match &rest[split..] {
                    "" => "/".to_owned(),
                    query if query.starts_with('?') => format!("/{query}"),
                    path => path.split('#').next().unwrap_or("/").to_owned(),
                };
                (&rest[..split], Some(path))
            }
            Some(("https", _)) => return Err(usage("TLS is not supported; use http://")),
            Some((scheme, _)) => {
                return Err(usage(&format!("{scheme} is not supported; use http:// or host:port")));
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
        let with_port = if has_port { place.to_owned() } else { format!("{place}:80") };
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
            address,
            endpoint: Endpoint { host: place.to_owned(), paths: path.into_iter().collect() },
        })
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
        assert_eq!(parse("127.0.0.1:7"), of("127.0.0.1:7", "127.0.0.1:7", None));
        for wrong in ["127.0.0.1", "https://127.0.0.1/", "ftp://127.0.0.1/", "http://u:p@127.0.0.1/"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
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
