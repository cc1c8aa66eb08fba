//! JSON for services that keep the results of benchmarks.
//!
//! - Bencher Metric Format: `{benchmark: {measure: {value, lower_value, upper_value}}}`
//!   (bencher.dev/bmf.json). The measures `latency` and `throughput` are those that every project has, in
//!   nanoseconds and in operations per second; names of measures have at most 64 characters, names of
//!   benchmarks 1,024.
//! - benchmark-action/github-action-benchmark, `tool: customSmallerIsBetter`: a list of objects with `name`,
//!   `unit`, `value`, and as text `range` and `extra` (its README, section on custom benchmarks). A rate is
//!   written as the time of one, because smaller is better in all of the list.

use std::io::{self, Write};

use record::Unit;
use serde_json::{Map, Value, json};
use stats::Interval;

use super::{BuildResults, OutputFormat, SeriesFigure};

const NAME_MAX: usize = 1024;
pub(super) const BENCHER: OutputFormat =
    OutputFormat { name: "bencher", summary: "JSON for Bencher: --adapter json", write: write_bencher };

pub(super) const BENCHMARK_ACTION: OutputFormat = OutputFormat {
    name: "benchmark-action",
    summary: "JSON for github-action-benchmark, customSmallerIsBetter",
    write: write_benchmark_action,
};

fn write_bencher(results: &BuildResults, out: &mut dyn Write) -> io::Result<()> {
    let mut benchmarks = Map::new();
    for figure in results.figures.iter().filter(|one| one.value.value.is_finite()) {
        let (measure, scale) = measure(figure.unit);
        let name: String = name(figure).chars().take(NAME_MAX).collect();
        let metrics = benchmarks.entry(name).or_insert_with(|| json!({}));
        metrics[measure] = metric(figure, scale);
    }
    serde_json::to_writer_pretty(&mut *out, &Value::Object(benchmarks))?;
    writeln!(out)
}

fn measure(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Seconds => ("latency", 1e9),
        Unit::PerSecond => ("throughput", 1.0),
        Unit::Bytes => ("size", 1.0),
        Unit::BytesPerSecond => ("bytes-per-second", 1.0),
        Unit::None => ("value", 1.0),
    }
}

fn name(figure: &SeriesFigure) -> String {
    let system = if figure.system.is_empty() { String::new() } else { format!(" on {}", figure.system) };
    format!("{}{system}, n = {}", figure.series, figure.n)
}

/// A bound that is not finite has no number in JSON and is left out.
fn metric(figure: &SeriesFigure, scale: f64) -> Value {
    let mut metric = json!({ "value": figure.value.value * scale });
    for (name, bound) in [("lower_value", figure.value.low), ("upper_value", figure.value.high)] {
        if bound.is_finite() {
            metric[name] = (bound * scale).into();
        }
    }
    metric
}

fn write_benchmark_action(results: &BuildResults, out: &mut dyn Write) -> io::Result<()> {
    let is_known = |one: &&SeriesFigure| one.value.value.is_finite() && one.value.value > 0.0;
    let entries: Vec<Value> = results.figures.iter().filter(is_known).map(entry).collect();
    serde_json::to_writer_pretty(&mut *out, &entries)?;
    writeln!(out)
}

fn entry(figure: &SeriesFigure) -> Value {
    let is_rate = figure.unit.more_is_better();
    let Interval { value, low, high } = if is_rate { figure.value.reciprocal() } else { figure.value };
    let (scale, unit) = match figure.unit {
        Unit::Seconds => (1e9, "ns"),
        Unit::PerSecond => (1e9, "ns for each"),
        Unit::BytesPerSecond => (1e9, "ns for each byte"),
        Unit::Bytes => (1.0, "bytes"),
        Unit::None => (1.0, "without unit"),
    };
    let is_bounded = low.is_finite() && high.is_finite();
    json!({
        "name": name(figure),
        "unit": unit,
        "value": value * scale,
        "range": is_bounded.then(|| format!("± {:.3e}", scale * (high - low) / 2.0)),
        "extra": is_bounded.then(|| format!("95 % interval {:.4e} to {:.4e}", low * scale, high * scale)),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::formats::tests::written;

    /// The schema: objects in objects, whose leaves have a value, and bounds that are numbers.
    #[test]
    fn the_schema_is_kept() {
        let all: Value = serde_json::from_str(&written(BENCHER)).expect("JSON");
        let benchmarks = all.as_object().expect("an object");
        assert_eq!(benchmarks.len(), 5);
        for metrics in benchmarks.values() {
            for (measure, metric) in metrics.as_object().expect("an object") {
                assert!(measure.len() <= 64 && metric["value"].is_number(), "{measure} {metric}");
                let value = metric["value"].as_f64();
                assert!(metric["lower_value"].as_f64() <= value && metric["upper_value"].as_f64() >= value);
                assert!(metric.as_object().expect("an object").len() <= 3);
            }
        }
        let bind = benchmarks.iter().find(|(name, _)| name.starts_with("bind") && name.ends_with("n = 10"));
        assert_eq!(bind.expect("bind").1["latency"]["value"], 1250.0);
    }

    #[test]
    fn every_entry_has_name_unit_and_value_and_smaller_is_better() {
        let all: Value = serde_json::from_str(&written(BENCHMARK_ACTION)).expect("JSON");
        let all = all.as_array().expect("a list");
        assert_eq!(all.len(), 5, "what is not finite is left out");
        for entry in all {
            assert!(entry["name"].is_string() && entry["unit"].is_string() && entry["value"].is_f64());
            assert!(entry["range"].is_string() && entry["extra"].is_string());
        }
        assert_eq!(all[0]["value"], 1250.0);
        // 24,600 per second.
        let rate = all[2]["value"].as_f64().expect("a number");
        assert!((rate - 1e9 / 24_600.0).abs() < 1e-6, "{rate}");
        let names: BTreeSet<&str> = all.iter().filter_map(|entry| entry["name"].as_str()).collect();
        assert_eq!(names.len(), 5, "names are unique");
    }
}
