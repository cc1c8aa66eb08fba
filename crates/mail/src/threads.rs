//! Several engines that deliver one list, each in a thread of its own: a domain belongs to one of them, and
//! each has its part of the connections. They share only the destination of results.

use std::io;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::MailError;
use crate::engine::{EngineSettings, Until};
use crate::events::{self, DeliveryEngine};
use crate::measured::MailMeasured;
use crate::recipients::Recipients;
use crate::result::{DeliveryResult, Results};

/// How a list is delivered.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryPlan<'a> {
    /// The event interface, one of [`crate::EVENT_INTERFACES`].
    pub interface: &'a str,
    /// Engines; there are no more than connections, in all and to one host.
    pub threads: NonZero<u32>,
    /// Connections of all engines at once, at most.
    pub connections: u32,
    /// Connections from one source address, at most.
    pub connections_per_source: u32,
    /// Work that is not begun within this time is left.
    pub duration: Duration,
    /// How long transactions under way may take after the end.
    pub grace: Duration,
    /// Ends all engines early. An engine that fails sets it.
    pub stop: &'a AtomicBool,
}

/// The result of all engines together.
#[derive(Debug, Serialize, Deserialize)]
pub struct Delivered {
    /// The counts and times.
    pub measured: MailMeasured,
    /// How long the longest of them took.
    pub elapsed_ns: u64,
    /// How long the busiest of them was at work: without the time in which it only waited for the time of
    /// another attempt.
    pub delivering_ns: u64,
}

impl Delivered {
    /// Adds the result of another engine that was at work at the same time.
    pub(crate) fn add(&mut self, other: &Delivered) {
        self.measured.add(&other.measured);
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.delivering_ns = self.delivering_ns.max(other.delivering_ns);
    }
}

/// Delivers the list. `begun` is called once the first engine exists, so that impossible settings are an
/// error before.
///
/// # Errors
/// That of the first engine which failed.
pub fn deliver<R: Results + Send>(
    recipients: &Recipients,
    settings: &EngineSettings,
    results: R,
    plan: DeliveryPlan<'_>,
    begun: impl FnOnce(),
) -> Result<Delivered, MailError> {
    let sources = u32::try_from(settings.sources.0.len()).unwrap_or(u32::MAX).max(1);
    let connections = plan.connections.min(sources.saturating_mul(plan.connections_per_source));
    let plan = DeliveryPlan { connections, ..plan };
    let of = plan.threads.get().min(connections).min(settings.queue.connections_per_host).max(1);
    let results = Mutex::new(results);
    let open = |number| {
        let settings = settings.of_share(Share { number, of });
        events::open(plan.interface, recipients, settings, Shared(&results))
    };
    let deliver_share = |number| {
        let engine = open(number)?;
        run(engine, Share { number, of }.part(plan.connections), plan)
    };
    std::thread::scope(|scope| {
        let first = open(0)?;
        begun();
        let others: Vec<_> = (1..of).map(|number| scope.spawn(move || deliver_share(number))).collect();
        let mut all = run(first, Share { number: 0, of }.part(plan.connections), plan)?;
        for other in others {
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            all.add(&other);
        }
        Ok(all)
    })
}

/// Runs one engine to its end. Where it fails, the others are stopped.
fn run(
    mut engine: Box<dyn DeliveryEngine + '_>,
    connections: u32,
    plan: DeliveryPlan<'_>,
) -> Result<Delivered, MailError> {
    let begun_ns = engine.now_ns();
    let end_ns = begun_ns.saturating_add(u64::try_from(plan.duration.as_nanos()).unwrap_or(u64::MAX));
    let (mut elapsed_ns, mut delivering_ns) = (0, 0);
    let run = engine.run(connections as usize, Until { end_ns, stop: Some(plan.stop) }).and_then(|()| {
        elapsed_ns = engine.now_ns() - begun_ns;
        delivering_ns = elapsed_ns.saturating_sub(engine.waiting_ns());
        engine.finish(plan.grace)
    });
    if run.is_err() {
        plan.stop.store(true, Ordering::Relaxed);
    }
    run.map(|()| Delivered { measured: engine.measured().clone(), elapsed_ns, delivering_ns })
}

/// Results of all engines have one destination, one after the other.
struct Shared<'a, R>(&'a Mutex<R>);

impl<R> Shared<'_, R> {
    /// An engine that failed has not left half a line there.
    fn lock(&self) -> MutexGuard<'_, R> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Results> Results for Shared<'_, R> {
    fn put(&mut self, result: &DeliveryResult<'_>) -> io::Result<()> {
        self.lock().put(result)
    }

    fn turn_ended(&mut self) -> io::Result<()> {
        self.lock().turn_ended()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lock().flush()
    }
}

/// The share of one of several engines in a list and in its limits: of `of` domains in a row, the one with
/// its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// From 0.
    pub number: u32,
    /// How many engines there are.
    pub of: u32,
}

impl Share {
    /// Whether the domain is its own.
    pub(crate) fn has(self, domain: u32) -> bool {
        domain % self.of == self.number
    }

    /// The place among those of all engines of one that is the engine's own: no two have the same.
    pub(crate) fn place(self, own: usize) -> usize {
        own * self.of as usize + self.number as usize
    }

    /// Its part of a limit; all parts together are the limit.
    pub(crate) fn part(self, limit: u32) -> u32 {
        limit / self.of + u32::from(self.number < limit % self.of)
    }
}

impl Default for Share {
    fn default() -> Share {
        Share { number: 0, of: 1 }
    }
}
