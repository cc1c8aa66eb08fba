//! The other processes of `osdyno mail`: the server and the DNS of `--experiment`, and the hosts of
//! `--clients`, which deliver one list together.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use fleet::NamedHost;
use mail::dns::{NameServer, NameServerPlan, ZonePlan};
use mail::{EngineSettings, JointDelivery, Mode, Routing};
use net::load::coordinator::WorkerPlan;
use net::load::{Progress, Sources};
use net::server::{Remote, ServerHost, ServerPlan};
use net::service::smtp::SmtpSettings;

use super::answer::MailAnswer;
use super::{Args, GRACE, conclude, mail_list, plan};
use crate::cmd::Done;
use crate::cmd::load::generators::{worker_hosts, worker_program};
use crate::console::{Console, Failure, INTERRUPTED, tell};

/// The exchangers: 254 addresses of this machine where one server can have all of them, otherwise one.
const HOSTS: &str = if cfg!(target_os = "linux") { "127.1.0.0/24" } else { "127.0.0.1" };

/// The experiment of 2001 in one command: a server that takes mail and the DNS of the generated domains, each
/// in a process of its own, which ends with this one.
pub(super) struct Experiment {
    server: Remote,
    dns: NameServer,
}

impl Experiment {
    /// Starts the server and the DNS of so many domains.
    pub(super) fn start(domains: u32) -> Result<Experiment, Failure> {
        let program = worker_program()?;
        let cannot = |name, error: &dyn Display| Failure::Refused(format!("cannot start {name}: {error}"));
        let any = if cfg!(target_os = "linux") { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST };
        let plan = ServerPlan {
            address: SocketAddr::from((any, 0)),
            loopback: cfg!(target_os = "linux"),
            ..ServerPlan::new("epoll", &SmtpSettings::default())
        };
        let here = ServerHost { prefix: &[], program: &program, folder: Path::new("") };
        let server = Remote::start(here, &plan).map_err(|error| match error {
            net::Error::Failed { reason, .. } => cannot("the server", &reason),
            other => cannot("the server", &other),
        })?;
        let plan = NameServerPlan {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            zone: ZonePlan { domains, hosts: hosts()?, ..ZonePlan::default() },
            cpu: None,
        };
        let dns = NameServer::start(&program, &plan).map_err(|error| cannot("the DNS server", &error))?;
        Ok(Experiment { server, dns })
    }

    pub(super) fn routing(&self) -> Routing {
        Routing::Dns { servers: vec![self.dns.address()], port: self.server.address().port() }
    }
}

/// Delivers the list from the hosts of `--clients`.
pub(super) fn deliver_from_hosts(args: &Args, engine: EngineSettings, console: &Console) -> Done {
    let hosts = fleet::listed(&args.clients)?;
    refuse_unreachable(&engine.routing, &hosts)?;
    let is_test = engine.session.mode != Mode::Deliver;
    let list = mail_list(args)?;
    tell(&plan(args, &list.recipients()));
    sys::signal::watch().map_err(|error| Failure::Refused(format!("cannot handle signals: {error}")))?;
    let program = worker_program()?;
    let sources = u32::try_from(engine.sources.0.len()).unwrap_or(u32::MAX).max(1);
    let delivery = JointDelivery {
        list,
        interface: args.events.clone(),
        connections: args.connections.min(sources.saturating_mul(args.per_source.unwrap_or(u32::MAX))),
        duration: args.duration.unwrap_or(Duration::MAX),
        grace: GRACE,
        engine,
    };
    let hosts = worker_hosts(hosts);
    let workers_each = args.threads.get() as usize;
    let workers = WorkerPlan { program: &program, hosts: &hosts, workers_each, file: None };
    let mut watched = |_: &Progress| !sys::signal::stop_ordered();
    match delivery.deliver(workers, &mut watched) {
        Err(_) if sys::signal::stop_ordered() => Ok(INTERRUPTED.into()),
        joined => {
            let answer = MailAnswer::of_hosts(joined?, is_test);
            conclude(args, answer, sys::signal::stop_ordered(), console)
        }
    }
}

fn hosts() -> Result<Vec<Ipv4Addr>, Failure> {
    let of_version_4 = |address| if let IpAddr::V4(address) = address { Some(address) } else { None };
    Ok(Sources::parse(HOSTS)?.0.into_iter().filter_map(of_version_4).collect())
}

/// Refuses an address that is each host itself, where hosts are other machines.
fn refuse_unreachable(routing: &Routing, hosts: &[NamedHost]) -> Result<(), Failure> {
    let addresses: Vec<IpAddr> = match routing {
        Routing::Relay(relay) => vec![relay.ip()],
        Routing::Dns { servers, .. } => servers.iter().map(|server| server.ip()).collect(),
    };
    let elsewhere = hosts.iter().find(|host| host.is_behind_ssh());
    match (addresses.iter().find(|address| address.is_loopback()), elsewhere) {
        (Some(address), Some(host)) => Err(Failure::Usage(format!(
            "{} is another machine, which cannot reach {address} of this one: name the address that it sees",
            host.name
        ))),
        _ => Ok(()),
    }
}
