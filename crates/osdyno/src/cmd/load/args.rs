//! The command line of `osdyno load`, with its lists and ranges of numbers, and the load that it describes.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use background::{BackgroundLevel, BackgroundSpec};
use clap::ValueEnum;
use judge::gate::Gate;
use net::client::http::HttpClientSettings;
use net::client::{self, ClientSettings};
use net::load::{Load, LoadSettings, Schedule, Sources, TlsSettings};
use record::units::{self, Quantity, Unreadable};

use super::target::{Target, TargetForm};
use crate::cmd::command_line::{Chosen, Clients};
use crate::cmd::limits::Limits;
use crate::console::Failure;

const EXAMPLES: &str = "\
Examples:
  osdyno load http://127.0.0.1:8080/                      50 connections, 10 s, as fast as it responds
  osdyno load -c 200 -d 30s http://127.0.0.1:8080/        200 connections, 30 s
  osdyno load -r 5000 http://127.0.0.1:8080/              5000 requests per second, whatever the server does
  osdyno load --levels 1-100 http://127.0.0.1:8080/       1, 2, 5, 10, 20, 50 and 100 connections
  osdyno load --any-body http://127.0.0.1:8080/now        a page that changes
  osdyno load --body @order.json http://127.0.0.1:8080/   POST requests with the content of this file
  osdyno load -o page.html http://127.0.0.1:8080/         also a page, with latency over time
  osdyno load --find-rate 'p99<=5ms' http://[::1]:8080/   the highest rate that meets this goal
  osdyno load --cacert ca.pem https://localhost:8443/     TLS, with a certificate that is signed by this one
  osdyno load --http2 --streams 20 https://localhost/     HTTP/2, 20 requests under way on each connection
  osdyno load --from n1,n2 http://10.0.0.9:8080/          from two hosts that ssh reaches, at the same time
  osdyno load --client busy 127.0.0.1:2525                each connection gets one line, 450, and a close

docs/load.md explains every number.";

/// Longer than any load is held.
pub(super) const TIME_MAX: Duration = Duration::from_secs(366 * 86_400);

/// Rates that a process can keep: one in an hour and a half at least, and ten times what was ever measured.
const RATES: RangeInclusive<f64> = 0.0002..=10_000_000.0;
/// More connections than any machine has room for.
const CONNECTIONS_MAX: u64 = 10_000_000;
/// A range with more values is a mistake: each of them is a load of its own.
const VALUES_MAX: usize = 1000;

