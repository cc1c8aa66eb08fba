//! Several load generators in the answer of a load: the limit of each, and a table with a row for each.

use ::report::document::{Column, Row, Table, Text, Tone};
use ::report::quantity::time;
use ::report::words::{NO_BREAK, count, percent};
use judge::{LoadVerdict, load_verdict};
use net::load::{GeneratorReport, JointLoad, Level};
use record::{GeneratorLevel, LimitedBy, Purpose, Tester, TrialKey};

/// The first worker that was limited by itself, or by other programs, with the evidence.
pub(super) fn limited_worker(level: &Level) -> Option<(LimitedBy, String)> {
    let workers = level.joint.as_ref().filter(|joint| joint.workers.len() > 1)?;
    workers.workers.iter().find_map(|worker| {
        let (by, why) = limit(worker)?;
        Some((by, format!("{}: {why}", worker.name)))
    })
}

/// Whether a generator offered less than it was asked for.
fn limit(worker: &GeneratorReport) -> Option<(LimitedBy, String)> {
    let facts = facts(worker);
    let verdict = load_verdict(&facts);
    match &verdict {
        LoadVerdict::Limited(by, _) => {
            Some((*by, ::report::sentences::load_reason(&facts, &verdict).unwrap_or_default()))
        }
        _ => None,
    }
}

/// The observations of one generator of itself.
fn facts(worker: &GeneratorReport) -> GeneratorLevel {
    let per_second = |requests: u64| requests as f64 / worker.elapsed_seconds.max(1e-9);
    GeneratorLevel {
        of: TrialKey::default(),
        n: worker.connections as u64,
        purpose: Purpose::Level,
        tester: Tester::Generator,
        client_cpu_share: None,
        series: Vec::new(),
        generators: 1,
        connections: worker.connections as u64,
        elapsed_seconds: worker.elapsed_seconds,
        intended_per_second: worker.intended.map(per_second),
        started_per_second: per_second(worker.started),
        completed_per_second: per_second(worker.completed),
        unanswered: worker.unanswered,
        timed_out: worker.timed_out,
        cpu_share: worker.watch.cpu_share,
        run_delay_share: worker.watch.run_delay_share,
        latency_seconds_p50: worker.latency_seconds_p50,
        lateness_seconds_p99: worker.lateness_seconds_p99,
        failures: Vec::new(),
    }
}

/// How certainly all generators were at work at the same time.
pub(super) fn together(joint: &JointLoad) -> String {
    format!(
        "{} began within {} (± {}); all were at work for {:.2}{NO_BREAK}% of the time",
        joint.workers.len(),
        time(joint.start_spread_seconds),
        time(joint.start_spread_error_seconds),
        100.0 * joint.overlap_share
    )
}

/// A row for each generator.
pub(super) fn table(joint: &JointLoad) -> Table {
    let numbers = ["requests/s", "p50", "p99", "busy", "begun after", "clock ±"].map(Column::number);
    let columns = [Column::from("generator")].into_iter().chain(numbers).collect();
    let mut table = Table { class: "numbers", is_split: true, ..Table::of_columns(columns) };
    let known = |seconds: Option<f64>| seconds.map_or("—".to_owned(), time);
    for worker in &joint.workers {
        let rate = worker.completed as f64 / worker.elapsed_seconds.max(1e-9);
        let cells = [
            name(joint, worker),
            count(rate.round() as u64),
            known(worker.latency_seconds_p50),
            known(worker.latency_seconds_p99),
            percent(worker.watch.cpu_share),
            time(worker.begin_seconds),
            time(worker.clock_error_seconds),
        ];
        let below = limit(worker).map(|(_, why)| Text::toned(format!("limited: {why}"), Tone::Open));
        table.push(Row { below: below.into_iter().collect(), ..Row::from(cells) });
    }
    table
}

fn name(joint: &JointLoad, worker: &GeneratorReport) -> String {
    let is_observer = joint.observer.as_ref().is_some_and(|observer| observer.name == worker.name);
    if is_observer { format!("{} (observer)", worker.name) } else { worker.name.clone() }
}
