//! Holds connections to a server of this machine. Where it speaks HTTP and keeps connections, each has a
//! response; where it speaks HTTP and closes them, each has a request that does not end; otherwise they stay
//! silent, so that no server gets input that it does not understand.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use net::ServerAddress;
use net::client::http::HttpClientSettings;
use net::load::{Generator, LoadSettings};

use super::ProbeMode;
use super::server::{ListeningPlace, SnoopError};

/// A connection on this machine takes less. Where the server's queue is full, it is tried again after a
/// second.
const CONNECT: Duration = Duration::from_millis(1500);
/// Growing from one level to the next takes at most so long.
const GROWING: Duration = Duration::from_secs(5);
/// A server that speaks first does so in this time.
const BANNER: Duration = Duration::from_millis(300);
/// A response takes at most so long.
const RESPONSE: Duration = Duration::from_secs(1);
/// The first one may take longer, where a program is loaded for it.
const FIRST_RESPONSE: Duration = Duration::from_secs(3);
/// From one connection to the next.
const APART: Duration = Duration::from_millis(2);
/// A request without its end.
const UNFINISHED: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: osdyno\r\n";
/// From so many connections on it is visible whether they are accepted.
const FEW: usize = 3;
/// The work of the server for a new connection takes some time.
const SETTLING: Duration = Duration::from_millis(250);

/// Connections to one server.
pub struct Holder(Connections);

