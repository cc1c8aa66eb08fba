//! The summary of k6, from `--summary-export=FILE` or `handleSummary`: figures of one run, times in
//! milliseconds. n is the most virtual users that were active; the median stands for the run.

use serde_json::Value;

use super::{Format, Place};
use crate::name::{Kind, Name};
use crate::outcome::{Taken, Trials};

pub(super) const FORMAT: Format = Format::document("summary of k6", Trials::Files, is_this, read);

/// Metrics of time that k6 has itself; the export does not mark others.
const TIMES: [&str; 6] = [
    "http_req_",
    "iteration_duration",
    "group_duration",
    "grpc_req_duration",
    "ws_connecting",
    "ws_session_duration",
];

fn is_this(document: &Value) -> bool {
    document["metrics"].is_object() && document["root_group"].is_object()
        || document["metrics"].get("iterations").is_some() && document["metrics"].get("vus_max").is_some()
}

/// The figures of a metric: in a field of their own, or, in the export, beside its thresholds.
fn figures(metric: &Value) -> &Value {
    metric.get("values").unwrap_or(metric)
}

fn read(document: &Value, _: &Place<'_>, taken: &mut Taken) -> Result<(), String> {
    let metrics = &document["metrics"];
    let most = |name: &str| {
        let figures = figures(&metrics[name]);
        figures["max"].as_f64().or(figures["value"].as_f64()).filter(|users| *users >= 1.0)
    };
    let users = most("vus").or(most("vus_max")).ok_or("does not say how many virtual users there were")?;
    for (name, metric) in metrics.as_object().into_iter().flatten() {
        let figures = figures(metric);
        if figures.get("med").is_none() && figures.get("avg").is_none() {
            // A counter, a gauge or a rate.
            taken.computed += 1;
            continue;
        }
        let is_time = metric["contains"] == "time" || TIMES.iter().any(|time| name.starts_with(time));
        let median = figures["med"].as_f64().ok_or("it has no median");
        let time: Result<f64, String> = match median {
            Ok(_) if !is_time => {
                Err("it may be no time: the export does not say so, handleSummary does".into())
            }
            Ok(0.0) => Err("its median is 0".into()),
            Ok(median) => Ok(median * 1e-3),
            Err(reason) => Err(reason.to_owned()),
        };
        let name = Name { text: name.clone(), ..Name::default() };
        match time {
            Ok(time) => taken.take(name.with(Kind::Parameter, "vus", users as u64), [Ok(time)]),
            Err(reason) => taken.pass_over(&name.text, reason),
        }
    }
    let failed = figures(&metrics["http_req_failed"]);
    if let Some(rate) = failed["rate"].as_f64().or(failed["value"].as_f64()).filter(|rate| *rate > 0.0) {
        taken.remarks.push(format!("{:.1} % of the requests failed, and their times count", rate * 100.0));
    }
    Ok(())
}
