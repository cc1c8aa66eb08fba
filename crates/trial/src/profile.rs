//! Samples the stacks of a worker and its children, from outside: its code is unchanged, and it does not
//! notice. The ends of operations assign the samples to operations afterwards.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use record::ProfileOrder;
use sys::clock::Clock;
use sys::profile::{CodeMapping, Holding, Sampler};

/// How often samples are taken over: the buffer holds those of 100 ms.
const BETWEEN_DRAINS: Duration = Duration::from_millis(10);

/// Objects in use are counted so seldom that this takes less than this part of the time: a process cannot
/// change its mappings meanwhile.
const READING_MOST: u32 = 20;

/// How long a program may take until it has been loaded.
const LOADED_WITHIN: Duration = Duration::from_secs(5);

/// Samples of one worker, in a thread of the supervisor.
pub(crate) struct Profiler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Sampled>,
}

/// The samples of one trial.
pub(crate) struct Sampled {
    /// Each with its time, by the clock of samples.
    pub(crate) samples: Vec<TakenSample>,
    /// The stacks, each once.
    pub(crate) stacks: Vec<RawStack>,
    /// The same moments by the clock of the trial and that of samples, in their order.
    pub(crate) moments: Vec<(u64, u64)>,
    pub(crate) lost: u64,
    pub(crate) mappings: Vec<CodeMapping>,
    pub(crate) counters: Vec<&'static str>,
    pub(crate) uncounted: String,
    pub(crate) unsampled: String,
    /// The counts of objects in use, each with its time, by the clock of samples.
    pub(crate) in_use: Vec<(u64, Vec<Holding>)>,
    period: Duration,
}

/// One sample.
pub(crate) struct TakenSample {
    pub(crate) time_ns: u64,
    /// Its place in the list of stacks.
    pub(crate) stack: usize,
    /// For the first thread only.
    pub(crate) counters: Vec<u64>,
}

/// Addresses of a stack, the innermost first.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct RawStack {
    pub(crate) kernel: Vec<u64>,
    pub(crate) user: Vec<u64>,
}

impl Profiler {
    /// Begins to sample a worker that was started and has no task yet. It will be pinned to that processor,
    /// and its children with it, or run on any.
    pub(crate) fn attach(worker: u32, order: &ProfileOrder, processor: Option<u32>) -> io::Result<Profiler> {
        let period = Duration::try_from_secs_f64(order.period_seconds).unwrap_or(Duration::from_millis(1));
        let processors = match processor {
            Some(processor) => vec![processor],
            None => sys::cpu::allowed().unwrap_or_default(),
        };
        let sampler = Sampler::attach(worker, period, &processors)?;
        let begun = Instant::now();
        while !sys::profile::waits_for_input(worker) && begun.elapsed() < LOADED_WITHIN {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mappings = sys::profile::mappings(worker).unwrap_or_default();
        sampler.enable()?;
        let stop = Arc::new(AtomicBool::new(false));
        let wanted = Arc::clone(&stop);
        let clock = Clock::start();
        let work = move || take(worker, sampler, (&clock, period), mappings, &wanted);
        Ok(Profiler { thread: Builder::new().spawn(work)?, stop })
    }

    /// Ends it; the worker has ended too.
    pub(crate) fn finish(self) -> Sampled {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|_| Sampled {
            samples: Vec::new(),
            stacks: Vec::new(),
            moments: Vec::new(),
            lost: 0,
            mappings: Vec::new(),
            counters: Vec::new(),
            uncounted: String::new(),
            unsampled: String::new(),
            in_use: Vec::new(),
            period: Duration::ZERO,
        })
    }
}

fn take(
    worker: u32,
    mut sampler: Sampler,
    (clock, period): (&Clock, Duration),
    mut mappings: Vec<CodeMapping>,
    stop: &AtomicBool,
) -> Sampled {
    let mut samples = Vec::new();
    let mut places: HashMap<RawStack, usize> = HashMap::new();
    let mut moments = Vec::new();
    let mut in_use = Vec::new();
    let mut next_reading = Instant::now();
    loop {
        let is_last = stop.load(Ordering::Relaxed);
        moments.push(clock.beside(sys::profile::sample_clock_ns));
        let mut on_sample = |sample: sys::profile::Sample<'_>| {
            let stack = RawStack { kernel: sample.kernel.to_vec(), user: sample.user.to_vec() };
            let next = places.len();
            let stack = *places.entry(stack).or_insert(next);
            let counters = sample.counters.to_vec();
            samples.push(TakenSample { time_ns: sample.time_ns, stack, counters });
        };
        if is_last {
            sampler.finish(&mut on_sample);
            break;
        }
        sampler.drain(&mut on_sample);
        let begun = Instant::now();
        if begun >= next_reading {
            in_use.push((sys::profile::sample_clock_ns(), sys::profile::in_use(worker)));
            next_reading = Instant::now() + begun.elapsed() * READING_MOST;
        }
        std::thread::sleep(BETWEEN_DRAINS);
    }
    mappings.extend_from_slice(sampler.code_of_others());
    let mut stacks: Vec<(RawStack, usize)> = places.into_iter().collect();
    stacks.sort_by_key(|&(_, place)| place);
    let stacks = stacks.into_iter().map(|(stack, _)| stack).collect();
    Sampled {
        samples,
        stacks,
        moments,
        lost: sampler.lost(),
        mappings,
        counters: sampler.counters().to_vec(),
        uncounted: sampler.uncounted().to_owned(),
        unsampled: sampler.unsampled().to_owned(),
        in_use,
        period,
    }
}

impl Sampled {
    /// Processor time from one sample to the next.
    pub(crate) fn period(&self) -> Duration {
        self.period
    }

    /// A moment of the clock of samples in ticks of the trial's clock.
    pub(crate) fn ticks(&self, time_ns: u64) -> Option<f64> {
        let behind = self.moments.partition_point(|&(_, ns)| ns < time_ns);
        let last = self.moments.len().checked_sub(2)?;
        let [(ticks_0, ns_0), (ticks_1, ns_1)] =
            *self.moments.get(behind.saturating_sub(1).min(last)..)?.first_chunk()?;
        let rate = (ticks_1 as f64 - ticks_0 as f64) / (ns_1 as f64 - ns_0 as f64);
        Some(ticks_0 as f64 + (time_ns as f64 - ns_0 as f64) * rate)
    }
}
