//! A trial: the engine in this process, held at rising numbers of connections, opposite a sink: a server that
//! takes mail, and the DNS server that leads to it, each in a process of its own, on a processor of their own
//! where there is one.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use net::arch;
use net::load::Sources;
use net::server::ServerPlan;
use net::service::smtp::SmtpSettings;
use net::worker::Counter;
use workload::server::{ServerUnderTest, SinkLevel, record_sink};
use workload::{LevelRecorder, ProgramEnded, Trial, TrialError};

use super::{Window, limited, report};
use crate::context::{MailCounts, MailStep};
use crate::dns::{NameServer, NameServerPlan, ZonePlan};
use crate::{
    DeliveryEngine, DomainSizes, EngineSettings, GeneratedList, MailError, MailTls, Message, Mode, NoResults,
    Permission, QueueSettings, Recipients, Routing, SessionSettings, Until,
};

/// The recipients of 2001. All domains have the same number of them: the engine takes one of each in turn, so
/// that small ones would begin anew, and be looked up, more often than in one pass through the list.
const RECIPIENTS: u32 = 200_000;

/// Test transactions that are sent together in a pipelined session, at most.
const BATCH: usize = 50;

/// How long all domains may take until they are found, and one delivery on every connection.
const ROUND_MAX: Duration = Duration::from_secs(8);
/// A level is held for so many times the duration of the first delivery on every connection: deliveries that
/// were begun before the window met an engine that was busy already, and have left their mark on one round.
const ROUNDS_MIN: u32 = 2;
/// Deliveries that are measured at least, so that one in a thousand is one, unless they would take longer
/// than this.
const DELIVERIES_MIN: u64 = 1000;
const DELIVERIES_TIME_MAX: Duration = Duration::from_secs(1);
/// Pieces of a window; between them the connections are counted.
const PIECES: u32 = 20;
/// The time without a new connection after which no more are expected.
const STILL_MAX: Duration = Duration::from_secs(3);
/// With a larger share of failed deliveries, something is at its limit.
const FAILURES_MAX: f64 = 0.01;
/// The least share of the level's connections that must exist on average.
const CONNECTIONS_MIN: f64 = 0.9;
/// The longest that a step may take; at the limits of a system connections are lost in it.
const STEP_TIMEOUT: Duration = Duration::from_secs(15);
/// Attempts are repeated soon, so that a refusal of the sink shows at the same level.
const RETRY_MS: u64 = 100;
/// How long deliveries under way may take at the end.
const GRACE: Duration = Duration::from_secs(30);

/// The properties of a mode that its trial does not choose.
pub(super) struct MeasuredMode {
    pub(super) mode: Mode,
    /// The steps whose times are reported.
    pub(super) steps: &'static [MailStep],
    pub(super) message_bytes: usize,
}

pub(super) fn run(trial: &mut Trial<'_>, plan: &MeasuredMode) -> Result<(), TrialError> {
    let domains = u32::try_from(trial.number("domains")?).unwrap_or(u32::MAX);
    let sizes = DomainSizes::Uniform;
    let list = GeneratedList { recipients: RECIPIENTS.max(domains), domains, sizes, seed: trial.seed() };
    let recipients = Recipients::generate(&list);
    let sink = Sink::start(trial, domains)?;
    let settings = settings(trial, plan, &sink)?;
    let deliveries = u64::from(settings.session.deliveries_per_connection);
    let engine = crate::open(trial.variant(), &recipients, settings, NoResults);
    let engine = engine.map_err(io_error).map_err(TrialError::at("to open an engine"))?;
    let mut bench = Bench { engine, sink, plan, deliveries, total: MailCounts::default() };
    let first = trial.levels().first().copied().unwrap_or(1);
    bench.find_domains(first as usize, u64::from(domains)).map_err(TrialError::at("to find all domains"))?;
    let window = trial.window();
    trial.at_levels(|n, recorder| bench.hold(n as usize, window, recorder))?;
    bench.stop(trial)
}

