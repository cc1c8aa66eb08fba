//! Samples of where a process is: its instruction pointer and the functions that called, in the kernel and in
//! the program, taken while it runs (perf_event_open(2)). The program is not changed and does not notice.
//!
//! Nothing of the machine is changed: a refusal by `kernel.perf_event_paranoid` or `kernel.kptr_restrict` is
//! reported, with the remedy.

mod code;
#[cfg(target_os = "linux")]
mod descendants;
#[cfg(target_os = "linux")]
mod perf_event;
#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;

pub use code::{CodeMapping, KernelSymbol, KernelSymbols, parse_mappings};
#[cfg(target_os = "linux")]
pub use perf_event::{Record, parse_records};
pub use platform::{Sampler, in_use, kernel_symbols, mappings, sample_clock_ns, waits_for_input};

/// One sample: where the thread was. The innermost function is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// When, by [`sample_clock_ns`].
    pub time_ns: u64,
    /// Addresses in the kernel; none where the thread was in the program.
    pub kernel: &'a [u64],
    /// Addresses in the program. Behind the first they need frame pointers, which many libraries lack.
    pub user: &'a [u64],
    /// The values of [`Sampler::counters`] at that time; empty for threads other than the first.
    pub counters: &'a [u64],
}

/// A counter beside the samples, where the machine has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterKind {
    /// Its name in perf-list(1).
    pub name: &'static str,
    pub(crate) kind: u32,
    pub(crate) event: u64,
}

/// The counters: first those that need a performance monitoring unit, which many virtual machines lack.
pub const COUNTERS: &[CounterKind] = &[
    CounterKind { name: "instructions", kind: HARDWARE, event: 1 },
    CounterKind { name: "cache-misses", kind: HARDWARE, event: 3 },
    CounterKind { name: "dTLB-load-misses", kind: HARDWARE_CACHE, event: 3 | MISS },
    CounterKind { name: "page-faults", kind: SOFTWARE, event: 2 },
    CounterKind { name: "context-switches", kind: SOFTWARE, event: 3 },
];

/// An amount of something that a process or its network holds now, as the kernel counts it: an operation may
/// have to walk through that. It is read from outside; the process does not notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Its name, with the unit unless it is a count: `page tables (KiB)`.
    pub name: &'static str,
    /// How much.
    pub value: u64,
}

/// Kinds of events in linux/perf_event.h.
const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const HARDWARE_CACHE: u32 = 3;
/// Of a cache event: reads, which is 0, that missed.
const MISS: u64 = 1 << 16;

/// Systems without perf_event_open(2).
#[cfg(not(target_os = "linux"))]
mod platform {
    use std::io;
    use std::time::Duration;

    use super::{CodeMapping, Holding, KernelSymbols, Sample};

    const MISSING: &str = "samples of stacks need perf_event_open(2), which only Linux has";

