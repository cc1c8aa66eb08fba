//! `osdyno mail`: delivers one message to many recipients, or makes every step of a delivery but the message.

mod answer;
mod processes;

use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ::report::document::terminal::Length;
use ::report::words::count;
use clap::ValueEnum;
use mail::dns::servers_of_resolv_conf;
use mail::{
    DeliveryPlan, DomainSizes, EVENT_INTERFACES, EarlierResults, EngineSettings, GeneratedList, JsonLines,
    MailList, MailTls, Message, Mode, NoResults, Permission, QueueSettings, Recipients, Results, Routing,
    SessionSettings, Spool, SpoolFolder, SpoolTerms, TlsPolicy,
};
use net::load::{Sources, TlsSettings};
use record::units::{self, Unreadable};

use self::answer::MailAnswer;
use self::processes::{Experiment, deliver_from_hosts};
use super::limits::{self, Limits};
use super::{Done, Format, command_line, print_answer, refuse_existing, stop_flag};
use crate::console::{Console, Failure, INCOMPLETE, INTERRUPTED, completion, results, tell};

const EXAMPLES: &str = "\
Examples:
  osdyno mail --experiment                                   200,000 recipients in 9113 domains, in test mode
  osdyno serve --service smtp --listen 127.0.0.1:2525 &      a server that takes mail and drops it
  osdyno mail --relay 127.0.0.1:2525                         200,000 test deliveries, command by command
  osdyno mail --relay 127.0.0.1:2525 --pipeline -c 1500      the same, pipelined, over 1500 connections
  osdyno mail --relay 127.0.0.1:2525 --deliver --message hello.eml list.txt

Test mode ends each transaction with RSET in place of DATA: no message is sent.
Only loopback and private networks are connected to.";

