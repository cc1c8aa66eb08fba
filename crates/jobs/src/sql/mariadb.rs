//! MariaDB: a server of this system, and its protocol (MariaDB Knowledge Base, "Client/Server Protocol"). The
//! instance has no table of users, and accepts every client of its socket, which lies in a folder of the
//! owner.

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use sys::Unsupported;
use sys::process::find_program;

use super::database::{Client, DATABASE, Database, Fields, Login, Outcome, Stream, Value, disk_full, number};
use crate::instance::{Instance, prepare, protocol};

const MISSING: Unsupported =
    Unsupported("this system has no MariaDB; on Debian `apt-get install mariadb-server` installs it");

/// Capabilities of the client: a database is named, protocol 4.1, transactions, authentication of version 4.1
/// by plugins.
const CAPABILITIES: u32 = 0x8 | 0x200 | 0x2000 | 0x8000 | 0x8_0000;

const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;

const TYPE_LONG: u8 = 3;
const TYPE_LONGLONG: u8 = 8;
const TYPE_STRING: u8 = 254;

pub(super) struct MariaDb {
    instance: Instance,
    socket: PathBuf,
}

impl MariaDb {
    /// Makes a database in the folder and starts its server.
    ///
    /// # Errors
    /// Unsupported where there is none; the end of its own log.
    pub(super) fn in_folder(folder: &Path) -> io::Result<MariaDb> {
        let server = find_program("mariadbd").ok_or(MISSING)?;
        let install = find_program("mariadb-install-db").ok_or(MISSING)?;
        let data = format!("--datadir={}", folder.join("data").display());
        let socket = folder.join("socket");
        let mut command = Command::new(install);
        command.args(["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal", &data]);
        prepare(&mut command)?;
        let mut command = Command::new(server);
        command.args(["--no-defaults", "--skip-networking", "--skip-grant-tables", &data]);
        command.arg(format!("--socket={}", socket.display()));
        command.arg(format!("--pid-file={}", folder.join("pid").display()));
        let start = || private(&socket, "mysql");
        let serve = || start().map(drop);
        let instance = Instance::start(DATABASE, &mut command, &folder.join("log"), serve)?;
        start()?.script("create database osdyno")?;
        Ok(MariaDb { instance, socket })
    }
}

impl Database for MariaDb {
    fn connect(&self) -> io::Result<Box<dyn Client>> {
        Ok(Box::new(private(&self.socket, "osdyno")?))
    }

    fn analyze(&self, table: &str) -> String {
        // The statement of MariaDB gives rows; its planner samples a table by itself.
        format!("alter table {table} force")
    }

    fn ending(&mut self) -> Option<io::Error> {
        self.instance.ending()
    }
}

/// A session of an instance of ours.
fn private(socket: &Path, database: &str) -> io::Result<Session> {
    Session::start(Box::new(UnixStream::connect(socket)?), &Login::open("root", database))
}

/// The plugins that authenticate a user; both want a nonce of 20 bytes.
const NATIVE: &[u8] = b"mysql_native_password";
const CACHING: &[u8] = b"caching_sha2_password";
const NONCE_BYTES: usize = 20;

/// A server sends less until a session has begun.
const QUESTIONS_MAX: usize = 8;

/// The server's answer to a cached password: it is right, or the whole password is wanted.
const IS_CACHED: [u8; 2] = [1, 3];
const IS_NOT_CACHED: [u8; 2] = [1, 4];

pub(super) struct Session {
    stream: BufReader<Box<dyn Stream>>,
    /// The numbers of the prepared statements, by the address of their text: it is static.
    prepared: HashMap<usize, u32>,
    message: Vec<u8>,
}

impl Session {
    /// Begins a session.
    ///
    /// # Errors
    /// The server's reason for a refusal.
    pub(super) fn start(stream: Box<dyn Stream>, login: &Login) -> io::Result<Session> {
        let stream = BufReader::with_capacity(64 << 10, stream);
        let mut session = Session { stream, prepared: HashMap::new(), message: Vec::new() };
        session.read()?;
        let nonce = nonce(Fields(&session.message))?;
        let proof = match login.password {
            Some(ref password) => password.native(&nonce),
            None => Vec::new(),
        };
        let mut reply = CAPABILITIES.to_le_bytes().to_vec();
        reply.extend((16_u32 << 20).to_le_bytes());
        // utf8mb4_general_ci, and 23 bytes for later use.
        reply.push(45);
        reply.extend([0; 23]);
        reply.extend(login.user.as_bytes());
        reply.extend([0, proof.len() as u8]);
        reply.extend(&proof);
        reply.extend(login.database.as_bytes());
        reply.push(0);
        reply.extend(NATIVE);
        reply.push(0);
        session.send(1, &reply)?;
        session.authenticate(login)?;
        session.affected()?;
        Ok(session)
    }

