//! The context of every architecture: its listener, its service, its limits, and the order to stop.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sys::memory::Shared;
use sys::tcp::Listener;

use crate::output::Output;
use crate::service::{OpenService, SessionStage};

/// A place to serve at. Each worker of a server has its own.
pub struct WorkerContext {
    /// Blocking or not, by [`Architecture::blocking`](crate::arch::Architecture). A blocking accept gives up
    /// after [`TICK`] with `WouldBlock`, so that its caller checks [`WorkerContext::stop`] in time.
    pub listener: Listener,
    /// The service.
    pub service: Arc<dyn OpenService>,
    /// The limits.
    pub limits: Limits,
    /// The counters; other processes and threads may read them.
    pub counters: Counters,
    /// When to stop.
    pub stop: StopFlag,
    /// The access log; opened for appending.
    pub log: Option<File>,
    /// The command that serves one connection on its standard input and output, for `inetd`.
    pub session_command: Vec<String>,
    /// Threads or processes of an architecture that has a fixed pool of them.
    pub pool: usize,
    /// How it gets connections, where it is one of several workers.
    pub accept: Accept,
    /// Whether a supervisor watches this worker, and gives the listener to the next one when it ends.
    pub is_supervised: bool,
}

/// How several workers of a server get the connections of its port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lower")]
pub enum Accept {
    /// Each has a listener with a queue of its own; the kernel chooses one by a hash of the addresses
    /// (`SO_REUSEPORT`).
    #[default]
    ReusePort,
    /// All wait for one listener with one queue; a connection wakes all that sleep.
    Shared,
    /// The same, and a connection wakes one of them (`EPOLLEXCLUSIVE`).
    Exclusive,
}

impl Accept {
    /// All of them.
    pub const ALL: [Accept; 3] = [Accept::ReusePort, Accept::Shared, Accept::Exclusive];

    /// Their names, in the same order.
    pub const NAMES: [&str; 3] = ["reuseport", "shared", "exclusive"];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        Accept::NAMES[self as usize]
    }

    /// The one of that name.
    pub fn find(name: &str) -> Option<Accept> {
        Accept::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// The longest wait before a check for the order to stop.
pub const TICK: Duration = Duration::from_millis(200);

/// After a close that gives the other end time, input is dropped until the other end closes or has sent
/// nothing for this long. A close with input that was not received is a reset, which can destroy the response
/// before it is read (RFC 9112, section 9.6).
pub(crate) const LINGER: Duration = Duration::from_secs(2);

/// The longest time in all.
pub(crate) const LINGER_MAX: Duration = Duration::from_secs(30);

/// How often the progress of a response is checked within the limit for sending: whether the other end has
/// acknowledged more of it. A socket becomes writable only when a third of its buffer is free, which is a
/// megabyte: a slow reader needs long for that, although it reads.
pub(crate) const SEND_LOOKS: u32 = 4;

/// The limits of a server, in number and in time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Connections of one worker at a time; more are accepted and closed at once.
    pub connections: usize,
    /// A connection without a request is closed after this time.
    pub idle: Duration,
    /// A request must have arrived as a whole within this time of its first byte.
    pub request: Duration,
    /// A response is given up when the other end has acknowledged nothing of it for this time, and for twice
    /// this time at most, because it is checked at intervals.
    pub send: Duration,
    /// After an order to stop, responses in progress have this time to leave.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let seconds = Duration::from_secs;
        Limits {
            connections: usize::MAX,
            idle: seconds(75),
            request: seconds(20),
            // A reader of 4 kB/s may take 47 s for the 190 kB that its system has acknowledged already, and
            // acknowledges nothing before.
            send: seconds(60),
            grace: seconds(10),
        }
    }
}

impl Limits {
    /// Gives a blocking listener the time limits of calls that wait, which its connections inherit.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    pub fn inherit(&self, listener: &Listener) -> std::io::Result<()> {
        listener.accept_timeout(TICK)?;
        // 0 would wait for ever.
        listener.send_timeout((self.send / SEND_LOOKS).max(Duration::from_millis(1)))
    }

    /// How long a session may stay in that stage.
    pub(crate) fn of_stage(&self, stage: SessionStage) -> Duration {
        match stage {
            SessionStage::Idle => self.idle,
            SessionStage::Request | SessionStage::Data => self.request,
            SessionStage::Paused(time) => time,
        }
    }
}

