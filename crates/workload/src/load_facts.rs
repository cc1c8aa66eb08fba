//! The record of a load beside its series: the load generator's own observations, percentiles that are only
//! lower bounds, the distribution of latencies, and the memory that connections take.

use std::io;

use net::load::{Distribution, GeneratorReport, JointLoad, Level, Times};
use record::{
    FailureCount, GeneratorLevel, GeneratorPart, Histogram, Limitation, LimitedBy, Line, Purpose, Tester,
    TrialKey, Unit,
};

use crate::server::ServerUnderTest;
use crate::{LevelRecorder, Trial};

/// The percentiles that loads report, by the names of their series.
const PERCENTILES: [(&str, f64); 3] = [("p50", 50.0), ("p99", 99.0), ("p999", 99.9)];

/// Reports `p50`, `p99` and `p999`.
pub fn latencies(level: &Level, recorder: &mut LevelRecorder<'_>) {
    for (name, percent) in PERCENTILES {
        recorder.value(name, percentile(level, percent));
    }
}

/// The latency that this percentage of all requests did not exceed. If more than the rest had no
/// response, it is longer than every measured one, and the longest is returned.
pub fn percentile(level: &Level, percent: f64) -> f64 {
    let percentile = level.latency.percentile(percent).and_then(|percentile| percentile.seconds);
    percentile.unwrap_or(level.latency.max_seconds)
}

/// Records a load that was held at this level and measured these series, or all where none is named.
pub fn record_load(level: &Level, series: &[&str], recorder: &mut LevelRecorder<'_>) {
    let n = recorder.n();
    let names = series.iter().map(|&name| name.to_owned()).collect();
    let generator = GeneratorLevel { series: names, ..generator_level(n, Purpose::Level, level) };
    recorder.fact(Line::Generator(generator));
    let is_measured = |name: &str| series.is_empty() || series.contains(&name);
    if !PERCENTILES.iter().any(|(name, _)| is_measured(name)) {
        return;
    }
    if let Some(bounds) = lower_bounds(n, level, is_measured) {
        recorder.fact(Line::Limited(bounds));
    }
    record_latencies(&level.latency.hdr, recorder);
}

/// Records a load that found the capacity of the server; levels are shares of it.
pub fn record_capacity(level: &Level, trial: &mut Trial<'_>) {
    trial.facts.push(Line::Generator(generator_level(0, Purpose::Capacity, level)));
}

/// Records the distribution of the latencies at this level, where there are any.
pub fn record_latencies(latencies: &Times, recorder: &mut LevelRecorder<'_>) {
    record_times("latency", latencies, recorder);
}

/// Records a distribution of times at this level, where there are any.
pub fn record_times(name: &str, times: &Times, recorder: &mut LevelRecorder<'_>) {
    if times.count() == 0 {
        return;
    }
    recorder.fact(Line::Histogram(Histogram {
        of: TrialKey::default(),
        n: recorder.n(),
        name: name.to_owned(),
        unit: Unit::Seconds,
        scale: 1e-9,
        count: times.count(),
        hdr: times.encoded(),
    }));
}

/// The load generator's own observations while it offered a load; the worker fills in the trial.
pub fn generator_level(n: u64, purpose: Purpose, level: &Level) -> GeneratorLevel {
    let per_second = |requests: u64| requests as f64 / level.elapsed_seconds.max(1e-9);
    let failures = level.failures.iter().map(|failure| FailureCount {
        stage: failure.stage.name().to_owned(),
        cause: failure.cause.clone(),
        count: failure.count,
    });
    GeneratorLevel {
        n,
        purpose,
        generators: level.workers as u64,
        connections: level.load.connections as u64,
        elapsed_seconds: level.elapsed_seconds,
        intended_per_second: level.intended.map(per_second),
        started_per_second: level.started_per_second,
        completed_per_second: level.completed_per_second,
        unanswered: level.requests.unanswered,
        timed_out: level.requests.timed_out,
        cpu_share: level.watch.cpu_share,
        run_delay_share: level.watch.run_delay_share,
        latency_seconds_p50: quantile(&level.latency, 0.5),
        lateness_seconds_p99: level.lateness.as_ref().and_then(|lateness| quantile(lateness, 0.99)),
        failures: failures.collect(),
        parts: level.joint.as_ref().map(generator_parts).unwrap_or_default(),
        ..GeneratorLevel::default()
    }
}