    /// Authenticates in other ways, where the server asks for them.
    fn authenticate(&mut self, login: &Login) -> io::Result<()> {
        for _ in 0..QUESTIONS_MAX {
            let sequence = self.read()?.wrapping_add(1);
            if self.message == IS_CACHED {
                continue;
            }
            if self.message == IS_NOT_CACHED {
                let advice = "the server has this password in no cache, and would want it in the clear: \
                              connect once with the client `mysql`, then measure";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, advice));
            }
            let [0xfe, rest @ ..] = &self.message[..] else { return Ok(()) };
            let mut fields = Fields(rest);
            let plugin = fields.until_zero()?;
            let nonce = fields.bytes(NONCE_BYTES.min(fields.0.len()))?;
            // An instance of ours asks for no proof.
            let proof = match (plugin, &login.password) {
                (_, None) => Vec::new(),
                (NATIVE, Some(password)) => password.native(nonce),
                (CACHING, Some(password)) => password.caching_sha2(nonce),
                (other, Some(_)) => {
                    let other = String::from_utf8_lossy(other);
                    let known = "mysql_native_password and caching_sha2_password are known";
                    return Err(protocol(format!("the server wants the plugin {other}; {known}")));
                }
            };
            self.send(sequence, &proof)?;
        }
        Err(protocol("MariaDB asks for authentication without end"))
    }

    fn send(&mut self, sequence: u8, body: &[u8]) -> io::Result<()> {
        let [low, middle, high, 0] = (body.len() as u32).to_le_bytes() else {
            return Err(protocol("a statement is too long for one message"));
        };
        let mut message = vec![low, middle, high, sequence];
        message.extend(body);
        self.stream.get_mut().write_all(&message)
    }

    /// Reads a message; returns its number.
    fn read(&mut self) -> io::Result<u8> {
        let mut head = [0; 4];
        self.stream.read_exact(&mut head)?;
        let [low, middle, high, sequence] = head;
        self.message.resize(u32::from_le_bytes([low, middle, high, 0]) as usize, 0);
        self.stream.read_exact(&mut self.message)?;
        if self.message.first() == Some(&0xff) {
            return Err(refused(&self.message));
        }
        Ok(sequence)
    }

    /// How many rows were changed, from a message with that number.
    fn affected(&self) -> io::Result<u64> {
        let mut fields = Fields(&self.message);
        match fields.array()? {
            [0] => length(&mut fields),
            _ => Err(protocol("MariaDB did not confirm a statement")),
        }
    }

    fn is_end(&self) -> bool {
        self.message.first() == Some(&0xfe) && self.message.len() < 9
    }

    fn prepare(&mut self, statement: &'static str) -> io::Result<u32> {
        let key = statement.as_ptr().addr();
        if let Some(&number) = self.prepared.get(&key) {
            return Ok(number);
        }
        self.send(0, &[&[PREPARE], statement.as_bytes()].concat())?;
        self.read()?;
        let mut fields = Fields(&self.message);
        fields.bytes(1)?;
        let number = u32::from_le_bytes(fields.array()?);
        let columns = u16::from_le_bytes(fields.array()?);
        let values = u16::from_le_bytes(fields.array()?);
        for described in [values, columns] {
            // Each, and a message that ends them.
            for _ in 0..if described > 0 { u32::from(described) + 1 } else { 0 } {
                self.read()?;
            }
        }
        self.prepared.insert(key, number);
        Ok(number)
    }

    /// The rows of a statement that selects.
    fn rows(&mut self) -> io::Result<Outcome> {
        let columns = length(&mut Fields(&self.message))?;
        let mut first = None;
        for _ in 0..columns {
            self.read()?;
            if first.is_none() {
                first = Some(column_type(Fields(&self.message))?);
            }
        }
        self.read()?;
        let mut outcome = Outcome::default();
        loop {
            self.read()?;
            if self.is_end() {
                return Ok(outcome);
            }
            let mut fields = Fields(&self.message);
            fields.bytes(1 + (columns as usize + 9) / 8)?;
            // The first bit of the map, behind two that are not used, says that the first column is null.
            let is_null = self.message.get(1).is_some_and(|map| map & 4 != 0);
            if !is_null {
                outcome.sum += integer(&mut fields, first.unwrap_or_default())?;
            }
            outcome.rows += 1;
        }
    }
}

