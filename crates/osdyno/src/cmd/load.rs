//! `osdyno load`: loads a server in a closed loop or at a fixed rate, and reports throughput and latency.

mod bars;
mod baseline;
mod beside;
mod csv;
mod json;
mod live;
mod numbers;
mod target;
mod text;
mod verdict;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use net::client;
use net::load::coordinator::{self, Coordinator};
use net::load::search::{self, Found, Goal};
use net::load::{
    FROM_ONE_ADDRESS, Generator, Level, Load, LoadSettings, Progress, Schedule, Sources, TlsSettings,
};

use self::baseline::Baseline;
use self::beside::Held;
use self::live::Screen;
use self::numbers::{Several, parse_connections, parse_levels, parse_rate, parse_rates, parse_requests};
use self::target::Target;
use super::declared::{Chosen, Clients};
use super::{Done, refuse_existing, warn, write_file};
use crate::console::Console;
use crate::failure::{Failure, INCOMPLETE, INTERRUPTED};

/// The hidden verb of a worker process.
pub(crate) const WORKER: &str = "load-worker";

const EXAMPLES: &str = "\
Examples:
  osdyno load http://127.0.0.1:8080/                      50 connections, 10 s, as fast as it responds
  osdyno load -c 200 -d 30s http://127.0.0.1:8080/        200 connections, 30 s
  osdyno load -r 5000 http://127.0.0.1:8080/              5000 requests per second, whatever the server does
  osdyno load --levels 1-100 http://127.0.0.1:8080/       1, 2, 5, 10, 20, 50 and 100 connections
  osdyno load --any-body http://127.0.0.1:8080/now        a page that changes
  osdyno load --body @order.json http://127.0.0.1:8080/   POST requests with the content of this file
  osdyno load --find-rate 'p99<=5ms' http://[::1]:8080/   the highest rate that meets this goal
  osdyno load --cacert ca.pem https://localhost:8443/     TLS, with a certificate that is signed by this one
  osdyno load --http2 --streams 20 https://localhost/     HTTP/2, 20 requests under way on each connection
  osdyno load --client busy 127.0.0.1:2525                each connection gets one line, 450, and a close

docs/load.md explains every number.";

/// Load a server in a closed loop, or at a fixed rate
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// http://host:port/path, https://host:port/path, unix:/socket:/path, or host:port with --client busy or
    /// echo; several URLs of one server take turns
    #[arg(value_name = "URL|ADDR", required = true)]
    targets: Vec<String>,
    /// Number of connections; with --rate, the number at the start
    #[arg(short, long, value_name = "N", default_value_t = 50, value_parser = parse_connections)]
    connections: usize,
    /// How long to measure each level
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    duration: Duration,
    /// End a level after this many requests, if that comes first
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_requests)]
    requests: Option<u64>,
    /// Open loop: requests per second, at times fixed in advance; several rates, or a range such as 1k-10k,
    /// run one after the other
    ///
    /// Latency counts from the intended start of a request, so the result includes the requests that arrive
    /// while a server stalls. Without a rate the loop is closed: each connection sends its next request when
    /// the response is complete.
    #[arg(short, long, value_name = "RATE,…", value_delimiter = ',', value_parser = parse_rates)]
    rate: Vec<Several<f64>>,
    /// Distribution of the start times of --rate
    #[arg(long, value_enum, default_value = "poisson")]
    schedule: Spread,
    /// Number of load generator processes, at most one for each processor
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    workers: usize,
    /// Several numbers of connections, one after the other; 1-100 is 1,2,5,10,20,50,100 and 10-50:20 is
    /// 10,30,50
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        conflicts_with = "rate",
        value_parser = parse_levels
    )]
    levels: Vec<Several<usize>>,
    /// Open a new connection for every request
    #[arg(long)]
    new_connections: bool,
    /// Close a connection after this many requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    per_connection: Option<u32>,
    /// Load the server for this long before measuring
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_time)]
    warm_up: Duration,
    /// Connections opened per second, while their number grows
    #[arg(long, value_name = "RATE", default_value = "10000", value_parser = parse_rate)]
    ramp: f64,
    /// With --rate, open more connections while all are busy, up to this number
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = parse_connections)]
    connections_max: usize,
    /// Source addresses of the connections: 127.0.0.2, 127.0.0.2-127.0.0.20, 127.0.1.0/24, or a list
    #[arg(long, value_name = "ADDR,…")]
    source: Option<String>,
    /// Number of additional idle connections
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_connections)]
    idle: usize,
    /// Number of requests sent together (HTTP pipelining)
    #[arg(long, value_name = "N", default_value = "1", value_parser = together())]
    pipeline: u32,
    /// Think time: from a response to the next request of a connection
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_time)]
    think: Duration,
    /// A request fails if its response takes longer
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    timeout: Duration,
    /// Close connections with a reset, which leaves no port in TIME_WAIT; this is not the load of an orderly
    /// close
    #[arg(long)]
    reset: bool,
    /// Trust the certificates in this PEM file, instead of those that this system trusts, for https://
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// Accept any certificate
    #[arg(long, conflicts_with = "cacert")]
    insecure: bool,
    /// Find the highest rate that meets a goal, such as 'p99<=5ms'
    #[arg(long, value_name = "GOAL", conflicts_with_all = ["rate", "levels", "requests"])]
    find_rate: Option<String>,
    /// Compare with an earlier load, whose --format json is in this file
    #[arg(long, value_name = "FILE", conflicts_with = "find_rate")]
    baseline: Option<PathBuf>,
    #[command(flatten)]
    client: Chosen<Clients>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: LoadFormat,
    /// Write the latencies of every time slice as an HdrHistogram interval log
    #[arg(long, value_name = "FILE")]
    hdr: Option<PathBuf>,
    /// Seed of every random choice
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Load this machine beside the load: cpu:50%, disk:20MB/s and others, as for osdyno run --background
    ///
    /// Each is held by a process of its own, within 2 % of its rate before the load begins. The rate of every
    /// second is as the kernel counts it, and levels in which it was off by more than 5 % are counted.
    #[arg(long, value_name = "LOAD,…", value_parser = beside::parse)]
    background: Option<background::BackgroundLevel>,
    /// Allow a server that is neither on this machine nor in a private network
    #[arg(long)]
    allow_public: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Spread {
    /// Equal intervals
    Constant,
    /// One request in every interval, at a random time within it
    Uniform,
    /// Independent requests, as from many users
    Poisson,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LoadFormat {
    /// Text
    Text,
    /// JSON with histograms; docs/load.md describes it
    Json,
    /// CSV, one line for each level
    Csv,
}

fn together() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=1024)
}

