//! JSON of JMH, from `-rf json`: a list of benchmarks, with a list of iterations for each fork, which is a
//! process of its own. In mode `sample` an iteration is a histogram.

use serde_json::Value;

use super::{Format, Place};
use crate::name::{Kind, MODULE, Name};
use crate::outcome::{Taken, Trials, seconds};

pub(super) const FORMAT: Format = Format::document("JSON of JMH", Trials::Entries, is_this, read);

fn is_this(document: &Value) -> bool {
    let is_benchmark = |entry: &Value| entry["benchmark"].is_string() && entry["primaryMetric"].is_object();
    document.as_array().is_some_and(|entries| !entries.is_empty() && entries.iter().all(is_benchmark))
}

fn read(document: &Value, _: &Place<'_>, taken: &mut Taken) -> Result<(), String> {
    for entry in document.as_array().into_iter().flatten() {
        let (name, metric) = (name(entry), &entry["primaryMetric"]);
        taken.computed += entry["secondaryMetrics"].as_object().map_or(0, |others| others.len() as u64);
        let score_unit = metric["scoreUnit"].as_str().unwrap_or_default();
        let Some(unit) = Unit::parse(score_unit) else {
            taken.leave_out(
                &name.text,
                format!("its unit is \"{score_unit}\" and no time for each operation"),
            );
            continue;
        };
        let raw = [&metric["rawData"], &metric["rawDataHistogram"]];
        let forks: Vec<&Value> = raw.into_iter().filter_map(Value::as_array).flatten().collect();
        if forks.is_empty() {
            taken.leave_out(&name.text, "it has no raw data");
        }
        for fork in forks {
            let iterations = fork.as_array().into_iter().flatten();
            taken.take(name.clone(), iterations.map(|iteration| unit.seconds(score(iteration))));
        }
    }
    Ok(())
}

/// `List.add/size=1000` of a package, with other words that distinguish results.
fn name(entry: &Value) -> Name {
    let full = entry["benchmark"].as_str().unwrap_or_default();
    let class = full.rmatch_indices('.').nth(1).map_or(0, |(dot, _)| dot + 1);
    let mut text = full[class..].to_owned();
    for (key, value) in entry["params"].as_object().into_iter().flatten() {
        text.push_str(&format!("/{key}={}", value.as_str().unwrap_or_default()));
    }
    Name::parse(&text)
        .with_origin(MODULE, Some(full[..class].trim_end_matches('.')))
        .with_origin("mode", entry["mode"].as_str())
        .with(Kind::Processors, "threads", entry["threads"].as_u64().unwrap_or(1))
}

/// The score of an iteration: the mean where there is a histogram of value and count.
fn score(iteration: &Value) -> Option<f64> {
    let Some(bars) = iteration.as_array() else { return iteration.as_f64() };
    let bars: Option<Vec<(f64, f64)>> = bars.iter().map(|bar| bar[0].as_f64().zip(bar[1].as_f64())).collect();
    let bars = bars?;
    let sum: f64 = bars.iter().map(|(value, count)| value * count).sum();
    Some(sum / bars.iter().map(|(_, count)| count).sum::<f64>())
}

/// A unit of scores: a time for each operation, or operations in a time.
#[derive(Clone, Copy)]
enum Unit {
    Time(f64),
    Rate(f64),
}

impl Unit {
    fn parse(unit: &str) -> Option<Unit> {
        let (above, below) = unit.split_once('/')?;
        let time = |unit: &str| match unit {
            "min" => Some(60.0),
            "hr" => Some(3600.0),
            "day" => Some(86_400.0),
            unit => seconds(unit),
        };
        match (above, below) {
            ("ops", below) => time(below).map(Unit::Rate),
            (above, "op") => time(above).map(Unit::Time),
            _ => None,
        }
    }

    fn seconds(self, score: Option<f64>) -> Result<f64, String> {
        let score = score.ok_or("its score is no finite number")?;
        Ok(match self {
            Unit::Time(factor) => score * factor,
            Unit::Rate(factor) => factor / score,
        })
    }
}
