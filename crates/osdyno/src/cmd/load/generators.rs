//! The generators of a load: one in this process, or several in others, here or on the hosts of `--from`,
//! `--hosts` and `--observer`. A load that they cannot offer is refused before it begins.

use std::path::PathBuf;

use fleet::NamedHost;
use net::load::coordinator::{Coordinator, JointWork, WorkerHost, WorkerPlan};
use net::load::{FROM_ONE_ADDRESS, Generator, Level, Load, LoadSettings, OffersLoad, Progress};

use super::args::Args;
use super::output::Screen;
use crate::cmd::warn;
use crate::console::Failure;

/// More workers on a host than this are a typing error.
const WORKERS_MAX: usize = 256;

/// tcp(7) of Linux; others differ.
const TIME_WAIT_SECONDS: f64 = 60.0;

/// One generator in this process, or several in others, here or on other hosts.
pub(super) enum Generators {
    Here(Box<Generator>),
    Several(Coordinator),
}

impl Generators {
    pub(super) fn start(
        settings: &LoadSettings,
        workers: usize,
        hosts: Option<&LoadHosts>,
        is_watched: bool,
    ) -> Result<Generators, Failure> {
        if workers == 1 && hosts.is_none() {
            let mut generator = Generator::new(settings.clone())?;
            if is_watched {
                generator.follow();
            }
            return Ok(Generators::Here(Box::new(generator)));
        }
        let program = worker_program()?;
        let mut coordinator = match hosts {
            Some(LoadHosts { all, observes }) => {
                let plan = WorkerPlan { program: &program, hosts: all, workers_each: workers, file: None };
                Coordinator::start_on(plan, settings, *observes)?
            }
            None => Coordinator::start(&program, settings, &vec![None; workers])?,
        };
        if is_watched {
            coordinator.follow()?;
        }
        Ok(Generators::Several(coordinator))
    }

    pub(super) fn offer(&mut self, load: &Load, screen: &Screen) -> Result<Level, net::Error> {
        let mut watched = |progress: &Progress| {
            screen.show(load, progress);
            !sys::signal::stop_ordered()
        };
        if sys::signal::stop_ordered() {
            return Err(net::Error::Stopped);
        }
        match self {
            Generators::Here(generator) => generator.offer(load, &mut watched),
            Generators::Several(coordinator) => coordinator.offer(load, &mut watched),
        }
    }
}

/// The hosts that generate a load; with an observer the last one is it.
pub(super) struct LoadHosts {
    pub(super) all: Vec<WorkerHost>,
    pub(super) observes: bool,
}

impl LoadHosts {
    /// Those of the command line; `None` where this process generates the load.
    pub(super) fn of(args: &Args) -> Result<Option<LoadHosts>, Failure> {
        let hosts = match &args.hosts {
            Some(hosts) => fleet::hosts(hosts)?,
            None => fleet::listed(&args.from)?,
        };
        let mut all = worker_hosts(hosts);
        let observer = worker_hosts(fleet::listed(args.observer.as_slice())?).pop();
        if all.is_empty() {
            let text = "--observer needs hosts with the rest of the load: name them with --from";
            return if observer.is_some() { Err(Failure::Usage(text.to_owned())) } else { Ok(None) };
        }
        let observes = observer.is_some();
        if let Some(observer) = observer {
            match all.iter().position(|host| host.name == observer.name) {
                Some(place) => all[place..].rotate_left(1),
                None => all.push(observer),
            }
        }
        Ok(Some(LoadHosts { all, observes }))
    }

    /// Refuses a load that these hosts cannot offer together.
    pub(super) fn check(&self, args: &Args, settings: &LoadSettings, loads: &[Load]) -> Result<(), Failure> {
        let refuse = |text: String| Err(Failure::Usage(text));
        if !(1..=WORKERS_MAX).contains(&args.workers) {
            return refuse(format!("-w {}: a host has 1 to {WORKERS_MAX} workers", args.workers));
        }
        if self.observes && args.workers > 1 {
            return refuse("an observer is one worker: leave out -w, or --observer".to_owned());
        }
        if self.observes && self.all.len() < 2 {
            return refuse("an observer needs another host with the rest of the load".to_owned());
        }
        let workers = self.all.len() * args.workers;
        if loads.iter().any(|load| connections(load, settings) < workers) {
            return refuse(format!("{workers} workers need at least one connection each: use more with -c"));
        }
        if args.requests.is_some() {
            let text = "with -n each host would end at another time; bound the load with -d";
            return refuse(text.to_owned());
        }
        if args.client.settings["fields"].as_array().is_some_and(|fields| {
            fields.iter().any(|field| field.as_str().is_some_and(|field| field.starts_with('@')))
        }) {
            let text = "-H @FILE is not sent to other hosts; write the field itself";
            return refuse(text.to_owned());
        }
        let is_elsewhere = self.all.iter().any(|host| !host.command.is_empty());
        match settings.target.network() {
            None if is_elsewhere => {
                refuse("a socket in the file system is on one host; load an address".to_owned())
            }
            Some(address) if is_elsewhere && address.ip().is_loopback() => {
                warn(&format!("{} is on each host itself", address.ip()));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// These hosts, as a coordinator takes them.
pub(in crate::cmd) fn worker_hosts(hosts: Vec<NamedHost>) -> Vec<WorkerHost> {
    hosts.into_iter().map(|host| WorkerHost { name: host.name, command: host.command }).collect()
}

/// The program that workers execute: this one.
pub(in crate::cmd) fn worker_program() -> Result<PathBuf, Failure> {
    sys::process::own_program()
        .map_err(|error| Failure::Refused(format!("cannot find this program to start workers: {error}")))
}

/// Refuses a load that this machine cannot offer, before it begins.
pub(super) fn check_resources(
    settings: &LoadSettings,
    loads: &[Load],
    workers: usize,
) -> Result<(), Failure> {
    let cores = sys::cpu::count();
    if workers == 0 || workers > cores {
        return Err(Failure::Usage(format!("-w {workers}: this machine supports 1 to {cores} workers")));
    }
    let most = loads.iter().map(|load| load.connections).max().unwrap_or(0);
    if loads.iter().any(|load| connections(load, settings) < workers) {
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

/// The connections that a load may have.
fn connections(load: &Load, settings: &LoadSettings) -> usize {
    if load.rate.is_none() { load.connections } else { settings.connections_max }
}
