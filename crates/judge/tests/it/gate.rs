//! Gates: a certain claim fails a build, an excluded one passes, and an undecided one does neither.

use judge::Findings;
use judge::compare::{Comparison, Refusal};
use judge::gate::{Gate, GateAnswer, GateReason, GateRefusal, of_comparison, of_run};
use record::Recording;
use serde_json::{Value, json};
use stats::Decision;

/// A simulated run of eight workloads.
struct Simulated<'a> {
    systems: &'a [&'a str],
    /// Whether these are variants of one workload, on one system.
    are_variants: bool,
    seed: u64,
    unit: &'a str,
    version: u32,
    /// The processor of each system.
    processor: &'a str,
    /// The n at which the system refuses the second workload.
    limit: Option<u64>,
    /// The smallest step of a clock that times every n; otherwise levels of n are measured.
    tick_seconds: Option<f64>,
    /// The cost of a workload on a system at one n.
    cost: &'a dyn Fn(&str, usize, f64) -> f64,
}

const WORKLOADS: usize = 8;
const SIZES: [u64; 9] = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
const TRIALS: u32 = 10;

fn still(_: &str, _: usize, _: f64) -> f64 {
    1e-3
}

fn simulated<'a>(systems: &'a [&'a str], cost: &'a dyn Fn(&str, usize, f64) -> f64) -> Simulated<'a> {
    Simulated {
        systems,
        are_variants: false,
        seed: 1,
        unit: "s",
        version: 1,
        processor: "one",
        limit: None,
        tick_seconds: None,
        cost,
    }
}

fn with(key: &Value, rest: &Value) -> Value {
    let both = [key, rest].into_iter().flat_map(|object| object.as_object().unwrap().clone());
    Value::Object(both.collect())
}

impl Simulated<'_> {
    fn recording(&self) -> Recording {
        let mut lines = vec![json!({
            "type": "run", "schema": 1, "tool": {"name": "osdyno", "version": "0", "build": ""},
            "started_at": "2026-11-22T00:00:00Z", "command": [], "preset": "", "seed": 1, "budget_seconds": null,
            "looks": [10], "pinned": true, "paired": self.systems.len() > 1,
        })];
        let systems = if self.are_variants { &["local"] } else { self.systems };
        let (workloads, variants) =
            if self.are_variants { (1, self.systems) } else { (WORKLOADS, &[""][..]) };
        let variants: Vec<Value> = variants.iter().map(|name| json!({"name": name, "summary": ""})).collect();
        for system in systems {
            let environment = json!({"cpu.model": self.processor});
            lines.push(json!({"type": "system", "name": system, "prefix": [], "environment": environment}));
        }
        let mut random = fastrand::Rng::with_seed(self.seed);
        for workload in 0..workloads {
            lines.push(json!({
                "type": "workload", "name": format!("w{workload}"), "version": self.version, "summary": "",
                "page": "", "grows": "objects", "variants": variants, "rivals": self.are_variants,
                "series": [{"name": format!("w{workload}"), "direction": "up", "expect": "any", "summary": "",
                            "unit": self.unit}],
            }));
        }
        for trial in 1..=TRIALS {
            for workload in 0..workloads {
                // Both systems of a pair meet the same machine.
                let machine = 1.0 + 0.2 * (random.f64() - 0.5);
                for system in self.systems {
                    self.trial(&mut lines, (system, workload, trial), machine, &mut random);
                }
            }
        }
        crate::recording(&lines)
    }

    fn trial(
        &self,
        lines: &mut Vec<Value>,
        (system, workload, trial): (&str, usize, u32),
        machine: f64,
        random: &mut fastrand::Rng,
    ) {
        let name = format!("w{workload}");
        let (system_name, variant) = if self.are_variants { ("local", system) } else { (system, "") };
        let key = json!({"system": system_name, "workload": name, "variant": variant, "trial": trial});
        let limit = self.limit.filter(|_| workload == 1);
        let outcome = match limit {
            Some(n) => json!({"ended": "limit", "n": n, "operation": name, "error": "EMFILE", "advice": ""}),
            None => json!({"ended": "complete"}),
        };
        let clock =
            self.tick_seconds.map(|tick| json!({"source": "", "tick_seconds": tick, "read_seconds": 0.0}));
        let sizes = if clock.is_some() { (10..=5000).collect() } else { SIZES.to_vec() };
        let sizes: Vec<u64> = sizes.into_iter().filter(|n| limit.is_none_or(|limit| *n < limit)).collect();
        let level = machine * (1.0 + 0.01 * (random.f64() - 0.5));
        let value = |n: &u64| (self.cost)(system, workload, *n as f64) * level * (1.0 + 0.01 * random.f64());
        let values: Vec<f64> = sizes.iter().map(value).collect();
        lines.push(with(&key, &json!({
            "type": "trial", "version": self.version, "n": 5000, "cpu": null, "seed": 1, "timeout_seconds": 9.0,
            "scratch": "", "started_seconds": f64::from(trial), "elapsed_seconds": 1.0,
            "clock": clock, "allowance_seconds": null, "outcome": outcome,
        })));
        lines.push(with(
            &key,
            &json!({
                "type": "series", "name": name, "direction": "up", "n_first": 10,
                "n_step": i64::from(clock.is_some()), "sizes": if clock.is_some() { vec![] } else { sizes },
                "batch": 1, "values": values,
            }),
        ));
    }
}