/// Each of several generators about itself. An observer is left out: a hundredth of the load limits nothing,
/// and has few requests.
fn generator_parts(joint: &JointLoad) -> Vec<GeneratorPart> {
    let is_observer = |one: &GeneratorReport| joint.observer.as_ref().is_some_and(|own| own.name == one.name);
    let loaders: Vec<&GeneratorReport> = joint.workers.iter().filter(|one| !is_observer(one)).collect();
    if joint.workers.len() < 2 {
        return Vec::new();
    }
    loaders.into_iter().map(generator_part).collect()
}

/// One of several generators about itself.
fn generator_part(report: &GeneratorReport) -> GeneratorPart {
    let per_second = |requests: u64| requests as f64 / report.elapsed_seconds.max(1e-9);
    GeneratorPart {
        name: report.name.clone(),
        connections: report.connections as u64,
        intended_per_second: report.intended.map(per_second),
        started_per_second: per_second(report.requests.started),
        unanswered: report.requests.unanswered,
        timed_out: report.requests.timed_out,
        cpu_share: report.watch.cpu_share,
        run_delay_share: report.watch.run_delay_share,
        latency_seconds_p50: report.latency_seconds_p50,
        lateness_seconds_p99: report.lateness_seconds_p99,
    }
}

/// A sink's observations while a client at this level sent to it, and the results of the client.
#[derive(Clone, Copy, Debug)]
pub struct SinkLevel<'a> {
    /// The series that it may have limited.
    pub series: &'a [&'static str],
    /// Its processes, which share a processor.
    pub processes: u64,
    /// How long was measured.
    pub elapsed_seconds: f64,
    /// Operations of the client that succeeded.
    pub completed: u64,
    /// Those that failed because the sink did not reply in time.
    pub timed_out: u64,
    /// The processor time of its processes, as a share of the time that passed.
    pub cpu_share: f64,
    /// That of the client.
    pub client_cpu_share: Option<f64>,
    /// How long the client could have run and waited for a processor, as such a share.
    pub run_delay_share: Option<f64>,
    /// How long those operations took.
    pub latency: &'a Times,
}

/// Records a load whose client is measured, and the distribution of its latencies.
pub fn record_sink(sink: &SinkLevel<'_>, recorder: &mut LevelRecorder<'_>) {
    let per_second = sink.completed as f64 / sink.elapsed_seconds.max(1e-9);
    let median = (sink.latency.count() > 0).then(|| sink.latency.quantile_ns(0.5) as f64 / 1e9);
    recorder.fact(Line::Generator(GeneratorLevel {
        n: recorder.n(),
        tester: Tester::Sink,
        client_cpu_share: sink.client_cpu_share,
        series: sink.series.iter().map(|&name| name.to_owned()).collect(),
        generators: sink.processes,
        connections: recorder.n(),
        elapsed_seconds: sink.elapsed_seconds,
        started_per_second: per_second,
        completed_per_second: per_second,
        timed_out: sink.timed_out,
        cpu_share: sink.cpu_share,
        run_delay_share: sink.run_delay_share,
        latency_seconds_p50: median,
        ..GeneratorLevel::default()
    }));
    record_latencies(sink.latency, recorder);
}

fn quantile(times: &Distribution, share: f64) -> Option<f64> {
    (times.count > 0).then(|| times.quantile(share))
}

