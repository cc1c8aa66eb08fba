//! The hosts of a fleet and the systems of each; the hosts that lie apart, over all series together; and the
//! facts in which hosts differ, or that some of them share.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use record::{Recording, System, Unit};
use stats::{Deviations, HostEffect, Outlier, moderated, outlying};

use crate::compare::{FigureKind, Refusal};
use crate::environment::{importance, is_volatile};
use crate::finding::ALPHA;
use crate::findings::Findings;
use crate::fleet::answer::{FactChange, FleetHostState, FleetOutlier, JudgedHost, LostCause, SharedFact};
use crate::stops::Cause;

/// The facts of a system, by their keys.
type Facts = BTreeMap<String, String>;

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
    pub(super) fn facts(&self) -> Option<&'a Facts> {
        let systems = self.systems.iter().flatten();
        systems.map(|system| &system.environment).find(|facts| !facts.is_empty())
    }
}

/// The configuration of a system.
pub(super) fn configuration(system: &System) -> &str {
    place(system).1
}

/// The hosts as an answer has them; a host is lost where one of the runs has no number of it.
pub(super) fn judged_hosts(hosts: &Hosts<'_>, runs: &[(&Recording, &Findings)]) -> Vec<JudgedHost> {
    let differing = differing_facts(hosts);
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

/// One series with the effect on each host, `None` where a host has none.
pub(super) struct OnHosts<'a> {
    pub(super) unit: Unit,
    /// Series with equal names come from the same trials.
    pub(super) trials: (&'a str, &'a str, &'a str),
    pub(super) effects: &'a [Option<HostEffect>],
}

/// The effects on hosts, each with a variance that borrows from the others.
pub(super) fn moderated_effects(own: &[Option<HostEffect>]) -> Vec<Option<HostEffect>> {
    let known: Vec<HostEffect> = own.iter().flatten().copied().collect();
    let mut joined = moderated(&known).into_iter();
    own.iter().map(|effect| effect.and_then(|_| joined.next())).collect()
}

/// The outlying hosts of each series, by their places. False ones are held over all series of one call.
pub(super) fn outlying_hosts(series: &[OnHosts<'_>], margin: f64) -> Vec<Vec<Outlier>> {
    let places = FigureKind::families(0..series.len(), |place| series[place].unit);
    let mut kinds: Vec<(Vec<Deviations>, f64)> = places
        .iter()
        .map(|places| {
            let deviations = places.iter().map(|place| Deviations::new(series[*place].effects)).collect();
            (deviations, freedom(places.iter().map(|place| &series[*place])))
        })
        .collect();
    let found = outlying(&mut kinds, ALPHA, margin);
    let mut of_series = vec![Vec::new(); series.len()];
    for (place, outliers) in places.iter().flatten().zip(found.into_iter().flatten()) {
        of_series[*place] = outliers;
    }
    of_series
}

/// The degrees of freedom that the hosts have between them.
fn freedom<'a>(series: impl Iterator<Item = &'a OnHosts<'a>>) -> f64 {
    let mut of_trials: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for one in series {
        let hosts = one.effects.iter().flatten().count();
        let known = of_trials.entry(one.trials).or_default();
        *known = (*known).max(hosts.saturating_sub(2));
    }
    of_trials.values().sum::<usize>() as f64
}

/// Outlying hosts by their names, and the facts that they alone share.
pub(super) fn named_outliers(
    hosts: &Hosts<'_>,
    effects: &[Option<HostEffect>],
    found: &[Outlier],
) -> (Vec<FleetOutlier>, Vec<SharedFact>) {
    let outlier = |one: &Outlier| FleetOutlier {
        host: hosts.0[one.host].name.to_owned(),
        ratio: one.ratio,
        chance: one.chance,
    };
    let apart: BTreeSet<usize> = found.iter().map(|one| one.host).collect();
    let facts_of = |is_apart: bool| -> Vec<&Facts> {
        let places = (0..effects.len()).filter(|place| effects[*place].is_some());
        places
            .filter(|place| apart.contains(place) == is_apart)
            .filter_map(|place| hosts.0[place].facts())
            .collect()
    };
    (found.iter().map(outlier).collect(), shared_facts(&facts_of(true), &facts_of(false)))
}

/// The keys of the facts in which hosts differ.
fn differing_facts(hosts: &Hosts<'_>) -> BTreeSet<String> {
    let facts: Vec<&Facts> = hosts.0.iter().filter_map(|host| host.facts()).collect();
    let keys: BTreeSet<&String> = facts.iter().flat_map(|facts| facts.keys()).collect();
    let differs = |key: &&&String| facts.windows(2).any(|pair| pair[0].get(**key) != pair[1].get(**key));
    keys.iter().filter(|key| !is_volatile(key)).filter(differs).map(|key| (*key).clone()).collect()
}

/// The facts that all of the outlying hosts have with one value, and that none of the others has with it, the
/// most important first. A fact that is another on nearly every host, such as an address, says nothing.
fn shared_facts(outlying: &[&Facts], others: &[&Facts]) -> Vec<SharedFact> {
    let Some((first, rest)) = outlying.split_first() else { return Vec::new() };
    let is_theirs_alone = |(key, value): &(&String, &String)| {
        rest.iter().all(|facts| facts.get(*key) == Some(*value))
            && others.iter().all(|facts| facts.get(*key) != Some(*value))
    };
    let mut found: Vec<SharedFact> = first
        .iter()
        .filter(|(key, _)| !is_volatile(key) && !is_individual(key, others))
        .filter(is_theirs_alone)
        .map(|(key, value)| SharedFact { key: key.clone(), value: value.clone() })
        .collect();
    if others.is_empty() {
        found.clear();
    }
    // Their keys are in order already.
    found.sort_by_key(|fact| importance(&fact.key));
    found
}

/// Whether most hosts have a value of their own.
fn is_individual(key: &str, hosts: &[&Facts]) -> bool {
    let values: Vec<&String> = hosts.iter().filter_map(|facts| facts.get(key)).collect();
    let distinct: BTreeSet<&&String> = values.iter().collect();
    values.len() > 1 && 2 * distinct.len() > values.len() + 1
}

/// The facts that differ between two runs on the same host, with the number of such hosts.
pub(super) fn fact_changes(hosts: &Hosts<'_>) -> Vec<FactChange> {
    let mut changes: Vec<FactChange> = Vec::new();
    for host in &hosts.0 {
        let facts = |which: usize| {
            let systems = host.systems.get(which)?;
            systems.iter().map(|system| &system.environment).find(|facts| !facts.is_empty())
        };
        let Some((one, two)) = facts(0).zip(facts(1)) else { continue };
        let keys: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
        for key in keys.into_iter().filter(|key| !is_volatile(key) && one.get(*key) != two.get(*key)) {
            let (old, new) = (one.get(key).cloned(), two.get(key).cloned());
            match changes.iter_mut().find(|known| (&known.key, &known.old, &known.new) == (key, &old, &new)) {
                Some(known) => known.hosts += 1,
                None => changes.push(FactChange { key: key.clone(), old, new, hosts: 1 }),
            }
        }
    }
    changes.sort_by_cached_key(|one| (importance(&one.key), one.key.clone(), Reverse(one.hosts)));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(of: &[(&str, &str)]) -> Facts {
        of.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_fact_is_shared_only_if_no_other_host_has_it() {
        let new = facts(&[("cpu.microcode", "0x42"), ("kernel.release", "6.18"), ("machine.address", "1")]);
        let more = facts(&[("cpu.microcode", "0x42"), ("kernel.release", "6.18"), ("machine.address", "2")]);
        let old = |address: &str| {
            facts(&[("cpu.microcode", "0x41"), ("kernel.release", "6.18"), ("machine.address", address)])
        };
        let (three, four, five) = (old("3"), old("4"), old("5"));
        let others = [&three, &four, &five];
        let microcode = SharedFact { key: "cpu.microcode".into(), value: "0x42".into() };
        assert_eq!(shared_facts(&[&new, &more], &others), std::slice::from_ref(&microcode));
        // The address of one host is its own, as that of every other.
        assert_eq!(shared_facts(&[&new], &others), [microcode]);
        assert_eq!(shared_facts(&[&new, &three], &[&four, &five]), []);
        assert_eq!(shared_facts(&[], &others), []);
        assert_eq!(shared_facts(&[&new], &[]), []);
    }
}
