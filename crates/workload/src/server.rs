//! The server under test: it runs in a process of its own, a load generator loads it, and the counters of
//! both are compared.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use net::load::{Generator, Level, Load, LoadSettings, OffersLoad, Schedule, Times, open_loop, unwatched};
use net::server::{Remote, Report, ServerHost, ServerPlan};
use net::worker::{Counter, Limits};
use net::{Error, arch};
use record::OfferedLevel;

use crate::load::LoadVoid;
use crate::load_facts::words;
pub use crate::load_facts::{
    Memory, SinkLevel, generator_level, latencies, percentile, record_capacity, record_latencies,
    record_load, record_sink, record_times,
};
pub use crate::server_workers::{web, web_client, web_file, web_folder};
use crate::{LevelRecorder, ProgramEnded, Trial, TrialError};

/// A server that closes idle connections would close some that are counted.
const IDLE: Duration = Duration::from_secs(24 * 3600);
/// The end does not wait for responses.
const GRACE: Duration = Duration::from_secs(2);
/// Time limit for a response, which is more than any load here needs.
const RESPONSE_MAX: Duration = Duration::from_secs(5);
/// Time limit for the first request on every connection, before anything is measured.
const ROUND_MAX: Duration = Duration::from_secs(8);
/// A load is held at least this many times as long as that request took.
const ROUNDS_MIN: u32 = 4;
/// A load without a response is offered anew for so many times its time.
const LONGER: u32 = 4;
/// Requests that are offered in an open loop at least: the 99th percentile of fewer is the slowest one.
const OFFERED_MIN: f64 = 100.0;
/// Unless they would take longer than this.
const OFFERED_SECONDS_MAX: f64 = 1.0;
/// With a larger share of failed requests, the server is at its limit.
const FAILURES_MAX: f64 = 0.01;
/// How often the counters are read until they have the last response: it is sent before it is counted.
const READS_MAX: u32 = 50;
const READ_INTERVAL: Duration = Duration::from_millis(10);
/// A server that accepts nothing for this long will accept no more.
const STILL_MAX: Duration = Duration::from_secs(1);
/// How often a load is offered again that several hosts did not offer together.
const REPEATS_MAX: u32 = 3;

/// A server, ready to be loaded. Dropped, it is ended.
pub struct ServerUnderTest {
    /// `None`: the server was started elsewhere, and only its responses are known.
    server: Option<Remote>,
    address: SocketAddr,
    seed: u64,
    /// Whether hosts load it.
    has_clients: bool,
}

/// A load that was held.
pub struct Held {
    /// The measurements of the load generator.
    pub level: Level,
    /// Processor time of the server for each response; `NAN` where it is unknown.
    pub server_seconds: f64,
}

impl Held {
    fn new(level: Level, taken: Option<Taken>) -> Held {
        let each = |taken: Taken| taken.cpu_seconds / taken.responses.max(1) as f64;
        Held { level, server_seconds: taken.map_or(f64::NAN, each) }
    }
}

