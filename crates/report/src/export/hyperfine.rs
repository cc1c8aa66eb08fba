//! The commands of a run as `hyperfine --export-json` writes them, for its scripts and for programs that read
//! its files. A time is that of a trial: the mean of its executions.

use std::collections::BTreeMap;
use std::io::{Result, Write};

use record::{Recording, SeriesKey, Trial};
use serde::Serialize;

/// The workload whose variants are commands.
const COMMAND: &str = "command";

#[derive(Serialize)]
struct File {
    results: Vec<CommandResult>,
}

/// One command on one system at one level, in seconds.
#[derive(Serialize)]
struct CommandResult {
    command: String,
    mean: f64,
    /// Of a single time there is none.
    stddev: Option<f64>,
    median: f64,
    user: Option<f64>,
    system: Option<f64>,
    min: f64,
    max: f64,
    memory_usage_byte: Vec<u64>,
    times: Vec<f64>,
    exit_codes: Vec<Option<i32>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'static str, String>,
}

/// Whether a run has commands.
pub fn has_commands(recording: &Recording) -> bool {
    recording.workloads.iter().any(|workload| workload.name == COMMAND)
}

/// Writes the commands of a run.
///
/// # Errors
/// Those of `out`.
pub fn write_hyperfine(recording: &Recording, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, &File { results: results(recording) })?;
    writeln!(out)
}

fn results(recording: &Recording) -> Vec<CommandResult> {
    let times = recording.series().filter(|(key, _)| key.workload == COMMAND && key.name == "time");
    let mut results = Vec::new();
    for (key, _) in times {
        let of = |name: &str| by_level(recording, &SeriesKey { name: name.to_owned(), ..key.clone() });
        let is_its = |trial: &&Trial| {
            (&trial.order.system, &trial.order.workload, &trial.order.variant)
                == (&key.system, &key.workload, &key.variant)
        };
        let settings = recording.trials.iter().find(is_its).map(|trial| &trial.order.settings);
        let setting = |name: &str| settings.and_then(|settings| settings.get(name));
        let template = setting("command").map_or("true", String::as_str);
        // The record has no status of each execution: all had that one, or there would be no time.
        let exit_code = setting("expect-exit").map_or(Some(0), |status| status.parse().ok());
        let (user, system, memory) = (of("user time"), of("system time"), of("peak memory"));
        for (n, times) in of("time") {
            let mut parameters = BTreeMap::new();
            if template.contains("{n}") {
                parameters.insert("n", n.to_string());
            }
            if recording.systems.len() > 1 {
                parameters.insert("system", key.system.clone());
            }
            let mean_of = |values: &BTreeMap<u64, Vec<f64>>| values.get(&n).map(|values| mean(values));
            let mut sorted = times.clone();
            sorted.sort_by(f64::total_cmp);
            let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else { continue };
            results.push(CommandResult {
                command: template.replace("{n}", &n.to_string()),
                mean: mean(&times),
                stddev: stddev(&times),
                median: f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]),
                user: mean_of(&user),
                system: mean_of(&system),
                min,
                max,
                memory_usage_byte: memory.get(&n).into_iter().flatten().map(|&bytes| bytes as u64).collect(),
                exit_codes: vec![exit_code; times.len()],
                times,
                parameters,
            });
        }
    }
    results
}

/// The values of one series at each level, in the order of trials.
fn by_level(recording: &Recording, key: &SeriesKey) -> BTreeMap<u64, Vec<f64>> {
    let mut levels: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (n, value) in recording.trials_of(key).iter().flat_map(|series| series.points()) {
        levels.entry(n).or_default().push(value);
    }
    levels
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The standard deviation of a sample.
fn stddev(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}
