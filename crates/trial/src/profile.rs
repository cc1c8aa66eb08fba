//! Samples the stacks of a worker and its children, from outside: its code is unchanged, and it does not
//! notice. Afterwards each sample is attributed to the operation that was under way, by the ends of
//! operations, and so each stack is counted where an operation is cheap and where it is expensive.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use record::{
    Count, Direction, Frame, InUse, Line, NRange, Profile, ProfileOrder, ProfileWindow, ProfiledSeries,
    Stack, TrialKey, TrialParameters,
};
use sys::clock::Clock;
use sys::profile::{CodeMapping, Holding, KernelSymbols, Sampler};
use workload::{PhaseTime, Shape, Slots, Workload};

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

pub(crate) struct Sampled {
    /// Each with its time, by the clock of samples.
    samples: Vec<TakenSample>,
    /// The stacks, each once.
    stacks: Vec<RawStack>,
    /// The same moments by the clock of the trial and that of samples, in their order.
    moments: Vec<(u64, u64)>,
    lost: u64,
    mappings: Vec<CodeMapping>,
    counters: Vec<&'static str>,
    uncounted: String,
    unsampled: String,
    /// The counts of objects in use, each with its time, by the clock of samples.
    in_use: Vec<(u64, Vec<Holding>)>,
    /// Processor time from one sample to the next.
    period: Duration,
}

struct TakenSample {
    time_ns: u64,
    /// Its place in the list of stacks.
    stack: usize,
    /// For the first thread only.
    counters: Vec<u64>,
}

/// Addresses of a stack, the innermost first.
#[derive(Clone, PartialEq, Eq, Hash)]
struct RawStack {
    kernel: Vec<u64>,
    user: Vec<u64>,
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
    /// A moment of the clock of samples in ticks of the trial's clock.
    fn ticks(&self, time_ns: u64) -> Option<f64> {
        let behind = self.moments.partition_point(|&(_, ns)| ns < time_ns);
        let last = self.moments.len().checked_sub(2)?;
        let [(ticks_0, ns_0), (ticks_1, ns_1)] =
            *self.moments.get(behind.saturating_sub(1).min(last)..)?.first_chunk()?;
        let rate = (ticks_1 as f64 - ticks_0 as f64) / (ns_1 as f64 - ns_0 as f64);
        Some(ticks_0 as f64 + (time_ns as f64 - ns_0 as f64) * rate)
    }
}

/// The stacks that are kept of a series; the samples of those beyond are in one of that name.
const STACKS_MAX: usize = 2000;
const OTHERS: &str = "[other stacks]";
/// A chain of callers without frame pointers may be arbitrary; a longer one than this is.
const USER_FRAMES_MAX: usize = 64;

/// From one sample to the next a counter counts for an operation if that takes so much of the time between.
const COVERED: f64 = 0.9;

/// The profile of each requested series.
pub(crate) fn profiles(
    sampled: &Sampled,
    workload: &Workload,
    order: &TrialParameters,
    (slots, phase_times): (Slots<'_>, &[PhaseTime]),
    clocks: (u32, f64),
) -> Vec<Line> {
    let wanted = order.profile.iter().flat_map(|profile| &profile.series);
    let names = Names::new(sampled);
    let of = |series| {
        let intervals = match workload.shape {
            Shape::Job | Shape::Scaling => Intervals::of_phases(phase_times, series)?,
            Shape::Curve | Shape::Load => Intervals::new(workload, order, slots, series)?,
        };
        Some(Line::Profile(profile(sampled, &names, order, series, &intervals, clocks)))
    };
    wanted.filter_map(of).collect()
}

/// When the operations of one series were under way.
struct Intervals {
    operated: Vec<Operated>,
    /// Whether other processes do the work: the counters and objects of the trial's own are not theirs.
    elsewhere: bool,
}

struct Operated {
    begin: f64,
    end: f64,
    n: u64,
    /// How many operations it stands for.
    units: u64,
    /// How many workers did them, all of the time.
    workers: u64,
    /// Ticks of all operations before it.
    before: f64,
}

impl Intervals {
    /// Those of the series, if the workload measures it.
    fn new(
        workload: &Workload,
        order: &TrialParameters,
        slots: Slots<'_>,
        series: &ProfiledSeries,
    ) -> Option<Intervals> {
        let is_it = |operation: &&workload::Operation| {
            operation.name == series.name && operation.direction == series.direction && !operation.reported
        };
        let index = workload.measured().position(|operation| is_it(&operation))?;
        let (top, stride) = (slots.top(), order.stride());
        let mut before = 0.0;
        let operated = slots.intervals(index).enumerate().map(|(row, (end, ticks))| {
            let done = row as u64 * stride;
            let n = match series.direction {
                Direction::Up => done,
                Direction::Down => top.saturating_sub(done),
            };
            let (end, ticks) = (end as f64, ticks as f64);
            before += ticks;
            Operated { begin: end - ticks, end, n, units: 1, workers: 1, before: before - ticks }
        });
        Some(Intervals { operated: operated.collect(), elsewhere: false })
    }

    /// Those of a phase of a job, or of the levels of a scaling, if there are any.
    fn of_phases(phase_times: &[PhaseTime], series: &ProfiledSeries) -> Option<Intervals> {
        let mut before = 0.0;
        let own = || phase_times.iter().filter(|time| time.name == series.name);
        let operated = own().map(|time| {
            let (begin, end) = (time.begin_ticks as f64, time.end_ticks as f64);
            before += end - begin;
            let (units, workers) = (time.units, time.workers);
            Operated { begin, end, n: time.n, units, workers, before: before - (end - begin) }
        });
        let operated: Vec<Operated> = operated.collect();
        let elsewhere = own().any(|time| time.elsewhere);
        (!operated.is_empty()).then_some(Intervals { operated, elsewhere })
    }

    /// The operation that was under way then.
    fn at(&self, ticks: f64) -> Option<&Operated> {
        let place = self.operated.partition_point(|operated| operated.end < ticks);
        self.operated.get(place).filter(|operated| operated.begin <= ticks)
    }

    /// The n that was reached then: that of the operation that was under way, or came next.
    fn n_at(&self, ticks: f64) -> Option<u64> {
        let place = self.operated.partition_point(|operated| operated.end < ticks);
        self.operated.get(place).map(|operated| operated.n)
    }

    /// Operations in a range of n, and the ticks of those who did them.
    fn within(&self, range: NRange) -> (u64, f64) {
        let within = self.operated.iter().filter(|operated| range.contains(operated.n));
        within.fold((0, 0.0), |(count, ticks), operated| {
            let length = operated.end - operated.begin;
            (count + operated.units, ticks + operated.workers as f64 * length)
        })
    }
}

/// The meaning of the addresses of stacks.
struct Names<'a> {
    sampled: &'a Sampled,
    kernel: KernelSymbols,
    nameless: String,
    own_program: String,
}