/// Load a server in a closed loop, or at a fixed rate
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// http://host:port/path, https://host:port/path, unix:/socket:/path, or host:port with --client busy or
    /// echo; http:// may be left out, and several URLs of one server take turns
    #[arg(value_name = "URL|ADDR", required = true)]
    pub(super) targets: Vec<String>,
    /// Number of connections; with --rate, the number at the start
    #[arg(short, long, value_name = "N", default_value_t = 50, value_parser = parse_connections)]
    pub(super) connections: usize,
    /// How long to measure each level; a number without a unit is in seconds
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    pub(super) duration: Duration,
    /// End a level after this many requests, if that comes first
    #[arg(short = 'n', long, value_name = "N", value_parser = units::counts::<u64>(1..=units::COUNT_MAX))]
    pub(super) requests: Option<u64>,
    /// Open loop: requests per second, at times fixed in advance; several rates, or a range such as 1k-10k,
    /// run one after the other
    ///
    /// Latency counts from the intended start of a request, so the result includes the requests that arrive
    /// while a server stalls. Without a rate the loop is closed: each connection sends its next request when
    /// the response is complete.
    #[arg(short, long, value_name = "RATE,…", value_delimiter = ',', value_parser = parse_rates)]
    pub(super) rate: Vec<Several<f64>>,
    /// Distribution of the start times of --rate
    #[arg(long, value_enum, default_value = "poisson")]
    pub(super) schedule: Schedule,
    /// Number of load generator processes, at most one for each processor; with --from, on each host
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub(super) workers: usize,
    /// Generate the load on these hosts, which begin together: hosts that ssh reaches, or NAME=COMMAND with a
    /// command that leads to a shell there; here= is this machine
    ///
    /// This program is sent to each. A level counts only if all hosts were at work for 99 % of its time, by
    /// their own clocks, which are compared before and after. The exit code is 3 if one does not count.
    #[arg(long, value_name = "HOST,…")]
    pub(super) from: Vec<String>,
    /// The same for the hosts of an inventory or a set: FILE, FILE:PATTERN or NAMES=COMMAND, as for `run`
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    pub(super) hosts: Option<String>,
    /// Give a hundredth of the load to this host, one of the others or another, and print its latencies
    /// beside those of all
    #[arg(long, value_name = "HOST")]
    pub(super) observer: Option<String>,
    /// Several numbers of connections, one after the other; 1-100 is 1,2,5,10,20,50,100 and 10-50:20 is
    /// 10,30,50
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        conflicts_with = "rate",
        value_parser = parse_levels
    )]
    pub(super) levels: Vec<Several<usize>>,
    /// Open a new connection for every request
    #[arg(long)]
    pub(super) new_connections: bool,
    /// Close a connection after this many requests
    #[arg(long, value_name = "N", value_parser = units::counts::<u32>(1..=units::COUNT_MAX))]
    pub(super) per_connection: Option<u32>,
    /// Load the server for this long before measuring
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_time)]
    pub(super) warm_up: Duration,
    /// Connections opened per second, while their number grows
    #[arg(long, value_name = "RATE", default_value = "10000", value_parser = parse_rate)]
    pub(super) ramp: f64,
    /// With --rate, open more connections while all are busy, up to this number
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = parse_connections)]
    pub(super) connections_max: usize,
    /// Source addresses of the connections: 127.0.0.2, 127.0.0.2-127.0.0.20, 127.0.1.0/24, or a list
    #[arg(long, value_name = "ADDR,…")]
    pub(super) source: Option<String>,
    /// Number of additional idle connections
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = parse_connections)]
    pub(super) idle: usize,
    /// Number of requests sent together (HTTP pipelining)
    #[arg(
        long, value_name = "N", default_value = "1",
        value_parser = clap::value_parser!(u32).range(1..=1024)
    )]
    pub(super) pipeline: u32,
    /// Think time: from a response to the next request of a connection
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_time)]
    pub(super) think: Duration,
    /// Exit with 4 if a level certainly breaks a limit: p99<=5ms, errors<=0.1%, rate>=20k, or several
    ///
    /// The exit code is 3 while a level neither breaks nor keeps one, by its 95 % interval.
    #[arg(long, value_name = "LIMIT,…", value_parser = Limits::parse, conflicts_with = "find_rate")]
    pub(super) max: Option<Limits>,
    /// With --baseline, exit with 4 if a figure is certainly worse: slower, or slower:5%
    ///
    /// Two loads meet the machine at two times: a figure must be worse by 15 % at least.
    #[arg(long, value_name = "CLAIM", value_parser = Gate::parse, requires = "baseline")]
    pub(super) fail_on: Option<Gate>,
    /// A request fails if its response takes longer
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    pub(super) timeout: Duration,
    /// Close connections with a reset, which leaves no port in TIME_WAIT; this is not the load of an orderly
    /// close
    #[arg(long)]
    pub(super) reset: bool,
    /// Trust the certificates in this PEM file, instead of those that this system trusts, for https://
    #[arg(long, value_name = "FILE")]
    pub(super) cacert: Option<PathBuf>,
    /// Accept any certificate
    #[arg(short = 'k', long, conflicts_with = "cacert")]
    pub(super) insecure: bool,
    /// Find the highest rate that meets a goal, such as 'p99<=5ms'
    #[arg(long, value_name = "GOAL", conflicts_with_all = ["rate", "levels", "requests"])]
    pub(super) find_rate: Option<String>,
    /// Compare with an earlier load, whose --format json is in this file
    #[arg(long, value_name = "FILE", conflicts_with = "find_rate")]
    pub(super) baseline: Option<PathBuf>,
    #[command(flatten)]
    pub(super) client: Chosen<Clients>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: LoadFormat,
    /// Write the result to a file too, in the format of its name: .html (a page), .json, .csv, .md, .txt or
    /// .hlog; may be repeated
    #[arg(short, long, value_name = "FILE")]
    pub(super) out: Vec<PathBuf>,
    /// Write the latencies of every time slice as an HdrHistogram interval log
    #[arg(long, value_name = "FILE")]
    pub(super) hdr: Option<PathBuf>,
    /// Overwrite files
    #[arg(long)]
    pub(super) force: bool,
    /// Seed of every random choice
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Load this machine beside the load: cpu:50%, disk:20MB/s and others, as for osdyno run --background
    ///
    /// Each is held by a process of its own, within 2 % of its rate before the load begins. The rate of every
    /// second is as the kernel counts it, and levels in which it was off by more than 5 % are counted.
    #[arg(long, value_name = "LOAD,…", value_parser = parse_background)]
    pub(super) background: Option<BackgroundLevel>,
    /// Allow a server that is neither on this machine nor in a private network
    #[arg(long)]
    pub(super) allow_public: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LoadFormat {
    /// Text
    Text,
    /// JSON with histograms; docs/answers.md describes it
    Json,
    /// CSV, one line for each level
    Csv,
    /// Markdown, for a comment or the summary of a build
    Markdown,
}

