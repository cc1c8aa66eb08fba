//! The coordinator in simulated time, with faults in one worker or on the way to it: either a level counts
//! exactly what all workers have done at the same time, or it does not count and names the worker with the
//! fault. Faults of the coordinator itself are planted too, and must be found.
//!
//! A failing seed is printed; `OSDYNO_SEED=N cargo test -p net --lib coordinator` runs it alone.

mod world;

use std::rc::Rc;
use std::time::Duration;

use self::world::{BUILD, Fault, MS, SECOND, SimulatedLink, Truth, World};
use super::{ClockOffset, JointWorkers, LevelClock, RoundTrip};
use crate::client::echo::EchoClientSettings;
use crate::load::generator::LoadDivision;
use crate::load::joint::OVERLAP_MIN;
use crate::load::{Level, LoadSettings, VoidReason, closed_loop, unwatched};

/// A fault that is planted into the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bug {
    /// It orders all to begin as if their clocks were its own.
    IgnoresOffsets,
    /// It compares the clocks once only.
    TrustsClocks,
    /// It takes measurements of an earlier level for those of the present one.
    TakesOtherLevels,
    /// It goes on without a worker that is lost.
    IgnoresLosses,
    /// It does not look whether all were at work at the same time.
    IgnoresOverlap,
}

/// A planted fault must show within so many seeds.
const SEEDS_OF_BUG: u64 = 300;

const LEVELS: u64 = 3;

/// The promises that are broken under this seed.
fn broken(seed: u64, bug: Option<Bug>) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(seed);
    let count = random.usize(2..=4);
    let (faulty, fault) = (random.usize(..count), Fault::draw(&mut random));
    let mut faults = vec![Fault::None; count];
    faults[faulty] = fault;
    let durations: Vec<u64> = (0..LEVELS).map(|_| random.u64(SECOND..6 * SECOND)).collect();
    let world = World::new(random, &faults);
    let name = |number: usize| format!("host {number}");
    let link = |number| SimulatedLink { world: Rc::clone(&world), number, name: name(number) };
    let target = std::net::SocketAddr::from(([127, 0, 0, 1], 9));
    let settings = LoadSettings::new(target, &EchoClientSettings { bytes: 1 });
    let clock = Rc::clone(&world);
    let now_ns = Box::new(move || clock.borrow_mut().now_ns());
    let mut workers = JointWorkers::new((0..count).map(link).collect(), now_ns);
    let division = LoadDivision::on_hosts(&settings, count, false);
    (workers.is_strict, workers.bug) = (true, bug);
    let promise = Promise { fault, worker: name(faulty), count };
    if let Err(error) = workers.configure(vec![settings; count], &vec![None; count], Some(BUILD)) {
        return promise.of_refusal(&error.to_string());
    }
    let mut found = Vec::new();
    if fault == Fault::OtherBuild {
        found.push("another build was accepted".to_owned());
    }
    for (number, duration_ns) in (1..).zip(durations) {
        let load = closed_loop(100, Duration::from_nanos(duration_ns));
        let joined = workers.offer(division.task(&load), &mut unwatched);
        let level = joined.and_then(|joined| division.level(&load, joined));
        let (truths, busy) = (world.borrow().truths(number), world.borrow().busy());
        found.extend((busy > 0).then(|| format!("level {number}: {busy} workers still offer it")));
        let of_level = match level {
            Ok(level) => promise.of_level(&level, &truths),
            Err(error) => vec![format!("an error and no level: {error}")],
        };
        found.extend(of_level.into_iter().map(|text| format!("level {number}: {text}")));
    }
    found.into_iter().map(|text| format!("{fault:?} of {}: {text}", promise.worker)).collect()
}

/// The promises of a coordinator where one worker has a fault.
struct Promise {
    fault: Fault,
    worker: String,
    count: usize,
}

