//! Fleets: hosts are observations, each compared with itself only.

use judge::compare::Refusal;
use judge::gate::{Gate, of_fleet, of_run};
use judge::{Findings, Fleet, FleetHostState, FleetRatio, HostLeftOutReason, LostCause, SharedFact};
use record::Recording;
use serde_json::{Value, json};
use stats::{Answer, Class, Decision};

const WORKLOADS: usize = 4;
const SIZES: [u64; 9] = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
const TRIALS: u32 = 8;

/// A simulated run of four workloads on a fleet.
struct Simulated<'a> {
    hosts: &'a [&'a str],
    /// One with an empty name where each host has a single one.
    configurations: &'a [&'a str],
    seed: u64,
    version: u32,
    kernel: &'a str,
    /// A host whose trials failed.
    lost: &'a str,
    /// A host that could not be reached, and has no trial.
    unreachable: &'a str,
    /// A host without the last workload.
    incomplete: &'a str,
    /// A host that stops at a small n.
    limited: &'a str,
    /// Factor of a host, a configuration and a workload at one n.
    cost: &'a dyn Fn(&str, &str, usize, f64) -> f64,
}

const HOSTS: [&str; 8] = ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"];

fn still(_: &str, _: &str, _: usize, _: f64) -> f64 {
    1.0
}

const USUAL: Simulated<'static> = Simulated {
    hosts: &HOSTS,
    configurations: &[""],
    seed: 1,
    version: 1,
    kernel: "6.18",
    lost: "",
    unreachable: "",
    incomplete: "",
    limited: "",
    cost: &still,
};

fn normal(random: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
}

fn system(host: &str, configuration: &str) -> String {
    if configuration.is_empty() { host.to_owned() } else { format!("{host} {configuration}") }
}

impl Simulated<'_> {
    fn recording(&self) -> Recording {
        let mut lines = vec![json!({
            "type": "run", "schema": 2, "tool": {"name": "osdyno", "version": "0", "build": ""},
            "started_at": "2026-11-22T00:00:00Z", "command": [], "preset": "", "seed": 1,
            "budget_seconds": null, "looks": [], "pinned": true, "paired": self.configurations.len() > 1,
        })];
        for host in self.hosts {
            // The slow host of the tests has a processor of its own.
            let microcode = if *host == "n3" { "0x42" } else { "0x41" };
            let facts = json!({
                "cpu.microcode": microcode, "kernel.release": self.kernel, "machine.serial": host,
                "machine.boot_id": format!("{host}{}", self.seed),
            });
            let is_unknown = *host == self.lost || *host == self.unreachable;
            let facts = if is_unknown { json!({}) } else { facts };
            let warnings: &[&str] = if *host == self.unreachable { &["no route to host"] } else { &[] };
            for configuration in self.configurations {
                lines.push(json!({
                    "type": "system", "name": system(host, configuration), "prefix": [], "environment": facts,
                    "warnings": warnings,
                    "fleet": {"host": host, "configuration": configuration},
                }));
            }
        }
        for workload in 0..WORKLOADS {
            let name = format!("w{workload}");
            lines.push(json!({
                "type": "workload", "name": name, "version": self.version, "summary": "", "page": "",
                "grows": "objects", "variants": [{"name": "", "summary": ""}],
                "series": [{"name": name, "direction": "up", "expect": "any", "summary": "", "unit": "s"}],
            }));
        }
        let mut random = fastrand::Rng::with_seed(self.seed);
        for host in self.hosts.iter().filter(|host| **host != self.unreachable) {
            let level = (0.01 * normal(&mut random)).exp();
            for workload in 0..WORKLOADS {
                for trial in 1..=TRIALS {
                    // A disturbance of one host meets all of its configurations, and no other host.
                    let machine = level * (0.02 * normal(&mut random)).exp();
                    for configuration in self.configurations {
                        let of = (*host, *configuration, workload, trial);
                        self.trial(&mut lines, of, machine, &mut random);
                    }
                }
            }
        }
        crate::recording(&lines)
    }

    fn trial(
        &self,
        lines: &mut Vec<Value>,
        (host, configuration, workload, trial): (&str, &str, usize, u32),
        machine: f64,
        random: &mut fastrand::Rng,
    ) {
        let is_failed = host == self.lost || host == self.incomplete && workload + 1 == WORKLOADS;
        if is_failed && trial > 1 {
            return;
        }
        let outcome = match is_failed {
            true => json!({"ended": "failed", "reason": "connection refused"}),
            false => json!({"ended": "complete"}),
        };
        let name = format!("w{workload}");
        lines.push(json!({
            "type": "trial", "system": system(host, configuration), "workload": name, "variant": "",
            "trial": trial, "version": self.version, "n": 5000, "cpu": null, "seed": 1, "timeout_seconds": 9.0,
            "scratch": "", "started_seconds": f64::from(trial), "elapsed_seconds": 1.0, "clock": null,
            "allowance_seconds": null, "outcome": outcome,
        }));
        if is_failed {
            return;
        }
        let most = if host == self.limited { 500 } else { 5000 };
        let sizes: Vec<u64> = SIZES.iter().copied().filter(|n| *n <= most).collect();
        let own = machine * (0.003 * normal(random)).exp();
        let value = |n: &u64| 1e-3 * own * (self.cost)(host, configuration, workload, *n as f64);
        let values: Vec<f64> = sizes.iter().map(value).collect();
        lines.push(json!({
            "type": "series", "system": system(host, configuration), "workload": name, "variant": "",
            "trial": trial, "name": name, "direction": "up", "n_first": 10, "n_step": 0, "sizes": sizes,
            "batch": 1, "values": values,
        }));
    }

    fn findings(&self) -> (Recording, Findings) {
        let recording = self.recording();
        let findings = Findings::from_recording(&recording);
        (recording, findings)
    }

    fn fleet(&self) -> Fleet {
        *self.findings().1.fleet.expect("several hosts")
    }
}

