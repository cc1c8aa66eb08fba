//! Bencher Metric Format: `{benchmark: {measure: {value, lower_value, upper_value}}}` (bencher.dev/bmf.json).
//!
//! The measures `latency` and `throughput` are those that every project has, in nanoseconds and in operations
//! per second; names of measures have at most 64 characters, names of benchmarks 1,024.

use std::io::{self, Write};

use record::Unit;
use serde_json::{Map, Value, json};

use super::{BuildResults, OutputFormat, SeriesFigure};

const NAME_MAX: usize = 1024;

pub(super) const FORMAT: OutputFormat =
    OutputFormat { name: "bencher", summary: "JSON for Bencher: --adapter json", write };

fn write(results: &BuildResults, out: &mut dyn Write) -> io::Result<()> {
    let mut benchmarks = Map::new();
    for figure in results.figures.iter().filter(|one| one.value.value.is_finite()) {
        let (measure, scale) = measure(figure.unit);
        let metrics = benchmarks.entry(name(figure)).or_insert_with(|| json!({}));
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
    let name = format!("{}{system}, n = {}", figure.series, figure.n);
    name.chars().take(NAME_MAX).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tests::written;

    /// The schema: objects in objects, whose leaves have a value, and bounds that are numbers.
    #[test]
    fn the_schema_is_kept() {
        let all: Value = serde_json::from_str(&written(FORMAT)).expect("JSON");
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
}
