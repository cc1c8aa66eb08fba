//! JSON of hyperfine, from `--export-json FILE`: each command with its times, each of a fresh process.
//! Version 2 has a list of measurements with units instead of a list of times.

use serde_json::Value;

use super::{Format, Place};
use crate::name::{Kind, Name, Number};
use crate::outcome::{Taken, Trials, seconds};
use crate::text::parse_n;

pub(super) const FORMAT: Format = Format::document("JSON of hyperfine", Trials::Processes, is_this, read);

fn is_this(document: &Value) -> bool {
    let is_command = |entry: &Value| entry["command"].is_string();
    let has_times = |entry: &Value| entry["times"].is_array() || entry["measurements"].is_array();
    document["results"]
        .as_array()
        .is_some_and(|results| results.iter().all(is_command) && results.iter().any(has_times))
}

fn read(document: &Value, _: &Place<'_>, taken: &mut Taken) -> Result<(), String> {
    for result in document["results"].as_array().into_iter().flatten() {
        let times = result["times"].as_array().into_iter().flatten().enumerate();
        let of_times = times.map(|(i, time)| of_run(time, 1.0, result["exit_codes"].get(i)));
        let measurements = result["measurements"].as_array().into_iter().flatten();
        let of_measurements = measurements.map(|one| {
            let time = &one["time_wall_clock"];
            let unit = time["unit"].as_str().unwrap_or("s");
            let factor =
                seconds(unit).ok_or_else(|| format!("its unit is \"{unit}\" and no unit of time"))?;
            of_run(&time["value"], factor, one.get("exit_code"))
        });
        let runs: Vec<Result<f64, String>> = of_times.chain(of_measurements).collect();
        let name = name(result["command"].as_str().unwrap_or_default(), &result["parameters"]);
        if runs.is_empty() {
            taken.leave_out(&name.text, "it has no times of single runs");
        }
        taken.take(name, runs);
    }
    Ok(())
}

/// The time of a run that ended well.
fn of_run(time: &Value, factor: f64, exit_code: Option<&Value>) -> Result<f64, String> {
    match exit_code {
        Some(Value::Null) => return Err("ended by a signal".into()),
        Some(code) if code.as_i64() != Some(0) => return Err(format!("exit code {code}")),
        _ => {}
    }
    Ok(time.as_f64().ok_or("its time is no finite number")? * factor)
}

/// The command, with its parameters: those that are whole numbers as such, where they stand as words.
fn name(command: &str, parameters: &Value) -> Name {
    let mut name = Name { text: command.to_owned(), is_command: true, ..Name::default() };
    for (key, value) in parameters.as_object().into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let places = places(command, &text);
        match parse_n(text.as_bytes()) {
            Some(n) => {
                let number = Number { key: key.clone(), n, places, part: 0..0, kind: Kind::Parameter };
                name.numbers.push(number);
            }
            // A name of the user's own may not show its parameters.
            None if places.is_empty() => name.text.push_str(&format!(" ({key} {text})")),
            None => {}
        }
    }
    name
}

/// Where a value stands in a command: as words, or else between other letters and digits.
fn places(command: &str, value: &str) -> Vec<std::ops::Range<usize>> {
    let is_bounded = |start: usize, is_inside: fn(char) -> bool| {
        let before = command[..start].chars().next_back();
        let behind = command[start + value.len()..].chars().next();
        ![before, behind].into_iter().flatten().any(is_inside)
    };
    let found = |is_inside: fn(char) -> bool| {
        let starts = command.match_indices(value).map(|(start, _)| start);
        starts.filter(|start| is_bounded(*start, is_inside)).map(|start| start..start + value.len()).collect()
    };
    if value.is_empty() {
        return Vec::new();
    }
    let words: Vec<_> = found(|letter| letter != ' ');
    if words.is_empty() { found(char::is_alphanumeric) } else { words }
}
