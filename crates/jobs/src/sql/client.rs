//! The interface of a database for the workload: connections that execute statements.

use std::io::{self, Read, Write};

use super::password::Password;
use crate::instance::Daemon;

/// The name of the servers, and how they end.
pub(super) const DATABASE: Daemon = Daemon { name: "the database", end: sys::process::quit };

/// The stream of a session.
pub(super) trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

/// The user for a session, and its database.
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: Option<Password>,
    pub(super) database: String,
}

impl Login {
    /// For our own instance, which needs no password.
    pub(super) fn open(user: &str, database: &str) -> Login {
        Login { user: user.to_owned(), password: None, database: database.to_owned() }
    }

    /// # Errors
    /// Without a password.
    pub(super) fn password(&self) -> io::Result<&Password> {
        let missing = "the database wants a password; --set password-file=FILE names a file with it";
        self.password.as_ref().ok_or_else(|| io::Error::new(io::ErrorKind::PermissionDenied, missing))
    }
}

/// A value of a statement, in the place of a `?`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Integer(i64),
    Text(&'a str),
}

/// The result of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// How many rows it selected or changed.
    pub(super) rows: u64,
    /// The sum of the first column of the selected rows.
    pub(super) sum: i64,
}

/// A connection, for one thread.
pub(super) trait Client: Send {
    /// Executes a statement, which is prepared when it is first executed.
    fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> io::Result<Outcome>;

    /// Executes a statement that gives nothing, without preparing it.
    fn script(&mut self, statement: &str) -> io::Result<()>;
}

/// A database for one trial. Dropped, it ends and leaves nothing but its folder.
pub(super) trait Database: Sync {
    /// One more connection.
    fn connect(&self) -> io::Result<Box<dyn Client>>;

    /// The statement that begins a transaction in which rows are inserted.
    fn begin(&self) -> &'static str {
        "begin"
    }

    /// The statement after which the planner knows the content of `table`.
    fn analyze(&self, table: &str) -> String {
        format!("analyze {table}")
    }

    /// Removes the objects that were made in a server of the user's.
    fn remove(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Why statements fail, where the database itself has ended.
    fn ending(&mut self) -> Option<io::Error> {
        None
    }
}

/// For a response that a database must not give.
pub(super) fn protocol(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// For a database that has no more space.
pub(super) fn disk_full() -> io::Error {
    let advice = "the disk is full; free space or choose another folder with --scratch";
    io::Error::new(io::ErrorKind::StorageFull, advice)
}

/// Reads fields of a message from its front; a missing field is an error.
#[derive(Debug)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    /// That many bytes.
    pub(super) fn bytes(&mut self, count: usize) -> io::Result<&'a [u8]> {
        let (front, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| protocol("a message of the database is too short"))?;
        self.0 = rest;
        Ok(front)
    }

    /// An array.
    pub(super) fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    /// The bytes before the next zero, which is skipped.
    pub(super) fn until_zero(&mut self) -> io::Result<&'a [u8]> {
        let zero = self.0.iter().position(|&byte| byte == 0);
        let text = self.bytes(zero.ok_or_else(|| protocol("a text of the database has no end"))?)?;
        self.bytes(1)?;
        Ok(text)
    }
}

/// A decimal number, which may have a fraction of zeros.
pub(super) fn number(text: &[u8]) -> io::Result<i64> {
    let text = std::str::from_utf8(text).unwrap_or_default();
    let whole = text.split('.').next().unwrap_or_default();
    whole.parse().map_err(|_| protocol(format!("the database answered {text:?}, which is no number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_end_where_the_message_ends() {
        let mut fields = Fields(b"\x01\x02ab\0c");
        assert_eq!(fields.array::<2>().ok(), Some([1, 2]));
        assert_eq!(fields.until_zero().ok(), Some(&b"ab"[..]));
        assert!(fields.until_zero().is_err());
        assert!(fields.bytes(2).is_err());
        assert_eq!(fields.bytes(1).ok(), Some(&b"c"[..]));
        assert_eq!((number(b"12").ok(), number(b"-3.000").ok()), (Some(12), Some(-3)));
        assert!(number(b"").is_err() && number(b"\xff").is_err() && number(b"x").is_err());
    }
}