/// The percentiles beyond all responses, because too many requests had none.
fn lower_bounds(n: u64, level: &Level, is_measured: impl Fn(&str) -> bool) -> Option<Limitation> {
    let is_beyond = |percent| level.latency.percentile(percent).is_none_or(|found| found.seconds.is_none());
    let beyond = PERCENTILES.into_iter().filter(|(name, percent)| is_measured(name) && is_beyond(*percent));
    let series: Vec<String> = beyond.map(|(name, _)| name.to_owned()).collect();
    let beyond = level.requests.unanswered + level.requests.timed_out;
    let why = format!("{beyond} requests had no response, so {} are longer", series.join(", "));
    let of = TrialKey::default();
    (!series.is_empty()).then_some(Limitation { of, n: Some(n), by: LimitedBy::Time, series, why })
}

/// The most frequent failures of a load, in words.
pub(crate) fn words(failures: &[net::load::Failure]) -> String {
    let each =
        failures.iter().take(3).map(|failure| format!("{} at {}", failure.cause, failure.stage.name()));
    each.collect::<Vec<_>>().join(", ")
}

/// If more than one connection in this many left TIME_WAIT meanwhile, the memory that they gave back hides
/// that of the others.
const TIME_WAIT_SHARE: u64 = 10;

/// Resources of the server and the kernel; `None` where they are unknown.
pub struct Memory {
    user_bytes: Option<u64>,
    kernel_bytes: Option<u64>,
    /// Connections in TIME_WAIT, which are part of those that the kernel has taken.
    time_wait: Option<u64>,
}

impl Memory {
    /// Reads both now.
    pub fn read(server: &mut ServerUnderTest) -> io::Result<Memory> {
        let user_bytes = server.report()?.and_then(|report| report.memory_bytes);
        let kernel_bytes = sys::memory::kernel_bytes().ok();
        Ok(Memory { user_bytes, kernel_bytes, time_wait: sys::tcp::time_wait().ok() })
    }

    /// Reports `user memory` and `kernel memory` for each of the n connections that were added since. A
    /// server that gave back memory took none. Kernel memory is that of the whole machine: if others gave
    /// memory back, the difference is meaningless, so it is not reported, and a remark says why.
    pub fn report_each(&self, before: &Memory, recorder: &mut LevelRecorder<'_>) {
        let n = recorder.n() as f64;
        let user = self.user_bytes.zip(before.user_bytes);
        let user = user.map(|(now, before)| now.saturating_sub(before) as f64 / n);
        recorder.value("user memory", user.unwrap_or(f64::NAN));
        match self.kernel_gained(before, recorder.n()) {
            Ok(gained) => recorder.value("kernel memory", gained.map_or(f64::NAN, |gained| gained / n)),
            Err(why) => recorder.warn(format!("Kernel memory is not reported at some n: {why}.")),
        }
    }

    /// Increase in kernel memory for n connections, in bytes; `None` where it is unknown.
    fn kernel_gained(&self, before: &Memory, n: u64) -> Result<Option<f64>, &'static str> {
        let expired = before.time_wait.zip(self.time_wait).map_or(0, |(then, now)| then.saturating_sub(now));
        if expired > n / TIME_WAIT_SHARE {
            return Err("meanwhile connections that were closed before left TIME_WAIT and gave theirs back");
        }
        let Some((now, then)) = self.kernel_bytes.zip(before.kernel_bytes) else { return Ok(None) };
        now.checked_sub(then).map(|gained| Some(gained as f64)).ok_or("others gave back more meanwhile")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_others_gave_back_is_a_gap_and_not_a_value() {
        let memory = |kernel, time_wait| Memory {
            user_bytes: None,
            kernel_bytes: Some(kernel),
            time_wait: Some(time_wait),
        };
        let gained = |now: Memory, n| now.kernel_gained(&memory(5000, 100), n);
        assert_eq!(gained(memory(6000, 100), 10), Ok(Some(1000.0)));
        assert_eq!(gained(memory(6000, 99), 10), Ok(Some(1000.0)));
        assert!(gained(memory(6000, 98), 10).is_err_and(|why| why.contains("TIME_WAIT")));
        assert!(gained(memory(4999, 200), 10).is_err_and(|why| why.contains("others")));
        let unknown = Memory { user_bytes: None, kernel_bytes: None, time_wait: None };
        assert_eq!(gained(unknown, 10), Ok(None));
    }
}