fn slow_n3(host: &str, _: &str, _: usize, _: f64) -> f64 {
    if host == "n3" { 1.10 } else { 1.0 }
}

#[test]
fn a_slow_host_is_named_with_the_fact_that_it_alone_has() {
    let fleet = Simulated { cost: &slow_n3, ..USUAL }.fleet();
    assert_eq!((fleet.judged, fleet.hosts.len(), fleet.series.len()), (8, 8, WORKLOADS));
    let microcode = SharedFact { key: "cpu.microcode".into(), value: "0x42".into() };
    for series in &fleet.series {
        let named: Vec<&str> = series.outliers.iter().map(|one| one.host.as_str()).collect();
        assert_eq!(named, ["n3"], "{}", series.series);
        let ratio = series.outliers[0].ratio;
        assert!((1.06..1.15).contains(&ratio.value) && ratio.low > 1.03, "{ratio:?}");
        // Its serial number is its own, as that of every other host.
        assert_eq!(series.shared, std::slice::from_ref(&microcode));
        assert_eq!(series.hosts.last().map(|one| one.host.as_str()), Some("n3"));
        assert!(series.prediction.is_some() && series.spread.is_some_and(|share| share < 0.08));
        assert_eq!((series.n_low, series.n_high), (10, 5000));
    }
    let host = fleet.hosts.iter().find(|host| host.name == "n3").expect("n3");
    assert_eq!(host.outlying, ["w0", "w1", "w2", "w3"]);
    assert_eq!(host.facts.keys().collect::<Vec<_>>(), ["cpu.microcode", "machine.serial"]);
    assert!(fleet.ratios.is_empty());
}

#[test]
fn equal_hosts_have_no_outlier() {
    for seed in 1..=5 {
        let fleet = Simulated { seed, ..USUAL }.fleet();
        assert!(fleet.hosts.iter().all(|host| host.outlying.is_empty()), "seed {seed}: {:?}", fleet.hosts);
    }
}

