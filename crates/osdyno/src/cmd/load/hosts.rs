//! The hosts of load generators: `--from`, `--hosts` and `--observer`.

use fleet::NamedHost;
use net::load::coordinator::WorkerHost;
use net::load::{Load, LoadSettings};

use super::args::Args;
use crate::cmd::warn;
use crate::failure::Failure;

/// The hosts that generate a load; with an observer the last one is it.
pub(super) struct LoadHosts {
    pub(super) all: Vec<WorkerHost>,
    pub(super) observes: bool,
}

/// More workers on a host than this are a typing error.
const WORKERS_MAX: usize = 256;

/// The hosts of the command line, and its observer.
fn named(args: &Args) -> Result<(Vec<WorkerHost>, Option<WorkerHost>), fleet::Error> {
    let generator = |host: NamedHost| WorkerHost { name: host.name, command: host.command };
    let all = match &args.hosts {
        Some(hosts) => fleet::hosts(hosts)?,
        None => fleet::listed(&args.from)?,
    };
    let observer = fleet::listed(args.observer.as_slice())?;
    Ok((all.into_iter().map(generator).collect(), observer.into_iter().map(generator).next()))
}

impl LoadHosts {
    /// Those of the command line; `None` where this process generates the load.
    pub(super) fn of(args: &Args) -> Result<Option<LoadHosts>, Failure> {
        let (mut all, observer) = named(args).map_err(|error| Failure::Usage(error.to_string()))?;
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
        let places = |load: &Load| match load.rate {
            None => load.connections,
            Some(_) => settings.connections_max,
        };
        if loads.iter().any(|load| places(load) < workers) {
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
