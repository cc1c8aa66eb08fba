//! Supervises one trial: starts the worker, ends it in time, and reports its measurements, however it ended.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use background::HeldLoads;
use host::{Deadline, Error, FrameReader, FrameWriter, Incoming, Interrupter, NoReply, Process, with_stderr};
use record::{Line, Outcome, Series, Trial, TrialParameters};
use sys::clock::Clock;
use sys::memory::Shared;
use workload::{Direction, Group, Operation, REFERENCE_STRIDE, Slots, Workload};

use crate::profile::{Profiler, Sampled, profiles};
use crate::worker::{Task, WorkerReport, numbers};
use crate::{Done, find};

/// Values are rounded to a tenth of a nanosecond: finer than any clock here, and short on disk.
const VALUES_PER_SECOND: f64 = 1e10;

const NOT_INHERITABLE: &str = "the shared region cannot be inherited";

/// A load beside a trial ends by itself after so many times the time-out of the trial, if nothing else ends
/// it.
const LIVES: u32 = 3;

/// How long a worker may take to end after its report.
const END_GRACE: Duration = Duration::from_secs(5);

/// Receives the parameters, supervises the trial, and replies with the number of its lines and these lines.
/// The trial is abandoned when standard input ends.
pub(crate) fn supervise(groups: &[Group]) -> Done {
    let begun = Instant::now();
    let mut requests = FrameReader::standard_input();
    let Some(order) = requests.receive::<TrialParameters>()? else { return Ok(()) };

    let workload = match find(groups, &order.workload) {
        Some(workload) if workload.version == order.version => workload.at_levels(&order.levels),
        Some(workload) => {
            let reason = format!("this program measures version {} of {}", workload.version, workload.name);
            return reply_without_trial(&order, begun, Outcome::Failed { reason });
        }
        None => {
            let reason = format!("this program knows no workload {:?}", order.workload);
            return reply_without_trial(&order, begun, Outcome::Failed { reason });
        }
    };
    match watch(workload, &order, begun, requests) {
        Ok(Some(reply)) => reply.write(),
        Ok(None) => Ok(()),
        // Nothing was measured, and nothing has crashed: the system refused a resource of the trial.
        Err(error) => {
            let reason = with_advice(&*error);
            reply_without_trial(&order, begun, Outcome::Failed { reason })
        }
    }
}