/// The events that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Counter {
    /// Connections accepted.
    Accepted,
    /// Connections closed at once because there were too many.
    Refused,
    /// Connections that have ended, in any way.
    Ended,
    /// Connections that broke: reset, or gone in the middle of a response.
    Broken,
    /// Connections closed because the client took too long.
    Slow,
    /// Requests answered, whether or not the client took the response to its end: one for each line of the
    /// access log of HTTP, and one for each reply of SMTP.
    Responses,
    /// Bytes received.
    Received,
    /// Bytes sent.
    Sent,
    /// How often no connection could be accepted for lack of descriptors, memory or processes.
    Exhausted,
    /// Workers that ended unexpectedly and were started anew.
    Restarts,
    /// Recipients that a mail server accepted.
    Recipients,
}

/// Names of the counts, in their order.
pub const COUNTERS: [&str; 11] = [
    "accepted",
    "refused",
    "ended",
    "broken",
    "slow",
    "responses",
    "received_bytes",
    "sent_bytes",
    "exhausted",
    "restarts",
    "recipients",
];

/// Counters in memory that all processes of a server share; each worker has a row of its own, so that none
/// waits for another's cache line.
#[derive(Clone, Debug)]
pub struct Counters {
    memory: Arc<Shared>,
    row: usize,
}

/// Numbers of a row: two cache lines, because processors fetch them in pairs.
const ROW: usize = 16;

/// Behind the counts of a row stands the largest number of connections that were open at a time.
const PEAK: usize = COUNTERS.len();

/// Then the errno of the system when a line of the log could not be written; 0 for none.
const LOG_ERROR: usize = PEAK + 1;

impl Counters {
    /// Counters for several workers; this one counts for the first.
    ///
    /// # Errors
    /// Those of mapping memory.
    pub fn new(workers: usize) -> std::io::Result<Counters> {
        Ok(Counters { memory: Arc::new(Shared::create(workers.max(1) * ROW)?), row: 0 })
    }

    /// The counters that another process made and has left to this one: [`Counters::inheritable`] there.
    ///
    /// # Errors
    /// Those of fcntl(2) and mmap(2).
    pub fn inherit(descriptor: i32, workers: usize) -> std::io::Result<Counters> {
        Ok(Counters { memory: Arc::new(Shared::join(descriptor, workers.max(1) * ROW)?), row: 0 })
    }

    /// The descriptor that executed programs inherit, and the number of workers that the counters are for.
    pub fn inheritable(&self) -> Option<(i32, usize)> {
        Some((self.memory.inheritable()?, self.memory.slots().len() / ROW))
    }

    /// The same counters, for the worker of that number.
    #[must_use]
    pub(crate) fn of_worker(&self, number: usize) -> Counters {
        Counters { memory: Arc::clone(&self.memory), row: number }
    }

    /// Adds to a count.
    #[inline]
    pub fn add(&self, count: Counter, amount: u64) {
        if let Some(slot) = self.slot(self.row, count as usize) {
            let before = slot.fetch_add(amount, Ordering::Relaxed);
            if count == Counter::Accepted {
                self.note_peak(before + amount);
            }
        }
    }

    /// Counts the requests that an output answers, and returns their number.
    pub(crate) fn add_responses(&self, output: &mut Output) -> u64 {
        let responses = output.take_responses();
        self.add(Counter::Responses, responses);
        self.add(Counter::Recipients, output.take_recipients());
        responses
    }

    fn note_peak(&self, accepted: u64) {
        if let Some(ended) = self.slot(self.row, Counter::Ended as usize)
            && let Some(peak) = self.slot(self.row, PEAK)
        {
            // A connection that came and ended between two checks was open all the same.
            let open = accepted.saturating_sub(ended.load(Ordering::Relaxed)).max(1);
            peak.fetch_max(open, Ordering::Relaxed);
        }
    }

    /// The worker that counted here has ended, and its connections broke with it.
    pub fn settle(&self) {
        let count =
            |count| self.slot(self.row, count as usize).map_or(0, |slot| slot.load(Ordering::Relaxed));
        let lost = count(Counter::Accepted).saturating_sub(count(Counter::Ended));
        self.add(Counter::Ended, lost);
        self.add(Counter::Broken, lost);
    }

