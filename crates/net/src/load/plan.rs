//! The task of a generator: its server and its settings, the addresses that connections come from, and the
//! loads that it offers.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Schedule;
use crate::client::http::HttpClientSettings;
use crate::client::{ClientChoice, ClientSettings, ClientVisitor};
use crate::network::TlsSettings;
use crate::{Error, ServerAddress};

/// The server and settings of a generator, for all of its loads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadSettings {
    /// The server.
    pub target: ServerAddress,
    /// Whether connections are encrypted, and how the server is known.
    pub tls: Option<TlsSettings>,
    /// The client and its settings.
    pub client: ClientChoice,
    /// A new connection for every request. Where the client can request a close, the server closes, else the
    /// client.
    pub new_connections: bool,
    /// The number of requests after which the client closes and begins another connection.
    pub requests_per_connection: Option<u32>,
    /// Close by a reset, which leaves no port in TIME_WAIT.
    pub reset: bool,
    /// Requests sent together in one piece; a response to each must have come before the next ones. 1 is no
    /// pipelining.
    pub pipeline: u32,
    /// The source addresses of connections.
    pub sources: Sources,
    /// A request whose response takes longer has failed, and its connection is closed.
    #[serde(rename = "timeout_seconds", with = "seconds")]
    pub timeout: Duration,
    /// Connections begun in a second, when their number grows.
    pub connect_rate: f64,
    /// Additional connections that stay idle.
    pub idle: usize,
    /// An open loop opens more connections while all are busy, up to so many.
    pub connections_max: usize,
    /// A closed loop waits so long between a response and the next request.
    #[serde(rename = "think_seconds", with = "seconds")]
    pub think: Duration,
    /// Seed of every random choice.
    pub seed: u64,
    /// Number of this generator.
    pub worker: usize,
    /// Number of generators.
    pub workers: usize,
}

impl LoadSettings {
    /// The defaults: kept connections, a timeout of ten seconds.
    pub fn new(target: impl Into<ServerAddress>, client: &impl ClientSettings) -> LoadSettings {
        LoadSettings::choosing(target, ClientChoice::new(client))
    }

    /// The same, for a client that was chosen by its name.
    pub fn choosing(target: impl Into<ServerAddress>, client: ClientChoice) -> LoadSettings {
        LoadSettings {
            target: target.into(),
            tls: None,
            client,
            new_connections: false,
            requests_per_connection: None,
            reset: false,
            pipeline: 1,
            sources: Sources::default(),
            timeout: Duration::from_secs(10),
            connect_rate: 10_000.0,
            idle: 0,
            connections_max: 1000,
            think: Duration::ZERO,
            seed: 1,
            worker: 0,
            workers: 1,
        }
    }

    /// The part of one of several generators that work together.
    #[must_use]
    pub fn share(&self, worker: usize, workers: usize) -> LoadSettings {
        let part = |whole: usize| whole / workers + usize::from(worker < whole % workers);
        LoadSettings {
            worker,
            workers,
            idle: part(self.idle),
            connections_max: part(self.connections_max),
            connect_rate: self.connect_rate / workers as f64,
            ..self.clone()
        }
    }

    /// The part of one of several generators, of which the last may be the observer.
    pub(super) fn part(&self, part: LoadPart) -> LoadSettings {
        let LoadPart { number, of, .. } = part;
        let of_observer = hundredth(self.connections_max);
        match part.role() {
            PartRole::Any => self.share(number, of),
            PartRole::Loader => {
                let connections_max = self.connections_max.saturating_sub(of_observer);
                LoadSettings { connections_max, ..self.clone() }.share(number, of - 1)
            }
            PartRole::Observer => {
                let connect_rate = self.connect_rate / of as f64;
                let connections_max = of_observer;
                let own = self.clone();
                LoadSettings { worker: number, workers: of, idle: 0, connections_max, connect_rate, ..own }
            }
        }
    }

    /// Whether no connection outlives its request.
    pub fn one_request_each(&self) -> bool {
        self.new_connections || self.server_closes()
    }

    /// Whether the server closes each connection, and so keeps its port in TIME_WAIT.
    pub fn server_closes(&self) -> bool {
        self.client.server_closes(self.new_connections)
    }