/// The error, and the remedy where the system gave a reason.
fn with_advice(error: &(dyn std::error::Error + 'static)) -> String {
    let (told, mut cause) = (error.to_string(), Some(error));
    while let Some(error) = cause {
        if let Some(refused) = error.downcast_ref() {
            return match sys::error::advice(refused) {
                "" => told,
                advice => format!("{told}; {advice}"),
            };
        }
        cause = error.source();
    }
    told
}

/// Runs the worker to its end; `None` if the trial was abandoned.
fn watch(
    workload: &'static Workload,
    order: &TrialParameters,
    begun: Instant,
    requests: Incoming,
) -> Result<Option<TrialReply>, Box<dyn std::error::Error>> {
    let clock = Clock::start();
    let region = Shared::create(numbers(workload, order))?;
    sys::process::adopt_orphans();

    let tell_started = interrupt_at_end(requests)?;
    let timeout = Duration::try_from_secs_f64(order.timeout_seconds).unwrap_or(Duration::MAX);
    let program = sys::process::own_program()?;
    let mut beside = match start_background(&program, order, timeout, &tell_started) {
        Err(error) if error.is_interrupted() => return Ok(None),
        beside => beside?,
    };
    let before = sys::activity::snapshot();
    beside.mark();
    let begun_beside = Instant::now();
    let region_descriptor = region.inheritable().ok_or(NOT_INHERITABLE)?;
    let task = Task { order: order.clone(), region: region_descriptor, supervisor: std::process::id() };
    let deadline = || Deadline::within(timeout.saturating_sub(begun_beside.elapsed()));
    let Watched { worker, reported, sampled } = work(&program, &task, &tell_started, deadline);
    let Some(worker) = worker else { return reported.map(|_| None).map_err(Into::into) };
    let sampled = match sampled {
        Ok(sampled) => sampled,
        Err(error) => {
            let reason = error.to_string();
            return Ok(Some(without_trial(order, begun, Outcome::Unsupported { reason })));
        }
    };
    let held_background = match &reported {
        Err(error) if error.no_reply() == Some(&NoReply::Interrupted) => Vec::new(),
        _ => beside.report(),
    };
    drop(beside);
    // The children of a workload are in the worker's group; none outlives it. Those of a daemon may lead
    // sessions of their own.
    let _ = sys::process::kill_descendants();
    sys::process::reap_orphans();
    // Of a worker that has crashed; the next trial needs the limits.
    sys::persistent::PersistentCleaner::new(Path::new(&order.scratch)).remove();

    let activity = sys::activity::difference(&before, &sys::activity::snapshot());
    let slots = Slots::new(workload, order.rows(), region.slots());
    let n = live(workload, order, slots);
    let report = reported.map_err(|error| without_report(error, n, &activity));
    let complete = Trial::ended(order, begun.elapsed(), Outcome::Complete);
    let mut trial = Trial { held_background, activity, ..complete };
    let (mut batch, mut facts, mut phase_times) = (1, Vec::new(), Vec::new());
    match report {
        Ok(report) => {
            trial.outcome = report.outcome;
            trial.clock = Some(report.clock);
            trial.checks = report.checks;
            trial.warnings = report.warnings;
            trial.warnings.extend(remark(&worker.stderr()));
            (batch, facts, phase_times) = (report.batch, report.facts, report.phase_times);
        }
        Err(Some(outcome)) => trial.outcome = outcome,
        Err(None) => return Ok(None),
    }
    trial.checks.extend(trial.held_background.iter().map(background::check));
    let clocks = (batch, clock.seconds_per_tick());
    let measured = match sampled {
        // Its values, which the sampler disturbs, would be judged with the others.
        Some(sampled) => profiles(&sampled, workload, order, (slots, &phase_times), clocks),
        None => series(workload, order, slots, clocks.0, clocks.1).map(Line::Series).collect(),
    };
    Ok(Some(TrialReply { lines: std::iter::once(Line::Trial(trial)).chain(measured).collect(), facts }))
}

/// Interrupts, at the end of the input, every process that it is sent: the trial is not wanted any more.
fn interrupt_at_end(requests: Incoming) -> Result<Sender<Interrupter>, Error> {
    let (tell_started, started) = channel::<Interrupter>();
    let waiting = Builder::new().spawn(move || {
        requests.wait_for_end();
        started.iter().for_each(|interrupter| interrupter.interrupt());
    });
    let failed = |source| Error::Start { command: "a thread of the supervisor".to_owned(), source };
    waiting.map(|_| tell_started).map_err(failed)
}

/// A worker that has ended, and its outcome.
struct Watched {
    /// `None` if none could be started.
    worker: Option<Process>,
    reported: Result<WorkerReport, Error>,
    /// Its samples, if they were requested; the error says why it could not be sampled.
    sampled: std::io::Result<Option<Sampled>>,
}

/// Gives a worker its task, and ends it.
fn work<'a>(
    program: &Path,
    task: &Task,
    tell_started: &Sender<Interrupter>,
    deadline: impl Fn() -> Deadline<'a>,
) -> Watched {
    let (mut worker, mut profiler) = (None, Ok(None));
    let reported = host::until_loaded(|| {
        let worker = worker.insert(start(program)?);
        profiler = give(worker, task)?;
        // Nothing waits for it where the thread has not begun.
        let _ = tell_started.send(worker.interrupter());
        worker.receive::<WorkerReport>(deadline())
    });
    let sampled = profiler.map(|profiler| profiler.map(Profiler::finish));
    match (&mut worker, &reported) {
        (Some(worker), Ok(_)) => drop(worker.finish(END_GRACE)),
        (Some(worker), Err(_)) => worker.kill(),
        (None, _) => {}
    }
    Watched { worker, reported, sampled }
}

