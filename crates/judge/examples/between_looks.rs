//! How long the judgement between two looks takes: `between_looks TRIALS N [SYSTEMS]` on an emulated curve of
//! two variants, each with a way up and a way down.

#![allow(clippy::print_stdout, reason = "an example speaks")]

use std::error::Error;
use std::time::Instant;

use judge::{Judgements, MeasuredVariant, undecided};
use record::{Line, LineError, Recording, Series, Trial, TrialParameters, parse_line};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<usize> =
        std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, std::num::ParseIntError>>()?;
    let [trials, n, rest @ ..] = numbers.as_slice() else {
        return Err("usage: between_looks TRIALS N".into());
    };
    let systems: Vec<String> = (0..rest.first().copied().unwrap_or(1)).map(|i| format!("s{i}")).collect();
    // The last trial of `a` comes after a first look.
    let is_last = |line: &Line| match line {
        Line::Trial(Trial { order: TrialParameters { variant, trial, .. }, .. })
        | Line::Series(Series { variant, trial, .. }) => variant == "a" && *trial as usize == *trials,
        _ => false,
    };
    let (last, first): (Vec<Line>, Vec<Line>) = lines(&systems, *trials, *n)?.into_iter().partition(is_last);
    let mut recording = Recording::new(first).ok_or("no run line")?;
    let mut judgements = Judgements::default();
    look(&recording, &mut judgements, &["a", "b"]);
    recording.extend(last);
    look(&recording, &mut judgements, &["a"]);
    Ok(())
}

/// Judges the series with new trials, and prints how long that took.
fn look(recording: &Recording, judgements: &mut Judgements, variants: &[&str]) {
    let systems = recording.systems.iter().map(|system| system.name.as_str());
    let of = |system| variants.iter().map(move |variant| MeasuredVariant { system, variant });
    let measured: Vec<MeasuredVariant<'_>> = systems.flat_map(of).collect();
    let measurements: usize = recording.series().flat_map(|(_, all)| all).map(|one| one.values.len()).sum();
    let begun = Instant::now();
    let findings = judgements.of_workload(recording, "w", &|_, _| true);
    let open = undecided(recording, &findings, &measured, true);
    let took = begun.elapsed();
    println!("{measurements} measurements, changed {variants:?}: {took:.1?}, undecided {open:?}");
}

fn lines(systems: &[String], trials: usize, n: usize) -> Result<Vec<Line>, LineError> {
    let kind = |direction: &str| {
        json!({"name": "open", "direction": direction, "expect": "constant",
        "summary": "", "unit": "s"})
    };
    let mut all = vec![
        json!({"type": "run", "schema": 1, "tool": {"name": "", "version": "", "build": ""}, "started_at": "",
            "command": [], "preset": "", "seed": 1, "budget_seconds": null, "looks": [10, 20, 40, 80],
            "pinned": true, "paired": true}),
        json!({"type": "workload", "name": "w", "version": 1, "summary": "", "page": "", "grows": "n",
            "variants": [{"name": "a", "summary": ""}, {"name": "b", "summary": ""}], "rivals": true,
            "series": [kind("up"), kind("down")]}),
    ];
    all.extend(systems.iter().map(|name| {
        json!({"type": "system", "name": name, "prefix": [],
        "environment": {}})
    }));
    let mut random = fastrand::Rng::with_seed(5);
    for trial in 1..=trials {
        for (system, variant) in systems.iter().flat_map(|system| [(system, "a"), (system, "b")]) {
            let key = json!({"system": system, "workload": "w", "variant": variant, "trial": trial});
            all.push(with(
                &key,
                &json!({"type": "trial", "version": 1, "n": n, "cpu": null, "seed": 1,
                "timeout_seconds": 9.0, "scratch": "", "started_seconds": trial, "elapsed_seconds": 1.0,
                "clock": null, "allowance_seconds": null, "outcome": {"ended": "complete"}}),
            ));
            let level = 1.0 + 0.1 * random.f64();
            for direction in ["up", "down"] {
                let values: Vec<f64> = (0..n).map(|_| 1e-6 * level * (1.0 + 0.2 * random.f64())).collect();
                let (first, step) = if direction == "up" { (1, 1) } else { (n as i64, -1) };
                all.push(with(
                    &key,
                    &json!({"type": "series", "name": "open", "direction": direction,
                    "n_first": first, "n_step": step, "batch": 1, "values": values}),
                ));
            }
        }
    }
    all.iter().map(|line| parse_line(&line.to_string())).collect()
}

fn with(key: &Value, rest: &Value) -> Value {
    let both = [key, rest].into_iter().filter_map(Value::as_object).flatten();
    Value::Object(both.map(|(name, value)| (name.clone(), value.clone())).collect())
}