    /// Checks that they are valid together.
    ///
    /// # Errors
    /// [`Error::Settings`] names the invalid ones; [`Error::Unknown`] a client.
    pub fn check(&self) -> Result<(), Error> {
        let streams = self.client.visit(CheckClient { is_secure: self.tls.is_some() })?;
        let refuse = |text: &str| Err(Error::Settings(text.to_owned()));
        if self.pipeline == 0
            || self.timeout.is_zero()
            || self.connect_rate.is_nan()
            || self.connect_rate <= 0.0
        {
            return refuse("requests sent together, the timeout and the rate of connects are more than 0");
        }
        if self.pipeline > 1 && self.one_request_each() {
            return refuse("several requests cannot be sent together on connections for one request each");
        }
        if streams.is_some() && self.pipeline > 1 {
            return refuse("HTTP/2 sends several requests at once in streams: use --streams, not --pipeline");
        }
        let is_shared = streams.is_some_and(|streams| streams > 1);
        if is_shared && (self.new_connections || self.requests_per_connection.is_some()) {
            return refuse("several streams share a connection, which one of them cannot close");
        }
        if let Some(tls) = &self.tls {
            if self.client.name() != HttpClientSettings::NAME {
                return refuse("TLS is for --client http only: write host:port instead of https://");
            }
            tls.check()?;
        }
        let network = self.target.network();
        if self
            .sources
            .0
            .iter()
            .any(|source| network.is_none_or(|target| source.is_ipv4() != target.is_ipv4()))
        {
            return refuse("source addresses are of the target's family, IPv4 or IPv6");
        }
        Ok(())
    }
}

/// The place of a generator among several.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoadPart {
    pub(super) number: usize,
    pub(super) of: usize,
    /// Whether the last of them gets a hundredth of the load, so that it measures what a client beside the
    /// load experiences.
    pub(super) observes: bool,
}

/// The task of a generator among several.
enum PartRole {
    /// There is no observer.
    Any,
    Loader,
    Observer,
}

impl LoadPart {
    fn role(self) -> PartRole {
        match self.observes && self.of > 1 {
            false => PartRole::Any,
            true if self.number + 1 == self.of => PartRole::Observer,
            true => PartRole::Loader,
        }
    }
}

/// The part of an observer in connections, of which it has at least one.
fn hundredth(whole: usize) -> usize {
    (whole / 100).max(1)
}

/// Checks the settings of a client, and returns how many streams a connection has, if it has any.
struct CheckClient {
    is_secure: bool,
}

impl ClientVisitor for CheckClient {
    type Output = Option<usize>;

    fn visit<S: ClientSettings>(self, settings: S) -> Result<Option<usize>, Error> {
        settings.open()?;
        Ok(settings.http2(self.is_secure)?.map(|http2| http2.streams))
    }
}

/// One level of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Load {
    /// Connections open when it begins.
    pub connections: usize,
    /// Requests per second to start; `None` in a closed loop.
    ///
    /// There every connection sends its next request when it has its response.
    pub rate: Option<f64>,
    /// How the starts of an open loop lie in time.
    pub schedule: Schedule,
    /// Requests that start together, 1 if absent.
    #[serde(skip_serializing_if = "is_one")]
    pub burst: u64,
    /// Between the starts of two requests of a burst.
    #[serde(rename = "spacing_seconds", with = "seconds", skip_serializing_if = "Duration::is_zero")]
    pub spacing: Duration,
    /// Offered before, and not measured.
    #[serde(rename = "warm_up_seconds", with = "seconds")]
    pub warm_up: Duration,
    /// How long it is measured.
    #[serde(rename = "duration_seconds", with = "seconds")]
    pub duration: Duration,
    /// Ends after so many, if that comes first.
    pub requests: Option<u64>,
    /// Place among the loads of one seed.
    #[serde(skip_serializing_if = "is_first")]
    pub number: u64,
}

impl Default for Load {
    fn default() -> Load {
        Load {
            connections: 1,
            rate: None,
            schedule: Schedule::default(),
            burst: 1,
            spacing: Duration::ZERO,
            warm_up: Duration::ZERO,
            duration: Duration::from_secs(10),
            requests: None,
            number: 0,
        }
    }
}