#[test]
fn a_lost_host_and_an_incomplete_one_have_their_reasons() {
    let all = Simulated { lost: "n5", unreachable: "n6", incomplete: "n2", limited: "n8", ..USUAL };
    let fleet = all.fleet();
    assert_eq!(fleet.judged, 6);
    let host = |name: &str| fleet.hosts.iter().find(|host| host.name == name).expect("a host");
    assert_eq!((host("n5").state, host("n5").cause), (FleetHostState::Lost, Some(LostCause::Failed)));
    assert_eq!(host("n5").reason.as_deref(), Some("connection refused"));
    assert_eq!((host("n6").state, host("n6").cause), (FleetHostState::Lost, Some(LostCause::NotMeasured)));
    assert_eq!(host("n6").reason.as_deref(), Some("no route to host"));
    assert_eq!(
        (host("n2").state, host("n2").missing.as_slice()),
        (FleetHostState::Partly, &["w3".to_owned()][..])
    );
    assert_eq!(host("n1").state, FleetHostState::Judged);
    let left_out = |place: usize| {
        let all = fleet.series[place].left_out.iter();
        all.map(|one| (one.host.as_str(), one.reason, one.n_high)).collect::<Vec<_>>()
    };
    let limited = ("n8", HostLeftOutReason::OtherRange, Some(500));
    assert_eq!(left_out(0), [limited]);
    assert_eq!(left_out(3), [("n2", HostLeftOutReason::NoValue, None), limited]);
}

#[test]
fn verdicts_are_folded() {
    let grows = |host: &str, _: &str, workload: usize, n: f64| match (host, workload) {
        ("n6", 1) => 1.0 + n / 1000.0,
        _ => 1.0,
    };
    let fleet = Simulated { cost: &grows, ..USUAL }.fleet();
    let [flat, grows] = &fleet.series[1].classes[..] else { panic!("{:?}", fleet.series[1].classes) };
    assert_eq!(
        (flat.class, flat.hosts.len(), grows.hosts.as_slice()),
        (Class::Flat, 7, &["n6".to_owned()][..])
    );
    assert!(flat.bound.is_some_and(|bound| bound < 0.1) && grows.bound.is_none());
}

#[test]
fn one_host_is_no_fleet() {
    let one = Simulated { hosts: &["n1"], configurations: &["plain", "nice"], ..USUAL };
    assert!(one.findings().1.fleet.is_none());
    let (recording, _) = USUAL.findings();
    let alone = Simulated { hosts: &["n1"], ..USUAL }.recording();
    assert!(Fleet::of_runs([("a", &recording), ("b", &alone)], 0.03).is_none());
}

/// w0 is 8 % slower, on n7 20 % faster; w1 is the same.
fn nice(host: &str, configuration: &str, workload: usize, _: f64) -> f64 {
    match (configuration, workload, host) {
        ("nice", 0, "n7") => 0.8,
        ("nice", 0, _) => 1.08,
        _ => 1.0,
    }
}

fn ratio<'a>(fleet: &'a Fleet, series: &str) -> &'a FleetRatio {
    fleet.ratios.iter().find(|ratio| ratio.series == series).expect("a ratio")
}

#[test]
fn configurations_are_compared_inside_hosts() {
    let run = Simulated { configurations: &["plain", "nice"], lost: "n5", cost: &nice, ..USUAL };
    let (recording, findings) = run.findings();
    let fleet = findings.fleet.as_deref().expect("several hosts");
    assert_eq!(fleet.configurations, ["plain", "nice"]);
    assert_eq!((fleet.series.len(), fleet.ratios.len()), (2 * WORKLOADS, WORKLOADS));
    let slower = ratio(fleet, "w0");
    assert_eq!((slower.counts.slower, slower.counts.faster, slower.hosts.len()), (6, 1, 7));
    let differing: Vec<&str> = slower.outliers.iter().map(|one| one.host.as_str()).collect();
    assert_eq!(differing, ["n7"]);
    let same = ratio(fleet, "w1");
    assert_eq!((same.answer, same.counts.equivalent), (Answer::Equivalent, 7));
    // Trials of one host are pairs: its disturbances of 2 % cancel.
    let mean = same.mean.expect("a mean");
    assert!(mean.high / mean.low < 1.01, "{mean:?}");

    let gate = |claim: &str| of_run(&Gate::parse(claim).unwrap(), &recording, &findings).unwrap();
    assert_eq!(gate("slower:5%@w1").decision, Decision::Excluded);
    assert_eq!(gate("slower:50%").decision, Decision::Excluded);
}

#[test]
fn a_gate_fails_where_a_configuration_is_slower_on_the_fleet() {
    let slower = |_: &str, configuration: &str, workload: usize, _: f64| match (configuration, workload) {
        ("nice", 2) => 1.10,
        _ => 1.0,
    };
    let run = Simulated { configurations: &["plain", "nice"], cost: &slower, ..USUAL };
    let (recording, findings) = run.findings();
    let answer = of_run(&Gate::parse("slower:5%").unwrap(), &recording, &findings).unwrap();
    let failed: Vec<&str> = answer.failed().map(|(_, one)| one.series.as_str()).collect();
    assert_eq!((answer.decision, failed), (Decision::Certain, vec!["w2"]));
}

