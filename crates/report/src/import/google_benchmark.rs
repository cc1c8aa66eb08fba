//! JSON of google-benchmark, from `--benchmark_out=FILE` or `--benchmark_format=json`: a list of benchmarks,
//! with an entry for each repetition and others for their mean, median and deviation.

use serde_json::Value;

use super::samples::{Sample, seconds, split_n};

pub(super) fn is_this(document: &Value) -> bool {
    document["context"].is_object() && document["benchmarks"].is_array()
}

/// The repetitions; figures that were computed from them are left out.
pub(super) fn read(document: &Value) -> Vec<Sample> {
    let entries = document["benchmarks"].as_array().into_iter().flatten();
    entries.filter(|entry| is_repetition(entry)).filter_map(sample).collect()
}

fn is_repetition(entry: &Value) -> bool {
    let failed = entry["error_occurred"] == true || entry["skipped"] == true;
    // Versions before 1.5 say it with the name alone.
    let of_name = || {
        let name = entry["name"].as_str().unwrap_or_default();
        !["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"].iter().any(|end| name.ends_with(end))
    };
    !failed && entry["run_type"].as_str().map_or_else(of_name, |kind| kind == "iteration")
}

fn sample(entry: &Value) -> Option<Sample> {
    let name = entry["run_name"].as_str().or_else(|| entry["name"].as_str())?;
    let (series, n) = split_n(&without_settings(name));
    let unit = seconds(entry["time_unit"].as_str().unwrap_or("ns"))?;
    Some(Sample { series, n, seconds: vec![entry["real_time"].as_f64()? * unit] })
}

/// The name without what says how it was measured, such as `repeats:3`.
fn without_settings(name: &str) -> String {
    const SETTINGS: [&str; 5] = ["repeats", "iterations", "min_time", "min_warmup_time", "threads"];
    const KINDS: [&str; 3] = ["real_time", "process_time", "manual_time"];
    let is_setting = |part: &str| {
        part.split_once(':').is_some_and(|(name, _)| SETTINGS.contains(&name) && name != "threads")
            || part == "threads:1"
            || KINDS.contains(&part)
    };
    name.split('/').filter(|part| !is_setting(part)).collect::<Vec<_>>().join("/")
}
