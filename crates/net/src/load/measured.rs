//! The measurements of one generator for one load: counts and histograms, slice by slice, and its
//! observations of itself. A result that the generator limited shows the generator more than the server.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use sys::activity::{self, Snapshot};

use super::counts::{Failure, Recent, Times};
use crate::Error;

/// Counts of one load. They can be sent to the process that joins those of several generators into one
/// [`Level`](super::Level).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Connections open at the end.
    pub connections: usize,
    /// How long was measured.
    pub elapsed_seconds: f64,
    /// Requests that were meant to start; `None` in a closed loop.
    pub intended: Option<u64>,
    /// Its requests.
    #[serde(flatten)]
    pub requests: RequestCounts,
    /// Connections that were made.
    pub connected: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// From the sending of a request, or the beginning of its connection, to its last byte.
    pub service: Times,
    /// From when a request was meant to start to when it was sent; open loop only.
    pub lag: Times,
    /// The part of that for which the generator, not a lack of connections, is to blame.
    pub lateness: Times,
    /// From the beginning of a connection to when requests could be sent.
    pub connect: Times,
    /// The part of that which is the TLS handshake.
    pub handshake: Times,
    /// Pieces of the time.
    pub slices: Vec<Slice>,
    /// The failures, by stage and cause.
    pub failures: Vec<Failure>,
    /// How often each status came, in protocols that have one.
    pub statuses: BTreeMap<u16, u64>,
    /// The generator's observations of itself.
    pub watch: Watch,
    /// The time that was measured, by its clock.
    #[serde(default)]
    pub window: Window,
}

/// Requests of a load, by their outcome. Each that was started is completed, failed, late or unanswered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Requests sent; in a closed loop also those in flight at the beginning.
    pub started: u64,
    /// Correct responses within the time.
    pub completed: u64,
    /// Failed requests.
    pub failed: u64,
    /// Without a response within the timeout; slower than all others.
    pub timed_out: u64,
    /// Correct responses after the time; count for latency in an open loop.
    pub late: u64,
    /// Neither answered nor failed, slower than all others; closed loop: only those in flight for longer than
    /// any response.
    pub unanswered: u64,
}

impl RequestCounts {
    /// How many have an outcome.
    pub(super) fn outcomes(&self) -> u64 {
        self.completed + self.failed + self.late + self.unanswered
    }

    /// Adds those of another generator.
    pub(super) fn add(&mut self, other: &RequestCounts) {
        self.started += other.started;
        self.completed += other.completed;
        self.failed += other.failed;
        self.timed_out += other.timed_out;
        self.late += other.late;
        self.unanswered += other.unanswered;
    }
}

/// The measured time of a load, by the clock of its generator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// When the generator was first at work in it.
    pub begin_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// How long the generator was not at work in between: it was stopped, or others had its processor.
    pub absent_ns: u64,
}

impl Measured {
    /// That of a generator that has measured nothing.
    ///
    /// # Errors
    /// None: the bounds of its histograms are sound.
    pub(super) fn nothing() -> Result<Measured, Error> {
        let empty = Times::new()?;
        Ok(Measured {
            connections: 0,
            elapsed_seconds: 0.0,
            intended: None,
            requests: RequestCounts::default(),
            connected: 0,
            sent_bytes: 0,
            received_bytes: 0,
            service: empty.clone(),
            lag: empty.clone(),
            lateness: empty.clone(),
            connect: empty.clone(),
            handshake: empty.clone(),
            slices: vec![Slice {
                begin_seconds: 0.0,
                seconds: 0.0,
                started: 0,
                completed: 0,
                latency: empty,
            }],
            failures: Vec::new(),
            statuses: BTreeMap::new(),
            watch: Watch::default(),
            window: Window::default(),
        })
    }

    /// The latencies of all slices.
    ///
    /// # Errors
    /// None: the bounds of a histogram are sound.
    pub(super) fn latency(&self) -> Result<Times, Error> {
        let mut all = Times::new()?;
        self.slices.iter().for_each(|slice| all.add(&slice.latency));
        Ok(all)
    }
}