fn settings(trial: &Trial<'_>, plan: &MeasuredMode, sink: &Sink) -> Result<EngineSettings, TrialError> {
    let exchanger = sink.exchanger();
    let deliveries = trial.number("deliveries")?;
    let connections = trial.n().max(1);
    let session = SessionSettings {
        mode: plan.mode,
        helo: "osdyno.test".to_owned(),
        sender: String::new(),
        message: Arc::new(Message::of_bytes(plan.message_bytes, "osdyno.test", trial.seed())),
        deliveries_per_connection: u32::try_from(deliveries).unwrap_or(u32::MAX),
    };
    let queue = QueueSettings {
        connections_per_host: u32::try_from(connections).unwrap_or(u32::MAX),
        transactions_per_domain: u32::MAX,
        batch: BATCH,
        retry_ms: RETRY_MS,
        retry_longest_ms: RETRY_MS,
        repeats: true,
        ..QueueSettings::default()
    };
    Ok(EngineSettings {
        session,
        queue,
        routing: Routing::Dns { servers: vec![sink.dns()], port: exchanger.port() },
        sources: Sources::for_loopback(exchanger.ip(), connections),
        tls: MailTls::default(),
        permission: permission(exchanger).map_err(TrialError::at("to permit the address of the sink"))?,
        step_timeout: STEP_TIMEOUT,
    })
}

/// The address of `--server` was named by the user, and a public one was refused before without
/// `--allow-public`.
fn permission(exchanger: SocketAddr) -> io::Result<Permission> {
    Permission::parse(&exchanger.ip().to_string()).map_err(io::Error::other)
}

/// How long this thread could have run and waited for a processor, where the system reports it.
fn run_delay_seconds() -> Option<f64> {
    sys::activity::snapshot().get("run_delay_seconds")
}

/// An engine opposite a sink.
struct Bench<'list, 'plan> {
    engine: Box<dyn DeliveryEngine + 'list>,
    sink: Sink,
    plan: &'plan MeasuredMode,
    /// Deliveries for which a connection is used.
    deliveries: u64,
    /// The measurements of the engine, without its present counts.
    total: MailCounts,
}

impl Bench<'_, '_> {
    /// Delivers until every domain was looked up once: from then on the load is steady.
    fn find_domains(&mut self, connections: usize, domains: u64) -> io::Result<()> {
        let begun_ns = self.engine.now_ns();
        let piece = ROUND_MAX / (PIECES * PIECES);
        loop {
            self.deliver_for(connections, piece)?;
            let measured = self.engine.measured();
            let (found, delivered) = (measured.times(MailStep::Dns).count(), measured.counts.accepted());
            let elapsed = self.since(begun_ns);
            if delivered > 0 && (found >= domains || elapsed >= ROUND_MAX) {
                return Ok(());
            }
            if elapsed >= ROUND_MAX {
                return Err(self.no_delivery(elapsed));
            }
        }
    }

    /// Brings the connections to that number, and measures.
    fn hold(&mut self, n: usize, window: Duration, recorder: &mut LevelRecorder<'_>) -> io::Result<()> {
        recorder.doing("deliver");
        let exhausted = self.sink.exhausted()?;
        self.grow(n)?;
        let round = self.first_round(n)?;
        let window = window.max((round * ROUNDS_MIN).min(ROUND_MAX));
        let (before, delay) = (self.sink.cpu_seconds()?, run_delay_seconds());
        let begun_ns = self.engine.now_ns();
        // Events that came while the counters were read were not handled in time.
        self.deliver_for(n, window / PIECES)?;
        self.forget();
        let window = self.measure(n, window, recorder)?;
        let seconds = self.since(begun_ns).as_secs_f64().max(1e-9);
        let share = |now: Option<f64>, then: Option<f64>| Some((now? - then?).max(0.0) / seconds);
        let run_delay_share = share(run_delay_seconds(), delay);
        let sink_share = share(self.sink.cpu_seconds()?, before);
        self.few_failures(exhausted, recorder)?;
        report(self.engine.measured(), &window, self.plan.steps, recorder);
        let counts = self.engine.measured().counts;
        let sink = SinkLevel {
            series: &limited(self.plan.steps),
            processes: 2,
            elapsed_seconds: window.elapsed_seconds,
            completed: counts.accepted(),
            timed_out: counts.timeouts,
            // That of a sink that was started elsewhere is unknown.
            cpu_share: sink_share.unwrap_or(0.0),
            client_cpu_share: window.cpu_share(),
            run_delay_share,
            latency: self.engine.measured().times(MailStep::Delivery),
        };
        record_sink(&sink, recorder);
        Ok(())
    }

