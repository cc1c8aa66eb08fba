//! Several load generators in the answer of a load: the limit of each, and a table with a row for each.

use ::report::document::{Column, Row, Table, Text, Tone};
use ::report::quantity::time;
use ::report::words::{NO_BREAK, count, percent};
use judge::{LoadVerdict, load_verdict};
use net::load::{GeneratorReport, JointLoad, Level};
use record::{GeneratorLevel, LimitedBy, Purpose, Tester, TrialKey};

/// The first worker that was limited by itself, or by other programs, with the evidence.
pub(super) fn limited_worker(level: &Level) -> Option<(LimitedBy, String)> {
    level.joint.as_ref().and_then(limited_one)
}

fn limited_one(joint: &JointLoad) -> Option<(LimitedBy, String)> {
    if joint.workers.len() == 1 {
        return None;
    }
    // A hundredth of the load limits nothing, and has few requests: one that is late is a percentile.
    let mut loaders = joint.workers.iter().filter(|worker| !is_observer(joint, worker));
    loaders.find_map(|worker| {
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
    match is_observer(joint, worker) {
        true => format!("{} (observer)", worker.name),
        false => worker.name.clone(),
    }
}

fn is_observer(joint: &JointLoad, worker: &GeneratorReport) -> bool {
    joint.observer.as_ref().is_some_and(|observer| observer.name == worker.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report of a generator in a closed loop that was so busy.
    fn report(name: &str, cpu_share: f64) -> GeneratorReport {
        let report = serde_json::json!({
            "name": name, "connections": 5, "elapsed_seconds": 1.0, "intended": null, "started": 100,
            "completed": 100, "failed": 0, "timed_out": 0, "late": 0, "unanswered": 0,
            "latency_seconds_p50": 1e-4, "latency_seconds_p99": 2e-4, "lateness_seconds_p99": null,
            "watch": {
                "cpu_seconds": cpu_share, "cpu_share": cpu_share, "run_delay_seconds": 0.0,
                "run_delay_share": 0.0, "sends_blocked": 0, "waits": 1, "events": 1, "retransmits": null,
                "listen_overflows": null, "listen_drops": null,
            },
            "begin_seconds": 0.0, "absent_seconds": 0.0, "clock_offset_seconds": 0.0,
            "clock_error_seconds": 0.0, "clock_drift": 0.0,
        });
        serde_json::from_value(report).expect("a report")
    }

    fn limited(shares: &[f64]) -> Option<(LimitedBy, String)> {
        let names = ["a", "b", "c"];
        let workers = names.iter().zip(shares).map(|(name, share)| report(name, *share)).collect();
        limited_one(&JointLoad {
            workers,
            start_spread_seconds: 0.0,
            start_spread_error_seconds: 0.0,
            overlap_share: 1.0,
            observer: None,
            void: Vec::new(),
        })
    }

    #[test]
    fn one_saturated_generator_of_several_is_named() {
        assert_eq!(limited(&[0.5, 0.6, 0.7]), None);
        let (by, why) = limited(&[0.5, 0.95, 0.2]).expect("a saturated generator");
        assert_eq!((by, why.as_str()), (LimitedBy::Generator, "b: it was busy 95 % of the time"));
        assert_eq!(limited(&[0.95]), None, "one alone is the level");
    }
}