/// A piece of the time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Slice {
    /// Begin, in seconds.
    pub begin_seconds: f64,
    /// Duration.
    pub seconds: f64,
    /// Requests sent.
    pub started: u64,
    /// Correct responses.
    pub completed: u64,
    /// From the intended start in an open loop, else from sending.
    pub latency: Times,
}

/// How far the slices of a load had been read.
#[derive(Clone, Debug, Default)]
pub(super) struct Mark {
    /// When the load began.
    begin_ns: u64,
    length_ns: u64,
    place: usize,
    /// The histogram of the slice at that place, at the last look.
    seen: Recent,
}

/// Pieces of time: their histograms are made before, and used again.
#[derive(Debug)]
pub(super) struct Slices {
    all: Vec<Slice>,
    /// The one that is written to.
    now: usize,
    length_ns: u64,
    begin_ns: u64,
    end_ns: u64,
}

/// The most slices of a load; about half as many at least where its length is known.
const SLICES: usize = 64;

impl Slices {
    /// Copies these empty times: made counter by counter, a test with many loads would take minutes.
    pub(super) fn new(empty: &Times) -> Slices {
        let empty =
            Slice { begin_seconds: 0.0, seconds: 0.0, started: 0, completed: 0, latency: empty.clone() };
        let all = vec![empty; SLICES];
        Slices { all, now: 0, length_ns: 1, begin_ns: 0, end_ns: 0 }
    }

    pub(super) fn begin(&mut self, now_ns: u64, length_ns: u64) {
        for slice in &mut self.all {
            (slice.started, slice.completed) = (0, 0);
            if slice.latency.count() > 0 {
                slice.latency.clear();
            }
        }
        (self.now, self.length_ns, self.begin_ns) = (0, length_ns.max(1), now_ns);
        self.end_ns = now_ns + self.length_ns;
    }

    #[inline(always)]
    pub(super) fn started(&mut self, requests: u64) {
        self.all[self.now].started += requests;
    }

    #[inline(always)]
    pub(super) fn completed(&mut self, latency_ns: u64) {
        let slice = &mut self.all[self.now];
        slice.completed += 1;
        slice.latency.record(latency_ns);
    }

    /// A response that came after the end belongs to the last slice, but not to its rate.
    pub(super) fn late(&mut self, latency_ns: u64) {
        self.all[self.now].latency.record(latency_ns);
    }

    /// The longest latency so far; 0 without any.
    pub(super) fn longest_ns(&self) -> u64 {
        self.all[..=self.now].iter().map(|slice| slice.latency.max_ns()).max().unwrap_or(0)
    }

    /// Goes on to the slice of this moment.
    #[inline]
    pub(super) fn turn(&mut self, now_ns: u64) {
        while now_ns >= self.end_ns {
            if self.now + 1 == self.all.len() {
                self.halve();
            }
            self.now += 1;
            self.end_ns += self.length_ns;
        }
    }

    /// Makes one of each two.
    fn halve(&mut self) {
        let half = self.all.len() / 2;
        for place in 0..half {
            let (front, back) = self.all.split_at_mut(2 * place + 1);
            let (one, other) = (&mut front[2 * place], &mut back[0]);
            one.started += std::mem::take(&mut other.started);
            one.completed += std::mem::take(&mut other.completed);
            one.latency.add(&other.latency);
            other.latency.clear();
            self.all.swap(place, 2 * place);
        }
        self.length_ns *= 2;
        self.now = half - 1;
        self.end_ns = self.begin_ns + half as u64 * self.length_ns;
    }

