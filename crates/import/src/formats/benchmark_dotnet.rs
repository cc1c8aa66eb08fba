//! JSON of BenchmarkDotNet, from `--exporters json`: benchmarks with their measurements, each with the launch
//! it is of, which is a process. A file without measurements has the values of its statistics.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Format, Place};
use crate::name::{MODULE, Name};
use crate::outcome::{Taken, Trials};

pub(super) const FORMAT: Format = Format::document("JSON of BenchmarkDotNet", Trials::Entries, is_this, read);

fn is_this(document: &Value) -> bool {
    document["HostEnvironmentInfo"].is_object() && document["Benchmarks"].is_array()
}

fn read(document: &Value, _: &Place<'_>, taken: &mut Taken) -> Result<(), String> {
    for entry in document["Benchmarks"].as_array().into_iter().flatten() {
        let name = name(entry);
        let measurements: Vec<&Value> = entry["Measurements"].as_array().into_iter().flatten().collect();
        let results = measurements.iter().filter(|one| is_result(one)).count();
        taken.computed += (measurements.len() - results) as u64;
        let mut launches: BTreeMap<u64, Vec<Result<f64, String>>> = BTreeMap::new();
        for one in measurements.iter().filter(|one| is_result(one)) {
            let launch = one["LaunchIndex"].as_u64().unwrap_or_default();
            launches.entry(launch).or_default().push(time(one));
        }
        let values = entry["Statistics"]["OriginalValues"].as_array().filter(|_| launches.is_empty());
        if let Some(values) = values {
            let time = |value: &Value| {
                value.as_f64().map(|time| time * 1e-9).ok_or("its time is no number".to_owned())
            };
            launches.insert(0, values.iter().map(time).collect());
        }
        if launches.values().all(Vec::is_empty) {
            taken.leave_out(&name.text, "it has no results, as one that failed");
        }
        launches.into_values().for_each(|times| taken.take(name.clone(), times));
    }
    Ok(())
}

/// Whether it is an iteration from which the overhead is subtracted already.
fn is_result(measurement: &Value) -> bool {
    // Versions before 0.11 have one word for both.
    measurement["IterationStage"] == "Result" || measurement["IterationMode"] == "Result"
}

fn time(measurement: &Value) -> Result<f64, String> {
    let (time, operations) = (measurement["Nanoseconds"].as_f64(), measurement["Operations"].as_f64());
    let (time, operations) = time.zip(operations).ok_or("it has no finite time and operations")?;
    Ok(time / operations * 1e-9)
}

/// `List.Add/N=1000` of a namespace and a job.
fn name(entry: &Value) -> Name {
    let text = |field: &str| entry[field].as_str().unwrap_or_default();
    let mut name = format!("{}.{}", text("Type"), text("Method"));
    for parameter in text("Parameters").split(['&', ',']).map(str::trim).filter(|one| !one.is_empty()) {
        name.push_str(&format!("/{parameter}"));
    }
    let job = text("DisplayInfo").split_once(": ").map(|(_, job)| job.split(" [").next().unwrap_or(job));
    Name::parse(&name).with_origin(MODULE, entry["Namespace"].as_str()).with_origin("job", job)
}
