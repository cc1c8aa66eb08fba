//! JSON for benchmark-action/github-action-benchmark, `tool: customSmallerIsBetter`: a list of objects with
//! `name`, `unit`, `value`, and as text `range` and `extra` (its README, section on custom benchmarks).
//!
//! A rate is written as the time of one, because smaller is better in all of the list.

use std::io::{self, Write};

use record::Unit;
use serde_json::json;

use super::{BuildResults, OutputFormat, SeriesFigure};

pub(super) const FORMAT: OutputFormat = OutputFormat {
    name: "benchmark-action",
    summary: "JSON for github-action-benchmark, customSmallerIsBetter",
    write,
};

fn write(results: &BuildResults, out: &mut dyn Write) -> io::Result<()> {
    let is_known = |one: &&SeriesFigure| one.value.value.is_finite() && one.value.value > 0.0;
    let entries: Vec<serde_json::Value> = results.figures.iter().filter(is_known).map(entry).collect();
    serde_json::to_writer_pretty(&mut *out, &entries)?;
    writeln!(out)
}

fn entry(figure: &SeriesFigure) -> serde_json::Value {
    let interval = figure.value;
    let (value, low, high) = match figure.unit.more_is_better() {
        true => (1.0 / interval.value, 1.0 / interval.high, 1.0 / interval.low),
        false => (interval.value, interval.low, interval.high),
    };
    let (scale, unit) = match figure.unit {
        Unit::Seconds => (1e9, "ns"),
        Unit::PerSecond => (1e9, "ns for each"),
        Unit::BytesPerSecond => (1e9, "ns for each byte"),
        Unit::Bytes => (1.0, "bytes"),
        Unit::None => (1.0, "without unit"),
    };
    let system = if figure.system.is_empty() { String::new() } else { format!(" on {}", figure.system) };
    let is_bounded = low.is_finite() && high.is_finite();
    json!({
        "name": format!("{}{system}, n = {}", figure.series, figure.n),
        "unit": unit,
        "value": value * scale,
        "range": is_bounded.then(|| format!("± {:.3e}", scale * (high - low) / 2.0)),
        "extra": is_bounded.then(|| format!("95 % interval {:.4e} to {:.4e}", low * scale, high * scale)),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::formats::tests::written;

    #[test]
    fn every_entry_has_name_unit_and_value_and_smaller_is_better() {
        let all: Value = serde_json::from_str(&written(FORMAT)).expect("JSON");
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
        let names: std::collections::BTreeSet<&str> =
            all.iter().filter_map(|entry| entry["name"].as_str()).collect();
        assert_eq!(names.len(), 5, "names are unique");
    }
}
