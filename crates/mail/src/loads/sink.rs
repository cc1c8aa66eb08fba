//! The other side of the engine: a server that takes mail, and the DNS server that leads to it, each in a
//! process of its own, on a processor of their own where there is one.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use net::arch;
use net::server::ServerPlan;
use net::service::smtp::SmtpSettings;
use net::worker::Counter;
use workload::server::ServerUnderTest;
use workload::{ProgramEnded, Trial, TrialError};

use crate::context::MailCounts;
use crate::dns::{NameServer, NameServerPlan, ZonePlan};

/// Architectures for the sink, the first that this system has: one process, so that the engine is measured
/// and not how a server spreads its connections.
const ARCHITECTURES: [&str; 4] = ["epoll", "kqueue", "event-ports", "poll"];

/// Answers of DNS hold for as long as a resolver keeps any at least, so that a domain is looked up each time
/// that its recipients begin anew.
const TTL_S: u32 = 1;

/// How often the counters of the sink are read until they have the last connection.
const READS_MAX: u32 = 200;
const READ_INTERVAL: Duration = Duration::from_millis(10);

/// A sink and its DNS server. Dropped, both are ended.
pub(super) struct Sink {
    server: ServerUnderTest,
    names: NameServer,
    exchanger: SocketAddr,
}

impl Sink {
    /// Starts both.
    pub(super) fn start(trial: &Trial<'_>, domains: u32) -> Result<Sink, TrialError> {
        let has = |name: &&&str| {
            arch::find(name).is_ok_and(|architecture| architecture.unavailable_reason().is_none())
        };
        let architecture = ARCHITECTURES.iter().find(has).unwrap_or(&"thread");
        // A message follows DATA, as in most deliveries, and not BDAT, and the engine asks for no TLS.
        let without = ["CHUNKING", "STARTTLS"].map(str::to_owned).to_vec();
        let settings = SmtpSettings { without, ..SmtpSettings::default() };
        let server = ServerUnderTest::start(trial, ServerPlan::new(architecture, &settings))?;
        let exchanger = server.address();
        let names = names(trial, exchanger, domains).map_err(TrialError::at("to start the DNS server"))?;
        Ok(Sink { server, names, exchanger })
    }

    /// The address that takes mail.
    pub(super) fn exchanger(&self) -> SocketAddr {
        self.exchanger
    }

    pub(super) fn dns(&self) -> SocketAddr {
        self.names.address()
    }

    /// The processor time of both until now; `None` where it is unknown, as for a server that was started
    /// elsewhere.
    pub(super) fn cpu_seconds(&mut self) -> io::Result<Option<f64>> {
        let names = self.names.cpu_seconds().map_err(ended)?;
        let server = self.server.report()?.and_then(|report| report.cpu_seconds);
        Ok(names.zip(server).map(|(names, server)| names + server))
    }

    /// How often the sink had no room for a connection; `None` where it is not known.
    pub(super) fn exhausted(&mut self) -> io::Result<Option<u64>> {
        let report = self.server.report()?;
        Ok(report.map(|report| report.count(Counter::Exhausted) + report.count(Counter::Refused)))
    }

    /// The error, unless the end of one of both caused it.
    pub(super) fn cause(&mut self, error: io::Error) -> io::Error {
        match self.names.cpu_seconds() {
            Ok(_) => self.server.cause(error),
            Err(end) => ended(end),
        }
    }

    /// Stops both once the engine has ended its connections, and checks that all three have counted the same.
    /// `is_clean` is an engine without lost connections: otherwise a sink may have accepted recipients whose
    /// replies the engine never received.
    pub(super) fn stop(
        mut self,
        trial: &mut Trial<'_>,
        engine: &MailCounts,
        is_clean: bool,
    ) -> Result<(), TrialError> {
        if let Some((connections, recipients)) =
            self.counts(engine).map_err(TrialError::at("to read the counters of the sink"))?
        {
            let agrees = |own: u64, its: u64| if is_clean { own == its } else { own <= its };
            trial.check(
                "the sink accepted as many connections as the engine made",
                agrees(engine.connections, connections),
            );
            trial.check(
                "the sink accepted as many recipients as the engine delivered to",
                agrees(engine.accepted(), recipients),
            );
        }
        let names = self.names.stop().map_err(ended).map_err(TrialError::at("to stop the DNS server"))?;
        let asked = names.mx + names.a + names.aaaa;
        trial.check(
            "the DNS server led the engine to the sink, and knew all that it was asked",
            names.mx > 0 && names.answered == asked,
        );
        self.server.stop(trial)
    }

    /// Connections and recipients that the sink has accepted, once all connections have ended.
    fn counts(&mut self, engine: &MailCounts) -> io::Result<Option<(u64, u64)>> {
        for _ in 0..READS_MAX {
            let Some(report) = self.server.report()? else { return Ok(None) };
            let counts = [Counter::Accepted, Counter::Ended, Counter::Recipients];
            let [accepted, ended, recipients] = counts.map(|count| report.count(count));
            if accepted == ended && accepted >= engine.connections && recipients >= engine.accepted() {
                return Ok(Some((accepted, recipients)));
            }
            std::thread::sleep(READ_INTERVAL);
        }
        let report = self.server.report()?;
        Ok(report.map(|report| (report.count(Counter::Accepted), report.count(Counter::Recipients))))
    }
}

/// A DNS server whose domains all have that exchanger.
fn names(trial: &Trial<'_>, exchanger: SocketAddr, domains: u32) -> io::Result<NameServer> {
    let IpAddr::V4(host) = exchanger.ip() else {
        let text =
            "generated domains have exchangers with addresses of IPv4; name one of those with --server";
        return Err(io::Error::new(io::ErrorKind::Unsupported, text));
    };
    let zone = ZonePlan {
        domains,
        hosts: vec![host],
        dead_hosts: Vec::new(),
        ttl_s: TTL_S,
        seed: trial.seed(),
        ..ZonePlan::default()
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let plan = NameServerPlan { address, zone, cpu: trial.server_cpu() };
    NameServer::start(&sys::process::own_program()?, &plan)
}

/// A DNS server does not end by itself.
fn ended(error: io::Error) -> io::Error {
    io::Error::other(ProgramEnded(error.to_string()))
}