impl ServerUnderTest {
    /// Starts a server as planned: here, on the processor that the trial has for it, or on the host that
    /// the user has named.
    pub fn start(trial: &Trial<'_>, plan: ServerPlan) -> Result<ServerUnderTest, TrialError> {
        let name = plan.architecture.clone();
        let attempted = || format!("to serve with {name}");
        let place = place(trial).map_err(TrialError::at(attempted()))?;
        let is_here = trial.server().is_none();
        if let Some(reason) = unavailable_reason(&name, is_here).map_err(TrialError::at(attempted()))? {
            return Err(TrialError::at(attempted())(io::Error::new(io::ErrorKind::Unsupported, reason)));
        }
        let limits = Limits { idle: IDLE, grace: GRACE, ..plan.limits };
        let cpus = match &plan.cpus[..] {
            [] => trial.server_cpu().into_iter().collect(),
            chosen => chosen.to_vec(),
        };
        let plan = ServerPlan { address: place.address, cpus, limits, ..plan };
        let start = |prefix: Vec<String>| {
            let program = sys::process::own_program()?;
            let host = ServerHost { prefix: &prefix, program: &program, folder: trial.scratch() };
            Remote::start(host, &plan).map_err(io_error)
        };
        let server = place.prefix.map(start).transpose().map_err(TrialError::at(attempted()))?;
        let address = server.as_ref().map_or(place.address, Remote::address);
        let has_clients = !trial.clients().is_empty();
        Ok(ServerUnderTest { server, address, seed: trial.seed(), has_clients })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A generator for it.
    pub fn generator(&self, settings: LoadSettings) -> Result<Generator, TrialError> {
        Generator::new(self.load_settings(settings))
            .map_err(io_error)
            .map_err(TrialError::at("to start a generator"))
    }

    /// Settings of a generator, with limits that no load here needs.
    pub(crate) fn load_settings(&self, settings: LoadSettings) -> LoadSettings {
        LoadSettings { timeout: RESPONSE_MAX, seed: self.seed, connect_rate: 1e6, ..settings }
    }

    /// The counters and the resources of the server; `None` where it was started elsewhere.
    pub fn report(&mut self) -> io::Result<Option<Report>> {
        self.server.as_mut().map(Remote::report).transpose().map_err(io_error)
    }

    /// Sends one request on every connection, which initialises everything for the first response, and proves
    /// that client and server count alike. Then holds the load for its duration, and at least for four such
    /// rounds, and measures it: these series, or all where none is named.
    pub fn hold(
        &mut self,
        generator: &mut dyn OffersLoad,
        load: &Load,
        series: &[&str],
        recorder: &mut LevelRecorder<'_>,
    ) -> io::Result<Held> {
        let held = self.hold_while_it_serves(generator, load, recorder);
        let (level, taken) = held.map_err(|error| self.cause(error))?;
        record_load(&level, series, recorder);
        Ok(Held::new(level, taken))
    }

    /// Offers the load of all rivals at this level, in an open loop: bursts at equal distances, for this time
    /// and until there were enough responses.
    pub fn offer(
        &mut self,
        generator: &mut dyn OffersLoad,
        offered: &OfferedLevel,
        time: Duration,
        series: &[&str],
        recorder: &mut LevelRecorder<'_>,
    ) -> io::Result<Held> {
        let load = in_bursts(offered, time);
        recorder.expect_time(load.duration)?;
        // Nothing else is in flight, and all offered requests are waited for.
        let counted = self.count(generator, &load, recorder, Agreement::Exact);
        let (level, taken) = counted.map_err(|error| self.cause(error))?;
        if level.requests.completed + level.requests.late == 0 {
            return Err(io::Error::other("no response came in time"));
        }
        record_load(&level, series, recorder);
        Ok(Held::new(level, taken))
    }

    /// The error, unless the end of the server caused it; a server that has ended is not stopped again.
    pub fn cause(&mut self, error: io::Error) -> io::Error {
        match self.server.as_mut().and_then(Remote::own_end) {
            Some(end) => {
                self.server = None;
                io::Error::other(ProgramEnded(end))
            }
            None => error,
        }
    }

    fn hold_while_it_serves(
        &mut self,
        generator: &mut dyn OffersLoad,
        load: &Load,
        recorder: &mut LevelRecorder<'_>,
    ) -> io::Result<(Level, Option<Taken>)> {
        recorder.expect_time(load.duration)?;
        let requests = Some(load.connections as u64);
        // With a longer one, the rest would take longer than the trial may.
        let duration = ROUND_MAX.min(recorder.time_left() / (ROUNDS_MIN + 2));
        let round = Load { requests, rate: None, warm_up: Duration::ZERO, duration, ..load.clone() };
        let (first, _) = self.count(generator, &round, recorder, Agreement::Exact)?;
        if first.requests.completed == 0 {
            return Err(io::Error::other(format!("no response came within {:.3} s", first.elapsed_seconds)));
        }
        // Requests that were sent before the measured window must have met a server that was already
        // busy. A server that accepts all waiting connections before it responds to any works in waves,
        // and the window must contain several.
        let one_round = Duration::from_secs_f64(first.elapsed_seconds);
        let duration = load.duration.max((one_round * ROUNDS_MIN).min(ROUND_MAX));
        let load = Load { warm_up: one_round.max(duration / 10), duration, ..load.clone() };
        self.count_some(generator, load, recorder)
    }

    /// Offers a load that has at least one response. On a busy machine the load generator or the server
    /// may have no processor for longer than a short load lasts; it is then offered anew, for longer.
    fn count_some(
        &mut self,
        generator: &mut dyn OffersLoad,
        mut load: Load,
        recorder: &mut LevelRecorder<'_>,
    ) -> io::Result<(Level, Option<Taken>)> {
        loop {
            recorder.expect_time(load.warm_up + load.duration)?;
            let (level, taken) = self.count(generator, &load, recorder, Agreement::Least)?;
            if level.requests.completed > 0 {
                return Ok((level, taken));
            }
            let seconds = load.duration.as_secs_f64();
            if load.duration >= ROUND_MAX {
                return Err(io::Error::other(format!("no response came within {seconds:.3} s")));
            }
            load.duration = (load.duration * LONGER).min(ROUND_MAX);
            recorder.warn(format!(
                "No response came within {seconds:.3} s, so the load was held for {:.3} s.",
                load.duration.as_secs_f64()
            ));
        }
    }

    /// Offers a load, and compares the counts of both ends. One that several hosts did not offer together, or
    /// that both ends count differently then, is offered again.
    fn count(
        &mut self,
        generator: &mut dyn OffersLoad,
        load: &Load,
        recorder: &mut LevelRecorder<'_>,
        agreement: Agreement,
    ) -> io::Result<(Level, Option<Taken>)> {
        const CLAIM: &str = "the server counted every response that the client counted";
        let mut repeats = 0;
        loop {
            let before = self.report()?;
            let void = match generator.offer(load, &mut unwatched) {
                Ok(level) => {
                    let taken = self.work_for(&level, load, before.as_ref(), recorder)?;
                    let agrees = taken.as_ref().is_none_or(|taken| agreement.holds(&level, taken));
                    if agrees || !self.has_clients || repeats == REPEATS_MAX {
                        taken.is_some().then(|| recorder.check(CLAIM, agrees));
                        return Ok((level, taken));
                    }
                    "server and clients counted differently".to_owned()
                }
                Err(Error::Void(reason)) if reason.is_lasting() || repeats == REPEATS_MAX => {
                    return Err(io::Error::other(LoadVoid(reason.to_string())));
                }
                Err(Error::Void(reason)) => reason.to_string(),
                Err(error) => return Err(io_error(error)),
            };
            recorder.warn(format!("A load at n = {} was offered again: {void}.", recorder.n()));
            recorder.expect_time(load.warm_up + load.duration)?;
            repeats += 1;
        }
    }

    /// The work of the server for a load that was offered.
    fn work_for(
        &mut self,
        level: &Level,
        load: &Load,
        before: Option<&Report>,
        recorder: &mut LevelRecorder<'_>,
    ) -> io::Result<Option<Taken>> {
        let is_round = load.rate.is_none() && load.requests.is_some();
        if is_round && level.elapsed_seconds >= load.duration.as_secs_f64() {
            recorder.expect_time(Duration::MAX)?;
        }
        let good = level.requests.completed + level.requests.late;
        let taken = before.map(|before| self.taken_since(before, good)).transpose()?;
        few_failures(level, taken.as_ref().map_or(0, |taken| taken.exhausted))?;
        if level.requests.failed > 0 {
            let all = good + level.requests.failed;
            recorder.warn(format!(
                "{} of {all} requests failed: {}.",
                level.requests.failed,
                words(&level.failures)
            ));
        }
        Ok(taken)
    }

    /// The work of the server since that report, once it has counted this many responses.
    fn taken_since(&mut self, before: &Report, responses: u64) -> io::Result<Taken> {
        let mut reads = 0;
        loop {
            let now = self.report()?.unwrap_or_default();
            let grown = |count| now.count(count).saturating_sub(before.count(count));
            if grown(Counter::Responses) >= responses || reads == READS_MAX {
                let seconds =
                    now.cpu_seconds.zip(before.cpu_seconds).map(|(now, then)| (now - then).max(0.0));
                return Ok(Taken {
                    responses: grown(Counter::Responses),
                    exhausted: grown(Counter::Exhausted) + grown(Counter::Refused),
                    cpu_seconds: seconds.unwrap_or(f64::NAN),
                });
            }
            reads += 1;
            std::thread::sleep(READ_INTERVAL);
        }
    }

    /// Waits until the server has accepted this many connections.
    pub fn await_open(&mut self, connections: u64) -> io::Result<()> {
        let (mut most, mut since) = (0, Instant::now());
        while let Some(open) = self.report()?.map(|report| report.open).filter(|&open| open < connections) {
            if open > most {
                (most, since) = (open, Instant::now());
            }
            if since.elapsed() > STILL_MAX {
                return Err(io::Error::other(format!(
                    "the server serves {open} of {connections} connections"
                )));
            }
            std::thread::sleep(READ_INTERVAL);
        }
        Ok(())
    }

    /// Waits until the server has closed every connection. Returns whether any is left after that time.
    pub fn await_closed(&mut self, time: Duration) -> io::Result<bool> {
        let begun = Instant::now();
        while let Some(report) = self.report()? {
            if report.open == 0 || begun.elapsed() > time {
                return Ok(report.open > 0);
            }
            std::thread::sleep(READ_INTERVAL);
        }
        Ok(false)
    }

    /// Stops the server, and checks that every connection has ended.
    pub fn stop(mut self, trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let Some(server) = self.server.take() else { return Ok(()) };
        let stopped = server.stop().map_err(io_error).map_err(TrialError::at("to stop the server"))?;
        let (accepted, ended) = (stopped.count(Counter::Accepted), stopped.count(Counter::Ended));
        trial.check("every connection that the server accepted has ended", accepted == ended);
        Ok(())
    }
}

/// Whole bursts, in the time that all of them take.
fn in_bursts(offered: &OfferedLevel, time: Duration) -> Load {
    let OfferedLevel { n, per_second, spacing_seconds, .. } = *offered;
    let fewest = (time.as_secs_f64() * per_second).max(OFFERED_MIN.min(per_second * OFFERED_SECONDS_MAX));
    let bursts = (fewest / n as f64).ceil().max(1.0);
    let requests = bursts * n as f64;
    let seconds = Duration::try_from_secs_f64(requests / per_second).unwrap_or(Duration::MAX);
    Load {
        burst: n,
        spacing: Duration::try_from_secs_f64(spacing_seconds).unwrap_or_default(),
        requests: Some(requests as u64),
        ..open_loop(n as usize, per_second, Schedule::Constant, seconds)
    }
}

/// The required agreement of both ends.
enum Agreement {
    /// To the last response.
    Exact,
    /// The server must have counted the client's responses, and may have counted others before and after.
    Least,
}

impl Agreement {
    fn holds(&self, level: &Level, taken: &Taken) -> bool {
        let good = level.requests.completed + level.requests.late;
        match self {
            // The server may have answered requests that failed or came too late.
            Agreement::Exact => (good..=level.requests.started).contains(&taken.responses),
            Agreement::Least => good <= taken.responses,
        }
    }
}

/// The work of a server during a load.
struct Taken {
    responses: u64,
    /// How often a connection was refused for lack of a resource.
    exhausted: u64,
    cpu_seconds: f64,
}

/// Where the server runs, and the command through which it is started there; `None` where it is already
/// running.
struct Place {
    address: SocketAddr,
    prefix: Option<Vec<String>>,
}

fn place(trial: &Trial<'_>) -> io::Result<Place> {
    let Some(server) = trial.server() else {
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        return Ok(Place { address, prefix: Some(Vec::new()) });
    };
    let without_port = || server.address.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 0));
    let address = server.address.parse().or_else(|_| without_port());
    let address: SocketAddr =
        address.map_err(|_| io::Error::other(format!("{:?} is no address", server.address)))?;
    if server.prefix.is_empty() && address.port() == 0 {
        let text =
            format!("{address} is served by somebody else: name the port too, as in {}:8080", address.ip());
        return Err(io::Error::other(text));
    }
    let prefix = (!server.prefix.is_empty()).then(|| server.prefix.clone());
    Ok(Place { address, prefix })
}

