//! The answer of `osdyno mail`: the outcomes of recipients, the rate, and the time of each step.

use ::report::document::{Column, Document, Table, Text, Tone};
use ::report::quantity::{duration, time};
use ::report::words::count;
use mail::{Delivered, DeliveryReport, JoinedDelivery, MailCounts, MailStep};
use net::load::{JointWindow, VoidReason};
use serde::{Serialize, Serializer};

use crate::cmd::limits::{LimitAnswer, LimitedFigure, Limits, MeasuredFigure};

/// The answer of `osdyno mail`.
#[derive(Serialize)]
pub(super) struct MailAnswer {
    /// Duration.
    elapsed_seconds: f64,
    /// The time at work: without the time in which the engine only waited for the next attempts.
    delivering_seconds: f64,
    /// Time in which the engine only waited.
    waiting_seconds: f64,
    /// Recipients accepted per second of `delivering_seconds`.
    deliveries_per_second: f64,
    /// The counts.
    counts: MailCounts,
    /// By name.
    #[serde(serialize_with = "by_name")]
    steps: Vec<(MailStep, StepTimes)>,
    /// The hosts of `--clients`.
    #[serde(skip_serializing_if = "Option::is_none")]
    joint: Option<JointMail>,
    /// Limits of `--max`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) limits: Vec<LimitAnswer>,
    /// Whether no message was to be sent.
    #[serde(skip)]
    is_test: bool,
}

/// Several hosts that delivered together.
#[derive(Serialize)]
struct JointMail {
    /// The processes that have delivered.
    workers: Vec<DeliveryReport>,
    /// The time in which all were at work.
    #[serde(flatten)]
    window: JointWindow,
}

/// How often a step was made, and how long it took.
#[derive(Serialize)]
struct StepTimes {
    /// How often.
    count: u64,
    /// Median.
    p50_seconds: f64,
    /// 99th percentile.
    p99_seconds: f64,
    /// 99.9th percentile.
    p999_seconds: f64,
}

