//! How long the judgement between two looks takes: `between_looks TRIALS N [SYSTEMS]` on an emulated curve of
//! two variants, each with a way up and a way down.

#![allow(clippy::print_stdout, reason = "an example speaks")]

use std::error::Error;
use std::time::Instant;

use judge::{MeasuredVariant, undecided};
use record::{Line, Recording};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<usize> =
        std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, std::num::ParseIntError>>()?;
    let [trials, n, rest @ ..] = numbers.as_slice() else {
        return Err("usage: between_looks TRIALS N".into());
    };
    let systems: Vec<String> = (0..rest.first().copied().unwrap_or(1)).map(|i| format!("s{i}")).collect();
    let recording = Recording::new(lines(&systems, *trials, *n)?).ok_or("no run line")?;
    let measurements: usize = recording.series().flat_map(|(_, all)| all).map(|one| one.values.len()).sum();
    let changed = |variants: &[&'static str]| -> Vec<MeasuredVariant<'_>> {
        let of = |system| variants.iter().map(move |variant| MeasuredVariant { system, variant });
        systems.iter().flat_map(|system| of(system.as_str())).collect()
    };
    for variants in [&["a", "b"][..], &["a"]] {
        let begun = Instant::now();
        let open = undecided(&recording, &changed(variants), true);
        let took = begun.elapsed();
        println!("{measurements} measurements, changed {variants:?}: {took:.1?}, undecided {open:?}");
    }
    Ok(())
}

fn lines(systems: &[String], trials: usize, n: usize) -> Result<Vec<Line>, serde_json::Error> {
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
    all.into_iter().map(serde_json::from_value).collect()
}

fn with(key: &Value, rest: &Value) -> Value {
    let both = [key, rest].into_iter().filter_map(Value::as_object).flatten();
    Value::Object(both.map(|(name, value)| (name.clone(), value.clone())).collect())
}