/// The outcome of a trial whose worker has reported nothing; `None` if the trial was abandoned.
fn without_report(error: Error, n: u64, activity: &BTreeMap<String, f64>) -> Option<Outcome> {
    match error {
        Error::NoReply { reason: NoReply::Interrupted, .. } => None,
        Error::NoReply { reason: NoReply::Deadline(_), .. } => Some(Outcome::TimedOut { n }),
        Error::NoReply { reason: NoReply::Exited(ending), stderr, .. } => {
            Some(Outcome::Crashed { n, reason: with_stderr(&crash(ending, activity), &stderr) })
        }
        error => Some(Outcome::Crashed { n, reason: error.to_string() }),
    }
}

/// Starts the loads beside the trial, and waits until they are held.
fn start_background(
    program: &Path,
    order: &TrialParameters,
    timeout: Duration,
    tell_started: &Sender<Interrupter>,
) -> Result<HeldLoads, background::Error> {
    let life = timeout.saturating_mul(LIVES);
    let mut beside = HeldLoads::start_here(&order.background, life, program, &order.scratch)?;
    for interrupter in beside.interrupters() {
        // Nothing waits for it where the thread has not begun.
        let _ = tell_started.send(interrupter);
    }
    beside.settle()?;
    Ok(beside)
}

fn start(program: &Path) -> Result<Process, Error> {
    Ok(Process::start("the worker", host::role(program, &["measure"]))?.with_grace(Duration::ZERO))
}

/// Gives a worker its task, and begins to sample it before that if requested. A worker that cannot be sampled
/// gets no task, and ends.
fn give(worker: &mut Process, task: &Task) -> Result<std::io::Result<Option<Profiler>>, Error> {
    let profile = task.order.profile.as_deref();
    let profiler =
        profile.map(|profile| Profiler::attach(worker.number(), profile, task.order.cpu)).transpose();
    if profiler.is_ok() {
        worker.send(task)?;
    }
    // Nothing more is written to it, so that nothing wakes either process before the work is done.
    worker.close_input();
    Ok(profiler)
}

/// The worker's standard error, as a remark.
fn remark(stderr: &str) -> Option<String> {
    (!stderr.is_empty()).then(|| format!("Standard error of the worker: {stderr}."))
}

/// Live objects at the end, by the measurements; the current level of a workload with levels.
fn live(workload: &Workload, order: &TrialParameters, slots: Slots<'_>) -> u64 {
    if workload.sizes.are_levels() {
        return slots.top();
    }
    let measured = |direction: Direction| {
        let counts =
            workload.measured().enumerate().filter(|(_, operation)| operation.direction == direction);
        counts.map(|(index, _)| slots.ticks(index).count() as u64 * order.stride()).max()
    };
    // Where nothing is timed on the way up, only its top is known.
    let reached = measured(Direction::Up).unwrap_or_else(|| slots.top());
    reached.saturating_sub(measured(Direction::Down).unwrap_or(0))
}

fn crash(ending: String, activity: &BTreeMap<String, f64>) -> String {
    match activity.get("oom_kills") {
        Some(&kills) if kills > 0.0 => format!("{ending}, by the out-of-memory killer"),
        _ => ending,
    }
}

fn series(
    workload: &'static Workload,
    order: &TrialParameters,
    slots: Slots<'_>,
    batch: u32,
    seconds_per_tick: f64,
) -> impl Iterator<Item = Series> {
    let seconds = move |ticks: u64, batch: u32| {
        let exact = ticks as f64 * seconds_per_tick / f64::from(batch);
        (exact * VALUES_PER_SECOND).round() / VALUES_PER_SECOND
    };
    let levels = workload.sizes.levels(order.n).unwrap_or_default();
    // `done` is how many n there are before the first value.
    let even = move |operation: &Operation, (done, stride): (u64, u64), batch: u32, values: Vec<f64>| {
        let (n_first, n_step) = match operation.direction {
            Direction::Up => (done, stride.cast_signed()),
            Direction::Down => (slots.top().saturating_sub(done), -stride.cast_signed()),
        };
        Series {
            system: order.system.clone(),
            workload: order.workload.clone(),
            variant: order.variant.clone(),
            trial: order.trial,
            name: operation.name.to_owned(),
            direction: operation.direction,
            n_first,
            n_step,
            sizes: Vec::new(),
            batch,
            counts: Vec::new(),
            values,
        }
    };
    let timed =
        move |index: usize, batch: u32| slots.ticks(index).map(|ticks| seconds(ticks, batch)).collect();
    let series = workload.measured().enumerate().map(move |(index, operation)| {
        if !operation.reported {
            return even(operation, (0, order.stride()), batch, timed(index, batch));
        }
        let reported = slots.reported(index).filter_map(|(row, value)| Some((*levels.get(row)?, value)));
        let (sizes, values): (Vec<u64>, Vec<f64>) = reported.unzip();
        let n_first = sizes.first().copied().unwrap_or(0);
        Series { n_first, n_step: 0, sizes, ..even(operation, (0, 1), 1, values) }
    });
    // A reference is taken after some operations, not before them.
    let stride = REFERENCE_STRIDE as u64 * order.stride();
    let of_reference =
        move |index: usize| slots.reference_ticks(index).map(|ticks| seconds(ticks, 1)).collect();
    let references = workload.references().iter().enumerate();
    let references =
        references.map(move |(index, operation)| even(operation, (stride, stride), 1, of_reference(index)));
    series.chain(references).filter(|series| !series.values.is_empty())
}