impl Load {
    /// The part of one of several generators, which together offer this load.
    #[must_use]
    pub fn share(&self, worker: usize, workers: usize) -> Load {
        let part = |whole: u64| {
            let (of, number) = (workers as u64, worker as u64);
            whole / of + u64::from(number < whole % of)
        };
        Load {
            connections: part(self.connections as u64) as usize,
            rate: self.rate.map(|rate| rate / workers as f64),
            burst: part(self.burst).max(1),
            requests: self.requests.map(part),
            ..self.clone()
        }
    }

    /// The part of one of several generators, of which the last may be the observer.
    pub(super) fn part(&self, part: LoadPart) -> Load {
        let LoadPart { number, of, .. } = part;
        let of_observer = Load {
            connections: hundredth(self.connections),
            rate: self.rate.map(|rate| rate / 100.0),
            burst: 1,
            requests: self.requests.map(|requests| requests / 100),
            ..self.clone()
        };
        match part.role() {
            PartRole::Any => self.share(number, of),
            PartRole::Observer => of_observer,
            PartRole::Loader => {
                let left = |whole: u64, taken: Option<u64>| whole.saturating_sub(taken.unwrap_or(0));
                Load {
                    connections: self.connections.saturating_sub(of_observer.connections),
                    rate: self.rate.map(|rate| rate * 0.99),
                    requests: self.requests.map(|requests| left(requests, of_observer.requests)),
                    ..self.clone()
                }
                .share(number, of - 1)
            }
        }
    }

    /// The seed of its random choices.
    pub(super) fn seed(&self, settings: &LoadSettings) -> u64 {
        // An odd constant of SplitMix64 (Steele, Lea and Flood 2014), another than that of the workers.
        settings.seed.wrapping_add(self.number.wrapping_mul(0xbf58_476d_1ce4_e5b9))
    }

    /// How long it is likely to be measured.
    pub(super) fn expected_ns(&self) -> u64 {
        let of_requests = match (self.requests, self.rate) {
            (Some(requests), Some(rate)) => requests as f64 / rate * 1e9,
            (Some(_), None) => 4e9,
            (None, _) => f64::INFINITY,
        };
        (self.duration.as_nanos() as f64).min(of_requests) as u64
    }

