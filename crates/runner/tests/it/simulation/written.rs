//! The promise of the record: every trial that finished is in it once, and the file equals the memory.

use std::collections::{BTreeMap, BTreeSet};

use record::{Reader, Recording, System, Trial, TrialKey};
use runner::Ran;

use super::world::{Ended, Executed, Simulation};

pub(crate) fn check(simulation: &Simulation, ran: &Ran) -> Result<(), String> {
    executed_are_in_memory(&simulation.world.trials.borrow(), &ran.recording)?;
    let disk = simulation.world.disk.borrow();
    let mut reader = Reader::new(&disk.bytes[..], "simulated").map_err(|error| error.to_string())?;
    let lines: Result<Vec<_>, _> = reader.by_ref().collect();
    let file = Recording::new(lines.map_err(|error| error.to_string())?).ok_or("the file has no head")?;
    if !reader.losses().is_empty() {
        return Err(format!("the file has losses: {:?}", reader.losses()));
    }
    is_in_file(ran, &file)
}

/// Every reported trial, once, and no interrupted one.
fn executed_are_in_memory(executed: &[Executed], memory: &Recording) -> Result<(), String> {
    let mut recorded: BTreeMap<TrialKey, u32> = BTreeMap::new();
    for trial in &memory.trials {
        *recorded.entry(TrialKey::from_parameters(&trial.order)).or_default() += 1;
    }
    if let Some((key, count)) = recorded.iter().find(|&(_, &count)| count > 1) {
        return Err(format!("{key:?} is there {count} times"));
    }
    for trial in executed {
        let is_recorded = recorded.contains_key(&TrialKey::from_parameters(&trial.order));
        if is_recorded != (trial.end != Ended::Interrupted) {
            return Err(format!("{trial}: recorded: {is_recorded}"));
        }
    }
    Ok(())
}

/// The host of a system; without a fleet all are on one.
fn host(system: &System) -> &str {
    system.fleet.as_ref().map_or("", |place| &place.host)
}

fn of_host<'a>(recording: &'a Recording, wanted: &str) -> Vec<&'a Trial> {
    let of_system = |trial: &&Trial| {
        let system = recording.systems.iter().find(|system| system.name == trial.order.system);
        system.is_some_and(|system| host(system) == wanted)
    };
    recording.trials.iter().filter(of_system).collect()
}

/// The memory is in the file, except for the last trial if the disk was full.
fn is_in_file(ran: &Ran, file: &Recording) -> Result<(), String> {
    let memory = &ran.recording;
    let lost = memory.trials.len() - file.trials.len().min(memory.trials.len());
    // A system takes several lines for one trial, but they are one frame.
    if lost > usize::from(ran.unwritten.is_some()) {
        return Err(format!("{lost} trials are in memory only"));
    }
    // The file has them in the order of time, and the memory host by host.
    let hosts: BTreeSet<&str> = memory.systems.iter().map(host).collect();
    for host in hosts {
        let (written, kept) = (of_host(file, host), of_host(memory, host));
        if written != kept[..written.len().min(kept.len())] {
            return Err(format!("the trials of the file are others on the host {host:?}"));
        }
    }
    if (&file.systems.len(), &file.workloads) != (&memory.systems.len(), &memory.workloads) {
        return Err("the head of the file is another".to_owned());
    }
    if ran.unwritten.is_some() {
        return Ok(());
    }
    if file.end != memory.end || file.run != memory.run || file.systems != memory.systems {
        return Err("the end of the file is another".to_owned());
    }
    if !file.series().eq(memory.series()) || file.excluded != memory.excluded {
        return Err("the measurements in the file are others".to_owned());
    }
    Ok(())
}
