//! JSON of google-benchmark, from `--benchmark_out=FILE` or `--benchmark_format=json`: a list of benchmarks,
//! with an entry for each repetition and others for their mean, median and deviation.

use serde_json::Value;

use super::{Format, Place};
use crate::name::{Kind, Name};
use crate::outcome::{Taken, Trials, seconds};

pub(super) const FORMAT: Format =
    Format::document("JSON of google-benchmark", Trials::Repetitions, is_this, read);

fn is_this(document: &Value) -> bool {
    document["context"].is_object() && document["benchmarks"].is_array()
}

fn read(document: &Value, _: &Place<'_>, taken: &mut Taken) -> Result<(), String> {
    let executable = document["context"]["executable"].as_str();
    for entry in document["benchmarks"].as_array().into_iter().flatten() {
        if is_computed(entry) {
            taken.computed += 1;
            continue;
        }
        let name = entry["run_name"].as_str().or_else(|| entry["name"].as_str()).unwrap_or("without a name");
        let mut name = Name::parse(&without_settings(name)).with_origin("executable", executable);
        let threads = name.numbers.iter_mut().filter(|number| number.key == "threads");
        threads.for_each(|number| number.kind = Kind::Processors);
        taken.take(name, [time(entry)]);
    }
    Ok(())
}

/// Whether it is a figure that was computed from repetitions.
fn is_computed(entry: &Value) -> bool {
    // Versions before 1.5 show it in the name only.
    let of_name = || {
        let name = entry["name"].as_str().unwrap_or_default();
        ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"].iter().any(|end| name.ends_with(end))
    };
    entry["run_type"].as_str().map_or_else(of_name, |kind| kind != "iteration")
}

fn time(entry: &Value) -> Result<f64, String> {
    let failed = |what: &str, message: &Value| match message.as_str() {
        Some(message) if !message.is_empty() => format!("it {what}: {message}"),
        _ => format!("it {what}"),
    };
    // An error is also a skip, in versions from 1.8 on.
    if entry["error_occurred"] == true {
        return Err(failed("failed", &entry["error_message"]));
    }
    if entry["skipped"] == true || entry["skipped"].is_string() {
        return Err(failed("was skipped", &entry["skip_message"]));
    }
    let unit = entry["time_unit"].as_str().unwrap_or("ns");
    let factor = seconds(unit).ok_or_else(|| format!("its unit is \"{unit}\" and no unit of time"))?;
    let time = entry["real_time"].as_f64().ok_or("its real_time is no finite number")?;
    Ok(time * factor)
}

/// The name without words about the measurement, such as `repeats:3`.
fn without_settings(name: &str) -> String {
    const SETTINGS: [&str; 4] = ["repeats", "iterations", "min_time", "min_warmup_time"];
    const KINDS: [&str; 3] = ["real_time", "process_time", "manual_time"];
    let is_setting = |part: &str| {
        part.split_once(':').is_some_and(|(name, _)| SETTINGS.contains(&name))
            || part == "threads:1"
            || KINDS.contains(&part)
    };
    name.split('/').filter(|part| !is_setting(part)).collect::<Vec<_>>().join("/")
}