    /// The latencies that have come since the mark, which is set anew.
    pub(super) fn since(&self, mark: &mut Mark) -> Recent {
        let is_same = (mark.begin_ns, mark.length_ns) == (self.begin_ns, self.length_ns);
        let first = match (mark.begin_ns == self.begin_ns, is_same) {
            (_, true) => mark.place,
            // Slices that became longer hold older latencies too: these are the ones behind them.
            (true, false) => self.all.len() / 2,
            (false, false) => 0,
        };
        let last = Recent::from_times(&self.all[self.now].latency);
        let mut recent = last.clone();
        for slice in &self.all[first.min(self.now)..self.now] {
            recent.add(&Recent::from_times(&slice.latency));
        }
        if is_same {
            recent.subtract(&mark.seen);
        }
        *mark = Mark { begin_ns: self.begin_ns, length_ns: self.length_ns, place: self.now, seen: last };
        recent
    }

    /// The slices up to this moment.
    pub(super) fn finished(&self, now_ns: u64) -> Vec<Slice> {
        let length = self.length_ns as f64 / 1e9;
        let total = now_ns.saturating_sub(self.begin_ns) as f64 / 1e9;
        let of = |(place, slice): (usize, &Slice)| {
            let begin_seconds = place as f64 * length;
            Slice { begin_seconds, seconds: (total - begin_seconds).clamp(0.0, length), ..slice.clone() }
        };
        self.all[..=self.now].iter().enumerate().map(of).filter(|slice| slice.seconds > 0.0).collect()
    }
}

/// The counts while a generator runs: an array, because every response is counted.
#[derive(Debug)]
pub(super) struct Statuses(Box<[u64; CODES]>);

/// Statuses have three digits.
const CODES: usize = 1000;

impl Statuses {
    pub(super) fn new() -> Statuses {
        Statuses(Box::new([0; CODES]))
    }

    /// Counts a response; 0 is one of a protocol without statuses.
    #[inline(always)]
    pub(super) fn count(&mut self, status: u16) {
        if let Some(count) = self.0.get_mut(usize::from(status)) {
            *count += 1;
        }
    }

    /// The counts so far, which begin anew.
    pub(super) fn take(&mut self) -> BTreeMap<u16, u64> {
        let counts = std::mem::replace(&mut *self.0, [0; CODES]);
        (1..).zip(counts.into_iter().skip(1)).filter(|&(_, count)| count > 0).collect()
    }
}

/// The status counts of several generators together.
pub(super) fn merged_statuses<'a>(
    tables: impl Iterator<Item = &'a BTreeMap<u16, u64>>,
) -> BTreeMap<u16, u64> {
    let mut sums = BTreeMap::new();
    for (&status, count) in tables.flatten() {
        *sums.entry(status).or_default() += count;
    }
    sums
}

/// The observations of the generator of itself and its system meanwhile.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Watch {
    /// Processor time of the generator's thread.
    pub cpu_seconds: f64,
    /// That, as a share of the time that passed.
    pub cpu_share: f64,
    /// Time that it waited for a processor.
    ///
    /// It could have run; `None` where the system does not count that.
    pub run_delay_seconds: Option<f64>,
    /// That, as a share of the time from the beginning of the warm-up to the last response.
    pub run_delay_share: Option<f64>,
    /// Sends that found no room.
    pub sends_blocked: u64,
    /// Waits for events, and events.
    pub waits: u64,
    /// See `waits`.
    pub events: u64,
    /// Segments that this system sent again, for any program.
    pub retransmits: Option<f64>,
    /// Connections that this system dropped because they were not accepted in time.
    pub listen_overflows: Option<f64>,
    /// Those, and all others that it dropped before they were accepted.
    pub listen_drops: Option<f64>,
}

/// The counters when the measuring began.
#[derive(Clone, Debug)]
pub(super) struct Before {
    cpu_ns: Option<u64>,
    snapshot: Snapshot,
    at: Instant,
}

impl Before {
    pub(super) fn now() -> Before {
        // The processor time last: reading the rest takes some.
        let snapshot = activity::snapshot();
        Before { snapshot, at: Instant::now(), cpu_ns: sys::thread::cpu_ns().ok() }
    }

    /// The processor time counts from here on.
    pub(super) fn begin_cpu(&mut self) {
        self.cpu_ns = sys::thread::cpu_ns().ok();
    }