impl Promise {
    fn of_refusal(&self, error: &str) -> Vec<String> {
        let may_refuse = matches!(
            self.fault,
            Fault::OtherBuild | Fault::DiesOfRequest(_) | Fault::DiesAt(_) | Fault::Hangs(_)
        );
        let is_right = match self.fault {
            Fault::OtherBuild => error.contains("another build"),
            _ => true,
        };
        // The link of a process names it, as that of the world does not.
        match may_refuse && is_right {
            true => Vec::new(),
            false => vec![format!("{:?}: refused: {error}", self.fault)],
        }
    }

    fn of_level(&self, level: &Level, truths: &[Truth]) -> Vec<String> {
        match level.void() {
            [] => self.of_level_that_counts(level, truths),
            reasons => self.of_void(reasons),
        }
    }

    /// A level that counts has the counts of all workers, which were at work at the same time.
    fn of_level_that_counts(&self, level: &Level, truths: &[Truth]) -> Vec<String> {
        let mut found = Vec::new();
        let mut ensure = |is_kept: bool, text: String| found.extend((!is_kept).then_some(text));
        let completed: u64 = truths.iter().map(|truth| truth.completed).sum();
        let (measured, count) = (truths.len(), self.count);
        ensure(measured == count, format!("{measured} of {count} workers have measured"));
        ensure(
            level.requests.completed == completed,
            format!("{} counted of {completed}", level.requests.completed),
        );
        let latencies = level.latency.count;
        ensure(latencies == completed, format!("{latencies} latencies of {completed} responses"));
        let slices: u64 = level.slices.iter().map(|slice| slice.completed).sum();
        ensure(slices == completed, format!("{slices} responses in slices, of {completed}"));
        let Some(joint) = &level.joint else { return vec!["no clocks were compared".to_owned()] };
        let each: u64 = joint.workers.iter().map(|worker| worker.requests.completed).sum();
        ensure(each == completed, format!("{each} responses by workers, of {completed}"));
        let at = |of: fn(&Truth) -> u64| truths.iter().map(of);
        let first_ns = at(|truth| truth.begin_ns).min().unwrap_or(0) as f64;
        let begin_ns = at(|truth| truth.begin_ns).max().unwrap_or(0) as f64;
        let end_ns = at(|truth| truth.end_ns).min().unwrap_or(0) as f64;
        let last_ns = at(|truth| truth.end_ns).max().unwrap_or(0) as f64;
        let absent_ns = at(|truth| truth.absent_ns).sum::<u64>() as f64;
        let share = (end_ns - begin_ns - absent_ns) / (last_ns - first_ns);
        ensure(share >= OVERLAP_MIN - 1e-6, format!("all were at work for {share} of the time"));
        ensure(
            joint.window.overlap_share <= share + 1e-6,
            format!("{} is no lower bound", joint.window.overlap_share),
        );
        let off = (joint.window.start_spread_seconds - (begin_ns - first_ns) / 1e9).abs();
        let error = joint.window.start_spread_error_seconds + 1e-6;
        ensure(off <= error, format!("a spread of the starts that is off by {off} s, more than {error}"));
        found
    }

    /// A level that does not count names the worker with the fault, and the kind of fault.
    fn of_void(&self, reasons: &[VoidReason]) -> Vec<String> {
        let is_known = |reason: &VoidReason| match self.fault {
            Fault::LostBegin { .. } | Fault::DiesOfRequest(_) | Fault::DiesAt(_) | Fault::Hangs(_) => {
                matches!(reason, VoidReason::Lost { .. })
            }
            Fault::SlowBegin { by_ns, .. } => {
                by_ns > 10 * MS && matches!(reason, VoidReason::BeganLate { .. })
            }
            Fault::Step { .. } => {
                matches!(reason, VoidReason::ClockStepped { .. } | VoidReason::BeganLate { .. })
            }
            Fault::Drift(share) => share.abs() > 1e-3 && matches!(reason, VoidReason::ClockStepped { .. }),
            Fault::Absent { .. } => matches!(reason, VoidReason::Absent { .. }),
            Fault::None | Fault::SlowReply { .. } | Fault::Twice { .. } | Fault::OtherBuild => false,
        };
        let is_wrong = |reason: &&VoidReason| !is_known(reason) || reason.worker() != self.worker;
        let wrong = reasons.iter().filter(is_wrong);
        wrong.map(|reason| format!("it does not count, because {reason}")).collect()
    }
}