fn decide(gate: &str, compared: &Comparison) -> GateAnswer {
    of_comparison(&Gate::parse(gate).unwrap(), compared).unwrap()
}

fn alone(gate: &str, simulated: &Simulated<'_>) -> Result<GateAnswer, GateRefusal> {
    let recording = simulated.recording();
    of_run(&Gate::parse(gate).unwrap(), &recording, &Findings::from_recording(&recording))
}

fn paired(cost: &dyn Fn(&str, usize, f64) -> f64) -> Comparison {
    Comparison::new(&[("run", &simulated(&["base", "head"], cost).recording())]).unwrap()
}

fn two_runs(base: &Simulated<'_>, head: &Simulated<'_>) -> Result<Comparison, Refusal> {
    Comparison::new(&[("base", &base.recording()), ("head", &head.recording())])
}

/// The series of the only claim, with their decisions.
fn decisions(answer: &GateAnswer) -> Vec<(&str, Decision)> {
    answer.claims[0].series.iter().map(|one| (one.series.as_str(), one.decision)).collect()
}

#[test]
fn a_run_of_two_systems_fails_by_the_series_that_is_slower() {
    assert_eq!(decide("slower", &paired(&still)).decision, Decision::Excluded);
    let slower = |system: &str, workload: usize, _: f64| {
        if (system, workload) == ("head", 3) { 1.06e-3 } else { 1e-3 }
    };
    let answer = decide("slower", &paired(&slower));
    assert_eq!(answer.decision, Decision::Certain);
    assert_eq!(decisions(&answer)[0], ("w3", Decision::Certain));
    assert!(decisions(&answer)[1..].iter().all(|(_, decision)| *decision == Decision::Excluded));
    let (_, failed) = answer.failed().next().unwrap();
    let ratio = failed.ratio.unwrap();
    assert!(ratio.low > 1.0 && (ratio.value - 1.06).abs() < 0.02 && failed.chance < Some(1e-5), "{failed:?}");
    assert!(failed.is_paired && failed.baseline.as_deref() == Some("base"));
    // A margin above the change excludes it, and other series have no say in a claim that names its own.
    assert_eq!(decide("slower:10%", &paired(&slower)).decision, Decision::Excluded);
    assert_eq!(decide("slower@w4", &paired(&slower)).decision, Decision::Excluded);
}

/// No number of trials decides about a value of two ticks of the clock.
#[test]
fn values_that_are_too_short_for_the_clock_count_where_they_are_named() {
    let short = |_: &str, workload: usize, _: f64| if workload == 3 { 2e-8 } else { 1e-3 };
    let run = Simulated { tick_seconds: Some(1e-8), ..simulated(&["base", "head"], &short) };
    let compared = Comparison::new(&[("run", &run.recording())]).unwrap();
    for claim in ["slower:5%", "grows"] {
        let answer = decide(claim, &compared);
        assert_eq!(answer.decision, Decision::Excluded, "{claim}");
        assert_eq!(answer.claims[0].too_short, ["w3".to_owned()].into(), "{claim}");
        assert_eq!(answer.claims[0].series.len(), WORKLOADS - 1, "{claim}");
        let named = decide(&format!("{claim}@w3"), &compared);
        assert_eq!(decisions(&named), [("w3", Decision::Undecided)], "{claim}");
        let one = &named.claims[0].series[0];
        assert_eq!((&one.reason, one.trials_needed), (&Some(GateReason::TooShort), None), "{claim}");
        assert!(named.claims[0].too_short.is_empty(), "{claim}");
    }
    let alone = Simulated { tick_seconds: Some(1e-8), ..simulated(&["base"], &short) };
    let answer = self::alone("grows", &alone).unwrap();
    assert_eq!(answer.claims[0].too_short, ["w3".to_owned()].into());
}

