//! `osdyno hosts`: probes the hosts of a fleet, and the options that name a fleet.

use std::process::ExitCode;

use ::report::document::terminal::Length;
use inspect::hosts::{HostAnswer, HostsAnswer, ProbeState, document};
use runner::{FleetOptions, ProbedHost};

use super::run::interrupt;
use super::{Done, Format, print_answer};
use crate::console::{Console, Failure, INTERRUPTED, completion};

/// Probe the hosts of a fleet: reachable, free or busy, kernel, processors, and how far each clock is off
///
/// All are probed at once, each for about two seconds, in which a system call is repeated there. Nothing is
/// changed, and nothing stays there. The exit code is 3 if a host is lost.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Hosts: FILE, FILE:PATTERN or NAMES=COMMAND, as for `run --hosts`
    #[arg(value_name = "FILE")]
    hosts: String,
    /// Hosts to probe at the same time [default: all]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    at_once: Option<u32>,
    /// Print the conditions of each host too
    #[arg(short, long)]
    verbose: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// The options that name a fleet.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct FleetArgs {
    /// Hosts to measure at the same time, each with every system of this run: FILE, FILE:PATTERN or
    /// NAMES=COMMAND
    ///
    /// FILE is an inventory of Ansible, in INI or YAML, or has lines NAME=COMMAND; PATTERN selects hosts and
    /// groups of it, as in 'hosts.ini:web,!n3'. 'n[1-40]=srun -u -w {}' needs no file: {} becomes the name.
    /// The variants and systems of a host alternate there; the verdicts of all hosts are folded into one.
    /// --budget is the time of each host.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["aa", "file_systems", "files", "server"])]
    hosts: Option<String>,
    /// Hosts to measure at the same time, at most [default: all]
    #[arg(long, value_name = "COUNT", requires = "hosts", value_parser = clap::value_parser!(u32).range(1..))]
    at_once: Option<u32>,
    /// Hosts that share a machine below them, as 'rack1-n[1-4]': they take turns, trial by trial; repeat it
    /// for each machine
    #[arg(long = "group", value_name = "PATTERN", requires = "hosts")]
    groups: Vec<String>,
}

impl FleetArgs {
    /// The fleet; without hosts where there is none.
    pub(super) fn options(&self) -> Result<FleetOptions, Failure> {
        let Some(hosts) = &self.hosts else { return Ok(FleetOptions::default()) };
        fleet_options(hosts, self.at_once, &self.groups)
    }
}

fn fleet_options(hosts: &str, at_once: Option<u32>, groups: &[String]) -> Result<FleetOptions, Failure> {
    let hosts = fleet::hosts(hosts)?;
    let at_once = at_once.and_then(|count| usize::try_from(count).ok());
    Ok(FleetOptions { hosts, at_once, groups: groups.to_vec() })
}

pub(crate) fn hosts(args: &Args, console: &Console) -> Done {
    let fleet = fleet_options(&args.hosts, args.at_once, &[])?;
    let interrupt = interrupt()?;
    let probed = runner::probe(&fleet, &interrupt)?;
    if interrupt.load(std::sync::atomic::Ordering::Relaxed) {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let answer = HostsAnswer::new(probed.into_iter().map(answer_of).collect());
    let extent = Length::of(args.verbose);
    print_answer(&answer, |answer| document(answer, args.verbose), extent, args.format, console)?;
    let is_whole = answer.count(ProbeState::Lost) == 0;
    Ok(completion(is_whole))
}

fn answer_of(host: ProbedHost) -> HostAnswer {
    let ProbedHost { name, command, probed } = host;
    match probed {
        Err(reason) => HostAnswer::lost(name, command, reason),
        Ok(probe) => HostAnswer {
            clock_offset_seconds: Some(probe.clock.seconds),
            clock_error_seconds: Some(probe.clock.error_seconds),
            round_trip_seconds: Some(probe.clock.round_trip_seconds),
            start_seconds: Some(probe.start.as_secs_f64()),
            ..HostAnswer::reached(name, command, &probe.system, &probe.examination)
        },
    }
}