    /// The observations since then.
    pub(super) fn since(&self, elapsed_seconds: f64, cpu_ns: Option<u64>) -> Watch {
        let cpu_seconds =
            cpu_ns.zip(self.cpu_ns).map_or(0.0, |(now, then)| now.saturating_sub(then) as f64 / 1e9);
        let grown = activity::difference(&self.snapshot, &activity::snapshot());
        let count = |name: &str| grown.get(name).copied();
        Watch {
            cpu_seconds,
            cpu_share: cpu_seconds / elapsed_seconds.max(1e-9),
            run_delay_seconds: count("run_delay_seconds"),
            run_delay_share: count("run_delay_seconds").map(|delay| delay / self.at.elapsed().as_secs_f64()),
            retransmits: count("tcp_retransmits"),
            listen_overflows: count("listen_overflows"),
            listen_drops: count("listen_drops"),
            ..Watch::default()
        }
    }
}

impl Watch {
    /// Adds the observations of another generator. The counters of the system are the same for both.
    pub(super) fn add(&mut self, other: &Watch) {
        let larger = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        self.cpu_seconds += other.cpu_seconds;
        self.cpu_share = self.cpu_share.max(other.cpu_share);
        self.run_delay_seconds = larger(self.run_delay_seconds, other.run_delay_seconds);
        self.run_delay_share = larger(self.run_delay_share, other.run_delay_share);
        self.sends_blocked += other.sends_blocked;
        self.waits += other.waits;
        self.events += other.events;
        self.retransmits = larger(self.retransmits, other.retransmits);
        self.listen_overflows = larger(self.listen_overflows, other.listen_overflows);
        self.listen_drops = larger(self.listen_drops, other.listen_drops);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_grow_when_they_run_out() {
        let mut slices = Slices::new(&Times::new().unwrap());
        slices.begin(1000, 10);
        for number in 0..1000 {
            slices.turn(1000 + number * 10);
            slices.started(1);
            slices.completed(1000 + number);
        }
        let finished = slices.finished(11_000);
        assert!((32..=64).contains(&finished.len()), "{}", finished.len());
        assert_eq!(finished.iter().map(|slice| slice.completed).sum::<u64>(), 1000);
        assert_eq!(finished.iter().map(|slice| slice.latency.count()).sum::<u64>(), 1000);
        assert!((finished.iter().map(|slice| slice.seconds).sum::<f64>() - 10e-6).abs() < 1e-12);
        let begins: Vec<f64> = finished.iter().map(|slice| slice.begin_seconds).collect();
        assert!(begins.is_sorted());
        // Slices are whole pieces of the time: latencies rise with it.
        assert!(finished.windows(2).all(|two| two[0].latency.max_ns() <= two[1].latency.min_ns() + 2));
    }

    /// The latency of each response is its time, so a response in the wrong look shows.
    #[test]
    fn a_look_has_what_came_since_the_last_one() {
        let (mut slices, mut mark) = (Slices::new(&Times::new().unwrap()), Mark::default());
        for begin_ns in [1_000_000, 9_000_000] {
            slices.begin(begin_ns, 1000);
            let mut looks = 0;
            for step in 1..=2000 {
                let now = begin_ns + step * 100;
                slices.turn(now);
                slices.completed(step * 100);
                if step % 37 == 0 {
                    let recent = slices.since(&mut mark);
                    let at = |share| recent.quantile(share).unwrap() * 1e9 / 100.0;
                    let first = (step - 36) as f64;
                    assert!((at(1.0) - step as f64).abs() <= step as f64 / 32.0, "{} at {step}", at(1.0));
                    // Where slices became longer, only a part of them; never anything older.
                    assert!(at(0.0) >= first * (1.0 - 1.0 / 32.0), "{} at {step}", at(0.0));
                    looks += usize::from((at(0.0) - first).abs() <= first / 32.0);
                }
            }
            assert!(looks >= 50, "{looks} of 54 looks have all that came");
        }
    }
}
