//! A generator: connections to one server that stay open from one load to the next.

use std::time::Duration;

use super::engine::Engine;
use super::{
    Grown, Level, Load, LoadSettings, Measured, OffersLoad, Schedule, Watched, closed_loop, open_loop,
    unwatched,
};
use crate::Error;
use crate::client::{Client, ClientChoice, ClientSettings, ClientVisitor};
use crate::network::{Alpn, FORGETS_CLOSED, Http2Network, LoadKernel, LoadNetwork, TlsNetwork};

/// Connections to one server, and their loads. Dropped, it closes them all.
///
/// ```no_run
/// use std::time::Duration;
/// use net::client::http::HttpClientSettings;
/// use net::load::{Generator, LoadSettings};
/// # fn main() -> Result<(), net::Error> {
/// let server = std::net::SocketAddr::from(([127, 0, 0, 1], 8080));
/// let mut generator = Generator::new(LoadSettings::new(server, &HttpClientSettings::default()))?;
/// for connections in [1, 10, 100] {
///     generator.grow_to(connections)?;
///     let level = generator.closed_loop(Duration::from_secs(3))?;
///     println!("{connections}: {} a second", level.completed_per_second);
/// }
/// let latency: Duration = generator.ask_once(99)?;
/// # Ok(()) }
/// ```
pub struct Generator {
    engine: Box<dyn Drive>,
    settings: LoadSettings,
    places: usize,
}

/// The interface of every engine, for any client: called once for each load, not for each request.
trait Drive {
    fn grow_to(&mut self, connections: usize) -> Result<Grown, Error>;
    fn offer_at(
        &mut self,
        load: &Load,
        at_ns: Option<u64>,
        watched: &mut Watched<'_>,
    ) -> Result<Measured, Error>;
    fn now_ns(&self) -> u64;
    fn ask_once(&mut self, number: usize) -> Result<Duration, Error>;
    fn connections(&self) -> usize;
    fn follow(&mut self);
}

impl<C: Client, N: LoadNetwork> Drive for Engine<C, N> {
    fn grow_to(&mut self, connections: usize) -> Result<Grown, Error> {
        Engine::grow_to(self, connections)
    }

    fn offer_at(
        &mut self,
        load: &Load,
        at_ns: Option<u64>,
        watched: &mut Watched<'_>,
    ) -> Result<Measured, Error> {
        Engine::offer_at(self, load, at_ns, watched)
    }

    fn now_ns(&self) -> u64 {
        Engine::now_ns(self)
    }

    fn ask_once(&mut self, number: usize) -> Result<Duration, Error> {
        Engine::ask_once(self, number)
    }

    fn connections(&self) -> usize {
        Engine::connections(self)
    }

    fn follow(&mut self) {
        Engine::follow(self);
    }
}

/// Compiles an engine for a client, whichever it is.
struct OpenEngine<'a>(&'a LoadSettings);

impl ClientVisitor for OpenEngine<'_> {
    type Output = Box<dyn Drive>;

    fn visit<S: ClientSettings>(self, mut client: S) -> Result<Box<dyn Drive>, Error> {
        let mut settings = self.0.clone();
        if settings.new_connections {
            client.request_close();
            // Where the server closes, it is to do so first.
            settings.new_connections = !client.server_closes();
        }
        settings.client = ClientChoice::new(&client);
        let http2 = client.http2(settings.tls.is_some())?;
        if http2.is_some() && !FORGETS_CLOSED {
            // Its streams close their connection, and know nothing of the set.
            let reason = "its connections need an event interface that forgets what is closed: epoll(7)";
            return Err(Error::Unsupported { name: "HTTP/2".to_owned(), reason: reason.to_owned() });
        }
        let (client, network) = (client.open()?, LoadKernel::new()?);
        let protocol = if http2.is_some() { Alpn::HTTP_2 } else { Alpn::HTTP_1 };
        let tls = settings.tls.clone();
        Ok(match (tls, http2) {
            (None, None) => Box::new(Engine::new(client, settings, network)?),
            (None, Some(http2)) => {
                Box::new(Engine::new(client, settings, Http2Network::new(http2, network))?)
            }
            (Some(tls), http2) => {
                let network = TlsNetwork::new(&tls, protocol, network)?;
                match http2 {
                    None => Box::new(Engine::new(client, settings, network)?),
                    Some(http2) => {
                        Box::new(Engine::new(client, settings, Http2Network::new(http2, network))?)
                    }
                }
            }
        })
    }
}