    /// The most connections that were open at a time. For several workers at least that many: they are
    /// checked at intervals.
    pub fn peak(&self) -> u64 {
        let rows = self.memory.slots().len() / ROW;
        let peaks = (0..rows).filter_map(|row| self.slot(row, PEAK)).map(|peak| peak.load(Ordering::Relaxed));
        peaks.max().unwrap_or(0)
    }

    /// Reads how many connections are open over all workers, for [`Counters::peak`].
    pub fn look(&self) {
        if let Some(peak) = self.slot(self.row, PEAK) {
            peak.fetch_max(self.open(), Ordering::Relaxed);
        }
    }

    /// Notes that a line of the log was lost, for [`Counters::log_error`].
    fn note_log_error(&self, error: &std::io::Error) {
        if let Some(slot) = self.slot(self.row, LOG_ERROR) {
            let number = error.raw_os_error().and_then(|errno| u64::try_from(errno).ok());
            slot.store(number.unwrap_or(u64::MAX), Ordering::Relaxed);
        }
    }

    /// Why a line of the log was lost, in any process of the server.
    pub(crate) fn log_error(&self) -> Option<std::io::Error> {
        let rows = self.memory.slots().len() / ROW;
        let numbers = (0..rows).filter_map(|row| self.slot(row, LOG_ERROR));
        let number = numbers.map(|slot| slot.load(Ordering::Relaxed)).find(|&number| number > 0)?;
        let errno = i32::try_from(number).ok();
        Some(errno.map_or_else(|| std::io::ErrorKind::WriteZero.into(), std::io::Error::from_raw_os_error))
    }

    /// The sums over all workers, in the order of [`COUNTERS`].
    pub fn sums(&self) -> [u64; COUNTERS.len()] {
        let rows = self.memory.slots().len() / ROW;
        std::array::from_fn(|count| {
            let of_row = |row| self.slot(row, count).map_or(0, |slot| slot.load(Ordering::Relaxed));
            (0..rows).map(of_row).sum()
        })
    }

    /// Connections open now, over all workers.
    pub fn open(&self) -> u64 {
        let sums = self.sums();
        sums[Counter::Accepted as usize].saturating_sub(sums[Counter::Ended as usize])
    }

    fn slot(&self, row: usize, count: usize) -> Option<&AtomicU64> {
        self.memory.slots().get(row * ROW + count)
    }
}

/// The order to stop: from a signal, or from the thread that set up the server.
#[derive(Clone, Debug, Default)]
pub struct StopFlag {
    own: Arc<std::sync::atomic::AtomicBool>,
}

impl StopFlag {
    /// Gives the order.
    pub fn order(&self) {
        self.own.store(true, Ordering::Relaxed);
    }

    /// Whether it was given, here or to the process by SIGTERM or SIGINT.
    #[inline]
    pub(crate) fn is_ordered(&self) -> bool {
        self.own.load(Ordering::Relaxed) || sys::signal::stop_ordered()
    }
}

/// The service of a connection, and its limits. A [`WorkerContext`] has them all, and a listener.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) service: &'a dyn OpenService,
    pub(crate) limits: &'a Limits,
    pub(crate) counters: &'a Counters,
    pub(crate) stop: &'a StopFlag,
    pub(crate) log: Option<&'a File>,
}

impl<'a> Terms<'a> {
    /// Those of a worker, counting into `counters`.
    pub(crate) fn new(worker: &'a WorkerContext, counters: &'a Counters) -> Terms<'a> {
        let WorkerContext { service, limits, stop, log, .. } = worker;
        Terms { service: &**service, limits, counters, stop, log: log.as_ref() }
    }
}

impl WorkerContext {
    /// Refuses connections from now on. The supervisor of a supervised worker does that itself, because the
    /// listener outlives the worker.
    pub(crate) fn refuse_more(&self) {
        if !self.is_supervised {
            self.listener.finish();
        }
    }
}

/// Writes lines to the access log, where there is one. The service decides whether the server goes on if a
/// line cannot be written.
pub(crate) fn write_log(log: Option<&File>, lines: &mut Vec<u8>, counters: &Counters) {
    if let Some(mut log) = log
        && !lines.is_empty()
        && let Err(error) = log.write_all(lines)
    {
        counters.note_log_error(&error);
    }
    lines.clear();
}