/// Deliver one message to many recipients, or test every step of it
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// File of recipients, one address per line, with # before a comment; - is standard input. Without it, a
    /// list is generated
    #[arg(value_name = "LIST")]
    list: Option<PathBuf>,
    /// Server that takes all mail
    #[arg(long, value_name = "ADDR:PORT", required_unless_present_any = ["dns", "experiment"])]
    relay: Option<SocketAddr>,
    /// Deliver to the mail exchangers of each domain, found by this DNS server; "system" is that of
    /// /etc/resolv.conf
    #[arg(long, value_name = "ADDR:PORT", conflicts_with = "relay", value_parser = parse_dns)]
    dns: Option<DnsServer>,
    /// Start a server and the DNS of the generated domains here, and deliver to them
    #[arg(long, conflicts_with_all = ["relay", "dns", "port", "list"])]
    experiment: bool,
    /// Port of mail exchangers
    #[arg(long, value_name = "PORT", default_value_t = 25, requires = "dns")]
    port: u16,
    /// Make every step of a delivery with RSET in place of DATA; this is the default
    #[arg(long, conflicts_with = "deliver")]
    test: bool,
    /// Send whole test transactions back to back (RFC 2920)
    #[arg(long, conflicts_with = "deliver")]
    pipeline: bool,
    /// Deliver the message
    #[arg(long)]
    deliver: bool,
    /// Number of connections at once, at most
    #[arg(short, long, value_name = "N", default_value_t = 50, value_parser = positive())]
    connections: u32,
    /// Number of threads; each has its part of the domains and of the connections
    #[arg(long, value_name = "N", default_value = "1")]
    threads: NonZero<u32>,
    /// Hosts that deliver together in place of this process, each its part: n1,n[2-4] by ssh, or NAME=COMMAND
    ///
    /// COMMAND leads to a shell there, as for `load --from`; NAME= alone is this machine. All begin at one
    /// moment, with --threads processes each. The counts are exact sums. The figures are void where not all
    /// were at work for 99 % of the time: with --duration and a list that is long enough all end together.
    #[arg(long, value_name = "HOST,…", conflicts_with_all = ["results", "spool"])]
    clients: Vec<String>,
    /// Event interface
    #[arg(long, value_name = "NAME", default_value = default_interface(), value_parser = EVENT_INTERFACES)]
    events: String,
    /// Number of generated recipients
    #[arg(
        long,
        value_name = "N",
        default_value_t = 200_000,
        conflicts_with = "list",
        value_parser = parse_recipients
    )]
    recipients: u32,
    /// Number of domains of generated recipients, all of them in .test
    #[arg(long, value_name = "N", default_value_t = 9113, conflicts_with = "list", value_parser = positive())]
    domains: u32,
    /// How generated recipients are spread over their domains
    #[arg(long, value_enum, default_value = "zipf", conflicts_with = "list")]
    sizes: Sizes,
    /// Seed of the generated list
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "list")]
    seed: u64,
    /// File with the message, header and body
    #[arg(long, value_name = "FILE", conflicts_with = "message_bytes")]
    message: Option<PathBuf>,
    /// Length of a generated message
    #[arg(long, value_name = "N", default_value_t = 1000)]
    message_bytes: u32,
    /// Address of the sender; empty is the null path
    #[arg(long, value_name = "ADDR", default_value = "")]
    from: String,
    /// Name in EHLO
    #[arg(long, value_name = "NAME", default_value = "osdyno.test")]
    helo: String,
    /// Recipients for which a connection is used; 1 is a connection for each
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = positive())]
    per_connection: u32,
    /// Recipients of one domain in a transaction
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = positive())]
    per_transaction: u32,
    /// Transactions that are sent together with --pipeline
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = positive(), requires = "pipeline")]
    batch: u32,
    /// Connections to one host, at most; without it, as many as --connections
    #[arg(long, value_name = "N", value_parser = positive())]
    per_host: Option<u32>,
    /// Connections from one source address, at most; without it, as many as --connections
    #[arg(long, value_name = "N", value_parser = positive())]
    per_source: Option<u32>,
    /// Transactions of one domain under way, at most
    #[arg(long, value_name = "N", value_parser = positive())]
    per_domain: Option<u32>,
    /// Exit with 4 if a limit is broken: errors<=0.1%, rate>=20k, or p99<=5ms of the slowest step
    #[arg(long, value_name = "LIMIT,…", value_parser = Limits::parse)]
    max: Option<Limits>,
    /// Attempts for a recipient
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..))]
    attempts: u8,
    /// Time before the second attempt; each later one waits twice as long as the one before
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = units::time)]
    retry: Duration,
    /// Longest time between attempts
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = units::time)]
    retry_longest: Duration,
    /// Longest wait for a reply
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = units::time)]
    timeout: Duration,
    /// Stop after this time; undelivered mail is reported as queued
    #[arg(short, long, value_name = "TIME", value_parser = units::time)]
    duration: Option<Duration>,
    /// Source addresses of the connections: 127.0.0.2, 127.0.0.2-127.0.0.20, 127.0.1.0/24, or a list
    #[arg(long, value_name = "ADDR,…")]
    source: Option<String>,
    /// Encryption of connections by STARTTLS (RFC 3207)
    #[arg(long, value_enum, default_value = "off")]
    tls: Tls,
    /// Accept only certificates for this name, signed by an authority of --cacert or of this system; without
    /// it, any
    #[arg(long, value_name = "NAME")]
    tls_name: Option<String>,
    /// Certificates in PEM that --tls-name trusts in place of this system's
    #[arg(long, value_name = "FILE", requires = "tls_name")]
    cacert: Option<PathBuf>,
    /// Also connect to the public addresses in this file, one per line
    #[arg(long, value_name = "FILE")]
    allow_public: Option<PathBuf>,
    /// Write the outcome of each recipient to this file, as lines of JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Keep the list and the results in this folder, and continue a delivery found there: a kill loses no
    /// recipient
    #[arg(long, value_name = "DIR", conflicts_with = "results")]
    spool: Option<PathBuf>,
    /// Overwrite the file of --results
    #[arg(long)]
    force: bool,
    /// Format of the summary
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Sizes {
    /// The k-th domain has 1/k as many as the first
    Zipf,
    /// All domains have the same number
    Uniform,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Tls {
    /// Never
    Off,
    /// Where the server offers it and a handshake succeeds
    Opportunistic,
    /// Always: a server without it cannot be reached
    Required,
}

/// The DNS server.
#[derive(Clone, Copy, Debug)]
enum DnsServer {
    System,
    At(SocketAddr),
}

/// RFC 1035, section 4.2.
const DNS_PORT: u16 = 53;

/// The file where systems other than Windows name their servers.
const RESOLV_CONF: &str = "/etc/resolv.conf";

fn parse_dns(text: &str) -> Result<DnsServer, String> {
    if text == "system" {
        return Ok(DnsServer::System);
    }
    let address = text.parse().or_else(|_| text.parse().map(|ip: IpAddr| SocketAddr::new(ip, DNS_PORT)));
    address.map(DnsServer::At).map_err(|_| "write 127.0.0.1:53, or system".to_owned())
}

fn positive() -> impl Fn(&str) -> Result<u32, Unreadable> + Clone + Send + Sync {
    units::counts(1..=units::COUNT_MAX)
}

/// The number to generate; users often write a file here by mistake.
fn parse_recipients(text: &str) -> Result<u32, String> {
    positive()(text).map_err(|_| match Path::new(text).exists() {
        true => {
            format!("this is how many recipients are generated; the file is given without an option: {text}")
        }
        false => "write how many recipients are generated, such as 200000".to_owned(),
    })
}

fn default_interface() -> &'static str {
    if cfg!(target_os = "linux") { "epoll" } else { "poll" }
}

