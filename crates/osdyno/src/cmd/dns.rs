//! `osdyno dns`: the DNS server of generated domains, for `osdyno mail`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use mail::dns::{
    Authority, AuthorityConduct, AuthorityCounts, AuthorityQueries, AuthorityResponses, ZonePlan,
};
use net::load::Sources;
use record::units;
use report::document::Document;
use report::place::counted;

use super::{Done, Format, print_counters, stop_flag};
use crate::console::{Console, Failure, tell};

const EXAMPLES: &str = "\
Examples:
  osdyno dns --hosts 127.0.0.1 &                                   every exchanger is this machine
  osdyno serve --service smtp --listen 127.0.0.1:2525 &            which takes mail and drops it
  osdyno mail --dns 127.0.0.1:5353 --port 2525                     200,000 test deliveries

The zone is computed from --seed and the other options: the same options give the same zone.";

/// Serve DNS for the generated mail domains, with configurable faults
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Address to listen on, over UDP and TCP; port 0 selects a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:5353")]
    listen: SocketAddr,
    /// Number of domains: d0.test, d1.test and so on
    #[arg(
        long, value_name = "N", default_value_t = ZonePlan::default().domains,
        value_parser = units::counts::<u32>(0..=units::COUNT_MAX)
    )]
    domains: u32,
    /// IPv4 addresses of exchangers: 127.0.0.2-127.0.0.20, 127.1.0.0/24, or a list
    #[arg(long, value_name = "ADDR,…", default_value = "127.0.0.1", value_parser = parse_hosts)]
    hosts: Hosts,
    /// Addresses of exchangers that are dead
    #[arg(long, value_name = "ADDR,…", default_value = "127.2.0.0/24", value_parser = parse_hosts)]
    dead_hosts: Hosts,
    /// Share of exchangers that are dead
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = units::share)]
    dead: f64,
    /// Share of domains that do not exist (NXDOMAIN)
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = units::share)]
    unknown: f64,
    /// Share of domains for which the server fails (SERVFAIL)
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = units::share)]
    failing: f64,
    /// Share of domains that take no mail (null MX, RFC 7505)
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = units::share)]
    null_mx: f64,
    /// Share of domains that have an address and no MX record
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = units::share)]
    no_mx: f64,
    /// Share of domains that are aliases of themselves
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = units::share)]
    alias_loops: f64,
    /// Share of domains whose answers over UDP are truncated, so that queries are repeated over TCP
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = units::share)]
    truncated: f64,
    /// Hold each response back for this long
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = units::time)]
    latency: Duration,
    /// Share of datagrams that are lost
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = units::share)]
    drops: f64,
    /// Share of responses that two forged ones precede, with a wrong id and to another question
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = units::share)]
    lies: f64,
    /// Seed of the zone, and of losses
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Format of the counters at the end: text on standard error, json on standard output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Debug)]
struct Hosts(Vec<Ipv4Addr>);

fn parse_hosts(text: &str) -> Result<Hosts, String> {
    let addresses = Sources::parse(text).map_err(|error| error.to_string())?.0;
    let of_version_4 = |address| match address {
        IpAddr::V4(address) => Ok(address),
        IpAddr::V6(address) => Err(format!("{address} is no IPv4 address")),
    };
    let hosts: Vec<Ipv4Addr> = addresses.into_iter().map(of_version_4).collect::<Result<_, _>>()?;
    if hosts.is_empty() { Err("there must be an address".to_owned()) } else { Ok(Hosts(hosts)) }
}

pub(crate) fn dns(args: Args, console: &Console) -> Done {
    let stop = stop_flag()?;
    let conduct =
        AuthorityConduct { latency: args.latency, drops: args.drops, lies: args.lies, seed: args.seed };
    let (listen, domains, format) = (args.listen, args.domains, args.format);
    let cannot = |error: io::Error| Failure::Refused(format!("cannot listen at {listen}: {error}"));
    let authority = Authority::bind(listen, zone(args), conduct).map_err(cannot)?;
    let address = authority.address().map_err(cannot)?;
    tell(&format!("answering for {domains} domains in .test at {address} — stop with Ctrl-C"));
    let counts = authority
        .run(&stop)
        .map_err(|error| Failure::Refused(format!("cannot go on at {address}: {error}")))?;
    print_counters(&counts, document, format, console)?;
    Ok(ExitCode::SUCCESS)
}

fn zone(args: Args) -> ZonePlan {
    ZonePlan {
        domains: args.domains,
        hosts: args.hosts.0,
        dead_hosts: args.dead_hosts.0,
        seed: args.seed,
        dead: args.dead,
        no_such_domain: args.unknown,
        server_failure: args.failing,
        null_mx: args.null_mx,
        no_mx: args.no_mx,
        alias_loop: args.alias_loops,
        truncated: args.truncated,
        ..ZonePlan::default()
    }
}

/// The counters as a document.
fn document(counts: &AuthorityCounts) -> Document {
    let mut document = Document { title: "DNS".into(), ..Document::default() };
    let AuthorityQueries { mx, a, aaaa, other, malformed } = counts.queries;
    document.say(format!("queries: {mx} MX, {a} A, {aaaa} AAAA, {other} others, {malformed} malformed"));
    let AuthorityResponses { answered, no_such_domain, server_failure, refused, truncated, dropped, lies } =
        counts.responses;
    document.say(format!(
        "responses: {answered} answers, {no_such_domain} NXDOMAIN, {server_failure} SERVFAIL, {refused} \
         REFUSED, {truncated} cut; {dropped} datagrams lost, {lies} lies, {}",
        counted(&counts.connections.to_string(), "connections")
    ));
    document
}