impl<'a> Names<'a> {
    fn new(sampled: &'a Sampled) -> Names<'a> {
        let (kernel, nameless) = match sys::profile::kernel_symbols() {
            Ok(kernel) => (kernel, String::new()),
            Err(error) => (KernelSymbols::default(), error.to_string()),
        };
        let own_program = sys::process::own_program().unwrap_or_default();
        Names { sampled, kernel, nameless, own_program: own_program.to_string_lossy().into_owned() }
    }

    /// The functions of a stack, the innermost first. All addresses but the innermost are where a call
    /// returns to, right behind it.
    fn functions(&self, stack: &RawStack) -> Vec<Frame> {
        let kernel = stack.kernel.iter().enumerate().map(|(depth, &address)| {
            let address = if depth == 0 { address } else { address.saturating_sub(1) };
            let of_kernel = |function: &str, module: &str| Frame {
                function: function.to_owned(),
                module: if module.is_empty() { "kernel".to_owned() } else { format!("[{module}]") },
                ..Frame::default()
            };
            self.kernel
                .containing(address)
                .map_or_else(|| of_kernel("", ""), |known| of_kernel(known.name, known.module))
        });
        let user = stack.user.iter().take(USER_FRAMES_MAX).enumerate().map_while(|(depth, &address)| {
            let address = if depth == 0 { address } else { address.checked_sub(1)? };
            let is_in =
                |mapping: &&sys::profile::CodeMapping| (mapping.start..mapping.end).contains(&address);
            let mapping = match self.sampled.mappings.iter().find(is_in) {
                Some(mapping) => mapping,
                // An address outside of all mappings is no caller.
                None if depth > 0 => return None,
                None => return Some(Frame { module: "[unknown]".to_owned(), ..Frame::default() }),
            };
            // It is stripped, and in another folder each time.
            if mapping.path == self.own_program {
                let name = mapping.path.rsplit('/').next().unwrap_or_default();
                return Some(Frame { module: format!("[{name}]"), ..Frame::default() });
            }
            let is_file = mapping.path.starts_with('/');
            let offset = is_file.then(|| address - mapping.start + mapping.offset);
            let inode = is_file.then_some(mapping.inode);
            let module =
                if mapping.path.is_empty() { "[anonymous]".to_owned() } else { mapping.path.clone() };
            Some(Frame { function: String::new(), module, offset, inode })
        });
        kernel.chain(user).collect()
    }
}

/// The profile of one series, with the operations of a value and the length of a tick.
fn profile(
    sampled: &Sampled,
    names: &Names<'_>,
    order: &TrialParameters,
    series: &ProfiledSeries,
    intervals: &Intervals,
    (batch, seconds_per_tick): (u32, f64),
) -> Profile {
    let ranges = [series.low, series.high];
    let mut seen: BTreeMap<usize, [u64; 2]> = BTreeMap::new();
    let mut counts = [Counts::new(sampled), Counts::new(sampled)];
    let mut last: Option<(usize, f64, &Operated, &[u64])> = None;
    for sample in &sampled.samples {
        let within = sampled.ticks(sample.time_ns).and_then(|ticks| Some((ticks, intervals.at(ticks)?)));
        let Some((ticks, operated)) = within else { continue };
        let Some(window) = ranges.iter().position(|range| range.contains(operated.n)) else { continue };
        seen.entry(sample.stack).or_default()[window] += 1;
        if sample.counters.is_empty() || intervals.elsewhere {
            continue;
        }
        if let Some((window_before, ticks_before, before, counted)) = last.filter(|last| last.0 == window) {
            let own =
                (operated.before + ticks - operated.begin) - (before.before + ticks_before - before.begin);
            if own >= COVERED * (ticks - ticks_before) {
                counts[window_before].add(own, counted, &sample.counters);
            }
        }
        last = Some((window, ticks, operated, &sample.counters));
    }
    let window = |place: usize| {
        let (operations, ticks) = intervals.within(ranges[place]);
        let operations = operations * u64::from(batch);
        ProfileWindow {
            range: ranges[place],
            operations,
            seconds: ticks * seconds_per_tick,
            samples: seen.values().map(|samples| samples[place]).sum(),
            counts: counts[place].per_operation(operations, ticks),
            in_use: in_use(sampled, intervals, ranges[place]),
        }
    };
    let mut stacks: Vec<(usize, [u64; 2])> = seen.iter().map(|(&stack, &samples)| (stack, samples)).collect();
    stacks.sort_by_key(|&(_, samples)| std::cmp::Reverse(samples[0] + samples[1]));
    let mut profile = Profile {
        of: TrialKey::from_parameters(order),
        name: series.name.clone(),
        direction: series.direction,
        event: "cpu-clock".to_owned(),
        period_seconds: sampled.period.as_secs_f64(),
        low: window(0),
        high: window(1),
        frames: Vec::new(),
        stacks: Vec::new(),
        lost: sampled.lost,
        nameless: names.nameless.clone(),
        uncounted: sampled.uncounted.clone(),
        unsampled: sampled.unsampled.clone(),
    };
    add_stacks(&mut profile, sampled, names, stacks);
    profile
}

/// Adds stacks with their samples, the most frequent first.
fn add_stacks(profile: &mut Profile, sampled: &Sampled, names: &Names<'_>, stacks: Vec<(usize, [u64; 2])>) {
    for (place, (stack, samples)) in stacks.into_iter().enumerate() {
        let functions = match sampled.stacks.get(stack).filter(|_| place < STACKS_MAX) {
            Some(stack) => names.functions(stack),
            None => vec![Frame { module: OTHERS.to_owned(), ..Frame::default() }],
        };
        let first = profile.frames.len() as u32;
        let frames = (first..first + functions.len() as u32).collect();
        profile.frames.extend(functions);
        profile.stacks.push(Stack { frames, samples });
    }
    // Each function, and each stack, once.
    profile.rename(Frame::clone);
}

/// The objects in use while n was in that range.
fn in_use(sampled: &Sampled, intervals: &Intervals, range: NRange) -> Vec<InUse> {
    let is_within = |time_ns: u64| {
        let n = sampled.ticks(time_ns).and_then(|ticks| intervals.n_at(ticks));
        n.is_some_and(|n| range.contains(n))
    };
    if intervals.elsewhere {
        return Vec::new();
    }
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (_, readings) in sampled.in_use.iter().filter(|(time_ns, _)| is_within(*time_ns)) {
        for reading in readings {
            let (sum, count) = sums.entry(reading.name).or_default();
            *sum += reading.value as f64;
            *count += 1.0;
        }
    }
    sums.into_iter().map(|(name, (sum, count))| InUse { name: name.to_owned(), mean: sum / count }).collect()
}

/// The counts of counters for the operations of a window.
struct Counts {
    names: Vec<&'static str>,
    sums: Vec<u64>,
    /// Ticks over which they did.
    ticks: f64,
}

impl Counts {
    fn new(sampled: &Sampled) -> Counts {
        Counts { names: sampled.counters.clone(), sums: vec![0; sampled.counters.len()], ticks: 0.0 }
    }

    fn add(&mut self, ticks: f64, from: &[u64], to: &[u64]) {
        self.ticks += ticks;
        let risen = from.iter().zip(to).map(|(from, to)| to.saturating_sub(*from));
        self.sums.iter_mut().zip(risen).for_each(|(sum, risen)| *sum += risen);
    }

    /// At the observed rate; zero without one.
    fn per_operation(&self, operations: u64, ticks: f64) -> Vec<Count> {
        if self.ticks <= 0.0 || operations == 0 {
            return Vec::new();
        }
        let each = |(name, sum): (&&str, &u64)| Count {
            name: (*name).to_owned(),
            per_operation: *sum as f64 / self.ticks * ticks / operations as f64,
        };
        self.names.iter().zip(&self.sums).map(each).collect()
    }
}
