//! An emulated fleet: the levels of its hosts differ by 1 %, one host is slow, and one was lost.

use record::{FleetPlace, Line, Outcome, Recording};

use super::{Emulated, lines, mixed, normal, system};

/// The host that is slower by a tenth, and alone has a microcode of its own.
pub(crate) const SLOW: &str = "n3";
/// The host that could not be reached.
pub(crate) const LOST: &str = "n5";
/// The host on which the second configuration costs nothing.
const OTHER: &str = "n7";

/// A fleet to emulate.
pub(crate) struct Fleet {
    pub(crate) hosts: usize,
    pub(crate) configurations: &'static [&'static str],
    pub(crate) n: u64,
    pub(crate) trials: u32,
    pub(crate) kernel: &'static str,
    /// Factor of `fork` in this run.
    pub(crate) fork: f64,
    pub(crate) seed: u64,
    /// How trials of one host differ.
    pub(crate) noise: f64,
}

pub(crate) const EIGHT: Fleet = Fleet {
    hosts: 8,
    configurations: &["plain", "nice"],
    n: 3_000,
    trials: 8,
    kernel: "6.12.107",
    fork: 1.0,
    seed: 34,
    noise: 0.02,
};

fn workloads(n: u64) -> Vec<Emulated> {
    let mut all = mixed(n);
    all.truncate(3);
    // Without the scan of ports, whose cliff is beyond these n.
    all.remove(1);
    all.iter_mut().flat_map(|one| &mut one.series).for_each(|(_, _, _, curve)| curve.between = 0.003);
    all
}

pub(crate) fn fleet(fleet: &Fleet) -> Recording {
    let mut all: Vec<Line> = Vec::new();
    let mut rng = fastrand::Rng::with_seed(fleet.seed);
    // The level of a host is its own, and the same in every run.
    let mut levels = fastrand::Rng::with_seed(34);
    for host in (1..=fleet.hosts).map(|host| format!("n{host}")) {
        let level = (0.01 * normal(&mut levels)).exp() * if host == SLOW { 1.10 } else { 1.0 };
        let disturbed: Vec<f64> = (0..fleet.trials).map(|_| (fleet.noise * normal(&mut rng)).exp()).collect();
        for (place, configuration) in fleet.configurations.iter().enumerate() {
            let is_first = all.is_empty();
            let seed = rng.u64(..);
            for mut line in of_system(fleet, &host, configuration, seed) {
                if let Line::Series(series) = &mut line {
                    let is_fork = series.workload == "fork";
                    let of_run = if is_fork && host != OTHER { fleet.fork } else { 1.0 };
                    let nice = if place == 1 && is_fork && host != OTHER { 1.08 } else { 1.0 };
                    let factor = level * disturbed[series.trial as usize - 1] * nice * of_run;
                    series.values.iter_mut().for_each(|value| *value *= factor);
                }
                let once = matches!(line, Line::Run(_) | Line::Workload(_) | Line::End(_));
                if !once || is_first {
                    all.push(line);
                }
            }
        }
    }
    // The end of a run is its last line.
    let end = all.iter().position(|line| matches!(line, Line::End(_))).expect("an end");
    let end = all.remove(end);
    all.push(end);
    Recording::new(all).expect("begins with its run line")
}

fn of_system(fleet: &Fleet, host: &str, configuration: &str, seed: u64) -> Vec<Line> {
    let is_lost = host == LOST && fleet.hosts > 4;
    let mut workloads = workloads(fleet.n);
    if is_lost {
        for workload in &mut workloads {
            workload.outcome =
                Outcome::Failed { reason: "ssh: connect to host n5 port 22: Connection refused".into() };
            workload.stopping = u32::MAX;
        }
    }
    let name = if configuration.is_empty() { host.to_owned() } else { format!("{host} {configuration}") };
    let microcode = if host == SLOW { "0x42" } else { "0x41" };
    let facts = [("cpu.microcode", microcode), ("kernel.release", fleet.kernel), ("machine.serial", host)];
    let mut system = system(&name, &facts);
    if is_lost {
        system.environment.clear();
    }
    system.fleet = Some(FleetPlace { host: host.to_owned(), configuration: configuration.to_owned() });
    if host == "n1" || host == "n2" {
        system.warnings = vec!["Steal time of 0.4 % was seen.".into()];
    }
    let trials = if is_lost { 1 } else { fleet.trials };
    let mut lines = lines(system, &workloads, trials, seed);
    if let Some(Line::Run(run)) = lines.first_mut() {
        run.paired = fleet.configurations.len() > 1;
        run.seed = fleet.seed;
    }
    lines
}