impl Client for Session {
    fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> io::Result<Outcome> {
        let number = self.prepare(statement)?;
        let mut body = vec![EXECUTE];
        body.extend(number.to_le_bytes());
        // No cursor, once.
        body.push(0);
        body.extend(1_u32.to_le_bytes());
        if !values.is_empty() {
            // None is null; the types follow.
            body.extend(std::iter::repeat_n(0, values.len().div_ceil(8)));
            body.push(1);
        }
        for value in values {
            body.extend(match value {
                Value::Integer(_) => [TYPE_LONGLONG, 0],
                Value::Text(_) => [TYPE_STRING, 0],
            });
        }
        for value in values {
            match value {
                Value::Integer(number) => body.extend(number.to_le_bytes()),
                Value::Text(text) => {
                    let length = u16::try_from(text.len()).map_err(io::Error::other)?;
                    body.push(0xfc);
                    body.extend(length.to_le_bytes());
                    body.extend(text.as_bytes());
                }
            }
        }
        self.send(0, &body)?;
        self.read()?;
        match self.message.first() {
            Some(0) => Ok(Outcome { rows: self.affected()?, sum: 0 }),
            _ => self.rows(),
        }
    }

    fn script(&mut self, statement: &str) -> io::Result<()> {
        self.send(0, &[&[QUERY], statement.as_bytes()].concat())?;
        self.read()?;
        self.affected().map(drop)
    }
}

/// The nonce of the server's first message: in two parts, between facts of the server.
fn nonce(mut fields: Fields<'_>) -> io::Result<Vec<u8>> {
    fields.bytes(1)?;
    fields.until_zero()?;
    fields.bytes(4)?;
    let first = fields.bytes(8)?;
    // A zero, capabilities, character set, status, capabilities, the length of the nonce, 10 unused bytes.
    fields.bytes(1 + 2 + 1 + 2 + 2 + 1 + 10)?;
    Ok([first, fields.bytes(NONCE_BYTES - 8)?].concat())
}

/// A number of 1, 3, 4 or 9 bytes, by the first of them.
fn length(fields: &mut Fields<'_>) -> io::Result<u64> {
    match fields.array()? {
        [0xfc] => fields.array().map(|bytes| u16::from_le_bytes(bytes).into()),
        [0xfd] => fields.array().map(|[low, middle, high]| u32::from_le_bytes([low, middle, high, 0]).into()),
        [0xfe] => fields.array().map(u64::from_le_bytes),
        [small] => Ok(small.into()),
    }
}

/// The type of a column: six texts, and character set, length and type behind them.
fn column_type(mut fields: Fields<'_>) -> io::Result<u8> {
    for _ in 0..6 {
        let bytes = length(&mut fields)?;
        fields.bytes(usize::try_from(bytes).map_err(io::Error::other)?)?;
    }
    fields.bytes(1 + 2 + 4)?;
    fields.array().map(|[kind]: [u8; 1]| kind)
}

fn integer(fields: &mut Fields<'_>, kind: u8) -> io::Result<i64> {
    match kind {
        TYPE_LONG => fields.array().map(|bytes| i32::from_le_bytes(bytes).into()),
        TYPE_LONGLONG => fields.array().map(i64::from_le_bytes),
        _ => {
            let bytes = length(fields)?;
            number(fields.bytes(usize::try_from(bytes).map_err(io::Error::other)?)?)
        }
    }
}

fn refused(message: &[u8]) -> io::Error {
    let mut fields = Fields(message.get(1..).unwrap_or_default());
    let number = fields.array().map_or(0, u16::from_le_bytes);
    // A mark and five characters of the state come before the text.
    let text = fields.0.strip_prefix(b"#").and_then(|text| text.get(5..)).unwrap_or(fields.0);
    match number {
        // ER_DISK_FULL, ER_RECORD_FILE_FULL.
        1021 | 1114 => disk_full(),
        _ => io::Error::other(format!("MariaDB: {} (error {number})", String::from_utf8_lossy(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_types_are_read() {
        let of = |bytes: &[u8]| length(&mut Fields(bytes)).ok();
        assert_eq!(
            (of(b"\x05"), of(b"\xfc\x01\x02"), of(b"\xfd\x01\0\x01")),
            (Some(5), Some(513), Some(65_537))
        );
        assert_eq!((of(b"\xfc\x01"), of(b"")), (None, None));
        let column = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x14\0\0\0\x08\x80\0\0\0\0";
        assert_eq!(column_type(Fields(column)).ok(), Some(TYPE_LONGLONG));
        assert_eq!(integer(&mut Fields(b"\xfe\xff\xff\xff"), TYPE_LONG).ok(), Some(-2));
        assert_eq!(integer(&mut Fields(b"\x0512.00"), 246).ok(), Some(12));
        assert!(integer(&mut Fields(b"\x09 1"), 246).is_err());
        for cut in 0..column.len() - 5 {
            assert!(column_type(Fields(&column[..cut])).is_err(), "{cut}");
        }
        let text = refused(b"\xff\x7a\x04#42S02no such table").to_string();
        assert_eq!(text, "MariaDB: no such table (error 1146)");
        assert_eq!(refused(b"\xff").to_string(), "MariaDB:  (error 0)");
    }
}
