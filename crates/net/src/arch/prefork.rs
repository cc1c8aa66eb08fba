//! A fixed pool of processes, each of which accepts and serves one connection at a time.
//!
//! **Design.** The processes are forked before the first connection arrives. All wait in accept(2) on the
//! same listener, and the kernel wakes one of them. The parent serves no connections; it replaces
//! processes that exit.
//!
//! **Use.** Apache 1.3 and the prefork module of its successor work in this way, and so do most mail
//! servers (postfix uses each process for a hundred connections) and the servers of languages whose
//! interpreter has one thread.
//!
//! **Cost.** Nothing is created or destroyed for a connection, so a short one costs little more than its
//! system calls. At most as many connections are served at a time as there are processes: an open idle
//! connection occupies a process, and when all are occupied, further connections wait in the accept
//! queue. `--pool N` sets the number of processes.

use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::blocking::{self, Live};
use super::{Architecture, ServedBy};
use crate::worker::{Counter, Counters, StopFlag, Terms, WorkerContext};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "prefork",
    source: record::page!("prefork.rs"),
    served_by: ServedBy::PooledProcess,
    accepts: &[],
    probe: super::forks,
    serve: super::on_unix(serve),
};

fn serve(worker: &WorkerContext) -> io::Result<()> {
    Supervisor {
        // More would serve more connections at a time than may be.
        size: worker.pool.min(worker.limits.connections),
        stop: &worker.stop,
        grace: worker.limits.grace,
        counters: &|number| worker.counters.of_worker(1 + number),
        work: &|number| work(worker, 1 + number),
        stopping: &|| worker.listener.finish(),
    }
    .keep(&mut || ())
}

/// The life of a process: one connection after the other.
fn work(worker: &WorkerContext, row: usize) -> io::Result<()> {
    let counters = worker.counters.of_worker(row);
    while !worker.stop.is_ordered() {
        if let Some(connection) = blocking::accept(worker, &counters)? {
            blocking::serve(Terms::new(worker, &counters), &Live::new(connection));
            counters.add(Counter::Ended, 1);
        }
    }
    Ok(())
}

/// A fixed number of processes, here or for a server of several workers. The supervisor starts them, replaces
/// those that end unexpectedly, stops them, and kills those that do not stop.
pub(crate) struct Supervisor<'a> {
    /// How many.
    pub(crate) size: usize,
    /// When to stop.
    pub(crate) stop: &'a StopFlag,
    /// How long a worker has to stop.
    pub(crate) grace: Duration,
    /// The counters of the worker of that number.
    pub(crate) counters: &'a dyn Fn(usize) -> Counters,
    /// The work of the worker with that number, in its own process.
    pub(crate) work: &'a dyn Fn(usize) -> io::Result<()>,
    /// Called once all workers have the order to stop.
    pub(crate) stopping: &'a dyn Fn(),
}

/// How often the supervisor checks its workers.
const LOOK: Duration = Duration::from_millis(20);

/// A worker is replaced no sooner than this after its start.
const REPLACE_AFTER: Duration = Duration::from_millis(100);

/// A worker that ends with an error within this time of its start never began to serve.
const EARLY: Duration = Duration::from_secs(1);

/// After so many in a row that never began, the server gives up.
const EARLY_ENDS: usize = 10;

/// The workers observe the time of grace; this much later they are killed.
const KILL_AFTER: Duration = Duration::from_secs(2);

struct Worker {
    process: Option<u32>,
    started: Instant,
}

impl Supervisor<'_> {
    /// Keeps the workers until the order to stop, and then until all have ended. `look` is called now and
    /// then.
    ///
    /// # Errors
    /// Those of fork(2) for the first workers; the error of the workers, when none begins to serve.
    pub(crate) fn keep(&self, look: &mut dyn FnMut()) -> io::Result<()> {
        let mut workers = Vec::with_capacity(self.size);
        let mut outcome = Ok(());
        for number in 0..self.size {
            match self.start(number) {
                Ok(worker) => workers.push(worker),
                Err(error) => outcome = Err(error),
            }
        }
        let mut early_ends = 0;
        while outcome.is_ok() && !self.stop.is_ordered() {
            look();
            (self.counters)(0).look();
            std::thread::sleep(LOOK);
            for (number, status) in self.ended(&mut workers) {
                match failure(status) {
                    Some(_) if workers[number].started.elapsed() > EARLY => early_ends = 0,
                    Some(error) => {
                        early_ends += 1;
                        if early_ends >= EARLY_ENDS {
                            outcome = Err(error);
                        }
                    }
                    None => {}
                }
            }
            self.replace(&mut workers);
        }
        self.end(&mut workers, look);
        outcome
    }

    fn start(&self, number: usize) -> io::Result<Worker> {
        let work = || match (self.work)(number) {
            Ok(()) => 0,
            // A process can pass on only its errno when it ends; all are smaller than 256.
            Err(error) => error.raw_os_error().and_then(|errno| u8::try_from(errno).ok()).unwrap_or(1),
        };
        Ok(Worker { process: Some(sys::process::fork(work)?), started: Instant::now() })
    }

    /// The workers that ended since the last call, and how. Their open connections are counted as ended.
    fn ended(&self, workers: &mut [Worker]) -> Vec<(usize, ExitStatus)> {
        let mut ended = Vec::new();
        while let Ok(Some((process, status))) = sys::process::ended_child() {
            let found = workers.iter().position(|worker| worker.process == Some(process));
            if let Some(number) = found {
                workers[number].process = None;
                (self.counters)(number).settle();
                ended.push((number, status));
            }
        }
        ended
    }

    fn replace(&self, workers: &mut [Worker]) {
        for (number, worker) in workers.iter_mut().enumerate() {
            if worker.process.is_some() || worker.started.elapsed() < REPLACE_AFTER || self.stop.is_ordered()
            {
                continue;
            }
            let count = match self.start(number) {
                Ok(new) => {
                    *worker = new;
                    Counter::Restarts
                }
                // The next look tries again.
                Err(_) => Counter::Exhausted,
            };
            (self.counters)(number).add(count, 1);
        }
    }

    fn end(&self, workers: &mut [Worker], look: &mut dyn FnMut()) {
        tell_all(workers, sys::signal::send_stop);
        // They get the order first, so that they stop by themselves.
        std::thread::sleep(LOOK);
        (self.stopping)();
        let until = Instant::now().checked_add(self.grace.saturating_add(KILL_AFTER));
        while workers.iter().any(|worker| worker.process.is_some()) {
            if until.is_some_and(|until| Instant::now() > until) {
                tell_all(workers, sys::process::kill);
            } else {
                // Again and again: a signal that comes right before a worker begins to wait does not wake it.
                tell_all(workers, sys::signal::send_stop);
            }
            std::thread::sleep(LOOK);
            look();
            self.ended(workers);
        }
    }
}

fn tell_all(workers: &mut [Worker], tell: fn(u32) -> io::Result<()>) {
    for worker in workers {
        // A missing worker has ended, and was reaped elsewhere.
        if worker.process.is_some_and(|process| tell(process).is_err()) {
            worker.process = None;
        }
    }
}

/// The error of a worker that ended by itself.
fn failure(status: ExitStatus) -> Option<io::Error> {
    match status.code() {
        None | Some(0) => None,
        Some(code) if code == i32::from(sys::process::PANICKED) => {
            Some(io::Error::other("the worker panicked"))
        }
        Some(1) => Some(io::Error::other("the worker gave up")),
        Some(errno) => Some(io::Error::from_raw_os_error(errno)),
    }
}