/// Replies with a trial that was not executed.
fn reply_without_trial(order: &TrialParameters, begun: Instant, outcome: Outcome) -> Done {
    without_trial(order, begun, outcome).write()
}

fn without_trial(order: &TrialParameters, begun: Instant, outcome: Outcome) -> TrialReply {
    let trial = Trial::ended(order, begun.elapsed(), outcome);
    TrialReply { lines: vec![Line::Trial(trial)], facts: Vec::new() }
}

/// The lines of a trial.
struct TrialReply {
    lines: Vec<Line>,
    /// Those that the worker wrote.
    facts: Vec<String>,
}

impl TrialReply {
    fn write(&self) -> Done {
        let mut replies = FrameWriter::standard_output();
        replies.send(&(self.lines.len() + self.facts.len()))?;
        for line in &self.lines {
            replies.send_bytes(record::format_line(line)?.as_bytes())?;
        }
        for fact in &self.facts {
            replies.send_bytes(fact.as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use workload::{Expect, Operation, Unit};

    use super::*;

    const LOAD: Workload = Workload {
        name: "load",
        operations: &[
            Operation::reported("throughput", Unit::PerSecond, Expect::Constant, "responses"),
            Operation::reported("p99", Unit::Seconds, Expect::Constant, "latency"),
        ],
        ..Workload::LOAD
    };

    fn order() -> TrialParameters {
        TrialParameters {
            system: "local".to_owned(),
            workload: "load".to_owned(),
            version: 1,
            variant: "epoll".to_owned(),
            trial: 1,
            n: 10,
            seed: 7,
            window_seconds: Some(0.02),
            timeout_seconds: 60.0,
            scratch: "/".to_owned(),
            ..TrialParameters::default()
        }
    }

    #[test]
    fn reported_values_become_series_with_their_levels() {
        let numbers: Vec<AtomicU64> = (0..Slots::needed(&LOAD, 10)).map(|_| AtomicU64::new(0)).collect();
        let slots = Slots::new(&LOAD, 10, &numbers);
        let clock = Clock::start();
        let mut trial = workload::Trial::new(&LOAD, "", 10, std::path::Path::new("/"), 7, &clock, slots);
        let crash = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            trial.at_levels(|level, recorder| {
                recorder.value("throughput", 1e5 / 3.0);
                recorder.value("p99", if level == 1 { f64::NAN } else { 0.0 });
                if level == 5 { std::panic::resume_unwind(Box::new(())) } else { Ok(()) }
            })
        }));
        assert!(crash.is_err());
        assert_eq!(live(&LOAD, &order(), slots), 5, "the level that was under way");
        let series: Vec<Series> = series(&LOAD, &order(), slots, 1, 1e-9).collect();
        let points: Vec<Vec<(u64, f64)>> = series.iter().map(|series| series.points().collect()).collect();
        let rate = 1e5 / 3.0;
        assert_eq!(points, [vec![(1, rate), (2, rate), (5, rate)], vec![(2, 0.0), (5, 0.0)]]);
        assert_eq!((series[1].n_first, series[1].n_step), (2, 0));
    }
}
