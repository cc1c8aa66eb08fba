//! Settings of a workload, for `--set NAME=VALUE`, and the address of a user's server, for `--set url=`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// A choice of the user about a workload. Measurements depend on it, so the record has it. The
/// systems of one run may differ in it and are compared then; runs with different settings are not.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name on the command line.
    pub name: &'static str,
    /// Its value unless the user chooses another. A new default is a new version of the workload.
    pub default: &'static str,
    /// The allowed values.
    pub values: Values,
    /// One line.
    pub summary: &'static str,
}

/// The values that a setting may have.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number in this range.
    Number {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// This word, or the path of a file on the system under test, recorded as an absolute path.
    WordOrFile(&'static str),
    /// This word, or the URL of a server ([`ServerUrl`]).
    WordOrUrl(&'static str),
    /// Any text; this is its description.
    Text(&'static str),
}

impl Values {
    /// The server that the value names.
    pub fn url(&self, value: &str) -> Option<ServerUrl> {
        matches!(self, Values::WordOrUrl(_)).then(|| ServerUrl::parse(value))?
    }

    /// Whether a value may hold a secret, so that no error may repeat it: a URL with a password.
    pub fn may_be_secret(&self) -> bool {
        matches!(self, Values::WordOrUrl(_))
    }

    /// The values of a text with commas; `None` for a single value, and where a comma may be part of one.
    pub fn several<'a>(&self, text: &'a str) -> Option<Vec<&'a str>> {
        let is_list = matches!(self, Values::OneOf(_) | Values::Number { .. }) && text.contains(',');
        is_list.then(|| text.split(',').collect())
    }

    /// The value in the record; `None` for a value that is not allowed.
    pub fn parse(&self, value: &str) -> Option<String> {
        match *self {
            Values::OneOf(words) => words.contains(&value).then(|| value.to_owned()),
            Values::Number { least, most } => {
                record::units::counts::<u64>(least..=most)(value).ok().map(|number| number.to_string())
            }
            Values::WordOrFile(word) if value == word => Some(word.to_owned()),
            Values::WordOrUrl(word) if value == word => Some(word.to_owned()),
            Values::WordOrUrl(_) => ServerUrl::parse(value).map(|_| value.to_owned()),
            Values::Text(_) => Some(value.to_owned()),
            Values::WordOrFile(_) => std::path::absolute(value).ok()?.to_str().map(str::to_owned),
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::OneOf(words) => formatter.write_str(&words.join(", ")),
            Values::Number { least, most } => write!(formatter, "{least} to {most}"),
            Values::WordOrFile(word) => write!(formatter, "{word}, or the path of a file"),
            Values::Text(what) => formatter.write_str(what),
            Values::WordOrUrl(word) => {
                write!(formatter, "{word}, or SCHEME://USER@ADDRESS:PORT/NAME without a password")
            }
        }
    }
}

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
    fn a_value_has_one_form_in_records() {
        let number = Values::Number { least: 1, most: 100 };
        assert_eq!(number.parse("007").as_deref(), Some("7"));
        assert_eq!(number.parse("0.1k").as_deref(), Some("100"));
        for wrong in ["0", "101", "-1", "7.5", "", "seven"] {
            assert_eq!(number.parse(wrong), None, "{wrong}");
        }
        let word = Values::OneOf(&["poll", "epoll"]);
        assert_eq!((word.parse("poll").as_deref(), word.parse("pol")), (Some("poll"), None));
        assert_eq!(number.several("1,2"), Some(vec!["1", "2"]));
        assert_eq!((number.several("12"), Values::Text("").several("a,b")), (None, None));
        let file = Values::WordOrFile("none");
        assert_eq!(file.parse("/a/b.tar").as_deref(), Some("/a/b.tar"));
        assert!(file.parse("b.tar").is_some_and(|path| path.len() > "/b.tar".len()));
        assert_eq!((file.parse(""), file.parse("none").as_deref()), (None, Some("none")));
        let url = Values::WordOrUrl("private");
        assert_eq!(url.parse("private").as_deref(), Some("private"));
        assert!(url.parse("mysql://a@10.0.0.2/b").is_some() && url.parse("mysql://a:p@10.0.0.2/b").is_none());
        assert_eq!((word.to_string(), number.to_string()), ("poll, epoll".to_owned(), "1 to 100".to_owned()));
    }

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