/// One number, or all that a range stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Several<T>(Vec<T>);

/// A number without a unit is in seconds, as for most load generators.
fn parse_time(text: &str) -> Result<Duration, Unreadable> {
    match units::time_or_seconds(text)? {
        time if time <= TIME_MAX => Ok(time),
        _ => Err(Unreadable::new(text, format!("a time is at most {}", units::written_time(TIME_MAX)))),
    }
}

fn parse_rate(text: &str) -> Result<f64, Unreadable> {
    match units::parse(text, Quantity::EventRate)? {
        rate if RATES.contains(&rate) => Ok(rate),
        _ => {
            let (least, most) = (RATES.start(), RATES.end());
            Err(Unreadable::new(text, format!("a rate is from {least} to {most} per second, such as 20k")))
        }
    }
}

fn parse_rates(text: &str) -> Result<Several<f64>, Unreadable> {
    let values = values(text, Quantity::EventRate)?;
    values.iter().map(|value| parse_rate(value)).collect::<Result<_, _>>().map(Several)
}

fn parse_connections(text: &str) -> Result<usize, Unreadable> {
    units::counts(0..=CONNECTIONS_MAX)(text)
}

fn parse_levels(text: &str) -> Result<Several<usize>, Unreadable> {
    let values = values(text, Quantity::Count)?;
    values.iter().map(|value| parse_connections(value)).collect::<Result<_, _>>().map(Several)
}

/// The number, or those of a range, as text: `1-100` is 1, 2, 5, 10, 20, 50 and 100; `10-50:20` is 10, 30 and
/// 50.
fn values(text: &str, quantity: Quantity) -> Result<Vec<String>, Unreadable> {
    // A minus behind an e belongs to its number.
    let is_dash = |&(place, _): &(usize, &str)| !matches!(text.as_bytes()[place - 1], b'e' | b'E');
    let dash = text.match_indices('-').filter(|(place, _)| *place > 0).find(is_dash);
    let Some((place, _)) = dash else { return Ok(vec![text.to_owned()]) };
    let (first, rest) = (&text[..place], &text[place + 1..]);
    let (last, step) = rest.split_once(':').map_or((rest, None), |(last, step)| (last, Some(step)));
    let wrong = || Unreadable::new(text, "it is no range; write 1-100, or 10-50:10 with a step");
    let number = |text: &str| units::parse(text, quantity).map_err(|_| wrong());
    let (first, last) = (number(first)?, number(last)?);
    let step = step.map(number).transpose()?;
    if !(first > 0.0 && first < last) || step.is_some_and(|step| step <= 0.0) {
        return Err(wrong());
    }
    let values: Vec<f64> = match step {
        Some(step) => (0..=VALUES_MAX)
            .map(|number| first + number as f64 * step)
            .take_while(|&value| value <= last)
            .collect(),
        None => round_numbers(first, last),
    };
    if values.len() > VALUES_MAX {
        let advice = format!("it has more than {VALUES_MAX} values; use a larger step, such as 10-50:10");
        return Err(Unreadable::new(text, advice));
    }
    Ok(values.iter().map(f64::to_string).collect())
}

/// 1, 2 and 5 of each power of ten between the two, which are the first and the last.
fn round_numbers(first: f64, last: f64) -> Vec<f64> {
    let powers = first.log10().floor() as i32..=last.log10().ceil() as i32;
    let round = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| (digit, power)));
    // Through text, so that 0.002 is the number that is written so.
    let round = round.filter_map(|(digit, power)| format!("{digit}e{power}").parse::<f64>().ok());
    let between = round.filter(|&value| value > first && value < last);
    [first].into_iter().chain(between).chain([last]).collect()
}