/// One n of nine is 30 % slower: the mean over all of them is within the margin, and the series does not pass.
#[test]
fn a_change_at_some_n_does_not_pass_by_the_mean_over_all() {
    let part = |system: &str, workload: usize, n: f64| {
        if (system, workload) == ("head", 3) && n >= 5000.0 { 1.3e-3 } else { 1e-3 }
    };
    let answer = decide("slower:10%", &paired(&part));
    assert_eq!(decisions(&answer)[0], ("w3", Decision::Undecided));
    let reason = answer.claims[0].series[0].reason.clone();
    assert!(matches!(reason, Some(GateReason::InPart { to: 5000, .. })), "{reason:?}");
    assert_eq!(answer.with(Decision::Undecided).count(), 1);
}

#[test]
fn a_rate_that_falls_is_slower_and_one_that_rises_is_changed() {
    let rate = |factor: f64| {
        move |system: &str, workload: usize, _: f64| match (system, workload) {
            ("head", 3) => 1000.0 * factor,
            _ => 1000.0,
        }
    };
    let compared = |cost: &dyn Fn(&str, usize, f64) -> f64| {
        let run = Simulated { unit: "1/s", ..simulated(&["base", "head"], cost) };
        Comparison::new(&[("run", &run.recording())]).unwrap()
    };
    assert_eq!(decide("slower", &compared(&rate(0.9))).decision, Decision::Certain);
    assert_eq!(decide("slower", &compared(&rate(1.1))).decision, Decision::Excluded);
    assert_eq!(decide("changed", &compared(&rate(1.1))).decision, Decision::Certain);
}

#[test]
fn two_runs_on_a_machine_that_changed_fail_nothing_until_one_series_stands_out() {
    let hot = |_: &str, _: usize, _: f64| 1.12e-3;
    let head = Simulated { seed: 2, ..simulated(&["head"], &hot) };
    let compared = two_runs(&simulated(&["base"], &still), &head).unwrap();
    let answer = decide("slower", &compared);
    assert_eq!(answer.decision, Decision::Undecided, "{answer:?}");
    let alike = |one: &judge::gate::GatedSeries| one.reason == Some(GateReason::AllAlike);
    assert!(answer.claims[0].series.iter().any(alike), "{answer:?}");

    let far = |_: &str, workload: usize, _: f64| if workload == 3 { 1.6e-3 } else { 1.12e-3 };
    let head = Simulated { seed: 2, ..simulated(&["head"], &far) };
    let base = simulated(&["base"], &still);
    let answer = decide("slower", &two_runs(&base, &head).unwrap());
    assert_eq!(decisions(&answer)[0], ("w3", Decision::Certain));
    assert!(answer.failed().count() == 1, "{answer:?}");

    // Another processor explains any difference.
    let head = Simulated { processor: "two", ..head };
    let answer = decide("slower", &two_runs(&base, &head).unwrap());
    assert_eq!(answer.decision, Decision::Undecided);
    let other = GateReason::OtherProcessor { before: "one".into(), now: "two".into() };
    assert_eq!(answer.claims[0].series[0].reason, Some(other));
}