    /// Checks that it is valid with these settings.
    ///
    /// # Errors
    /// [`Error::Settings`] names the fault.
    pub fn check(&self, settings: &LoadSettings) -> Result<(), Error> {
        let refuse = |text: &str| Err(Error::Settings(text.to_owned()));
        if self.rate.is_some() && settings.pipeline > 1 {
            return refuse(
                "an open loop sends every request at its own time, so it cannot send several together",
            );
        }
        if self.connections == 0 && self.rate.is_none() {
            return refuse("a closed loop needs at least one connection");
        }
        if self.rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            return refuse("a rate is more than 0 requests a second");
        }
        if self.burst == 0 {
            return refuse("a burst has at least one request");
        }
        if self.duration.is_zero() {
            return refuse("a load lasts longer than nothing");
        }
        Ok(())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(burst: &u64) -> bool {
    *burst == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_first(number: &u64) -> bool {
    *number == 0
}

/// Times in records are numbers of seconds.
mod seconds {
    use std::time::Duration;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(time.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Addresses that connections begin at, in turn; one has about 28,000 ports towards a server. None: the
/// system chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sources(pub Vec<IpAddr>);

/// More addresses than this are a typing error.
const ADDRESSES_MAX: u32 = 4096;

/// Connections from one address before loopback targets get several by themselves.
pub const FROM_ONE_ADDRESS: usize = 20_000;

impl Sources {
    /// Reads `127.0.0.2-127.0.0.20`, `127.0.1.0/24`, single addresses, and lists of all of these with commas.
    ///
    /// # Errors
    /// [`Error::Settings`] names the unreadable part.
    pub fn parse(text: &str) -> Result<Sources, Error> {
        let mut addresses = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            addresses.extend(parse_part(part).ok_or_else(|| {
                Error::Settings(format!(
                    "{part:?} names no source addresses; write 127.0.0.2, \
                     127.0.0.2-127.0.0.20 or 127.0.1.0/24 \
                     (at most {ADDRESSES_MAX})"
                ))
            })?);
        }
        Ok(Sources(addresses))
    }

    /// As many addresses of this machine as so many connections to the target need; none for other targets,
    /// or few connections.
    pub fn for_loopback(target: IpAddr, connections: usize) -> Sources {
        let IpAddr::V4(target) = target else { return Sources::default() };
        if !target.is_loopback() || connections <= FROM_ONE_ADDRESS {
            return Sources::default();
        }
        let first = u32::from(Ipv4Addr::new(127, 0, 0, 2));
        let count = u32::try_from(connections.div_ceil(FROM_ONE_ADDRESS)).unwrap_or(ADDRESSES_MAX);
        Sources((0..count.min(ADDRESSES_MAX)).map(|place| Ipv4Addr::from(first + place).into()).collect())
    }

    /// Where the connection of that number begins; `None` leaves it to the system. Without bind(2) the system
    /// has the widest choice of ports.
    #[inline]
    pub fn address(&self, number: usize) -> Option<SocketAddr> {
        let addresses = &self.0;
        (!addresses.is_empty()).then(|| SocketAddr::new(addresses[number % addresses.len()], 0))
    }
}

fn parse_part(part: &str) -> Option<Vec<IpAddr>> {
    let range = |first: u32, last: u32| {
        let count = last.checked_sub(first)?;
        (count < ADDRESSES_MAX)
            .then(|| (first..=last).map(|address| Ipv4Addr::from(address).into()).collect())
    };
    let number = |text: &str| text.trim().parse::<Ipv4Addr>().ok().map(u32::from);
    if let Some((first, last)) = part.split_once('-') {
        return range(number(first)?, number(last)?);
    }
    if let Some((network, bits)) = part.split_once('/') {
        let bits: u32 = bits.parse().ok().filter(|bits| (20..=32).contains(bits))?;
        let hosts = (1_u64 << (32 - bits)) - 1;
        let first = number(network)? & !(hosts as u32);
        let last = first + hosts as u32;
        // The first names the network and the last is its broadcast address.
        return if bits < 31 { range(first + 1, last - 1) } else { range(first, last) };
    }
    Some(vec![part.parse().ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_load_are_all_of_it() {
        let load = Load { connections: 250, rate: Some(1000.0), requests: Some(7001), ..Load::default() };
        for (of, observes) in [(1, true), (2, true), (3, true), (3, false)] {
            let parts: Vec<Load> =
                (0..of).map(|number| load.part(LoadPart { number, of, observes })).collect();
            assert_eq!(parts.iter().map(|part| part.connections).sum::<usize>(), 250, "{of}");
            assert_eq!(parts.iter().filter_map(|part| part.requests).sum::<u64>(), 7001, "{of}");
            let rate: f64 = parts.iter().filter_map(|part| part.rate).sum();
            assert!((rate - 1000.0).abs() < 1e-9, "{of}: {rate}");
            let last = parts.last().expect("a part");
            assert_eq!(observes && of > 1, last.connections == 2 && last.rate == Some(10.0), "{last:?}");
        }
    }

    fn count(text: &str) -> Option<usize> {
        Sources::parse(text).ok().map(|sources| sources.0.len())
    }

    #[test]
    fn lists_ranges_and_networks() {
        assert_eq!(count("127.0.0.2-127.0.0.20"), Some(19));
        assert_eq!(count("127.0.1.0/24"), Some(254));
        assert_eq!(count("127.0.0.9, 127.0.1.8/30"), Some(3));
        assert_eq!(count("::1"), Some(1));
        for wrong in ["127.0.0.9-127.0.0.2", "10.0.0.0/8", "host", "1.2.3"] {
            assert_eq!(count(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn loopback_gets_addresses_when_ports_run_short() {
        let sources = |target: &str, n| Sources::for_loopback(target.parse().unwrap(), n).0.len();
        assert_eq!(sources("127.0.0.1", 20_000), 0);
        assert_eq!(sources("127.0.0.1", 100_000), 5);
        assert_eq!(sources("10.0.0.1", 100_000), 0);
    }

    #[test]
    fn connections_take_turns() {
        let sources = Sources::parse("127.0.0.2-127.0.0.3").unwrap();
        assert_eq!(sources.address(0), sources.address(2));
        assert_ne!(sources.address(0), sources.address(1));
        assert_eq!(Sources::default().address(5), None);
    }
}