#[test]
fn two_runs_of_a_fleet_are_compared_host_by_host() {
    // The second kernel is 12 % faster in w0, but not on n3.
    let faster = |host: &str, _: &str, workload: usize, _: f64| match (host, workload) {
        ("n3", 0) => 1.0,
        (_, 0) => 0.88,
        _ => 1.0,
    };
    let old = USUAL.recording();
    let new = Simulated { seed: 2, kernel: "7.3", hosts: &HOSTS[..7], cost: &faster, ..USUAL }.recording();
    let fleet =
        Fleet::of_runs([("old.osdyno", &old), ("new", &new)], 0.03).expect("fleets").expect("compared");
    assert_eq!((fleet.runs.as_slice(), fleet.judged), (&["old".to_owned(), "new".to_owned()][..], 7));
    let last = fleet.hosts.last().expect("hosts");
    assert_eq!(
        (last.name.as_str(), last.state, last.cause),
        ("n8", FleetHostState::Lost, Some(LostCause::Absent))
    );
    let change = &fleet.differences[0];
    assert_eq!((change.key.as_str(), change.hosts), ("kernel.release", 7));
    assert_eq!(fleet.differences.len(), 1, "{:?}", fleet.differences);
    let faster = ratio(&fleet, "w0");
    let differing: Vec<&str> = faster.outliers.iter().map(|one| one.host.as_str()).collect();
    assert_eq!((differing, faster.shared.len()), (vec!["n3"], 1));
    assert!(faster.mean.is_some_and(|mean| (0.85..0.95).contains(&mean.value)));
    assert!(fleet.series.is_empty());
    let gate = |claim: &str| of_fleet(&Gate::parse(claim).unwrap(), &fleet).unwrap().decision;
    assert_eq!(gate("slower:20%"), Decision::Excluded);

    let other = Simulated { version: 2, ..USUAL }.recording();
    let refused = Fleet::of_runs([("old", &old), ("new", &other)], 0.03).expect("fleets");
    assert!(matches!(refused, Err(Refusal::Different(_))), "{refused:?}");
}

#[test]
fn a_host_that_cannot_be_compared_is_named() {
    let old = USUAL.recording();
    // In the second run n8 has other settings, and n1 lacks the last workload.
    let mut new = Simulated { seed: 2, incomplete: "n1", ..USUAL }.recording();
    for trial in new.trials.iter_mut().filter(|trial| trial.order.system == "n8") {
        trial.order.settings = [("size".to_owned(), "9".to_owned())].into();
    }
    let fleet = Fleet::of_runs([("old", &old), ("new", &new)], 0.03).expect("fleets").expect("compared");
    let host = |name: &str| fleet.hosts.iter().find(|host| host.name == name).expect("a host");
    assert_eq!((fleet.judged, host("n2").state), (7, FleetHostState::Judged));
    assert_eq!((host("n8").state, host("n8").cause), (FleetHostState::Lost, Some(LostCause::Different)));
    assert_eq!(host("n8").reason.as_deref(), Some("w0, w1, w2, w3"));
    assert_eq!(fleet.refused.len(), WORKLOADS);
    assert_eq!((host("n1").state, host("n1").cause), (FleetHostState::Partly, Some(LostCause::Failed)));
    assert_eq!(host("n1").missing, ["w3"]);
    assert_eq!(ratio(&fleet, "w3").left_out, ["n1"]);
}

/// More trials are asked for configurations inside hosts, and never to tell hosts apart.
#[test]
fn hosts_are_not_to_be_told_apart() {
    let run = Simulated { configurations: &["plain", "nice"], cost: &slow_n3, ..USUAL };
    let (recording, findings) = run.findings();
    let names: Vec<&str> = recording.systems.iter().map(|system| system.name.as_str()).collect();
    let measured: Vec<judge::MeasuredVariant<'_>> =
        names.iter().map(|system| judge::MeasuredVariant { system, variant: "" }).collect();
    let open = judge::undecided(&recording, &findings, &measured, true);
    assert!(open.is_empty(), "{open:?}");
}