/// Parses `--background`, which has one level here: the levels of a load are its connections or rates.
fn parse_background(text: &str) -> Result<BackgroundLevel, Unreadable> {
    let background = BackgroundSpec::parse(text)?;
    match background.levels() {
        [level] => Ok(level.clone()),
        _ => Err(Unreadable::new(text, "it has several levels; a load is held beside one, such as cpu:50%")),
    }
}

/// The target of the command line: a URL where the client speaks HTTP.
pub(super) fn target(args: &Args) -> Result<Target, Failure> {
    let is_http = args.client.name == HttpClientSettings::NAME;
    let form = if is_http { TargetForm::Url } else { TargetForm::Address };
    let sources = sources(args)?.unwrap_or_default();
    Target::parse(&args.targets, form, args.allow_public, &sources)
}

fn sources(args: &Args) -> Result<Option<Sources>, Failure> {
    Ok(args.source.as_deref().map(Sources::parse).transpose()?)
}

pub(super) fn settings(args: &Args, target: &Target) -> Result<LoadSettings, Failure> {
    let client = client::find(&args.client.name)?;
    let client = client.choose(&args.client.settings, &target.endpoint)?;
    let largest = all(&args.levels).max().unwrap_or(args.connections);
    let sources = match sources(args)? {
        Some(sources) => sources,
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
        return Ok(Some(TlsSettings { name: target.name.clone(), cacert, insecure }));
    }
    if args.cacert.is_some() || args.insecure {
        return Err(Failure::Usage("--cacert and --insecure are for https:// only".to_owned()));
    }
    Ok(None)
}

pub(super) fn loads(args: &Args) -> Vec<Load> {
    let load = Load {
        connections: args.connections,
        rate: None,
        schedule: args.schedule,
        warm_up: args.warm_up,
        duration: args.duration,
        requests: args.requests,
        ..Load::default()
    };
    let mut loads: Vec<Load> = match (&args.rate[..], &args.levels[..]) {
        ([], []) => vec![load],
        ([], levels) => all(levels).map(|connections| Load { connections, ..load.clone() }).collect(),
        (rates, _) => all(rates).map(|rate| Load { rate: Some(rate), ..load.clone() }).collect(),
    };
    for (number, load) in loads.iter_mut().enumerate() {
        load.number = number as u64;
    }
    loads
}

fn all<T: Copy>(lists: &[Several<T>]) -> impl Iterator<Item = T> {
    lists.iter().flat_map(|list| &list.0).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_one_that_a_load_is_held() {
        assert_eq!((parse_time("0.5"), parse_time("366d")), (Ok(Duration::from_millis(500)), Ok(TIME_MAX)));
        for wrong in ["", "-1", "soon", "10x", ".", "1 2", "367d"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_possible_loads() {
        assert_eq!((parse_connections("2.5K"), parse_connections("0")), (Ok(2500), Ok(0)));
        assert_eq!(
            (parse_rate("0.5M"), parse_rate("1e-3"), parse_rate("20/s")),
            (Ok(5e5), Ok(0.001), Ok(20.0))
        );
        for wrong in ["", "k", "-1", "1.5", "1m", "20M"] {
            assert!(parse_connections(wrong).is_err(), "{wrong}");
        }
        assert!(parse_rate("0").is_err() && parse_rate("1G").is_err());
    }

    #[test]
    fn ranges_are_round_numbers_or_steps() {
        let levels = |text: &str| parse_levels(text).map(|several| several.0).ok();
        assert_eq!(levels("1-100"), Some(vec![1, 2, 5, 10, 20, 50, 100]));
        assert_eq!(levels("3-40"), Some(vec![3, 5, 10, 20, 40]));
        assert_eq!(levels("10-50:20"), Some(vec![10, 30, 50]));
        assert_eq!(levels("1k-2k"), Some(vec![1000, 2000]));
        assert_eq!(levels("7"), Some(vec![7]));
        assert_eq!(parse_rates("1e-3-0.01").ok(), Some(Several(vec![0.001, 0.002, 0.005, 0.01])));
        for wrong in ["100-1", "1-", "-5", "0-10", "1-10:0", "1-10:x", "1-100000:1", "1-5-9"] {
            assert_eq!(levels(wrong), None, "{wrong}");
        }
    }
}
