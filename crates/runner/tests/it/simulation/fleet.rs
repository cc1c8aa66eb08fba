//! Fleets: hosts that cannot be reached, crash and hang disturb no other, and nothing is lost in silence.

use std::collections::BTreeMap;

use record::{Outcome, Recording};

use super::scenario::Scenario;
use super::world::{Fault, Simulation};
use super::{judged, written};

/// Hosts of a simulated fleet.
const HOSTS: usize = 6;

/// Every fleet keeps its promises.
#[test]
fn every_fleet_keeps_its_promises() {
    crate::seeds::every(|seed| attempt(seed, Fault::None).err().into_iter().collect());
}

/// The promises find a host that is counted twice, one whose trials are lost, and one that speaks for another.
#[test]
fn planted_faults_of_hosts_are_found() {
    for fault in [Fault::OfAnother, Fault::Lost, Fault::ReportedTwice, Fault::OtherSeed] {
        let is_found = (0..super::SEEDS_OF_FAULT).any(|seed| attempt(seed, fault).is_err());
        assert!(is_found, "{fault:?} was not found");
    }
}

fn attempt(seed: u64, fault: Fault) -> Result<(), String> {
    let simulation = Simulation::new(Scenario::of_fleet(seed, HOSTS, false), fault);
    let healthy = Simulation::new(Scenario::of_fleet(seed, HOSTS, true), Fault::None);
    let checked = promises(&simulation, &healthy);
    checked.map_err(|text| format!("fleet of seed {seed}: {text}"))
}

fn promises(simulation: &Simulation, healthy: &Simulation) -> Result<(), String> {
    let ran = simulation.ran.as_ref().map_err(|error| format!("it did not begin: {error}"))?;
    let healthy = healthy.ran.as_ref().map_err(|error| format!("healthy, it did not begin: {error}"))?;
    written::check(simulation, ran).map_err(|text| format!("recorded once: {text}"))?;
    judged::check(ran).map_err(|text| format!("judged once: {text}"))?;
    pairs_are_alike(&ran.recording)?;
    others_are_not_disturbed(&ran.recording, &healthy.recording)?;
    nothing_is_silent(simulation, &ran.recording)
}

/// The two configurations of a host are pairs, also where one of them was given up.
fn pairs_are_alike(recording: &Recording) -> Result<(), String> {
    let mut seeds: BTreeMap<(&str, &str, &str, u32), u64> = BTreeMap::new();
    for trial in &recording.trials {
        let order = &trial.order;
        let host = order.system.split(' ').next().unwrap_or_default();
        let key = (host, &*order.workload, &*order.variant, order.trial);
        if *seeds.entry(key).or_insert(order.seed) != order.seed {
            return Err(format!("pair: the seeds of {key:?} differ"));
        }
    }
    Ok(())
}

/// The measurements of a host are those that it has in a fleet where nothing goes wrong.
fn others_are_not_disturbed(recording: &Recording, healthy: &Recording) -> Result<(), String> {
    for system in &recording.systems[..HOSTS] {
        let of = |recording: &Recording| -> Vec<_> {
            let series = recording.series().filter(|(key, _)| key.system == system.name);
            series.map(|(key, trials)| (key.clone(), trials.to_vec())).collect()
        };
        if of(recording) != of(healthy) || of(recording).is_empty() {
            return Err(format!("undisturbed: {} has other measurements than alone", system.name));
        }
    }
    Ok(())
}

/// A host ends once, and one without trials that count has a reason.
fn nothing_is_silent(simulation: &Simulation, recording: &Recording) -> Result<(), String> {
    let mut names: Vec<&str> = simulation.ended.iter().map(|(host, _)| host.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if (names.len(), simulation.ended.len()) != (HOSTS, HOSTS) {
        return Err(format!("silent: {:?} ended", simulation.ended));
    }
    let count = simulation.world.scenario.plan.items.len();
    for system in &recording.systems {
        let trials = recording.trials.iter().filter(|trial| trial.order.system == system.name);
        let outcomes: Vec<&Outcome> = trials.map(|trial| &trial.outcome).collect();
        if outcomes.len() < count {
            return Err(format!("silent: {} has {} trials of {count} items", system.name, outcomes.len()));
        }
        let is_lost = |outcome: &&Outcome| matches!(outcome, Outcome::Failed { reason } if reason.starts_with("the host was lost"));
        let host = &system.fleet.as_ref().ok_or("a system without a host")?.host;
        let reason =
            simulation.ended.iter().find(|(name, _)| name == host).and_then(|(_, lost)| lost.as_ref());
        if outcomes.iter().any(is_lost) && reason.is_none() {
            return Err(format!("silent: {host} was lost without a word"));
        }
    }
    Ok(())
}
