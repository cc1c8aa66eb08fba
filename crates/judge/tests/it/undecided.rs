//! A run continues by the rule of its report: only verdicts, variants and systems count.

use std::collections::BTreeSet;

use judge::{Findings, Judgements, MeasuredVariant, undecided};
use record::Recording;
use serde_json::{Value, json};
use stats::{Answer, Class};

const LEVELS: [u64; 6] = [1, 2, 5, 10, 20, 50];

/// A load on some systems in two variants; `cost` is that of a system and a variant at an n, and `noise` moves a trial.
fn load(
    systems: &[&str],
    compete: bool,
    trials: u32,
    noise: f64,
    cost: fn(&str, &str, u64) -> f64,
) -> Recording {
    let mut lines = vec![json!({
        "type": "run", "schema": 1, "tool": {"name": "osdyno", "version": "0", "build": ""},
        "started_at": "2026-11-22T00:00:00Z", "command": [], "preset": "", "seed": 1, "budget_seconds": null,
        "looks": [10, 20, 40], "pinned": true, "paired": systems.len() > 1,
    })];
    for system in systems {
        lines.push(json!({"type": "system", "name": system, "prefix": [], "environment": {}}));
    }
    lines.push(json!({
        "type": "workload", "name": "race", "version": 1, "summary": "", "page": "", "grows": "connections",
        "variants": [{"name": "a", "summary": ""}, {"name": "b", "summary": ""}], "rivals": compete,
        "series": [{"name": "p50", "direction": "up", "expect": "any", "summary": "", "unit": "s"}],
    }));
    let mut random = fastrand::Rng::with_seed(5);
    for trial in 1..=trials {
        for system in systems {
            for variant in ["a", "b"] {
                let key = json!({"system": system, "workload": "race", "variant": variant, "trial": trial});
                let level = 1.0 + noise * (random.f64() - 0.5);
                let values: Vec<f64> = LEVELS
                    .iter()
                    .map(|n| cost(system, variant, *n) * level * (1.0 + 0.002 * random.f64()))
                    .collect();
                lines.push(with(&key, &json!({
                    "type": "trial", "version": 1, "n": 50, "cpu": null, "seed": 1, "timeout_seconds": 9.0,
                    "scratch": "", "started_seconds": f64::from(trial), "elapsed_seconds": 1.0,
                    "clock": null, "allowance_seconds": null, "outcome": {"ended": "complete"},
                })));
                lines.push(with(
                    &key,
                    &json!({
                        "type": "series", "name": "p50", "direction": "up", "n_first": 1, "n_step": 0,
                        "sizes": LEVELS, "batch": 1, "values": values,
                    }),
                ));
            }
        }
    }
    crate::recording(&lines)
}

fn with(key: &Value, rest: &Value) -> Value {
    let both = [key, rest].into_iter().flat_map(|object| object.as_object().unwrap().clone());
    Value::Object(both.collect())
}

fn open(recording: &Recording, compares: bool) -> BTreeSet<String> {
    let systems = || recording.systems.iter().map(|system| system.name.as_str());
    let all: Vec<MeasuredVariant<'_>> =
        systems().flat_map(|system| ["a", "b"].map(|variant| MeasuredVariant { system, variant })).collect();
    undecided(recording, &Findings::from_recording(recording), &all, compares)
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_string()).collect()
}

/// Both are flat for certain, and which of them is faster is not.
#[test]
fn variants_that_are_not_resolved_go_on() {
    let cost = |_: &str, variant: &str, _: u64| if variant == "a" { 1e-3 } else { 1.05e-3 };
    let flat = load(&["local"], false, 10, 0.1, cost);
    let findings = Findings::from_recording(&flat);
    assert!(findings.series.iter().all(|f| f.verdict.as_ref().unwrap().class == Class::Flat));
    assert_eq!(open(&flat, true), names(&[]), "each verdict is definite, and nobody compares them");
    let close = load(&["local"], true, 10, 0.1, cost);
    let last = Findings::from_recording(&close).comparisons[0].rankings[0].standings[1]
        .last
        .clone()
        .unwrap()
        .comparison;
    assert_eq!(last.answer, Answer::Unresolved);
    assert_eq!(open(&close, true), names(&["a", "b"]), "the best too: the other is set against it");
    let far = load(&["local"], true, 10, 0.1, |_, variant, _| if variant == "a" { 1e-3 } else { 2e-3 });
    assert_eq!(open(&far, true), names(&[]));
}

/// Two systems, of which one is as fast as the other in `a`, and perhaps slower in `b`.
#[test]
fn systems_that_are_not_resolved_go_on() {
    let cost =
        |system: &str, variant: &str, _: u64| if (system, variant) == ("new", "b") { 1.03e-3 } else { 1e-3 };
    let two = load(&["old", "new"], false, 10, 0.05, cost);
    assert_eq!(open(&two, true), names(&["b"]));
    assert_eq!(open(&two, false), names(&[]), "one system against itself has no answer to wait for");
    let only_a =
        [MeasuredVariant { system: "old", variant: "a" }, MeasuredVariant { system: "new", variant: "a" }];
    let open = undecided(&two, &Findings::from_recording(&two), &only_a, true);
    assert_eq!(open, names(&[]), "an unmeasured variant does not count");
}

/// A first look ends what is flat; as few trials of a growth, however steady, go on.
#[test]
fn a_growth_deserves_more_than_a_first_look() {
    let cost = |_: &str, variant: &str, n: u64| if variant == "a" { 1e-3 } else { 1e-4 * n as f64 };
    let grows = |recording: &Recording| {
        let findings = Findings::from_recording(recording);
        findings.series.iter().map(|f| f.verdict.as_ref().unwrap().class != Class::Flat).collect::<Vec<_>>()
    };
    let first = load(&["local"], false, 5, 0.002, cost);
    assert_eq!(grows(&first), [false, true]);
    assert_eq!(open(&first, true), names(&["b"]));
    let second = load(&["local"], false, 10, 0.002, cost);
    assert_eq!(grows(&second), [false, true]);
    assert_eq!(open(&second, true), names(&[]));
}

/// Every look judges the series with new trials, once; questions between looks judge nothing.
#[test]
fn a_series_is_judged_once_at_each_look() {
    let costs = |_: &str, variant: &str, _: u64| if variant == "a" { 1e-3 } else { 1.05e-3 };
    let looks = [10, 20].map(|trials| load(&["old", "new"], true, trials, 0.1, costs));
    let mut judgements = Judgements::default();
    for (recording, judged) in looks.iter().zip([4, 8]) {
        let findings = judgements.of_workload(recording, "race", &|_, _| true);
        assert_eq!(judgements.count(), judged, "two variants on two systems");
        assert_eq!(judgements.findings(recording), findings);
        let undue =
            judgements.of_workload(&load(&["old", "new"], true, 30, 0.1, costs), "race", &|_, _| false);
        assert_eq!(undue.series, findings.series, "they keep their last ones");
        assert_eq!(Findings::from_recording(recording), findings);
        assert_eq!(judgements.count(), judged, "no trial came");
    }
}

/// Details are shown only on demand, so they add nothing to the time that is proposed.
#[test]
fn no_time_is_proposed_for_details() {
    let mut recording = load(&["local"], false, 3, 0.1, |_, _, _| 1e-3);
    let settlement = Findings::from_recording(&recording).settlement.unwrap();
    assert_eq!(settlement.settles, 2, "both variants");
    recording.workloads[0].series[0].detail = true;
    assert_eq!(Findings::from_recording(&recording).settlement, None);
}
