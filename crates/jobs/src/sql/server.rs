//! A database server of the user. The measurement uses a schema of its own, which is removed.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use workload::ServerUrl;

use super::client::{Client, Database, Login};
use super::password::Password;
use super::{mariadb, postgresql};

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
