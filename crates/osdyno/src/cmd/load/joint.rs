//! Several load generators in the answer of a load: a table with a row for each, and its limit.

use ::report::document::{Column, Row, Table, Text, Tone};
use ::report::quantity::time;
use ::report::words::{NO_BREAK, count, percent};
use judge::{LoadVerdict, part_verdict};
use net::load::{GeneratorReport, JointLoad};
use record::GeneratorLevel;

/// How certainly all generators were at work at the same time.
pub(super) fn together(joint: &JointLoad) -> String {
    format!(
        "{} began within {} (± {}); all were at work for {:.2}{NO_BREAK}% of the time",
        joint.workers.len(),
        time(joint.window.start_spread_seconds),
        time(joint.window.start_spread_error_seconds),
        100.0 * joint.window.overlap_share
    )
}

/// A row for each generator.
pub(super) fn table(joint: &JointLoad, facts: &GeneratorLevel) -> Table {
    let numbers = ["requests/s", "p50", "p99", "busy", "begun after", "clock ±"].map(Column::number);
    let columns = [Column::from("generator")].into_iter().chain(numbers).collect();
    let mut table = Table { class: "numbers", is_split: true, ..Table::of_columns(columns) };
    let known = |seconds: Option<f64>| seconds.map_or("—".to_owned(), time);
    for worker in &joint.workers {
        let rate = worker.requests.completed as f64 / worker.elapsed_seconds.max(1e-9);
        let cells = [
            name(joint, worker),
            count(rate.round() as u64),
            known(worker.latency_seconds_p50),
            known(worker.latency_seconds_p99),
            percent(worker.watch.cpu_share),
            time(worker.presence.begin_seconds),
            time(worker.presence.clock_error_seconds),
        ];
        let below = limit(facts, worker).map(|why| Text::toned(format!("limited: {why}"), Tone::Open));
        table.push(Row { below: below.into_iter().collect(), ..Row::from(cells) });
    }
    table
}

/// Why a generator offered less than its part, if it did.
fn limit(facts: &GeneratorLevel, worker: &GeneratorReport) -> Option<String> {
    let part = facts.parts.iter().find(|part| part.name == worker.name)?;
    match part_verdict(facts, part) {
        verdict @ LoadVerdict::Limited(..) => ::report::sentences::load_reason(facts, &verdict),
        _ => None,
    }
}

fn name(joint: &JointLoad, worker: &GeneratorReport) -> String {
    match is_observer(joint, worker) {
        true => format!("{} (observer)", worker.name),
        false => worker.name.clone(),
    }
}

fn is_observer(joint: &JointLoad, worker: &GeneratorReport) -> bool {
    joint.observer.as_ref().is_some_and(|observer| observer.name == worker.name)
}
