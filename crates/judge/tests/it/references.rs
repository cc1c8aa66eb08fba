//! References of a recording reach its verdicts, and are no results themselves.

use judge::{Finding, Findings};
use record::Recording;
use serde_json::{Value, json};

const TOP: usize = 4_000;
const TRIALS: u32 = 12;

/// A constant cost on a machine whose speed wanders, and a reference after every eighth operation.
fn recording(with_references: bool) -> Recording {
    let stat = json!({"name": "stat", "direction": "up", "expect": "constant", "summary": "", "unit": "s"});
    let mut lines = vec![
        json!({
            "type": "run", "schema": 2, "tool": {"name": "osdyno", "version": "0", "build": ""},
            "started_at": "2026-11-22T00:00:00Z", "command": [], "preset": "", "seed": 1,
            "budget_seconds": null, "looks": [], "pinned": true, "paired": false,
        }),
        json!({"type": "system", "name": "local", "prefix": [], "environment": {}}),
        json!({
            "type": "workload", "name": "files", "version": 1, "summary": "", "page": "", "grows": "files",
            "variants": [{"name": "", "summary": ""}], "references": [stat],
            "series": [{"name": "open", "direction": "up", "expect": "constant", "summary": "", "unit": "s"}],
        }),
    ];
    let mut random = fastrand::Rng::with_seed(7);
    for trial in 1..=TRIALS {
        let mut speed = 0.0;
        let speeds: Vec<f64> = (0..TOP)
            .map(|_| {
                speed += 0.004 * (random.f64() - 0.5);
                f64::exp(speed)
            })
            .collect();
        let own = |speed: &f64, random: &mut fastrand::Rng| 1e-6 * speed * (1.0 + 0.02 * random.f64());
        let open: Vec<f64> = speeds.iter().map(|speed| own(speed, &mut random)).collect();
        let references = speeds.iter().skip(7).step_by(8);
        let references: Vec<f64> = references.map(|speed| own(speed, &mut random)).collect();
        let key = [("system", "local"), ("workload", "files"), ("variant", "")];
        let with_key = |mut line: Value| {
            line["trial"] = trial.into();
            key.iter().for_each(|(name, value)| line[*name] = (*value).into());
            line
        };
        lines.push(with_key(json!({
            "type": "trial", "version": 1, "n": TOP, "cpu": null, "seed": 1, "timeout_seconds": 9.0,
            "scratch": "", "elapsed_seconds": 1.0, "clock": null, "allowance_seconds": null,
            "outcome": {"ended": "complete"}, "references": with_references,
        })));
        lines.push(with_key(json!({
            "type": "series", "name": "open", "direction": "up", "n_first": 0, "n_step": 1, "batch": 1,
            "values": open,
        })));
        if with_references {
            lines.push(with_key(json!({
                "type": "series", "name": "stat", "direction": "up", "n_first": 8, "n_step": 8, "batch": 1,
                "values": references,
            })));
        }
    }
    crate::recording(&lines)
}

fn only(findings: &Findings) -> &Finding {
    assert_eq!(findings.series.len(), 1, "a reference is no result");
    &findings.series[0]
}

#[test]
fn what_a_cost_shares_with_its_references_is_removed() {
    let [with, without] = [true, false].map(|references| Findings::from_recording(&recording(references)));
    let (with, without) = (only(&with), only(&without));
    assert_eq!(with.references, ["stat"]);
    let (with, without) = (with.verdict.as_ref().unwrap(), without.verdict.as_ref().unwrap());
    assert!(with.adjustment.as_ref().unwrap().is_used(), "{:?}", with.adjustment);
    assert!(!without.adjustment.as_ref().is_some_and(stats::Adjustment::is_used));
    assert!(with.bound < 0.7 * without.bound, "{} and {}", with.bound, without.bound);
}
