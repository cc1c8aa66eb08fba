//! Keeps one trial: starts the measurer, ends it in time, and tells what it measured, however it ended.

use std::io::{self, BufRead, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use record::{Line, Order, Outcome, Series, Trial};
use sys::clock::Clock;
use sys::memory::Shared;
use workload::{Direction, Group, Sizes, Slots, Workload};

use crate::measurer::Account;
use crate::{Done, find};

/// Values are rounded to a tenth of a nanosecond: finer than any clock here, and short on disk.
const VALUES_PER_SECOND: f64 = 1e10;

/// Why the keeper stopped waiting.
enum News {
    /// The measurer closed its output, which it does at its end, with what it had written.
    Ended(Vec<u8>),
    /// The runner is gone.
    Abandoned,
}

/// Reads an order from standard input, keeps the trial, and writes its lines on standard output. Standard
/// input stays open for as long as somebody wants the trial.
pub(crate) fn keep(groups: &[Group]) -> Done {
    let begun = Instant::now();
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let order: Order =
        serde_json::from_str(&line).map_err(|error| format!("cannot read the order: {error}"))?;

    let workload = match find(groups, &order.workload) {
        Some(workload) if workload.version == order.version => workload,
        Some(workload) => {
            let reason = format!("this program measures version {} of {}", workload.version, workload.name);
            return tell(&order, begun, Outcome::Failed { reason });
        }
        None => {
            let reason = format!("this program knows no workload {:?}", order.workload);
            return tell(&order, begun, Outcome::Failed { reason });
        }
    };
    match watch(workload, &order, begun)? {
        Some(lines) => write(&lines),
        None => Ok(()),
    }
}

/// Runs the measurer to its end; `None` when nobody wants the result any more.
fn watch(workload: &'static Workload, order: &Order, begun: Instant) -> Result<Option<Vec<Line>>, io::Error> {
    let clock = Clock::start();
    let region = Shared::create(Slots::needed(workload, order.n))?;
    sys::process::adopt_orphans();
    let before = sys::activity::snapshot();

    let mut measurer = start(order, &region)?;
    let (sender, receiver) = channel();
    if let Err(error) = listen(&mut measurer, sender) {
        sys::process::kill_group(measurer.id());
        measurer.wait()?;
        return Err(error);
    }
    let timeout = Duration::try_from_secs_f64(order.timeout_seconds).unwrap_or(Duration::MAX);
    let news = wait(&receiver, begun, timeout);
    // The children of a workload are in the measurer's group; none may outlive it. Before the measurer is
    // waited for, lest its number belong to somebody else; its own end has begun and cannot change.
    sys::process::kill_group(measurer.id());
    let status = measurer.wait()?;
    sys::process::reap_orphans();

    let activity = sys::activity::difference(&before, &sys::activity::snapshot());
    let slots = Slots::new(workload, region.slots());
    let n = live(workload, slots);
    let account = match news {
        Ok(News::Abandoned) => return Ok(None),
        Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the listeners are gone")),
        Err(RecvTimeoutError::Timeout) => Err(Outcome::TimedOut { n }),
        Ok(News::Ended(written)) => serde_json::from_slice::<Account>(&written)
            .map_err(|_| Outcome::Crashed { n, reason: crash(sys::process::ending(status), &activity) }),
    };
    let mut trial = Trial {
        order: order.clone(),
        started_seconds: 0.0,
        elapsed_seconds: begun.elapsed().as_secs_f64(),
        clock: None,
        outcome: Outcome::Complete,
        checks: Vec::new(),
        activity,
        warnings: Vec::new(),
    };
    let mut batch = 1;
    match account {
        Ok(account) => {
            trial.outcome = account.outcome;
            trial.clock = Some(account.clock);
            trial.checks = account.checks;
            trial.warnings = account.warnings;
            batch = account.batch;
        }
        Err(outcome) => trial.outcome = outcome,
    }
    let series = series(workload, order, slots, batch, clock.seconds_per_tick());
    Ok(Some(std::iter::once(Line::Trial(trial)).chain(series.map(Line::Series)).collect()))
}

fn start(order: &Order, region: &Shared) -> io::Result<Child> {
    let region =
        region.inheritable().ok_or_else(|| io::Error::other("the shared region cannot be inherited"))?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["measure", &serde_json::to_string(order)?, &region.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    sys::process::lead_group(&mut command);
    command.spawn()
}

/// Hears the measurer and the runner at the same time.
fn listen(measurer: &mut Child, sender: Sender<News>) -> io::Result<()> {
    if let Some(mut output) = measurer.stdout.take() {
        let sender = sender.clone();
        Builder::new().spawn(move || {
            let mut written = Vec::new();
            let _ = output.read_to_end(&mut written);
            let _ = sender.send(News::Ended(written));
        })?;
    }
    Builder::new().spawn(move || {
        let mut sink = [0_u8; 64];
        while matches!(io::stdin().lock().read(&mut sink), Ok(1..)) {}
        let _ = sender.send(News::Abandoned);
    })?;
    Ok(())
}

fn wait(receiver: &Receiver<News>, begun: Instant, timeout: Duration) -> Result<News, RecvTimeoutError> {
    receiver.recv_timeout(timeout.saturating_sub(begun.elapsed()))
}

/// Live objects at the end, as far as the measurements tell; the level that was under way, where n goes by
/// levels.
fn live(workload: &Workload, slots: Slots<'_>) -> u64 {
    if matches!(workload.sizes, Sizes::Levels(_)) {
        return slots.top();
    }
    let measured = |direction: Direction| {
        let counts =
            workload.measured().enumerate().filter(|(_, operation)| operation.direction == direction);
        counts.map(|(index, _)| slots.ticks(index).count() as u64).max()
    };
    // Where nothing is timed on the way up, its top is all there is to go by.
    let reached = measured(Direction::Up).unwrap_or_else(|| slots.top());
    reached.saturating_sub(measured(Direction::Down).unwrap_or(0))
}

fn crash(ending: String, activity: &std::collections::BTreeMap<String, f64>) -> String {
    match activity.get("oom_kills") {
        Some(&kills) if kills > 0.0 => format!("{ending}, by the out-of-memory killer"),
        _ => ending,
    }
}

fn series(
    workload: &'static Workload,
    order: &Order,
    slots: Slots<'_>,
    batch: u32,
    seconds_per_tick: f64,
) -> impl Iterator<Item = Series> {
    let seconds = move |ticks: u64| {
        let exact = ticks as f64 * seconds_per_tick / f64::from(batch);
        (exact * VALUES_PER_SECOND).round() / VALUES_PER_SECOND
    };
    let levels = match workload.sizes {
        Sizes::Every => Vec::new(),
        Sizes::Levels(levels) => levels(order.n),
    };
    let series = workload.measured().enumerate().map(move |(index, operation)| {
        let (direction, n_first, n_step) = match operation.direction {
            Direction::Up => (record::Direction::Up, 0, 1),
            Direction::Down => (record::Direction::Down, slots.top(), -1),
        };
        let even = Series {
            system: order.system.clone(),
            workload: order.workload.clone(),
            variant: order.variant.clone(),
            trial: order.trial,
            name: operation.name.to_owned(),
            direction,
            n_first,
            n_step,
            sizes: Vec::new(),
            batch,
            values: Vec::new(),
        };
        if operation.reported {
            let told = slots.reported(index).filter_map(|(row, value)| Some((*levels.get(row)?, value)));
            let (sizes, values): (Vec<u64>, Vec<f64>) = told.unzip();
            let n_first = sizes.first().copied().unwrap_or(0);
            Series { n_first, n_step: 0, sizes, batch: 1, values, ..even }
        } else {
            Series { values: slots.ticks(index).map(seconds).collect(), ..even }
        }
    });
    series.filter(|series| !series.values.is_empty())
}

/// A trial that never began.
fn tell(order: &Order, begun: Instant, outcome: Outcome) -> Done {
    let trial = Trial {
        order: order.clone(),
        started_seconds: 0.0,
        elapsed_seconds: begun.elapsed().as_secs_f64(),
        clock: None,
        outcome,
        checks: Vec::new(),
        activity: std::collections::BTreeMap::new(),
        warnings: Vec::new(),
    };
    write(&[Line::Trial(trial)])
}

fn write(lines: &[Line]) -> Done {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in lines {
        record::write_line(line, &mut out)?;
    }
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use workload::{Expect, Operation, Unit};

    use super::*;

    const LOAD: Workload = Workload {
        name: "load",
        operations: &[
            Operation::reported("throughput", Unit::PerSecond, Expect::Constant, "answers"),
            Operation::reported("p99", Unit::Seconds, Expect::Constant, "latency"),
        ],
        ..Workload::LOAD
    };

    fn order() -> Order {
        Order {
            system: "local".to_owned(),
            workload: "load".to_owned(),
            version: 1,
            variant: "epoll".to_owned(),
            trial: 1,
            n: 10,
            cpu: None,
            seed: 7,
            allowance_seconds: None,
            window_seconds: Some(0.02),
            server_cpu: None,
            server: None,
            timeout_seconds: 60.0,
            scratch: "/".to_owned(),
        }
    }

    #[test]
    fn what_was_told_becomes_series_with_their_levels() {
        let numbers: Vec<AtomicU64> = (0..Slots::needed(&LOAD, 10)).map(|_| AtomicU64::new(0)).collect();
        let slots = Slots::new(&LOAD, &numbers);
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
        assert_eq!(live(&LOAD, slots), 5, "the level that was under way");
        let series: Vec<Series> = series(&LOAD, &order(), slots, 1, 1e-9).collect();
        let points: Vec<Vec<(u64, f64)>> = series.iter().map(|series| series.points().collect()).collect();
        let rate = 1e5 / 3.0;
        assert_eq!(points, [vec![(1, rate), (2, rate), (5, rate)], vec![(2, 0.0), (5, 0.0)]]);
        assert_eq!((series[1].n_first, series[1].n_step), (2, 0));
    }
}
