//! PostgreSQL: a server of this system, and its protocol, version 3.0 (PostgreSQL documentation, chapter
//! "Frontend/Backend Protocol"). The instance accepts every client of its socket, which lies in a folder of
//! the owner.

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use sys::Unsupported;
use sys::process::find_program;

use super::database::{Client, DATABASE, Database, Fields, Login, Outcome, Stream, Value, disk_full, number};
use super::password::Scram;
use crate::instance::{Instance, prepare, protocol};

const MISSING: Unsupported =
    Unsupported("this system has no PostgreSQL; on Debian `apt-get install postgresql` installs it");

const USER: &str = "osdyno";

/// A server sends less until a session has begun.
const QUESTIONS_MAX: usize = 8;

/// The longest message: the rows of a test are far smaller.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

pub(super) struct PostgreSql {
    instance: Instance,
    socket: PathBuf,
}

impl PostgreSql {
    /// Makes a database in the folder and starts its server.
    ///
    /// # Errors
    /// Unsupported where there is none; the end of its own log.
    pub(super) fn in_folder(folder: &Path) -> io::Result<PostgreSql> {
        // Both must be of one version, so both come from one folder.
        let server = find_program("postgres").ok_or(MISSING)?;
        let data = folder.join("data");
        let mut initdb = Command::new(server.with_file_name("initdb"));
        initdb.args(["--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "--username", USER]);
        prepare(initdb.arg("--pgdata").arg(&data))?;
        let mut command = Command::new(&server);
        command.arg("-D").arg(&data).arg("-k").arg(folder).args(["-c", "listen_addresses="]);
        // Its other ways to share memory would leave objects outside the folder, were it killed.
        command.args(["-c", "dynamic_shared_memory_type=mmap"]);
        let socket = folder.join(".s.PGSQL.5432");
        let serve = || private(&socket).map(drop);
        let instance = Instance::start(DATABASE, command.args(["-p", "5432"]), &folder.join("log"), serve)?;
        Ok(PostgreSql { instance, socket })
    }
}

impl Database for PostgreSql {
    fn connect(&self) -> io::Result<Box<dyn Client>> {
        Ok(Box::new(private(&self.socket)?))
    }

    fn ending(&mut self) -> Option<io::Error> {
        self.instance.ending()
    }
}

/// A session of an instance of ours.
fn private(socket: &Path) -> io::Result<Session> {
    Session::start(Box::new(UnixStream::connect(socket)?), &Login::open(USER, "postgres"))
}

pub(super) struct Session {
    stream: BufReader<Box<dyn Stream>>,
    /// The numbers of the prepared statements, by the address of their text: it is static.
    prepared: HashMap<usize, u32>,
    message: Vec<u8>,
    request: Vec<u8>,
}

/// The messages until the server was ready for the next request.
#[derive(Default)]
struct Reply {
    outcome: Outcome,
    error: Option<String>,
    is_fatal: bool,
}

impl Session {
    /// Begins a session.
    ///
    /// # Errors
    /// The server's reason for a refusal.
    pub(super) fn start(stream: Box<dyn Stream>, login: &Login) -> io::Result<Session> {
        let mut session = Session {
            stream: BufReader::with_capacity(64 << 10, stream),
            prepared: HashMap::new(),
            message: Vec::new(),
            request: Vec::new(),
        };
        let mut startup = 196_608_u32.to_be_bytes().to_vec();
        for text in ["user", &login.user, "database", &login.database, ""] {
            startup.extend(text.as_bytes());
            startup.push(0);
        }
        let length = startup.len() as u32 + 4;
        session.request.extend(length.to_be_bytes());
        session.request.extend(startup);
        session.authenticate(login)?;
        session.reply()?;
        Ok(session)
    }

    /// Authenticates by the method that the server requests.
    fn authenticate(&mut self, login: &Login) -> io::Result<()> {
        let mut scram = None;
        for _ in 0..QUESTIONS_MAX {
            self.send()?;
            let kind = self.read()?;
            let mut fields = Fields(&self.message);
            if kind != b'R' {
                let other = || "it answers with no authentication".to_owned();
                let reason = if kind == b'E' { reason(fields)? } else { other() };
                return Err(io::Error::other(format!("PostgreSQL: {reason}")));
            }
            match (u32::from_be_bytes(fields.array()?), &mut scram) {
                (0, None) => return Ok(()),
                (0, Some(_)) => return Err(protocol("PostgreSQL did not prove that it knows the password")),
                (10, _) => {
                    let scram = scram.insert(Scram::new(login.password()?)?);
                    let first = scram.first();
                    self.add(b'p', |body| {
                        body.extend(b"SCRAM-SHA-256\0");
                        body.extend((first.len() as u32).to_be_bytes());
                        body.extend(first.as_bytes());
                    });
                }
                (11, Some(scram)) => {
                    let last = scram.last(fields.0)?;
                    self.add(b'p', |body| body.extend(last.as_bytes()));
                }
                (12, Some(client)) => {
                    client.check(fields.0)?;
                    scram = None;
                }
                (number, _) => {
                    let reason = format!("PostgreSQL wants authentication {number}; scram-sha-256 is known");
                    return Err(protocol(reason));
                }
            }
        }
        Err(protocol("PostgreSQL asks for authentication without end"))
    }

    fn send(&mut self) -> io::Result<()> {
        self.stream.get_mut().write_all(&self.request)?;
        self.request.clear();
        Ok(())
    }

    /// Reads a message; returns its kind.
    fn read(&mut self) -> io::Result<u8> {
        let [kind, length @ ..] = read_array::<5>(&mut self.stream)?;
        let length = u32::from_be_bytes(length) as usize;
        let body = length.checked_sub(4).filter(|&body| body <= MESSAGE_BYTES_MAX);
        self.message.resize(body.ok_or_else(|| protocol("PostgreSQL sent a message without length"))?, 0);
        self.stream.read_exact(&mut self.message)?;
        Ok(kind)
    }

    /// Appends a message of that kind to the request.
    fn add(&mut self, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
        self.request.push(kind);
        let begin = self.request.len();
        self.request.extend([0; 4]);
        body(&mut self.request);
        let length = (self.request.len() - begin) as u32;
        self.request[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Sends the request and reads until the server is ready for the next one.
    fn reply(&mut self) -> io::Result<Outcome> {
        self.send()?;
        let mut reply = Reply::default();
        loop {
            let kind = self.read()?;
            if kind == b'Z' {
                break;
            }
            reply.read(kind, Fields(&self.message))?;
            // The server does not go on after a fatal error.
            if reply.is_fatal {
                break;
            }
        }
        match reply.error {
            Some(reason) if reason.contains("No space left on device") => Err(disk_full()),
            Some(reason) => Err(io::Error::other(format!("PostgreSQL: {reason}"))),
            None => Ok(reply.outcome),
        }
    }
}

impl Reply {
    fn read(&mut self, kind: u8, mut fields: Fields<'_>) -> io::Result<()> {
        match kind {
            b'D' => {
                let columns = u16::from_be_bytes(fields.array()?);
                let length = i32::from_be_bytes(fields.array()?);
                if columns > 0 && length > 0 {
                    self.outcome.sum += number(fields.bytes(length as usize)?)?;
                }
                self.outcome.rows += 1;
            }
            // "INSERT 0 1", "UPDATE 1", "SELECT 1", "CREATE TABLE".
            b'C' => {
                let tag = String::from_utf8_lossy(fields.until_zero()?).into_owned();
                let count = tag.rsplit(' ').next().and_then(|count| count.parse().ok());
                self.outcome.rows = count.unwrap_or(self.outcome.rows);
            }
            b'E' => {
                let severity = fields.0.strip_prefix(b"S").unwrap_or_default();
                self.is_fatal = severity.starts_with(b"FATAL\0") || severity.starts_with(b"PANIC\0");
                self.error = Some(reason(fields)?);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The message of an error: the field `M`.
fn reason(mut fields: Fields<'_>) -> io::Result<String> {
    loop {
        match fields.array()? {
            [0] => return Ok("an error without a message".to_owned()),
            [b'M'] => return Ok(String::from_utf8_lossy(fields.until_zero()?).into_owned()),
            [_] => fields.until_zero()?,
        };
    }
}

fn read_array<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut array = [0; N];
    stream.read_exact(&mut array)?;
    Ok(array)
}

impl Client for Session {
    fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> io::Result<Outcome> {
        let next = self.prepared.len() as u32;
        let name = *self.prepared.entry(statement.as_ptr().addr()).or_insert(next);
        if name == next {
            let text = numbered(statement);
            self.add(b'P', |body| {
                body.extend(format!("{name}\0{text}\0").as_bytes());
                body.extend(0_u16.to_be_bytes());
            });
        }
        self.add(b'B', |body| {
            // The portal without a name; the statement; all values as text.
            body.extend(format!("\0{name}\0").as_bytes());
            body.extend(0_u16.to_be_bytes());
            body.extend((values.len() as u16).to_be_bytes());
            for value in values {
                let text = match value {
                    Value::Integer(number) => &*number.to_string(),
                    Value::Text(text) => text,
                };
                body.extend((text.len() as u32).to_be_bytes());
                body.extend(text.as_bytes());
            }
            body.extend(0_u16.to_be_bytes());
        });
        self.add(b'E', |body| body.extend([0; 5]));
        self.add(b'S', |_| ());
        self.reply()
    }

    fn script(&mut self, statement: &str) -> io::Result<()> {
        self.add(b'Q', |body| {
            body.extend(statement.as_bytes());
            body.push(0);
        });
        self.reply().map(drop)
    }
}

/// The statement with `$1`, `$2` and so on in the places of `?`.
fn numbered(statement: &str) -> String {
    let mut pieces = statement.split('?');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for (place, piece) in pieces.enumerate() {
        text += &format!("${}{piece}", place + 1);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_numbered() {
        assert_eq!(numbered("select ? from a where b = ?"), "select $1 from a where b = $2");
        assert_eq!(numbered("begin"), "begin");
    }

    #[test]
    fn replies_are_read() {
        let mut reply = Reply::default();
        reply.read(b'D', Fields(b"\0\x01\0\0\0\x0242")).expect("a row");
        reply.read(b'D', Fields(b"\0\x01\xff\xff\xff\xff")).expect("a row of null");
        assert_eq!(reply.outcome, Outcome { rows: 2, sum: 42 });
        reply.read(b'C', Fields(b"UPDATE 7\0")).expect("a tag");
        assert_eq!(reply.outcome.rows, 7);
        reply.read(b'E', Fields(b"SERROR\0Mno such table\0\0")).expect("an error");
        assert_eq!(reply.error.as_deref(), Some("no such table"));
        assert!(!reply.is_fatal);
        reply.read(b'E', Fields(b"SFATAL\0Mstarting up\0\0")).expect("an error");
        assert!(reply.is_fatal);
        for cut in [&b""[..], b"\0", b"\0\x01\0\0\0\x02", b"\0\x01\0\0\0\x024"] {
            assert!(Reply::default().read(b'D', Fields(cut)).is_err(), "{cut:?}");
        }
        assert!(Reply::default().read(b'E', Fields(b"M")).is_err());
    }
}