/// How long transactions under way may take after an order to stop.
const GRACE: Duration = Duration::from_secs(5);

pub(crate) fn mail(args: &Args, console: &Console) -> Done {
    let experiment = if args.experiment { Some(Experiment::start(args.domains)?) } else { None };
    let routing = experiment.as_ref().map_or_else(|| routing(args), |experiment| Ok(experiment.routing()))?;
    let settings = settings(args, routing)?;
    if let Some(path) = args.message.as_ref().filter(|_| args.deliver) {
        for change in settings.session.message.changes() {
            tell(&format!("{}: {change}", path.display()));
        }
    }
    if let Some(folder) = &args.spool {
        let (spool, recipients, earlier) = open_spool(args, folder, &SpoolTerms::new(&settings.session))?;
        let done = deliver(args, &recipients, settings, spool, console)?;
        let is_whole = done == ExitCode::SUCCESS && earlier.failed > 0;
        return Ok(if is_whole { ExitCode::from(INCOMPLETE) } else { done });
    }
    if !args.clients.is_empty() {
        return deliver_from_hosts(args, settings, console);
    }
    let recipients = mail_list(args)?.recipients();
    match &args.results {
        None => deliver(args, &recipients, settings, NoResults, console),
        Some(path) if path.as_os_str() == "-" => {
            if args.format != Format::Text {
                let text =
                    "standard output cannot hold both the results and the summary; give --results a file";
                return Err(Failure::Usage(text.to_owned()));
            }
            deliver(args, &recipients, settings, JsonLines::new(results()), console)
        }
        Some(path) => {
            refuse_existing(path, args.force)?;
            let file = File::create(path).map_err(Failure::writing(path))?;
            deliver(args, &recipients, settings, JsonLines::new(file), console)
        }
    }
}

fn deliver<R: Results + Send>(
    args: &Args,
    recipients: &Recipients,
    settings: EngineSettings,
    results: R,
    console: &Console,
) -> Done {
    // A connection takes a descriptor; a refusal is no reason not to begin.
    let _ = sys::limit::raise_soft_to_hard();
    let stop = stop_flag()?;
    let delivery = DeliveryPlan {
        interface: &args.events,
        threads: args.threads,
        connections: args.connections,
        connections_per_source: args.per_source.unwrap_or(u32::MAX),
        duration: args.duration.unwrap_or(Duration::MAX),
        grace: GRACE,
        stop: &stop,
    };
    let announce = || tell(&plan(args, recipients));
    let delivered = mail::deliver(recipients, &settings, results, delivery, announce)?;
    let is_interrupted = stop.load(Ordering::Relaxed);
    let answer = MailAnswer::new(&delivered, settings.session.mode != Mode::Deliver);
    conclude(args, answer, is_interrupted, console)
}

/// Prints the answer, and returns its exit code.
fn conclude(args: &Args, mut answer: MailAnswer, is_interrupted: bool, console: &Console) -> Done {
    answer.hold_against(args.max.as_ref());
    if args.results.as_ref().is_some_and(|path| path.as_os_str() == "-") {
        console.tell(&answer.document());
    } else {
        print_answer(&answer, MailAnswer::document, Length::Short, args.format, console)?;
    }
    if is_interrupted {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let code = completion(answer.is_whole());
    limits::print(&answer.limits, &command_line::to_repeat(), args.format == Format::Text, console)?;
    Ok(limits::exit_code(&answer.limits, code))
}

/// The rest of the list in the folder, or else a new list. The folder is locked before the list is read.
fn open_spool(
    args: &Args,
    folder: &Path,
    terms: &SpoolTerms,
) -> Result<(Spool, Recipients, EarlierResults), Failure> {
    let locked = SpoolFolder::lock(folder)?;
    if !locked.has_list() {
        let recipients = mail_list(args)?.recipients();
        return Ok((locked.begin(terms, &recipients)?, recipients, EarlierResults::default()));
    }
    if args.list.is_some() {
        let folder = folder.display();
        let text =
            format!("{folder} has a list already; leave LIST out to go on with it, or name another folder");
        return Err(Failure::Usage(text));
    }
    let (spool, recipients, earlier) = locked.resume(terms)?;
    let (left, all) = (recipients.waiting() as u64, recipients.len() as u64);
    let failed = match earlier.failed as u64 {
        0 => String::new(),
        failed => format!(", {} have failed", count(failed)),
    };
    tell(&format!(
        "going on with {}: {} of {} recipients are left{failed}",
        folder.display(),
        count(left),
        count(all)
    ));
    Ok((spool, recipients, earlier))
}

/// The list that was given, or a generated one.
fn mail_list(args: &Args) -> Result<MailList, Failure> {
    let Some(path) = &args.list else {
        let sizes = match args.sizes {
            Sizes::Zipf => DomainSizes::Zipf,
            Sizes::Uniform => DomainSizes::Uniform,
        };
        let (recipients, domains) = (args.recipients, args.domains);
        return Ok(MailList::Generated(GeneratedList { recipients, domains, sizes, seed: args.seed }));
    };
    let text = if path.as_os_str() == "-" {
        let mut text = Vec::new();
        io::stdin().lock().read_to_end(&mut text).map_err(reading(path))?;
        text
    } else {
        std::fs::read(path).map_err(reading(path))?
    };
    Ok(MailList::Text(mail::list_text(&text).into_owned()))
}

fn reading(path: &Path) -> impl Fn(io::Error) -> Failure + '_ {
    move |error| Failure::Refused(format!("cannot read {}: {error}", path.display()))
}