    missing! {
        MISSING;
        pub struct Sampler;
        pub fn attach(process: u32, period: Duration, processors: &[u32]) -> io::Result<Sampler>;
        pub fn enable(&self) -> io::Result<()>;
        pub fn counters(&self) -> &[&'static str];
        pub fn uncounted(&self) -> &str;
        pub fn unsampled(&self) -> &str;
        pub fn finish(&mut self, on_sample: &mut dyn FnMut(Sample<'_>));
        pub fn drain(&mut self, on_sample: &mut dyn FnMut(Sample<'_>));
        pub fn code_of_others(&self) -> &[CodeMapping];
        pub fn lost(&self) -> u64;
    }

    missing! {
        MISSING;
        pub fn kernel_symbols() -> io::Result<KernelSymbols>;
        pub fn mappings(process: u32) -> io::Result<Vec<CodeMapping>>;
    }

    /// There is no such clock.
    pub fn sample_clock_ns() -> u64 {
        0
    }

    /// It is not known.
    pub fn in_use(_process: u32) -> Vec<Holding> {
        Vec::new()
    }

    /// It is not known.
    pub fn waits_for_input(_process: u32) -> bool {
        true
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// A process that never waits. Dropped, it is ended.
    struct Busy(std::process::Child);

    impl Busy {
        fn start() -> Busy {
            let mut command = std::process::Command::new("sh");
            Busy(command.args(["-c", "while :; do :; done"]).spawn().expect("a shell"))
        }
    }

    impl Drop for Busy {
        fn drop(&mut self) {
            self.0.kill().expect("it ends");
            self.0.wait().expect("it has ended");
        }
    }

    #[test]
    fn a_busy_process_is_seen_at_the_times_at_which_it_is_busy() {
        let busy = Busy::start();
        let mut sampler = match Sampler::attach(busy.0.id(), Duration::from_micros(200), &[]) {
            Ok(sampler) => sampler,
            Err(error) => return println!("skipped: {error}"),
        };
        let (mut times, mut addresses) = (Vec::new(), 0);
        let (begun, deadline) = (sample_clock_ns(), Instant::now() + Duration::from_secs(60));
        sampler.enable().expect("it begins");
        let counters = sampler.counters().len();
        assert!(sampler.counters().contains(&"page-faults"), "{:?}", sampler.counters());
        let is_whole = counters == COUNTERS.len();
        assert_eq!(is_whole, sampler.uncounted().is_empty(), "a missing counter has a reason");
        while times.len() < 100 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
            sampler.drain(&mut |sample| {
                times.push(sample.time_ns);
                addresses += sample.user.len() + sample.kernel.len();
                assert_eq!(sample.counters.len(), counters);
            });
        }
        let maps = mappings(busy.0.id()).expect("its mappings");
        assert!(times.len() >= 100, "{}", times.len());
        assert!(addresses >= times.len(), "each sample is somewhere");
        assert!(times.iter().all(|&time| begun <= time && time <= sample_clock_ns()));
        assert!(maps.iter().any(|mapping| mapping.path.contains("/bin/")), "{maps:?}");
    }

    /// Children that come and go within a sample's period are seen too.
    #[test]
    fn short_children_of_a_process_are_seen_and_other_processes_are_not() {
        let processors = crate::cpu::allowed().expect("processors");
        let period = Duration::from_micros(200);
        let _other = Busy::start();
        // It begins with a line of input, and its children do nothing but begin and end.
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "read line; while :; do (:); done"]).stdin(std::process::Stdio::piped());
        let mut family = Busy(command.spawn().expect("a shell"));
        let mut sampler = match Sampler::attach(family.0.id(), period, &processors) {
            Ok(sampler) if sampler.unsampled().is_empty() => sampler,
            Ok(sampler) => return println!("skipped: {}", sampler.unsampled()),
            Err(error) => return println!("skipped: {error}"),
        };
        sampler.enable().expect("it begins");
        std::io::Write::write_all(&mut family.0.stdin.take().expect("a pipe"), b"\n").expect("a line");
        let (mut own, mut of_children) = (0_u64, 0_u64);
        let deadline = Instant::now() + Duration::from_secs(60);
        let begun = Instant::now();
        while (own < 50 || of_children < 50) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
            sampler.drain(&mut |sample| match sample.counters.is_empty() {
                true => of_children += 1,
                false => own += 1,
            });
        }
        let elapsed = begun.elapsed();
        drop(family);
        sampler.finish(&mut |_| {});
        assert!(own >= 50 && of_children >= 50, "{own} of the shell, {of_children} of its children");
        // A shell waits for its child: both together use at most one processor, so one stays free for the
        // unrelated process.
        let most = elapsed.as_micros() as u64 / 200;
        assert!(own + of_children <= most + most / 2, "{own} and {of_children} within {elapsed:?}");
    }

    #[test]
    fn functions_of_the_kernel_have_names_or_there_is_a_reason() {
        match kernel_symbols() {
            Ok(symbols) => {
                let (address, name) = symbols.first().expect("a function");
                assert_eq!(symbols.containing(address).map(|symbol| symbol.name), Some(name));
            }
            Err(error) => println!("skipped: {error}"),
        }
    }
}