fn by_name<S: Serializer>(steps: &[(MailStep, StepTimes)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(steps.iter().map(|(step, times)| (step.name(), times)))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

impl MailAnswer {
    pub(super) fn new(delivered: &Delivered, is_test: bool) -> MailAnswer {
        let measured = &delivered.measured;
        let delivering_seconds = seconds(delivered.delivering_ns);
        let timed = |step: MailStep| {
            let times = measured.times(step);
            let quantile = |share| seconds(times.quantile_ns(share));
            let row = StepTimes {
                count: times.count(),
                p50_seconds: quantile(0.5),
                p99_seconds: quantile(0.99),
                p999_seconds: quantile(0.999),
            };
            (row.count > 0).then_some((step, row))
        };
        MailAnswer {
            elapsed_seconds: seconds(delivered.elapsed_ns),
            delivering_seconds,
            waiting_seconds: seconds(delivered.elapsed_ns - delivered.delivering_ns),
            deliveries_per_second: measured.counts.accepted() as f64
                / delivering_seconds.max(f64::MIN_POSITIVE),
            counts: measured.counts,
            steps: MailStep::ALL.into_iter().filter_map(timed).collect(),
            joint: None,
            limits: Vec::new(),
            is_test,
        }
    }

    /// That of several hosts.
    pub(super) fn of_hosts(joined: JoinedDelivery, is_test: bool) -> MailAnswer {
        let JoinedDelivery { delivered, workers, window } = joined;
        let joint = Some(JointMail { workers, window });
        MailAnswer { joint, ..MailAnswer::new(&delivered, is_test) }
    }

    /// Why the figures do not count; empty where they do.
    fn void(&self) -> &[VoidReason] {
        self.joint.as_ref().map_or(&[], |joint| &joint.window.void)
    }

    /// Holds the delivery against limits. A percentile is that of the step that is slowest there; of the
    /// delivery there are the median, 99 % and 99.9 %.
    pub(super) fn hold_against(&mut self, limits: Option<&Limits>) {
        let slowest = |of: fn(&StepTimes) -> f64| {
            let times = self.steps.iter().map(|(_, times)| of(times));
            times.reduce(f64::max).map(MeasuredFigure::exact)
        };
        let figure = |figure: LimitedFigure| match figure {
            LimitedFigure::Percentile(50.0) => slowest(|times| times.p50_seconds),
            LimitedFigure::Percentile(99.0) => slowest(|times| times.p99_seconds),
            LimitedFigure::Percentile(99.9) => slowest(|times| times.p999_seconds),
            LimitedFigure::Percentile(_) | LimitedFigure::Ratio => None,
            LimitedFigure::Errors => {
                let failed = self.counts.failed + self.counts.queued;
                let all = failed + self.counts.accepted();
                (all > 0).then(|| MeasuredFigure::exact(failed as f64 / all as f64))
            }
            LimitedFigure::Rate => Some(MeasuredFigure::exact(self.deliveries_per_second)),
        };
        let all = limits.iter().flat_map(|limits| &limits.0);
        let doubt = self.void().first().map(|reason| format!("void: {reason}"));
        self.limits = all.map(|limit| limit.decide("", figure(limit.figure), doubt.clone())).collect();
    }

    /// Whether a server accepted every recipient, and the figures count.
    pub(super) fn is_whole(&self) -> bool {
        self.counts.queued == 0 && self.counts.failed == 0 && self.void().is_empty()
    }

    /// The answer as a document.
    pub(super) fn document(&self) -> Document {
        let mut document = Document { title: "Mail".into(), ..Document::default() };
        let deliveries = if self.is_test { "test deliveries" } else { "deliveries" };
        let rate = format!("{} {deliveries} per second", count(self.deliveries_per_second as u64));
        let accepted = count(self.counts.accepted());
        let waiting = match self.waiting_seconds {
            waiting if waiting > 0.0 => {
                format!(", and {} of waiting for the next attempts", duration(waiting))
            }
            _ => String::new(),
        };
        let delivering = duration(self.delivering_seconds);
        document.say(Text::toned(rate, Tone::Strong).and(format!(": {accepted} in {delivering}{waiting}")));
        for reason in self.void() {
            document.say(Text::toned(format!("void: {reason}"), Tone::Notable));
        }
        document.push(self.outcomes());
        document.push(self.times());
        self.joint.iter().for_each(|joint| document.push(joint.table()));
        document
    }

    /// Every recipient is in one of the first three rows; the others are there where there were any.
    fn outcomes(&self) -> Table {
        let counts = &self.counts;
        let mut table = Table { class: "facts", ..Table::without_headings(2) };
        let always = [
            (if self.is_test { "tested" } else { "delivered" }, counts.accepted()),
            ("failed", counts.failed),
            ("still queued", counts.queued),
        ];
        let others = [
            ("deferred", counts.deferred),
            ("connections", counts.connections),
            ("encrypted", counts.encrypted),
            ("TLS failed", counts.not_encrypted),
            ("not connected", counts.not_connected),
            ("lost", counts.lost),
            ("broken protocol", counts.faults),
            ("timed out", counts.timeouts),
            ("no descriptor or port", counts.exhausted),
        ];
        for (name, number) in always.into_iter().chain(others.into_iter().filter(|(_, number)| *number > 0)) {
            table.push([name.to_owned(), count(number)]);
        }
        table
    }

    fn times(&self) -> Table {
        let numbers = ["times", "p50", "p99", "p99.9"].map(Column::number);
        let mut table = Table::of_columns([Column::from("step")].into_iter().chain(numbers).collect());
        for (step, times) in &self.steps {
            let [p50, p99, p999] = [times.p50_seconds, times.p99_seconds, times.p999_seconds].map(time);
            table.push([step.name().to_owned(), count(times.count), p50, p99, p999]);
        }
        table
    }
}

impl JointMail {
    /// A row for each process.
    fn table(&self) -> Table {
        let numbers =
            ["accepted", "failed", "queued", "p50", "p99", "begun after", "clock ±"].map(Column::number);
        let mut table = Table::of_columns([Column::from("client")].into_iter().chain(numbers).collect());
        let known = |seconds: Option<f64>| seconds.map_or("—".to_owned(), time);
        for worker in &self.workers {
            let counts = &worker.counts;
            table.push([
                worker.name.clone(),
                count(counts.accepted()),
                count(counts.failed),
                count(counts.queued),
                known(worker.delivery_seconds_p50),
                known(worker.delivery_seconds_p99),
                time(worker.presence.begin_seconds),
                time(worker.presence.clock_error_seconds),
            ]);
        }
        table
    }
}
