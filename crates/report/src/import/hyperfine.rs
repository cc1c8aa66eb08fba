//! JSON of hyperfine, from `--export-json FILE`: each command with its times, each of a fresh process.
//! Version 2 has a list of measurements with units instead of a list of times.

use serde_json::Value;

use super::samples::Sample;

pub(super) fn is_this(document: &Value) -> bool {
    let is_command = |entry: &Value| {
        entry["command"].is_string() && (entry["times"].is_array() || entry["measurements"].is_array())
    };
    document["results"]
        .as_array()
        .is_some_and(|results| !results.is_empty() && results.iter().all(is_command))
}

pub(super) fn read(document: &Value) -> Vec<Sample> {
    let results = document["results"].as_array().into_iter().flatten();
    results.filter_map(sample).collect()
}

fn sample(result: &Value) -> Option<Sample> {
    let values = |list: &str, of: fn(&Value) -> Option<f64>| -> Vec<f64> {
        result[list].as_array().into_iter().flatten().filter_map(of).collect()
    };
    let mut seconds = values("times", Value::as_f64);
    seconds.extend(values("measurements", |one| one["time_wall_clock"]["value"].as_f64()));
    let command = result["command"].as_str()?;
    let (series, n) = parameter(result).map_or((command.to_owned(), 1), |(name, value, n)| {
        // A word of the command is the value; a longer word may only contain its digits.
        let word = |word: &str| if word == value { format!("{{{name}}}") } else { word.to_owned() };
        (command.split(' ').map(word).collect::<Vec<_>>().join(" "), n)
    });
    Some(Sample { series, n, seconds })
}

/// The one parameter that is a number: its name, its text and its value.
fn parameter(result: &Value) -> Option<(&str, String, u64)> {
    let number = |(name, value): (&'_ String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let n = text.parse().ok()?;
        Some((name.clone(), text, n))
    };
    let parameters = result["parameters"].as_object()?;
    let mut numbers = parameters.iter().filter_map(number);
    let (name, text, n) = numbers.next().filter(|_| numbers.next().is_none())?;
    let name = parameters.keys().find(|key| **key == name)?;
    Some((name, text, n))
}
