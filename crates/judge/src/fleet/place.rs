//! The hosts of a fleet, and the systems of each.

use std::collections::BTreeMap;

use record::{Recording, System};

use super::answer::{FleetHostState, JudgedHost, LostCause};
use super::facts;
use crate::compare::Refusal;
use crate::findings::Findings;
use crate::stops::Cause;

/// A host with its systems, one for each configuration.
pub(super) struct Host<'a> {
    pub(super) name: &'a str,
    /// By recording, then in the order of the configurations as they were recorded.
    pub(super) systems: Vec<Vec<&'a System>>,
}

/// The hosts of one recording, or of several of the same fleet.
pub(super) struct Hosts<'a>(pub(super) Vec<Host<'a>>);

/// Name of the host and of the configuration of a system. One without a place is a host of its own.
fn place(system: &System) -> (&str, &str) {
    match &system.fleet {
        Some(place) => (&place.host, &place.configuration),
        None => (&system.name, ""),
    }
}

/// The systems of each host, in the order of the recording; `None` unless it is of several hosts.
pub(crate) fn hosts(recording: &Recording) -> Option<Vec<Vec<&System>>> {
    let hosts = Hosts::several(&[recording])?;
    Some(hosts.0.into_iter().flat_map(|host| host.systems).collect())
}

impl<'a> Hosts<'a> {
    /// The hosts of these recordings; `None` unless each has several.
    pub(super) fn several(recordings: &[&'a Recording]) -> Option<Hosts<'a>> {
        let mut hosts: Vec<Host<'a>> = Vec::new();
        for (which, recording) in recordings.iter().enumerate() {
            let mut own: Vec<&str> = recording.systems.iter().map(|system| place(system).0).collect();
            own.sort_unstable();
            own.dedup();
            if own.len() < 2 || recording.systems.iter().all(|system| system.fleet.is_none()) {
                return None;
            }
            for system in &recording.systems {
                let name = place(system).0;
                let known = hosts.iter().position(|host| host.name == name);
                let at = known.unwrap_or_else(|| {
                    hosts.push(Host { name, systems: vec![Vec::new(); recordings.len()] });
                    hosts.len() - 1
                });
                hosts[at].systems[which].push(system);
            }
        }
        Some(Hosts(hosts))
    }

    /// The names of the configurations, in the order of their first hosts.
    pub(super) fn configurations(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for system in self.0.iter().flat_map(|host| host.systems.iter().flatten()) {
            let name = place(system).1;
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }
}

impl<'a> Host<'a> {
    /// Its system of one recording with that configuration.
    pub(super) fn system(&self, recording: usize, configuration: &str) -> Option<&'a System> {
        self.systems.get(recording)?.iter().copied().find(|system| place(system).1 == configuration)
    }

    /// Its facts: those of the first system that described itself.
    pub(super) fn facts(&self) -> Option<&'a BTreeMap<String, String>> {
        let systems = self.systems.iter().flatten();
        systems.map(|system| &system.environment).find(|facts| !facts.is_empty())
    }
}

/// The configuration of a system.
pub(super) fn configuration(system: &System) -> &str {
    place(system).1
}

/// The hosts as an answer has them; a host is lost where one of the runs has no number of it.
pub(super) fn described(hosts: &Hosts<'_>, runs: &[(&Recording, &Findings)]) -> Vec<JudgedHost> {
    let differing = facts::differing(hosts);
    let host = |host: &Host<'_>| {
        let is_judged = |(which, (_, findings)): (usize, &(&Recording, &Findings))| {
            let is_of = |system: &str| host.systems[which].iter().any(|one| one.name == system);
            findings.series.iter().any(|one| one.verdict.is_some() && is_of(&one.key.system))
        };
        let is_lost = !runs.iter().enumerate().all(is_judged);
        let (cause, reason) = reason(host, runs).unzip();
        let facts = host.facts().into_iter().flatten();
        JudgedHost {
            name: host.name.to_owned(),
            state: if is_lost { FleetHostState::Lost } else { FleetHostState::Judged },
            cause,
            reason: reason.flatten(),
            outlying: Vec::new(),
            missing: Vec::new(),
            facts: facts
                .filter(|(key, _)| differing.contains(*key))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        }
    };
    hosts.0.iter().map(host).collect()
}

/// The most frequent reason for which a host lacks a number.
fn reason(host: &Host<'_>, runs: &[(&Recording, &Findings)]) -> Option<(LostCause, Option<String>)> {
    if host.systems.iter().any(Vec::is_empty) {
        return Some((LostCause::Absent, None));
    }
    let mut counts: Vec<((LostCause, Option<String>), usize)> = Vec::new();
    for (which, (_, findings)) in runs.iter().enumerate() {
        let is_of = |system: &str| host.systems[which].iter().any(|one| one.name == system);
        let without = findings.series.iter().filter(|one| one.verdict.is_none() && is_of(&one.key.system));
        for stop in without.flat_map(|one| &one.stops) {
            let Some(found) = lost(&stop.cause) else { continue };
            match counts.iter_mut().find(|(known, _)| *known == found) {
                Some((_, count)) => *count += stop.trials.max(1),
                None => counts.push((found, stop.trials.max(1))),
            }
        }
    }
    // A trial that failed says more than one that was never made.
    let weight =
        |(of, count): &((LostCause, Option<String>), usize)| (of.0 != LostCause::NotMeasured, *count);
    let best = counts.into_iter().rev().max_by_key(weight)?;
    let warning = || host.systems.iter().flatten().find_map(|system| system.warnings.first().cloned());
    let (cause, reason) = best.0;
    // A host that never answered has no trial, and its only remark says why.
    let reason = if cause == LostCause::NotMeasured && host.facts().is_none() { warning() } else { reason };
    Some((cause, reason))
}

/// Gives hosts that could not be compared the reason. A host without any number keeps its own.
pub(super) fn explain(hosts: &mut [JudgedHost], refusals: &[(usize, Refusal)]) {
    for (place, host) in hosts.iter_mut().enumerate().filter(|(_, host)| host.state != FleetHostState::Lost) {
        let mut own = refusals.iter().filter(|(of, _)| *of == place);
        if let Some((cause, reason)) = own.find_map(|(_, refusal)| of_refusal(refusal)) {
            (host.cause, host.reason) = (Some(cause), reason);
        }
    }
}

fn of_refusal(refusal: &Refusal) -> Option<(LostCause, Option<String>)> {
    match refusal {
        Refusal::NoNumber(all) => all.iter().find_map(|one| lost(&one.stop.as_ref()?.cause)),
        Refusal::Different(all) => {
            let names: Vec<&str> = all.iter().map(|one| one.workload.as_str()).collect();
            Some((LostCause::Different, Some(names.join(", "))))
        }
        Refusal::OtherEngines(_) => Some((LostCause::OtherEngine, None)),
        Refusal::NothingCommon(_) => Some((LostCause::NothingCommon, None)),
        Refusal::Alone(_) => None,
    }
}

fn lost(cause: &Cause) -> Option<(LostCause, Option<String>)> {
    match cause {
        Cause::Failed { reason } => Some((LostCause::Failed, Some(reason.clone()))),
        Cause::Crashed { reason } => Some((LostCause::Crashed, Some(reason.clone()))),
        Cause::Unsupported { reason } => Some((LostCause::Unsupported, Some(reason.clone()))),
        Cause::TimedOut => Some((LostCause::TimedOut, None)),
        Cause::NotMeasured { .. } => Some((LostCause::NotMeasured, None)),
        Cause::Limit { .. } | Cause::Allowance | Cause::NotOffered => None,
    }
}