fn settings(args: &Args, routing: Routing) -> Result<EngineSettings, Failure> {
    let mode = match (args.deliver, args.pipeline) {
        (true, _) => Mode::Deliver,
        (false, true) => Mode::TestPipelined,
        (false, false) => Mode::Test,
    };
    let run = u64::from(std::process::id()) ^ args.seed;
    let message = match &args.message {
        Some(path) => Message::new(&std::fs::read(path).map_err(reading(path))?, &args.helo, run)
            .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?,
        None => Message::of_bytes(args.message_bytes as usize, &args.helo, run),
    };
    let permission = match &args.allow_public {
        None => Permission::default(),
        Some(path) => {
            let text = std::fs::read(path).map_err(reading(path))?;
            Permission::parse(&mail::list_text(&text))
                .map_err(|reason| Failure::Usage(format!("{}: {reason}", path.display())))?
        }
    };
    let session = SessionSettings {
        mode,
        helo: args.helo.clone(),
        sender: args.from.clone(),
        message: Arc::new(message),
        deliveries_per_connection: args.per_connection,
    };
    let queue = QueueSettings {
        connections_per_host: args.per_host.unwrap_or(args.connections),
        transactions_per_domain: args.per_domain.unwrap_or(u32::MAX),
        recipients_per_transaction: args.per_transaction as usize,
        batch: args.batch as usize,
        attempts: args.attempts,
        retry_ms: args.retry.as_millis() as u64,
        retry_longest_ms: args.retry_longest.as_millis() as u64,
        ..QueueSettings::default()
    };
    let sources = args.source.as_deref().map(Sources::parse).transpose()?.unwrap_or_default();
    let tls = tls(args)?;
    Ok(EngineSettings { session, queue, routing, sources, permission, tls, step_timeout: args.timeout })
}

fn tls(args: &Args) -> Result<MailTls, Failure> {
    let policy = match args.tls {
        Tls::Off if args.tls_name.is_some() => {
            let text = "--tls-name needs --tls required: without TLS there is no certificate";
            return Err(Failure::Usage(text.to_owned()));
        }
        Tls::Off => TlsPolicy::Off,
        Tls::Opportunistic => TlsPolicy::Opportunistic,
        Tls::Required => TlsPolicy::Required,
    };
    let certificates = args.tls_name.as_ref().map(|name| TlsSettings {
        name: name.clone(),
        cacert: args.cacert.clone(),
        insecure: false,
    });
    Ok(MailTls { policy, certificates })
}

fn routing(args: &Args) -> Result<Routing, Failure> {
    let servers = match (args.relay, args.dns) {
        (Some(relay), _) => return Ok(Routing::Relay(relay)),
        (None, Some(DnsServer::At(server))) => vec![server],
        (None, _) => {
            let path = Path::new(RESOLV_CONF);
            servers_of_resolv_conf(&std::fs::read_to_string(path).map_err(reading(path))?)
        }
    };
    Ok(Routing::Dns { servers, port: args.port })
}

/// One line about the delivery and its settings.
fn plan(args: &Args, recipients: &Recipients) -> String {
    let mode = match (args.deliver, args.pipeline) {
        (true, _) => "deliveries",
        (false, true) => "test deliveries, pipelined",
        (false, false) => "test deliveries, command by command",
    };
    let target = match (args.relay, args.dns) {
        (Some(relay), _) => relay.to_string(),
        (None, Some(DnsServer::At(server))) => format!("the exchangers that {server} names"),
        (None, _) => "the exchangers that DNS names".to_owned(),
    };
    format!(
        "{} recipients in {} domains to {target}: {mode}, over at most {} connections with {} — stop with \
         Ctrl-C",
        count(recipients.len() as u64),
        count(recipients.domains() as u64),
        count(u64::from(args.connections)),
        args.events,
    )
}
