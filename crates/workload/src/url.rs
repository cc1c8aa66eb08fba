//! The address of a user's server, for `--set url=`.

use std::net::{IpAddr, SocketAddr};

/// `scheme://user@address:port/name`. The address is a number, as in `--server`: a name may mean another
/// machine tomorrow. It has no place for a password, because other users see command lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl {
    /// The protocol.
    pub scheme: String,
    /// The user name.
    pub user: String,
    /// The address of the server.
    pub address: IpAddr,
    /// Its port, if it is not the one of the protocol.
    pub port: Option<u16>,
    /// The database.
    pub name: String,
}

impl ServerUrl {
    /// Parses it; `None` for any other form, such as one with a password.
    #[must_use]
    pub fn parse(text: &str) -> Option<ServerUrl> {
        let (scheme, rest) = text.split_once("://")?;
        let (authority, name) = rest.split_once('/')?;
        let (user, server) = authority.split_once('@')?;
        let is_name = |name: &str| {
            let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
            !name.is_empty() && name.chars().all(fits)
        };
        if ![scheme, user, name].into_iter().all(is_name) {
            return None;
        }
        let (address, port) = match server.parse::<SocketAddr>() {
            Ok(address) => (address.ip(), Some(address.port())),
            Err(_) => {
                let bare = server.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
                (bare.unwrap_or(server).parse().ok()?, None)
            }
        };
        let [scheme, user, name] = [scheme, user, name].map(str::to_owned);
        Some(ServerUrl { scheme, user, address, port, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_an_address_and_no_password() {
        let parse = ServerUrl::parse;
        let url = parse("postgresql://osd@10.0.0.2:5433/test").expect("a URL");
        assert_eq!((&*url.scheme, &*url.user, &*url.name), ("postgresql", "osd", "test"));
        assert_eq!((url.address.to_string(), url.port), ("10.0.0.2".to_owned(), Some(5433)));
        let url = parse("mysql://root@[fd00::2]/a").expect("a URL");
        assert_eq!((url.address.to_string(), url.port), ("fd00::2".to_owned(), None));
        assert_eq!(parse("mysql://a@[::1]:7/a").and_then(|url| url.port), Some(7));
        for wrong in [
            "postgresql://osd:secret@10.0.0.2/test",
            "postgresql://osd@localhost/test",
            "postgresql://10.0.0.2/test",
            "postgresql://osd@10.0.0.2",
            "postgresql://osd@10.0.0.2/",
            "postgresql://o%73d@10.0.0.2/test",
            "postgresql://osd@10.0.0.2/te'st",
            "private",
            "",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
