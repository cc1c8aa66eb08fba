//! JSON of pytest-benchmark, from `--benchmark-json=FILE` or `--benchmark-save-data`: statistics of each
//! test, and the time of each round.

use serde_json::Value;

use super::samples::{Sample, split_n};

pub(super) fn is_this(document: &Value) -> bool {
    document["machine_info"].is_object() && document["benchmarks"].is_array()
}

pub(super) fn read(document: &Value) -> Vec<Sample> {
    let entries = document["benchmarks"].as_array().into_iter().flatten();
    entries.filter_map(sample).collect()
}

fn sample(entry: &Value) -> Option<Sample> {
    let rounds = entry["stats"]["data"].as_array();
    let seconds: Vec<f64> = match rounds.filter(|rounds| !rounds.is_empty()) {
        Some(rounds) => rounds.iter().filter_map(Value::as_f64).collect(),
        // Without the rounds their median is all that is known.
        None => vec![entry["stats"]["median"].as_f64()?],
    };
    let name = entry["name"].as_str()?;
    let (series, n) = of_parameters(name, entry).unwrap_or_else(|| split_n(name));
    Some(Sample { series, n, seconds })
}

/// Where exactly one parameter of the test is a number, it is n, and the others belong to the name.
fn of_parameters(name: &str, entry: &Value) -> Option<(String, u64)> {
    let parameters = entry["params"].as_object()?;
    let mut numbers = parameters.values().filter_map(Value::as_u64);
    let n = numbers.next().filter(|_| numbers.next().is_none())?;
    let others: Vec<String> = parameters
        .values()
        .filter(|value| value.as_u64().is_none())
        .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        .collect();
    let test = name.split('[').next().unwrap_or(name);
    let series = if others.is_empty() { test.to_owned() } else { format!("{test}[{}]", others.join("-")) };
    Some((series, n))
}
