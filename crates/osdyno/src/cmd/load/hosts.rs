//! The hosts of load generators: `--from`, `--hosts` and `--observer`.

use std::fs;
use std::path::Path;

use net::load::coordinator::GeneratorHost;
use net::load::{Load, LoadSettings};
use runner::Target;

use super::args::Args;
use crate::cmd::warn;
use crate::failure::Failure;

/// The hosts that generate a load; with an observer the last one is it.
pub(super) struct LoadHosts {
    pub(super) all: Vec<GeneratorHost>,
    pub(super) observes: bool,
}

/// The command that leads to a host: it asks for no password, and gives up on a host that does not answer.
const SSH: [&str; 5] = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15"];

/// More workers on a host than this are a typing error.
const WORKERS_MAX: usize = 256;

/// Parses `NAME=COMMAND`, or the name of a host that ssh reaches.
pub(super) fn parse(text: &str) -> Result<GeneratorHost, String> {
    if text.contains('=') {
        let target = Target::parse(text).map_err(|error| error.to_string())?;
        return Ok(GeneratorHost { name: target.name, command: target.prefix });
    }
    // ssh would take it for an option.
    if text.is_empty() || text.starts_with('-') || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("a host is a name that ssh knows, or NAME=COMMAND".to_owned());
    }
    let command = SSH.iter().map(|&word| word.to_owned()).chain([text.to_owned()]).collect();
    Ok(GeneratorHost { name: text.to_owned(), command })
}

/// The hosts of a file, one in each line; empty lines and those that begin with # are none.
fn read(path: &Path) -> Result<Vec<GeneratorHost>, Failure> {
    let refused = |why: String| Failure::Usage(format!("cannot read hosts from {}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let host = |(number, line)| parse(line).map_err(|why| refused(format!("line {}: {why}", number + 1)));
    lines.map(host).collect()
}

impl LoadHosts {
    /// Those of the command line; `None` where this process generates the load.
    pub(super) fn of(args: &Args) -> Result<Option<LoadHosts>, Failure> {
        let mut all = match &args.hosts {
            Some(file) => read(file)?,
            None => args.from.clone(),
        };
        if all.is_empty() {
            return match (&args.hosts, &args.observer) {
                (Some(file), _) => Err(Failure::Usage(format!("{} names no host", file.display()))),
                (_, Some(_)) => {
                    let text = "--observer needs hosts with the rest of the load: name them with --from";
                    Err(Failure::Usage(text.to_owned()))
                }
                _ => Ok(None),
            };
        }
        if let Some(observer) = &args.observer {
            match all.iter().position(|host| host.name == observer.name) {
                Some(place) => all[place..].rotate_left(1),
                None => all.push(observer.clone()),
            }
        }
        let is_again = |(place, host): &(usize, &GeneratorHost)| {
            all[..*place].iter().any(|earlier| earlier.name == host.name)
        };
        if let Some((_, host)) = all.iter().enumerate().find(is_again) {
            return Err(Failure::Usage(format!("two hosts are called {}; name each host once", host.name)));
        }
        Ok(Some(LoadHosts { all, observes: args.observer.is_some() }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_a_command() {
        let host = |text: &str| parse(text).map(|host| (host.name, host.command.join(" "))).ok();
        let of = |name: &str, command: &str| Some((name.to_owned(), command.to_owned()));
        assert_eq!(host("n1"), of("n1", "ssh -o BatchMode=yes -o ConnectTimeout=15 n1"));
        assert_eq!(host("n1=podman exec -i p"), of("n1", "podman exec -i p"));
        assert_eq!(host("here="), of("here", ""));
        for wrong in ["", "-oProxyCommand", "a b", "=x", "n='"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_file_has_a_host_in_each_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("hosts");
        fs::write(&file, "# load machines\nn1\n\n  n2=ssh -p 2222 n2\n").expect("a file");
        let names: Vec<String> = read(&file).expect("hosts").into_iter().map(|host| host.name).collect();
        assert_eq!(names, ["n1", "n2"]);
        fs::write(&file, "n1\n-x\n").expect("a file");
        let refused = read(&file).expect_err("no host").to_string();
        assert!(refused.contains("line 2"), "{refused}");
    }
}