#[test]
fn a_level_counts_exactly_or_names_the_fault() {
    sys::memory::keep_freed();
    crate::seeds::every(|seed| broken(seed, None));
}

#[test]
fn faults_of_the_coordinator_are_found() {
    sys::memory::keep_freed();
    for bug in [
        Bug::IgnoresOffsets,
        Bug::TrustsClocks,
        Bug::TakesOtherLevels,
        Bug::IgnoresLosses,
        Bug::IgnoresOverlap,
    ] {
        let is_found = |seed: &u64| !broken(*seed, Some(bug)).is_empty();
        let seed = (0..SEEDS_OF_BUG).find(is_found);
        let seed = seed.unwrap_or_else(|| panic!("{bug:?} was not found in {SEEDS_OF_BUG} seeds"));
        assert_eq!(broken(seed, None), [""; 0], "without {bug:?}");
    }
}

/// How far the clock of a worker is ahead.
const AHEAD_NS: u64 = 5 * SECOND;

/// A round trip with these delays, to a worker whose clock is ahead.
fn trip(sent_ns: u64, there_ns: u64, back_ns: u64, ahead_ns: u64) -> RoundTrip {
    let worker_ns = sent_ns + there_ns + ahead_ns;
    RoundTrip { sent_ns, received_ns: sent_ns + there_ns + back_ns, worker_ns }
}

fn offset(trips: &[RoundTrip]) -> ClockOffset {
    ClockOffset::from_round_trips(trips).expect("round trips")
}

#[test]
fn the_round_trip_with_the_smallest_delay_counts() {
    let trips = [trip(0, 900_000, 100, AHEAD_NS), trip(2_000_000, 40_000, 60_000, AHEAD_NS)];
    let offset = offset(&trips);
    assert_eq!((offset.error_ns, offset.delay_max_ns), (50_000, 900_100));
    assert!(offset.offset_ns.abs_diff(AHEAD_NS as i64) <= offset.error_ns, "{offset:?}");
    assert_eq!(offset.stepped_ns, 0.0);
    assert_eq!(ClockOffset::from_round_trips(&[]), None);
}

#[test]
fn a_step_is_found_within_an_exchange_and_between_two() {
    let trips = |ahead_ns| [trip(0, 50, 50, AHEAD_NS), trip(1_000, 50, 50, ahead_ns)];
    let steady = offset(&trips(AHEAD_NS));
    assert_eq!(LevelClock { before: steady, after: steady }.step_seconds(), None);
    for ahead_ns in [AHEAD_NS + SECOND, AHEAD_NS - SECOND] {
        let within = LevelClock { before: steady, after: offset(&trips(ahead_ns)) };
        assert!((within.step_seconds().expect("a step") - 1.0).abs() < 0.001, "{within:?}");
        let after = offset(&[trip(600 * SECOND, 50, 50, ahead_ns)]);
        let between = LevelClock { before: steady, after }.step_seconds().expect("a step");
        assert!((between - 0.4).abs() < 0.001, "less the drift of ten minutes: {between}");
    }
}

#[test]
fn moments_are_right_while_a_clock_drifts() {
    let begin_ns = 7_000;
    let drifting = |at_ns: u64| at_ns + AHEAD_NS + (at_ns - begin_ns) / 10_000;
    let exact = |at_ns: u64| RoundTrip { sent_ns: at_ns, received_ns: at_ns, worker_ns: drifting(at_ns) };
    let (before, after) = (offset(&[exact(begin_ns)]), offset(&[exact(begin_ns + 100 * SECOND)]));
    let clock = LevelClock { before, after };
    assert_eq!(clock.step_seconds(), None, "one part in ten thousand is a drift");
    assert!((clock.drift() - 1e-4).abs() < 1e-9);
    for seconds in [0, 10, 50, 100] {
        let at_ns = begin_ns + seconds * SECOND;
        let found = clock.coordinator_ns(drifting(at_ns));
        assert!((found - at_ns as f64).abs() < 10.0, "{found} for {at_ns}");
    }
}