    /// Delivers until this many connections exist at once.
    fn grow(&mut self, n: usize) -> io::Result<()> {
        // An earlier refusal does not concern this level.
        let _ = self.engine.take_refusal();
        let (mut peak, mut grown_ns) = (0, self.engine.now_ns());
        while peak < n {
            self.deliver_for(n, ROUND_MAX / (PIECES * PIECES))?;
            if self.engine.peak() > peak {
                (peak, grown_ns) = (self.engine.peak(), self.engine.now_ns());
            } else if self.since(grown_ns) >= STILL_MAX {
                let text = || io::Error::other(format!("{peak} of {n} connections existed at once"));
                let error = self.engine.take_refusal().unwrap_or_else(text);
                return Err(self.sink.cause(error));
            }
        }
        Ok(())
    }

    /// Delivers until each of this many connections has ended, and returns the time that it took.
    fn first_round(&mut self, n: usize) -> io::Result<Duration> {
        let (begun_ns, delivered) = (self.engine.now_ns(), self.engine.measured().counts.accepted());
        let enough = delivered.saturating_add(self.deliveries.saturating_mul(n as u64));
        while self.since(begun_ns) < ROUND_MAX && self.engine.measured().counts.accepted() < enough {
            self.deliver_for(n, ROUND_MAX / (PIECES * PIECES))?;
        }
        if self.engine.measured().counts.accepted() == delivered {
            return Err(self.no_delivery(self.since(begun_ns)));
        }
        Ok(self.since(begun_ns))
    }

    /// Delivers for that time, and until there were enough deliveries.
    fn measure(
        &mut self,
        n: usize,
        window: Duration,
        recorder: &mut LevelRecorder<'_>,
    ) -> io::Result<Window> {
        let (begun_ns, cpu_ns) = (self.engine.now_ns(), sys::thread::cpu_ns().ok());
        let (mut most, mut pieces) = (0, 0);
        loop {
            self.deliver_for(n, window / PIECES)?;
            (most, pieces) = (most + self.engine.peak(), pieces + 1);
            let elapsed = self.since(begun_ns);
            let is_enough = self.engine.measured().counts.accepted() >= DELIVERIES_MIN;
            if elapsed >= window && (is_enough || elapsed >= DELIVERIES_TIME_MAX) {
                break;
            }
        }
        let elapsed = self.since(begun_ns);
        let cpu_ns = sys::thread::cpu_ns().ok().zip(cpu_ns).map(|(now, then)| now.saturating_sub(then));
        if self.engine.measured().counts.accepted() == 0 {
            return Err(self.no_delivery(elapsed));
        }
        // Those that end in a turn are replaced before the engine waits again, if that is possible.
        let mean = most as f64 / f64::from(pieces);
        if mean < CONNECTIONS_MIN * n as f64 {
            recorder.warn(format!("On average only {mean:.0} connections existed at n = {n}."));
        }
        let cpu_seconds = cpu_ns.map(|ns| ns as f64 / 1e9);
        Ok(Window { elapsed_seconds: elapsed.as_secs_f64(), cpu_seconds })
    }

    /// An error if too many deliveries failed: the system, or the sink, is at its limit.
    fn few_failures(&mut self, exhausted: Option<u64>, recorder: &mut LevelRecorder<'_>) -> io::Result<()> {
        let now = self.sink.exhausted()?;
        let times = now.zip(exhausted).map_or(0, |(now, then)| now.saturating_sub(then));
        let counts = self.engine.measured().counts;
        let failed = failures(&counts);
        let all = failed + counts.accepted();
        if failed as f64 > FAILURES_MAX * all as f64 {
            let error = self.engine.take_refusal().unwrap_or_else(|| {
                let words = words(&counts);
                let text = match times {
                    0 => format!("{failed} of {all} deliveries failed ({words})"),
                    _ => format!("the sink could take no more connections, {times} times"),
                };
                io::Error::other(text)
            });
            return Err(self.sink.cause(error));
        }
        if failed > 0 {
            recorder.warn(format!("{failed} of {all} deliveries failed: {}.", words(&counts)));
        }
        Ok(())
    }

    /// Ends all connections in order, and the sink.
    fn stop(mut self, trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let finished = self.engine.finish(GRACE);
        finished.map_err(io_error).map_err(TrialError::at("to end the connections"))?;
        // Recipients that the end has given back were not attempted.
        let queued = self.engine.measured().counts.queued;
        self.forget();
        let total = MailCounts { queued: self.total.queued - queued, ..self.total };
        self.sink.stop(trial, &total, failures(&total) == 0)
    }