#[test]
fn variants_that_compete_are_set_against_the_first_of_them() {
    let slower = |variant: &str, _: usize, _: f64| if variant == "new" { 1.2e-3 } else { 1e-3 };
    let of = |gate: &str, variants: &[&str], cost: &dyn Fn(&str, usize, f64) -> f64| {
        alone(gate, &Simulated { are_variants: true, ..simulated(variants, cost) }).unwrap()
    };
    let answer = of("slower:5%", &["old", "new"], &slower);
    let (_, failed) = answer.failed().next().unwrap_or_else(|| panic!("{answer:?}"));
    assert_eq!((failed.series.as_str(), failed.baseline.as_deref()), ("w0/new", Some("old")));
    assert!(failed.is_paired && failed.ratio.unwrap().low > 1.18, "{failed:?}");
    // The first is the baseline: nothing is slower than the slowest.
    assert_eq!(of("slower:5%", &["new", "old"], &slower).decision, Decision::Excluded);
    assert_eq!(of("slower:5%", &["old", "new"], &still).decision, Decision::Excluded);
    let three = of("slower:5%@w0/new", &["old", "same", "new"], &slower);
    assert_eq!(decisions(&three), [("w0/new", Decision::Certain)]);
    let three = of("slower:5%,grows", &["old", "same", "new"], &slower);
    assert_eq!(decisions(&three), [("w0/new", Decision::Certain), ("w0/same", Decision::Excluded)]);
    assert_eq!(three.claims[1].series.len(), 3);
}

#[test]
fn a_cost_that_grows_now_and_did_not_fails_and_one_that_always_grew_does_not() {
    let grows = |system: &str, workload: usize, n: f64| match (system, workload) {
        ("head", 3) | (_, 5) => 1e-3 * (1.0 + n / 5000.0),
        _ => 1e-3,
    };
    let answer = decide("grows", &paired(&grows));
    assert_eq!(answer.failed().map(|(_, one)| one.series.as_str()).collect::<Vec<_>>(), ["w3"]);
    // Alone, both do: nothing is documented of them.
    let answer = alone("grows", &simulated(&["head"], &grows)).unwrap();
    let mut failed: Vec<&str> = answer.failed().map(|(_, one)| one.series.as_str()).collect();
    failed.sort_unstable();
    assert_eq!(failed, ["w3", "w5"], "{answer:?}");
}

#[test]
fn a_limit_that_comes_earlier_fails() {
    let (base, head) = (simulated(&["base"], &still), simulated(&["head"], &still));
    fn limited<'a>(of: &Simulated<'a>, n: u64) -> Simulated<'a> {
        Simulated { limit: Some(n), ..simulated(of.systems, &still) }
    }
    let failed = |base: &Simulated<'_>, head: &Simulated<'_>| {
        let answer = decide("limit", &two_runs(base, head).unwrap());
        answer.failed().map(|(_, one)| one.series.clone()).collect::<Vec<_>>()
    };
    assert_eq!(failed(&base, &head), [""; 0]);
    assert_eq!(failed(&base, &limited(&head, 1000)), ["w1"]);
    assert_eq!(failed(&limited(&base, 2000), &limited(&head, 1000)), ["w1"]);
    assert_eq!(failed(&limited(&base, 1000), &limited(&head, 2000)), [""; 0]);
    let answer = alone("limit", &limited(&head, 1000)).unwrap();
    assert_eq!(answer.failed().count(), 1);
}

#[test]
fn a_gate_on_nothing_that_is_there_has_the_names_that_are() {
    let gate = Gate::parse("slower@fork*").unwrap();
    let refusal = of_comparison(&gate, &paired(&still)).unwrap_err();
    let GateRefusal::NoSeries { claim, names } = refusal else { panic!("{refusal:?}") };
    assert_eq!((claim.as_str(), names.len()), ("slower@fork*", WORKLOADS));
    // Memory is not slow: a claim about nothing must not pass.
    let memory = Simulated { unit: "B", ..simulated(&["base", "head"], &still) };
    let memory = Comparison::new(&[("run", &memory.recording())]).unwrap();
    assert!(matches!(
        of_comparison(&Gate::parse("slower").unwrap(), &memory),
        Err(GateRefusal::NoSeries { .. })
    ));
    assert_eq!(decide("changed", &memory).decision, Decision::Excluded);
    let refusal = alone("grows,slower", &simulated(&["head"], &still)).unwrap_err();
    assert_eq!(refusal, GateRefusal::NoBaseline { claim: "slower".into() });
}

#[test]
fn runs_that_are_not_the_same_are_refused() {
    let base = simulated(&["base"], &still);
    let newer = Simulated { version: 2, ..simulated(&["head"], &still) };
    assert!(matches!(two_runs(&base, &newer), Err(Refusal::Different(_))));
}
