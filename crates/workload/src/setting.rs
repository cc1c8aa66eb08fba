//! Settings of a workload, for `--set NAME=VALUE`.

use std::fmt;

use crate::ServerUrl;

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
}