    fn deliver_for(&mut self, connections: usize, time: Duration) -> io::Result<()> {
        let end_ns = self.engine.now_ns().saturating_add(time.as_nanos() as u64);
        self.engine.run(connections, Until { end_ns, stop: None }).map_err(io_error)
    }

    /// Begins a new count.
    fn forget(&mut self) {
        let measured = self.engine.measured();
        self.total = self.total + measured.counts;
        measured.clear();
    }

    fn since(&self, begun_ns: u64) -> Duration {
        Duration::from_nanos(self.engine.now_ns().saturating_sub(begun_ns))
    }

    fn no_delivery(&mut self, time: Duration) -> io::Error {
        let counts = self.engine.measured().counts;
        let words = words(&counts);
        let text = format!("no delivery succeeded within {:.3} s ({words})", time.as_secs_f64());
        self.sink.cause(io::Error::other(text))
    }
}

/// Attempts without success, and connections with a fault.
fn failures(counts: &MailCounts) -> u64 {
    failures_by_name(counts).iter().map(|(_, count)| count).sum()
}

fn failures_by_name(counts: &MailCounts) -> [(&'static str, u64); 8] {
    [
        ("refused for ever", counts.failed),
        ("given up", counts.queued),
        ("deferred", counts.deferred),
        ("not connected", counts.not_connected),
        ("connections lost", counts.lost),
        ("broken protocol", counts.faults),
        ("too late", counts.timeouts),
        ("no descriptor or port", counts.exhausted),
    ]
}

fn words(counts: &MailCounts) -> String {
    let some = failures_by_name(counts).into_iter().filter(|(_, count)| *count > 0);
    some.map(|(name, count)| format!("{name}: {count}")).collect::<Vec<_>>().join(", ")
}

/// The system's own error where there is one, so that it names a limit; a missing facility is no failure.
fn io_error(error: MailError) -> io::Error {
    match error {
        MailError::System { source, .. }
            if source.raw_os_error().is_some() || source.kind() == io::ErrorKind::Unsupported =>
        {
            source
        }
        MailError::NoInterface(name) => {
            io::Error::new(io::ErrorKind::Unsupported, format!("this system has no {name}"))
        }
        other => io::Error::other(other.to_string()),
    }
}

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
struct Sink {
    server: ServerUnderTest,
    names: NameServer,
    exchanger: SocketAddr,
}

impl Sink {
    /// Starts both.
    fn start(trial: &Trial<'_>, domains: u32) -> Result<Sink, TrialError> {
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
    fn exchanger(&self) -> SocketAddr {
        self.exchanger
    }

    fn dns(&self) -> SocketAddr {
        self.names.address()
    }

    /// The processor time of both until now; `None` where it is unknown, as for a server that was started
    /// elsewhere.
    fn cpu_seconds(&mut self) -> io::Result<Option<f64>> {
        let names = self.names.cpu_seconds().map_err(ended)?;
        let server = self.server.report()?.and_then(|report| report.cpu_seconds);
        Ok(names.zip(server).map(|(names, server)| names + server))
    }

    /// How often the sink had no room for a connection; `None` where it is not known.
    fn exhausted(&mut self) -> io::Result<Option<u64>> {
        let report = self.server.report()?;
        Ok(report.map(|report| report.count(Counter::Exhausted) + report.count(Counter::Refused)))
    }

    /// The error, unless the end of one of both caused it.
    fn cause(&mut self, error: io::Error) -> io::Error {
        match self.names.cpu_seconds() {
            Ok(_) => self.server.cause(error),
            Err(end) => ended(end),
        }
    }

    /// Stops both once the engine has ended its connections, and checks that all three have counted the same.
    /// `is_clean` is an engine without lost connections: otherwise a sink may have accepted recipients whose
    /// replies the engine never received.
    fn stop(mut self, trial: &mut Trial<'_>, engine: &MailCounts, is_clean: bool) -> Result<(), TrialError> {
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
        let queries = names.queries;
        let asked = queries.mx + queries.a + queries.aaaa;
        trial.check(
            "the DNS server led the engine to the sink, and knew all that it was asked",
            queries.mx > 0 && names.responses.answered == asked,
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
