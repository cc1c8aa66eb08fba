//! The tools of several jobs: calls that are timed one by one, threads that work on one level together, and
//! the content of files.

use std::io;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use net::load::Times;
use sys::clock::Clock;
use workload::JobRecorder;
use workload::server::record_times;

/// The times of the calls of one job at one level, by the names of their operations.
#[derive(Debug)]
pub(crate) struct Calls<'a> {
    clock: &'a Clock,
    /// When the present call began.
    begun: u64,
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    name: &'static str,
    ticks: u64,
    /// The object of a call: one file each, or a whole folder.
    units: u64,
    times: Times,
}

impl<'a> Calls<'a> {
    /// No calls yet, of these operations.
    pub(crate) fn new(clock: &'a Clock, names: &[&'static str]) -> io::Result<Calls<'a>> {
        let call = |&name: &&'static str| -> io::Result<Call> {
            let times = Times::new().map_err(io::Error::other)?;
            Ok(Call { name, ticks: 0, units: 0, times })
        };
        Ok(Calls { clock, begun: clock.now(), calls: names.iter().map(call).collect::<io::Result<_>>()? })
    }

    /// A call begins now: earlier work belongs to none.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.begun = self.clock.now();
    }

    /// A call ends, and the next one begins.
    #[inline]
    pub(crate) fn end(&mut self, name: &'static str) {
        self.end_of(name, 1);
    }

    /// A call ends that served this many units.
    #[inline]
    pub(crate) fn end_of(&mut self, name: &'static str, units: u64) {
        self.add(name, self.clock.now() - self.begun, units);
        self.begin();
    }

    /// A call took that long, or several did together, for this many units.
    #[inline]
    pub(crate) fn add(&mut self, name: &'static str, ticks: u64, units: u64) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.name == name) {
            call.ticks += ticks;
            call.units += units;
            call.times.record((ticks as f64 * self.clock.seconds_per_tick() * 1e9) as u64);
        }
    }

    /// Adds all calls of another thread to those of the same name.
    pub(crate) fn add_all(&mut self, other: &Calls<'_>) {
        for call in &mut self.calls {
            for added in other.calls.iter().filter(|added| added.name == call.name) {
                call.ticks += added.ticks;
                call.units += added.units;
                call.times.add(&added.times);
            }
        }
    }

    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The mean seconds for each unit; not a number where there was no call.
    pub(crate) fn mean_seconds(&self, name: &str) -> f64 {
        let mean = |call: &Call| call.ticks as f64 / call.units as f64 * self.clock.seconds_per_tick();
        self.calls.iter().find(|call| call.name == name).map_or(f64::NAN, mean)
    }

    /// Reports the means and records the distributions, of all calls that there were.
    pub(crate) fn report(&self, job: &mut JobRecorder<'_, '_>) {
        for call in self.calls.iter().filter(|call| call.units > 0) {
            job.value(call.name, self.mean_seconds(call.name));
            record_times(call.name, &call.times, job.level());
        }
    }
}

/// A call that the system refused to a thread.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) operation: &'static str,
    pub(crate) error: io::Error,
}

impl Refused {
    /// For `map_err`: adds the operation.
    pub(crate) fn at(operation: &'static str) -> impl FnOnce(io::Error) -> Refused {
        move |error| Refused { operation, error }
    }
}

