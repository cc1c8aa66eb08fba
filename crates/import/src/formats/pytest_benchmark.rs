//! JSON of pytest-benchmark, from `--benchmark-json=FILE` or `--benchmark-save-data`: statistics of each
//! test, and the time of each round.

use serde_json::Value;

use super::{Format, Place};
use crate::name::{Kind, MODULE, Name};
use crate::outcome::{Taken, Trials};

pub(super) const FORMAT: Format = Format::document("JSON of pytest-benchmark", Trials::Files, is_this, read);

fn is_this(document: &Value) -> bool {
    document["machine_info"].is_object() && document["benchmarks"].is_array()
}

fn read(document: &Value, _: &Place<'_>, taken: &mut Taken) -> Result<(), String> {
    for entry in document["benchmarks"].as_array().into_iter().flatten() {
        let text = entry["name"].as_str().unwrap_or("without a name");
        let module = entry["fullname"].as_str().and_then(|full| full.strip_suffix(text)?.strip_suffix("::"));
        let name =
            of_parameters(text, entry).unwrap_or_else(|| Name::parse(text)).with_origin(MODULE, module);
        let time = |value: &Value| value.as_f64().ok_or_else(|| "its time is no finite number".to_owned());
        match entry["stats"]["data"].as_array().filter(|rounds| !rounds.is_empty()) {
            Some(rounds) => taken.take(name, rounds.iter().map(time)),
            // Without the rounds their median is all that is known.
            None => taken.take(name, [time(&entry["stats"]["median"])]),
        }
    }
    Ok(())
}

/// Where parameters of the test are whole numbers, n is one of them, and the others belong to the name.
fn of_parameters(text: &str, entry: &Value) -> Option<Name> {
    let parameters = entry["params"].as_object()?;
    if !parameters.values().any(Value::is_u64) {
        return None;
    }
    let others: Vec<String> = parameters
        .values()
        .filter(|value| !value.is_u64())
        .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        .collect();
    let test = text.split('[').next().unwrap_or(text);
    let text = if others.is_empty() { test.to_owned() } else { format!("{test}[{}]", others.join("-")) };
    let name = Name { text, ..Name::default() };
    let numbers = parameters.iter().filter_map(|(key, value)| Some((key, value.as_u64()?)));
    Some(numbers.fold(name, |name, (key, n)| name.with(Kind::Parameter, key, n)))
}