impl Generator {
    /// One without connections yet.
    ///
    /// # Errors
    /// [`Error::Settings`] for invalid settings, [`Error::System`] where no event interface opens.
    pub fn new(settings: LoadSettings) -> Result<Generator, Error> {
        let engine = settings.client.visit(OpenEngine(&settings))?;
        Ok(Generator { engine, settings, places: 0 })
    }

    /// The server that it loads, and the settings.
    pub fn settings(&self) -> &LoadSettings {
        &self.settings
    }

    /// Sets the number of connections: opens missing ones, at [`LoadSettings::connect_rate`], or closes some.
    /// Connections that outlive no request are only places.
    ///
    /// # Errors
    /// [`Error::System`] where waiting for events fails. A connection that cannot be made is no error, but
    /// reported.
    pub fn grow_to(&mut self, connections: usize) -> Result<Grown, Error> {
        self.places = connections;
        self.engine.grow_to(connections)
    }

    /// Connections that are open.
    pub fn connections(&self) -> usize {
        self.engine.connections()
    }

    /// Adds the latencies of the last second to the progress, once a second. Computing them takes some tens
    /// of microseconds, so it is for display only.
    pub fn follow(&mut self) {
        self.engine.follow();
    }

    /// Offers a load, and counts.
    ///
    /// # Errors
    /// [`Error::Settings`] for an invalid load, [`Error::System`] where waiting for events fails. A fault of
    /// the server is no error, but counted.
    pub fn measure(&mut self, load: &Load, watched: &mut Watched<'_>) -> Result<Measured, Error> {
        self.measure_at(load, None, watched)
    }

    /// The same, from this moment of [`Generator::now_ns`] on, which is at most some seconds ahead.
    ///
    /// # Errors
    /// As [`Generator::measure`].
    pub(super) fn measure_at(
        &mut self,
        load: &Load,
        at_ns: Option<u64>,
        watched: &mut Watched<'_>,
    ) -> Result<Measured, Error> {
        self.places = load.connections;
        self.engine.offer_at(load, at_ns, watched)
    }

    /// The present time of the clock by which it offers loads.
    pub(super) fn now_ns(&self) -> u64 {
        self.engine.now_ns()
    }

    /// Offers a load, and returns its result.
    ///
    /// # Errors
    /// As [`Generator::measure`].
    pub fn offer(&mut self, load: &Load, watched: &mut Watched<'_>) -> Result<Level, Error> {
        let measured = self.measure(load, watched)?;
        Level::from_measured(load, vec![measured])
    }

    /// A closed loop on the present connections.
    ///
    /// # Errors
    /// As [`Generator::measure`].
    pub fn closed_loop(&mut self, duration: Duration) -> Result<Level, Error> {
        self.offer(&closed_loop(self.places, duration), &mut unwatched)
    }

    /// An open loop that begins with the present connections.
    ///
    /// # Errors
    /// As [`Generator::measure`].
    pub fn open_loop(&mut self, rate: f64, schedule: Schedule, duration: Duration) -> Result<Level, Error> {
        self.offer(&open_loop(self.places, rate, schedule, duration), &mut unwatched)
    }

    /// One request on the connection of that number, while all others are silent.
    ///
    /// # Errors
    /// [`Error::NoConnection`], or [`Error::Request`] has the failure of the request.
    pub fn ask_once(&mut self, number: usize) -> Result<Duration, Error> {
        self.engine.ask_once(number)
    }
}

impl OffersLoad for Generator {
    fn offer(&mut self, load: &Load, watched: &mut Watched<'_>) -> Result<Level, Error> {
        Generator::offer(self, load, watched)
    }
}
