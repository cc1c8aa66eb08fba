//! `osdyno mail --clients`: hosts that deliver one list together.

use std::net::IpAddr;

use fleet::NamedHost;
use mail::{EngineSettings, JointDelivery, Mode, Routing};
use net::load::Progress;
use net::load::coordinator::{WorkerHost, WorkerPlan};

use super::answer::MailAnswer;
use super::{Args, GRACE, conclude, mail_list, plan};
use crate::cmd::Done;
use crate::console::{Console, tell};
use crate::failure::{Failure, INTERRUPTED};

/// Delivers the list from the hosts of the command line.
pub(super) fn deliver(args: &Args, engine: EngineSettings, console: &Console) -> Done {
    let hosts = fleet::listed(&args.clients).map_err(|error| Failure::Usage(error.to_string()))?;
    refuse_unreachable(&engine.routing, &hosts)?;
    let is_test = engine.session.mode != Mode::Deliver;
    let list = mail_list(args)?;
    tell(&plan(args, &list.recipients()));
    sys::signal::watch().map_err(|error| Failure::Refused(format!("cannot handle signals: {error}")))?;
    let program = sys::process::own_program()
        .map_err(|error| Failure::Refused(format!("cannot find this program to start workers: {error}")))?;
    let sources = u32::try_from(engine.sources.0.len()).unwrap_or(u32::MAX).max(1);
    let delivery = JointDelivery {
        list,
        interface: args.events.clone(),
        connections: args.connections.min(sources.saturating_mul(args.per_source.unwrap_or(u32::MAX))),
        duration: args.duration.unwrap_or(std::time::Duration::MAX),
        grace: GRACE,
        engine,
    };
    let worker_host = |host: NamedHost| WorkerHost { name: host.name, command: host.command };
    let hosts: Vec<WorkerHost> = hosts.into_iter().map(worker_host).collect();
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