/// Longer than any load is held.
const TIME_MAX: Duration = Duration::from_secs(366 * 86_400);

fn parse_time(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if time <= TIME_MAX => Ok(time),
        Ok(_) => Err(format!("a time is at most {}", humantime::format_duration(TIME_MAX))),
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) fn load(args: &Args, console: &Console) -> Done {
    let target = Target::parse(&args.targets, args.allow_public)?;
    let settings = settings(args, &target)?;
    let goal =
        args.find_rate.as_deref().map(|goal| Goal::parse(goal, |text| humantime::parse_duration(text).ok()));
    let goal = goal.transpose()?;
    let baseline = args.baseline.as_deref().map(Baseline::read).transpose()?;
    let held_loads = loads_of(args.background.as_ref());
    baseline.as_ref().map_or(Ok(()), |baseline| baseline.check(&settings, &held_loads))?;
    let loads = loads(args);
    settings.check()?;
    loads.iter().try_for_each(|load| load.check(&settings))?;
    if let Some(path) = &args.hdr {
        refuse_existing(path, false)?;
    }
    check_resources(&settings, &loads, args.workers)?;
    sys::signal::watch().map_err(|error| Failure::Refused(format!("cannot handle signals: {error}")))?;

    let screen = Screen::new(console);
    let mut held = Held::start(args.background.as_ref(), TIME_MAX)?;
    let mut source = Source::start(&settings, args.workers, screen.is_watched())?;
    let mut levels = Vec::new();
    let mut found = None;
    // By which the stage of a search is known again.
    let mut offered = Vec::new();
    match goal {
        Some(goal) => {
            let offer = |load: &Load| {
                held.begin();
                let level = source.offer(load, &screen)?;
                held.end();
                offered.push((level.elapsed_seconds, level.started));
                Ok(level)
            };
            match search::highest(goal, &loads[0], verdict::is_limited_by_generator, offer) {
                Err(_) if sys::signal::stop_ordered() => return Ok(ExitCode::from(INTERRUPTED)),
                searched => found = Some(searched?),
            }
        }
        None => {
            for load in &loads {
                held.begin();
                levels.push(source.offer(load, &screen)?);
                held.end();
                if sys::signal::stop_ordered() {
                    break;
                }
            }
        }
    }
    drop(source);
    held.stop();
    screen.clear();

    if let Some(found) = &found {
        levels.push(found.confirmation.clone());
    }
    if let Some(path) = &args.hdr {
        write_file(path, false, |out| net::load::hdr_log::write(&levels, out))?;
    }
    let confirmation = found.as_ref().map(|found| &found.confirmation);
    let is_it = |level: &Level, stage: &(f64, u64)| *stage == (level.elapsed_seconds, level.started);
    let stage = confirmation.and_then(|level| offered.iter().position(|stage| is_it(level, stage)));
    print(args, &settings, (&levels, &held, stage), found.as_ref(), baseline.as_ref())?;
    Ok(exit_code((&levels, &held), found.as_ref()))
}