/// Opens connections up to this many, and waits until the server has accepted them. Returns how long the
/// new ones took to connect.
pub fn grow(server: &mut ServerUnderTest, clients: &mut Generator, connections: usize) -> io::Result<Times> {
    grow_while_it_serves(server, clients, connections).map_err(|error| server.cause(error))
}

fn grow_while_it_serves(
    server: &mut ServerUnderTest,
    clients: &mut Generator,
    connections: usize,
) -> io::Result<Times> {
    let before = server.report()?.map_or(0, |report| report.open);
    let more = connections.saturating_sub(clients.connections()) as u64;
    let grown = clients.grow_to(connections).map_err(io_error)?;
    if !grown.failures.is_empty() || grown.connections < connections {
        let (there, why) = (grown.connections, words(&grown.failures));
        return Err(io::Error::other(format!("{there} of {connections} connections could be made ({why})")));
    }
    server.await_open(before + more)?;
    Ok(grown.connect)
}

/// Why the architecture cannot run. Another machine may have facilities that this one lacks, but no other
/// program.
fn unavailable_reason(name: &str, is_here: bool) -> io::Result<Option<String>> {
    let architecture = arch::find(name).map_err(io_error)?;
    let missing = architecture.serve.err().map(str::to_owned);
    Ok(if is_here { architecture.unavailable_reason() } else { missing })
}

/// An error if too many requests of a load failed: the server is at its limit.
fn few_failures(level: &Level, exhausted: u64) -> io::Result<()> {
    let all = level.requests.completed + level.requests.late + level.requests.failed;
    let is_exhausted = all == level.requests.failed && exhausted > 0;
    if !is_exhausted && level.requests.failed as f64 <= FAILURES_MAX * all as f64 {
        return Ok(());
    }
    let why = match exhausted {
        0 => format!("{} of {all} requests failed ({})", level.requests.failed, words(&level.failures)),
        times => format!("the server could take no more connections, {times} times"),
    };
    Err(io::Error::other(why))
}

/// The system's own error where there is one, so that a limit is named by it.
pub fn io_error(error: Error) -> io::Error {
    match error {
        Error::System { error, .. } if error.raw_os_error().is_some() => error,
        Error::Unsupported { .. } => io::Error::new(io::ErrorKind::Unsupported, error.to_string()),
        ended if Remote::has_ended(&ended) => io::Error::other(ProgramEnded(ended.to_string())),
        other => io::Error::other(other.to_string()),
    }
}