/// Makes each of `members` work in a thread of its own. All of them begin when the last thread was created.
/// The work gets a function that says whether another thread has failed.
///
/// # Errors
/// That of the first thread that failed, or of creating a thread.
pub(crate) fn at_once<T: Send>(
    members: &mut [T],
    work: impl Fn(&mut T, &dyn Fn() -> bool) -> Result<(), Refused> + Sync,
) -> Result<(), Refused> {
    let (gate, stopped) = (RwLock::new(()), AtomicBool::new(false));
    let is_stopped = || stopped.load(Ordering::Relaxed);
    let member = |member: &mut T| {
        drop(gate.read());
        let done = if is_stopped() { Ok(()) } else { work(member, &is_stopped) };
        done.inspect_err(|_| stopped.store(true, Ordering::Relaxed))
    };
    thread::scope(|scope| {
        let closed = gate.write();
        let mut threads = Vec::with_capacity(members.len());
        let mut ended = Ok(());
        for one in members {
            match thread::Builder::new().spawn_scoped(scope, || member(one)) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    stopped.store(true, Ordering::Relaxed);
                    ended = Err(Refused { operation: "thread", error });
                    break;
                }
            }
        }
        drop(closed);
        for thread in threads {
            let panicked = |_| Err(Refused::at("thread")(io::Error::other("a thread has panicked")));
            ended = ended.and(thread.join().unwrap_or_else(panicked));
        }
        ended
    })
}

/// The source of bytes for files: one random block, with the number of the file in its first bytes.
#[derive(Debug)]
pub(crate) struct Content {
    block: Vec<u8>,
    read: Vec<u8>,
}

/// The bytes of a file that hold its number.
const NUMBER_BYTES: usize = size_of::<u64>();

impl Content {
    /// Content for files of at most `bytes_max`.
    pub(crate) fn new(seed: u64, bytes_max: usize) -> Content {
        let mut block = vec![0; bytes_max.max(NUMBER_BYTES)];
        fastrand::Rng::with_seed(seed).fill(&mut block);
        Content { read: vec![0; block.len()], block }
    }

    /// The content of a file of `bytes`, at least [`NUMBER_BYTES`] of them.
    pub(crate) fn bytes(&mut self, number: u64, bytes: usize) -> &[u8] {
        self.block[..NUMBER_BYTES].copy_from_slice(&number.to_le_bytes());
        &self.block[..bytes.clamp(NUMBER_BYTES, self.block.len())]
    }

    pub(crate) fn buffer(&mut self) -> &mut [u8] {
        &mut self.read
    }

    /// Compares the bytes that were read with the content of that file.
    ///
    /// # Errors
    /// `InvalidData` where they differ.
    pub(crate) fn verify(&mut self, number: u64, bytes: usize) -> io::Result<()> {
        let bytes = self.bytes(number, bytes).len();
        if self.read[..bytes] == self.block[..bytes] {
            return Ok(());
        }
        let message = format!("file {number} does not contain the bytes that were written");
        Err(io::Error::new(io::ErrorKind::InvalidData, message))
    }
}

#[cfg(test)]
mod tests {
    use super::{Content, *};

    #[test]
    fn all_work_at_once_and_the_error_of_one_ends_all() {
        let mut numbers = [1, 2, 3];
        let barrier = std::sync::Barrier::new(3);
        // It would wait for ever for a thread that was not created.
        let doubled = at_once(&mut numbers, |number, _| {
            barrier.wait();
            *number *= 2;
            Ok(())
        });
        assert!(doubled.is_ok());
        assert_eq!(numbers, [2, 4, 6]);
        let failed = at_once(&mut numbers, |number, is_stopped| {
            if *number == 4 {
                return Err(Refused::at("write")(io::ErrorKind::StorageFull.into()));
            }
            while !is_stopped() {
                thread::yield_now();
            }
            Ok(())
        });
        let refused = failed.unwrap_err();
        assert_eq!((refused.operation, refused.error.kind()), ("write", io::ErrorKind::StorageFull));
    }

    #[test]
    fn each_file_has_content_of_its_own() {
        let mut content = Content::new(7, 4096);
        let first = content.bytes(1, 4096).to_vec();
        assert_ne!(first, content.bytes(2, 4096));
        assert_eq!(content.bytes(1, 4096), first);
        assert_eq!(content.bytes(1, 0).len(), 8, "its number");
        content.buffer().copy_from_slice(&first);
        assert!(content.verify(1, 4096).is_ok());
        assert!(content.verify(2, 4096).is_err(), "another file");
        content.buffer()[4095] ^= 1;
        assert!(content.verify(1, 4096).is_err(), "a byte is wrong");
    }
}
