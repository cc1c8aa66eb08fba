//! The interface of a database for the workload: connections that execute statements. Databases for which
//! nothing is started are here too: SQLite, a library and a file, and a server of the user, in which the
//! measurement uses a schema of its own, which is removed.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, ToSql, params_from_iter};
use workload::ServerUrl;

use super::password::Password;
use super::{mariadb, postgresql};
use crate::instance::{Daemon, protocol};

/// The name of the servers, and how they end.
pub(super) const DATABASE: Daemon = Daemon { name: "the database", end: sys::process::quit };

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

/// For a database that has no more space.
pub(super) fn disk_full() -> io::Error {
    let advice = "the disk is full; free space or choose another folder with --scratch";
    io::Error::new(io::ErrorKind::StorageFull, advice)
}

/// Reads fields of a message from its front; a missing field is an error.
#[derive(Debug)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> io::Result<&'a [u8]> {
        let (front, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| protocol("a message of the database is too short"))?;
        self.0 = rest;
        Ok(front)
    }

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

/// How long a client waits for another that writes.
const BUSY: Duration = Duration::from_secs(60);

/// The database, a file in a folder.
pub(super) struct Sqlite(PathBuf);

impl Sqlite {
    pub(super) fn in_folder(folder: &Path) -> Sqlite {
        Sqlite(folder.join("database"))
    }
}

impl Database for Sqlite {
    fn connect(&self) -> io::Result<Box<dyn Client>> {
        let connection = Connection::open(&self.0).map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(Box::new(Session(connection)))
    }

    /// A transaction that wrote only later could find that another one is before it, and fail.
    fn begin(&self) -> &'static str {
        "begin immediate"
    }
}

struct Session(Connection);

impl Client for Session {
    fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> io::Result<Outcome> {
        let mut prepared = self.0.prepare_cached(statement).map_err(failed)?;
        let values = params_from_iter(values.iter());
        if prepared.column_count() == 0 {
            return Ok(Outcome { rows: prepared.execute(values).map_err(failed)? as u64, sum: 0 });
        }
        let mut outcome = Outcome::default();
        let mut rows = prepared.query(values).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            outcome.rows += 1;
            outcome.sum += row.get::<_, i64>(0).map_err(failed)?;
        }
        Ok(outcome)
    }

    fn script(&mut self, statement: &str) -> io::Result<()> {
        self.0.execute_batch(statement).map_err(failed)
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Value::Integer(number) => ValueRef::Integer(number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

fn failed(error: rusqlite::Error) -> io::Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => disk_full(),
        _ => io::Error::other(format!("SQLite: {error}")),
    }
}

/// How long the server may take to accept a connection, and for each answer until a session has begun.
const CONNECT: Duration = Duration::from_secs(10);

/// How its protocol begins a session, makes a schema and chooses it.
struct Protocol {
    variant: &'static str,
    schemes: &'static [&'static str],
    port: u16,
    start: fn(TcpStream, &Login) -> io::Result<Box<dyn Client>>,
    make: &'static str,
    choose: &'static str,
    remove: &'static str,
    analyze: &'static str,
}

const PROTOCOLS: [Protocol; 2] = [
    Protocol {
        variant: "postgresql",
        schemes: &["postgresql", "postgres"],
        port: 5432,
        start: |stream, login| Ok(Box::new(postgresql::Session::start(Box::new(stream), login)?)),
        make: "create schema {}",
        choose: "set search_path to {}",
        remove: "drop schema {} cascade",
        analyze: "analyze {}",
    },
    Protocol {
        variant: "mariadb",
        schemes: &["mariadb", "mysql"],
        port: 3306,
        start: |stream, login| Ok(Box::new(mariadb::Session::start(Box::new(stream), login)?)),
        make: "create database {}",
        choose: "use {}",
        remove: "drop database {}",
        analyze: "alter table {} force",
    },
];

/// The server with the schema.
pub(super) struct Server {
    protocol: &'static Protocol,
    address: SocketAddr,
    login: Login,
    schema: String,
}

impl Server {
    /// Connects and makes the schema, with an unused name.
    ///
    /// # Errors
    /// Unsupported for a server of another variant; the server's reason for a refusal.
    pub(super) fn at(url: &ServerUrl, variant: &str, password: Option<Password>) -> io::Result<Server> {
        let is_it = |protocol: &&Protocol| protocol.schemes.contains(&&*url.scheme);
        let Some(protocol) = PROTOCOLS.iter().find(is_it).filter(|protocol| protocol.variant == variant)
        else {
            return Err(sys::Unsupported("the URL names a server of another kind").into());
        };
        let address = SocketAddr::new(url.address, url.port.unwrap_or(protocol.port));
        let login = Login { user: url.user.clone(), password, database: url.name.clone() };
        let schema = format!("osdyno_{:016x}", fastrand::u64(..));
        let server = Server { protocol, address, login, schema };
        server.session()?.script(&server.of_schema(protocol.make))?;
        Ok(server)
    }

    fn session(&self) -> io::Result<Box<dyn Client>> {
        let stream = TcpStream::connect_timeout(&self.address, CONNECT)?;
        stream.set_nodelay(true)?;
        // Both are one socket: a server that waits for a client of another protocol would keep us waiting.
        let socket = stream.try_clone()?;
        socket.set_read_timeout(Some(CONNECT))?;
        let session = (self.protocol.start)(stream, &self.login).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                let reason = format!("{} does not answer as a database within {CONNECT:?}", self.address);
                io::Error::new(io::ErrorKind::TimedOut, reason)
            }
            _ => error,
        })?;
        socket.set_read_timeout(None)?;
        Ok(session)
    }

    fn of_schema(&self, statement: &str) -> String {
        statement.replace("{}", &self.schema)
    }
}

impl Database for Server {
    fn connect(&self) -> io::Result<Box<dyn Client>> {
        let mut session = self.session()?;
        session.script(&self.of_schema(self.protocol.choose))?;
        Ok(session)
    }

    fn analyze(&self, table: &str) -> String {
        self.protocol.analyze.replace("{}", table)
    }

    fn remove(&mut self) -> io::Result<()> {
        self.session()?.script(&self.of_schema(self.protocol.remove))
    }
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
