//! `osdyno serve`: a server in any of the architectures.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{ArgMatches, Command, FromArgMatches};
use net::server::{ListeningServer, Report, ServerPlan};
use net::worker::{Accept, COUNTERS, Counters, Limits};
use record::units::{self, Unreadable};
use report::document::{Column, Document, Section, Table};
use serde::Serialize;

use super::command_line::{Chosen, Owners, Services};
use super::{Done, Format, print_counters, warn};
use crate::console::{Console, Failure, tell};

/// Serve a folder, or another service, with a server architecture of your choice
#[derive(clap::Args)]
#[command(after_help = "\
SIGUSR1 prints the counters. SIGTERM or Ctrl-C stops the server gracefully: idle connections are closed, \
and responses in progress are sent first.")]
pub(crate) struct Args {
    /// Server architecture
    #[arg(long, value_name = "NAME", default_value = "epoll", value_parser = architectures())]
    arch: String,
    #[command(flatten)]
    service: Chosen<Services>,
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080", value_parser = parse_address)]
    listen: SocketAddr,
    /// Serve all of 127.0.0.0/8, and no other network, at the port of --listen (Linux)
    #[arg(long)]
    loopback: bool,
    /// Number of processes that share the port
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count())]
    workers: usize,
    /// How several workers get connections: each from a listener of its own, or all from one, which wakes all
    /// of them or with EPOLLEXCLUSIVE one
    #[arg(long, value_name = "HOW", value_enum, default_value = "reuseport")]
    accept: Accept,
    /// Number of processes of prefork, or of threads of pool
    #[arg(long, value_name = "N", default_value_t = ServerPlan::default().pool, value_parser = count())]
    pool: usize,
    /// Connections per worker; further connections are closed immediately
    #[arg(long, value_name = "N", value_parser = count())]
    max_connections: Option<usize>,
    /// Close a connection that sends no request for this long
    #[arg(long, value_name = "TIME", default_value = "75s", value_parser = units::time)]
    idle_timeout: Duration,
    /// Drop a request that is incomplete this long after its first byte
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = units::time)]
    request_timeout: Duration,
    /// Drop a response that makes no progress for this long
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = units::time)]
    send_timeout: Duration,
    /// After a signal to stop, allow responses in progress this long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = units::time)]
    grace: Duration,
    /// Append a line for every request, or recipient of mail, to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// Switch to this user after the port is bound
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Format of the counters at the end: text on standard error, json on standard output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

fn count() -> impl Fn(&str) -> Result<usize, Unreadable> + Clone + Send + Sync {
    units::counts(0..=units::COUNT_MAX)
}

/// Take mail over SMTP and throw it away, with configurable faults
///
/// The same as `serve --service smtp`; `osdyno explain service/smtp` has its page.
pub(crate) struct SinkArgs(pub(crate) Args);

/// The service of `sink`.
const SINK: &str = "smtp";