enum Connections {
    /// Those of the load generator.
    Http(Box<Generator>),
    /// Ours, which are silent after their first bytes, if there are any.
    Held(Target, &'static [u8], Vec<Stream>),
}

/// Where the server is.
#[derive(Clone)]
enum Target {
    Network(SocketAddr),
    #[cfg(unix)]
    Path(std::path::PathBuf),
}

enum Stream {
    Network(#[expect(dead_code, reason = "it is held")] TcpStream),
    #[cfg(unix)]
    Path(#[expect(dead_code, reason = "it is held")] std::os::unix::net::UnixStream),
}

impl Holder {
    /// None yet; how they will be used follows from one exchange with the server.
    ///
    /// # Errors
    /// [`SnoopError::NoPath`] and [`SnoopError::Load`].
    pub fn new(place: &ListeningPlace) -> Result<Holder, SnoopError> {
        let target = Target::of(place)?;
        // An unreachable server shows when connections are held.
        let (address, spoken) = match &target {
            Target::Network(address) => (Some(*address), spoken(*address).unwrap_or(Spoken::Other)),
            #[cfg(unix)]
            Target::Path(_) => (None, Spoken::Other),
        };
        let address = match (address, spoken) {
            (Some(address), Spoken::KeptHttp) => address,
            (_, Spoken::ClosedHttp) => return Ok(Holder::held(target, UNFINISHED)),
            _ => return Ok(Holder::held(target, b"")),
        };
        let any_status = ["2xx", "3xx", "4xx", "5xx"].map(str::to_owned).to_vec();
        let client =
            HttpClientSettings { any_body: true, expect_status: any_status, ..HttpClientSettings::default() };
        let mut settings = LoadSettings::new(ServerAddress::from(address), &client);
        settings.timeout = RESPONSE;
        Ok(Holder(Connections::Http(Box::new(Generator::new(settings)?))))
    }

    fn held(target: Target, first: &'static [u8]) -> Holder {
        Holder(Connections::Held(target, first, Vec::new()))
    }

    /// How they are used.
    pub fn mode(&self) -> ProbeMode {
        match &self.0 {
            Connections::Http(_) => ProbeMode::Http,
            Connections::Held(_, b"", _) => ProbeMode::Silent,
            Connections::Held(..) => ProbeMode::Unfinished,
        }
    }

    /// Holds so many connections, or as many as can be made. Returns how many.
    ///
    /// # Errors
    /// [`SnoopError::Load`].
    pub fn grow_to(&mut self, connections: usize) -> Result<usize, SnoopError> {
        let began = Instant::now();
        let held = match &mut self.0 {
            Connections::Http(generator) => {
                let held = generator.grow_to(connections)?.connections;
                for number in 0..held {
                    // One that gets no response waits for others to end, and so do all after it.
                    if began.elapsed() > GROWING || generator.ask_once(number).is_err() {
                        break;
                    }
                }
                // Those that got none were closed, and wait again.
                generator.grow_to(connections)?.connections
            }
            Connections::Held(target, first, streams) => {
                while streams.len() < connections && began.elapsed() < GROWING {
                    let Ok(stream) = target.connect(first) else { break };
                    streams.push(stream);
                    // A queue may be short, and its server needs a moment for each.
                    std::thread::sleep(APART);
                }
                streams.len()
            }
        };
        std::thread::sleep(SETTLING);
        Ok(held)
    }

    /// A request that does not end keeps even an event loop busy, if that reads requests one after the other:
    /// where most connections wait to be accepted, silent ones are tried in their place, and stay where the
    /// server accepts them. A kernel that defers accepting (TCP_DEFER_ACCEPT) does not show a silent one to
    /// its server at all: then each begins a request. `seen` counts the connections that the server has, and
    /// those that wait. Returns how many are held.
    ///
    /// # Errors
    /// [`SnoopError::Load`], and those of `seen`.
    pub fn in_another_mode(
        &mut self,
        held: usize,
        seen: impl Fn() -> Result<(usize, usize), SnoopError>,
    ) -> Result<usize, SnoopError> {
        let Connections::Held(target, first, _) = &self.0 else { return Ok(held) };
        let (target, first) = (target.clone(), *first);
        let (accepted, waiting) = seen()?;
        let is_silent = first.is_empty();
        let is_stuck = match is_silent {
            true => held > 0 && accepted == 0 && waiting == 0,
            false => held >= FEW && waiting * 2 > held,
        };
        if !is_stuck {
            return Ok(held);
        }
        *self = Holder::held(target.clone(), if is_silent { UNFINISHED } else { b"" });
        // The server reads first that the others were closed.
        std::thread::sleep(SETTLING);
        let now = self.grow_to(held)?;
        let (accepted, waiting) = seen()?;
        let is_better = if is_silent { accepted > 0 } else { waiting * 2 <= now };
        if is_better {
            return Ok(now);
        }
        *self = Holder::held(target, first);
        std::thread::sleep(SETTLING);
        self.grow_to(held)
    }
}

impl Target {
    fn of(place: &ListeningPlace) -> Result<Target, SnoopError> {
        match place {
            ListeningPlace::Tcp { address, port } => {
                let address = match address {
                    IpAddr::V4(any) if any.is_unspecified() => IpAddr::from(Ipv4Addr::LOCALHOST),
                    IpAddr::V6(any) if any.is_unspecified() => IpAddr::from(Ipv6Addr::LOCALHOST),
                    address => *address,
                };
                Ok(Target::Network(SocketAddr::new(address, *port)))
            }
            #[cfg(unix)]
            ListeningPlace::Unix { path } if path.starts_with('/') => Ok(Target::Path(path.into())),
            ListeningPlace::Unix { path } => Err(SnoopError::NoPath(path.clone())),
        }
    }

    fn connect(&self, first: &[u8]) -> io::Result<Stream> {
        match self {
            Target::Network(address) => {
                let mut stream = TcpStream::connect_timeout(address, CONNECT)?;
                stream.write_all(first)?;
                Ok(Stream::Network(stream))
            }
            #[cfg(unix)]
            Target::Path(path) => std::os::unix::net::UnixStream::connect(path).map(Stream::Path),
        }
    }
}

/// The protocol of a server.
enum Spoken {
    /// HTTP, and it keeps the connection after its response.
    KeptHttp,
    /// HTTP, and it closes the connection.
    ClosedHttp,
    Other,
}

fn spoken(address: SocketAddr) -> io::Result<Spoken> {
    let mut stream = TcpStream::connect_timeout(&address, CONNECT)?;
    let mut input = [0; 4096];
    stream.set_read_timeout(Some(BANNER))?;
    match stream.read(&mut input) {
        // It speaks first, or wants no connection.
        Ok(_) => return Ok(Spoken::Other),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
        Err(error) => return Err(error),
    }
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: osdyno\r\n\r\n")?;
    stream.set_read_timeout(Some(FIRST_RESPONSE))?;
    let read = stream.read(&mut input)?;
    if !input[..read].starts_with(b"HTTP/1.") {
        return Ok(Spoken::Other);
    }
    // The rest of the response follows, or its end.
    stream.set_read_timeout(Some(BANNER))?;
    loop {
        match stream.read(&mut input) {
            Ok(1..) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Ok(Spoken::KeptHttp);
            }
            Ok(0) | Err(_) => return Ok(Spoken::ClosedHttp),
        }
    }
}