/// A process that helps: requests on standard input, counts on standard output.
pub(crate) fn worker() -> Done {
    sys::signal::watch().map_err(|error| Failure::Refused(format!("cannot handle signals: {error}")))?;
    coordinator::work(io::stdin(), io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

/// A process that holds a load beside this one.
pub(crate) fn hold_background() -> Done {
    background::hold()?;
    Ok(ExitCode::SUCCESS)
}

/// The loads of `--background` in their canonical form.
fn loads_of(background: Option<&background::BackgroundLevel>) -> Vec<String> {
    background.into_iter().flat_map(|level| &level.loads).map(ToString::to_string).collect()
}

fn settings(args: &Args, target: &Target) -> Result<LoadSettings, Failure> {
    let client = client::find(&args.client.name)?;
    let client = client.choose(args.client.fields.clone(), &target.endpoint)?;
    let largest = all(&args.levels).max().unwrap_or(args.connections);
    let sources = match &args.source {
        Some(text) => Sources::parse(text)?,
        None => {
            let network = target.address.network();
            network.map(|server| Sources::for_loopback(server.ip(), largest + args.idle)).unwrap_or_default()
        }
    };
    Ok(LoadSettings {
        tls: tls(args, target)?,
        new_connections: args.new_connections,
        requests_per_connection: args.per_connection,
        reset: args.reset,
        pipeline: args.pipeline,
        sources,
        timeout: args.timeout,
        connect_rate: args.ramp,
        idle: args.idle,
        connections_max: args.connections_max.max(args.connections),
        think: args.think,
        seed: args.seed,
        ..LoadSettings::choosing(target.address.clone(), client)
    })
}

fn tls(args: &Args, target: &Target) -> Result<Option<TlsSettings>, Failure> {
    if target.is_secure {
        let (cacert, insecure) = (args.cacert.clone(), args.insecure);
        return Ok(Some(TlsSettings { name: target.name(), cacert, insecure }));
    }
    if args.cacert.is_some() || args.insecure {
        return Err(Failure::Usage("--cacert and --insecure are for https:// only".to_owned()));
    }
    Ok(None)
}

fn loads(args: &Args) -> Vec<Load> {
    let schedule = match args.schedule {
        Spread::Constant => Schedule::Constant,
        Spread::Uniform => Schedule::Uniform,
        Spread::Poisson => Schedule::Poisson,
    };
    let load = Load {
        connections: args.connections,
        rate: None,
        schedule,
        warm_up: args.warm_up,
        duration: args.duration,
        requests: args.requests,
        ..Load::default()
    };
    if !args.rate.is_empty() {
        return all(&args.rate).map(|rate| Load { rate: Some(rate), ..load.clone() }).collect();
    }
    if !args.levels.is_empty() {
        return all(&args.levels).map(|connections| Load { connections, ..load.clone() }).collect();
    }
    vec![load]
}

fn all<T: Copy>(lists: &[Several<T>]) -> impl Iterator<Item = T> {
    lists.iter().flat_map(|list| &list.0).copied()
}

/// Reports what would stop a load before it begins.
fn check_resources(settings: &LoadSettings, loads: &[Load], workers: usize) -> Result<(), Failure> {
    let cores = sys::cpu::count();
    if workers == 0 || workers > cores {
        return Err(Failure::Usage(format!("-w {workers}: this machine supports 1 to {cores} workers")));
    }
    let most = loads.iter().map(|load| load.connections).max().unwrap_or(0);
    let places = |load: &Load| if load.rate.is_none() { load.connections } else { settings.connections_max };
    if loads.iter().any(|load| places(load) < workers) {
        return Err(Failure::Usage(format!(
            "{workers} workers need at least one connection each; use fewer with -w, or more connections"
        )));
    }
    // The limit is of one process.
    let _ = sys::limit::raise_soft_to_hard();
    let each = (most + settings.idle).div_ceil(workers) as u64;
    if let Ok(bound) = sys::limit::ceiling(sys::limit::Resource::Descriptors)
        && each > bound.usable
    {
        return Err(Failure::Refused(format!(
            "{each} connections in one process are more than {} allows ({}); {}, or share them with -w",
            bound.limit, bound.value, bound.advice
        )));
    }
    if settings.target.network().is_none() {
        return Ok(());
    }
    let places = settings.sources.0.len().max(1);
    if (most + settings.idle) / places > FROM_ONE_ADDRESS + 8_000 {
        warn(&format!(
            "{} connections from {places} source address(es) need more ports than there are; name more \
             with --source",
            most + settings.idle
        ));
    }
    // The side that closes first keeps the port in TIME_WAIT, for 60 s on Linux.
    let closes_first = (settings.new_connections || settings.requests_per_connection.is_some())
        && !settings.server_closes()
        && !settings.reset;
    if let (true, Ok(ports)) = (closes_first, sys::limit::ceiling(sys::limit::Resource::LocalPorts)) {
        let rate = ports.usable as f64 * places as f64 / TIME_WAIT_SECONDS;
        warn(&format!(
            "this side closes first, so its ports stay in TIME_WAIT for {TIME_WAIT_SECONDS:.0} s: more than \
             {rate:.0} new connections per second use up all ports; use --reset, or name more addresses \
             with --source"
        ));
    }
    Ok(())
}

/// tcp(7) of Linux; others differ.
const TIME_WAIT_SECONDS: f64 = 60.0;

/// One generator in this process, or several in others.
enum Source {
    Here(Box<Generator>),
    Several(Coordinator),
}

impl Source {
    fn start(settings: &LoadSettings, workers: usize, is_watched: bool) -> Result<Source, Failure> {
        if workers == 1 {
            let mut generator = Generator::new(settings.clone())?;
            if is_watched {
                generator.follow();
            }
            return Ok(Source::Here(Box::new(generator)));
        }
        let program = sys::process::own_program().map_err(|error| {
            Failure::Refused(format!("cannot find this program to start workers: {error}"))
        })?;
        let coordinator = Coordinator::start(&program, WORKER, settings, workers)?;
        if is_watched {
            coordinator.follow()?;
        }
        Ok(Source::Several(coordinator))
    }

    fn offer(&mut self, load: &Load, screen: &Screen) -> Result<Level, net::Error> {
        let mut watched = |progress: &Progress| {
            screen.show(load, progress);
            !sys::signal::stop_ordered()
        };
        if sys::signal::stop_ordered() {
            return Err(net::Error::Stopped);
        }
        match self {
            Source::Here(generator) => generator.offer(load, &mut watched),
            Source::Several(coordinator) => coordinator.offer(load, &mut watched),
        }
    }
}

fn print(
    args: &Args,
    settings: &LoadSettings,
    (levels, held, stage): (&[Level], &Held, Option<usize>),
    found: Option<&Found>,
    baseline: Option<&Baseline>,
) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match args.format {
        LoadFormat::Text => match (found, levels) {
            (Some(found), _) => text::write_found(found, settings, &mut out)?,
            (None, [level]) => text::write_level(level, settings, &mut out)?,
            (None, levels) => text::write_levels(levels, &mut out)?,
        },
        LoadFormat::Json => {
            let compared = baseline.map(|baseline| baseline.compare(levels));
            let background = (loads_of(args.background.as_ref()), &held.levels[..]);
            json::write(&args.targets, (settings, background), levels, found, compared, &mut out)?;
        }
        LoadFormat::Csv => csv::write(levels, &held.of_levels(stage), &mut out)?,
    }
    if args.format == LoadFormat::Text {
        for sentence in held.sentences() {
            writeln!(out, "\n  {sentence}")?;
        }
    }
    if let (LoadFormat::Text, Some(baseline)) = (args.format, baseline) {
        baseline.write(levels, &mut out)?;
    }
    Ok(out.flush()?)
}

fn exit_code((levels, held): (&[Level], &Held), found: Option<&Found>) -> ExitCode {
    let failed = levels.iter().filter(|level| verdict::is_failed(level)).count();
    if sys::signal::stop_ordered() {
        ExitCode::from(INTERRUPTED)
    } else if failed == levels.len() {
        ExitCode::FAILURE
    } else if failed > 0 || found.is_some_and(|found| !found.confirmed) || !held.is_complete() {
        ExitCode::from(INCOMPLETE)
    } else {
        ExitCode::SUCCESS
    }
}