impl clap::Args for SinkArgs {
    fn augment_args(command: Command) -> Command {
        let others = Services::all().into_iter().filter(|service| service.name != SINK);
        let others = others.flat_map(|service| service.arguments());
        let command = Args::augment_args(command)
            .about("Take mail over SMTP and throw it away, with configurable faults")
            .after_help(
                "The same as serve --service smtp; osdyno explain service/smtp has its page.\n\
                 --access-log keeps a ledger, a line of JSON for each recipient.",
            )
            .mut_arg(Services::CHOICE, |choice| choice.value_parser([SINK]).default_value(SINK).hide(true))
            .mut_arg("listen", |listen| listen.default_value("127.0.0.1:2525"));
        others.fold(command, |command, other| command.mut_arg(other.get_id(), |option| option.hide(true)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        SinkArgs::augment_args(command)
    }
}

impl FromArgMatches for SinkArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<SinkArgs, clap::Error> {
        Args::from_arg_matches(matches).map(SinkArgs)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

pub(super) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let error = match text.parse::<SocketAddr>() {
        Ok(address) => return Ok(address),
        Err(error) => error,
    };
    let port = text.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
    Err(match (port, text.parse::<IpAddr>()) {
        (_, Ok(address)) => format!("the port is missing; did you mean {}?", SocketAddr::new(address, 8080)),
        (Some(port), _) => format!(
            "the address is missing or no number; did you mean 127.0.0.1:{port}, for this machine only, or \
             0.0.0.0:{port}, for all networks?"
        ),
        (None, _) => format!("{error}; write it as 127.0.0.1:8080 or [::1]:8080"),
    })
}

fn architectures() -> PossibleValuesParser {
    let named = |one: &&net::arch::Architecture| PossibleValue::new(one.name).help(one.summary());
    PossibleValuesParser::new(net::arch::ALL.iter().map(named))
}

pub(crate) fn serve(args: Args, console: &Console) -> Done {
    let format = args.format;
    let plan = plan(args)?;
    if sys::process::is_root() && plan.user.is_none() {
        warn("serving as root; --user NAME drops root privileges after the port is bound");
    }
    let server = ListeningServer::set_up(plan.clone())?;
    let (address, began) = (server.address(), Instant::now());
    let answer = |counters: &Counters| ServeAnswer {
        address,
        architecture: plan.architecture.clone(),
        service: plan.service.clone(),
        workers: plan.workers,
        elapsed_seconds: began.elapsed().as_secs_f64(),
        report: Report::new(counters),
    };
    tell(&format!("{} — stop with Ctrl-C", greeting(&plan, &server.describe()?)));
    let counters = server.run(|counters| console.tell(&answer(counters).document()))?;
    print_counters(&answer(&counters), ServeAnswer::document, format, console)?;
    Ok(ExitCode::SUCCESS)
}

fn plan(args: Args) -> Result<ServerPlan, Failure> {
    if args.format != Format::Text && args.access_log.as_ref().is_some_and(|log| log.as_os_str() == "-") {
        let text = "standard output cannot hold both the access log and the counters; give the log a file";
        return Err(Failure::Usage(text.to_owned()));
    }
    let defaults = Limits::default();
    Ok(ServerPlan {
        architecture: args.arch,
        service: args.service.name,
        settings: args.service.settings,
        address: if args.loopback { (Ipv4Addr::UNSPECIFIED, args.listen.port()).into() } else { args.listen },
        loopback: args.loopback,
        workers: args.workers,
        pool: args.pool,
        limits: Limits {
            connections: args.max_connections.unwrap_or(defaults.connections),
            idle: args.idle_timeout,
            request: args.request_timeout,
            send: args.send_timeout,
            grace: args.grace,
        },
        log: args.access_log,
        user: args.user,
        accept: args.accept,
        cpus: Vec::new(),
        session_command: trial::servers::session_command().map_err(Failure::Print)?,
    })
}

/// One line about the service and its address.
fn greeting(plan: &ServerPlan, what: &str) -> String {
    let workers = match (plan.workers, plan.accept) {
        (1, _) => "1 worker".to_owned(),
        (several, Accept::ReusePort) => format!("{several} workers"),
        (several, accept) => format!("{several} workers, accept {}", accept.name()),
    };
    format!("serving {} with {}, {workers}", report::printable(what), plan.architecture)
}

/// The answer of `osdyno serve` and `osdyno sink`.
#[derive(Serialize)]
struct ServeAnswer {
    /// The address that it listens on.
    address: SocketAddr,
    /// Its architecture.
    architecture: String,
    /// Its service.
    service: String,
    /// How many processes share the port.
    workers: usize,
    /// Duration.
    elapsed_seconds: f64,
    /// Its counters.
    report: Report,
}

impl ServeAnswer {
    /// The counters as a document.
    fn document(&self) -> Document {
        // Most services have no recipients.
        let has_meaning = |(name, value): &(&str, u64)| *name != "recipients" || *value > 0;
        let counts = COUNTERS.iter().map(|&name| (name, self.report.counts[name])).filter(has_meaning);
        let counts = counts.map(|(name, value)| (name.replace('_', " "), value));
        let open = [("open now".to_owned(), self.report.open), ("open at most".to_owned(), self.report.peak)];
        let mut table = Table::of_columns(vec![Column::default(), Column::number("")]);
        for (name, value) in counts.chain(open) {
            table.push([name, value.to_string()]);
        }
        let after = Duration::from_secs(self.elapsed_seconds as u64);
        let title = format!("after {}", units::written_time(after));
        let section = Section { blocks: vec![table.into()], ..Section::new(title) };
        Document { title: "Counters".into(), blocks: vec![section.into()], ..Document::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_part_gets_a_suggestion() {
        assert_eq!(parse_address("[::1]:80").map(|address| address.port()), Ok(80));
        for (text, suggestion) in [
            (":9000", "127.0.0.1:9000"),
            ("9000", "0.0.0.0:9000"),
            ("localhost:9000", "127.0.0.1:9000"),
            ("10.0.0.1", "10.0.0.1:8080"),
            ("::1", "[::1]:8080"),
            ("nowhere", "127.0.0.1:8080"),
        ] {
            let error = parse_address(text).expect_err(text);
            assert!(error.contains(suggestion), "{error}");
        }
    }
}
