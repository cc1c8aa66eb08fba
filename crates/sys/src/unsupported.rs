//! A facility that a system does not have: a value with a reason, never a zero.

use std::fmt;
use std::io;

/// This system has no such facility; the text says why, in a form that fits behind "unsupported: ".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported(pub &'static str);

impl fmt::Display for Unsupported {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

impl std::error::Error for Unsupported {}

impl From<Unsupported> for io::Error {
    fn from(unsupported: Unsupported) -> io::Error {
        io::Error::new(io::ErrorKind::Unsupported, unsupported)
    }
}
