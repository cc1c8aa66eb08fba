//! Threads that wait in the kernel, each of which is known to wait: asleep in a system call until something
//! wakes them, or on words of futex(2).

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{Builder, Scope, yield_now};

use sys::futex::{FutexScope, FutexWord};
use sys::thread::{is_asleep, thread_number};

/// A thread needs little more than its frame.
const STACK_BYTES: usize = 64 << 10;

/// The call in which a thread of that number sleeps; whether it was woken, or shall sleep again.
type Sleep<'c> = &'c (dyn Fn(usize) -> io::Result<bool> + Sync);

/// Threads that sleep, are woken, and sleep again in the next round.
pub struct Sleepers<'c> {
    sleep: Sleep<'c>,
    threads: Vec<SleepingThread>,
    woken: AtomicUsize,
    living: AtomicUsize,
    has_failed: AtomicBool,
    is_over: AtomicBool,
    round: Mutex<u64>,
    next_round: Condvar,
}

#[derive(Debug, Default)]
struct SleepingThread {
    /// Its number in the system; 0 unless it is about to sleep, or sleeps.
    number: AtomicI32,
    /// Only the thread that settles the others uses it.
    is_settled: AtomicBool,
}

impl<'c> Sleepers<'c> {
    /// For at most `most` threads that sleep in that call.
    pub fn new(most: usize, sleep: Sleep<'c>) -> Sleepers<'c> {
        Sleepers {
            sleep,
            threads: (0..most).map(|_| SleepingThread::default()).collect(),
            woken: AtomicUsize::new(0),
            living: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            round: Mutex::new(0),
            next_round: Condvar::new(),
        }
    }

    /// Starts a thread, and returns when it sleeps.
    ///
    /// # Errors
    /// Those of pthread_create(3), of the call in which it sleeps, and of reading its state.
    pub fn start<'s>(&'s self, number: usize, threads: &'s Scope<'s, '_>) -> io::Result<()> {
        spawn(&self.living, threads, move || self.live(number))?;
        self.settle(number)
    }

    /// How many were woken since the last round began, once there are at least so many.
    ///
    /// # Errors
    /// When the call has failed in a thread.
    pub fn await_woken(&self, least: usize) -> io::Result<usize> {
        loop {
            let woken = self.woken.load(Ordering::Acquire);
            if woken >= least {
                return Ok(woken);
            }
            self.expect_no_failure()?;
            yield_now();
        }
    }

    /// Lets all that were woken sleep again, and returns when the first `count` threads sleep. Whatever woke
    /// them must be gone.
    ///
    /// # Errors
    /// Those of the call, and of reading their states.
    pub fn sleep_again(&self, count: usize) -> io::Result<()> {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        *round += 1;
        self.woken.store(0, Ordering::Release);
        drop(round);
        self.next_round.notify_all();
        (0..count).try_for_each(|number| self.settle(number))
    }

    fn settle(&self, number: usize) -> io::Result<()> {
        let thread = &self.threads[number];
        while !thread.is_settled.load(Ordering::Acquire) {
            let in_system = thread.number.load(Ordering::Acquire);
            if in_system != 0 && is_asleep(in_system)? {
                // A thread that was woken in the meantime has taken its number back.
                thread.is_settled.store(thread.number.load(Ordering::Acquire) != 0, Ordering::Release);
            } else {
                self.expect_no_failure()?;
                yield_now();
            }
        }
        Ok(())
    }

    fn expect_no_failure(&self) -> io::Result<()> {
        if self.has_failed.load(Ordering::Acquire) {
            return Err(io::Error::other("the call in which threads sleep has failed"));
        }
        Ok(())
    }

    /// The life of a thread.
    fn live(&self, number: usize) {
        let (thread, own) = (&self.threads[number], thread_number());
        while !self.is_over.load(Ordering::Acquire) {
            thread.number.store(own, Ordering::Release);
            let slept = (self.sleep)(number);
            thread.number.store(0, Ordering::Release);
            match slept {
                Ok(true) => {
                    thread.is_settled.store(false, Ordering::Release);
                    self.await_next_round();
                }
                Ok(false) => {}
                Err(_) => {
                    self.has_failed.store(true, Ordering::Release);
                    break;
                }
            }
        }
        self.living.fetch_sub(1, Ordering::AcqRel);
    }

    fn await_next_round(&self) {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = *round;
        // It counts within the lock: the next round begins after the last one is counted.
        self.woken.fetch_add(1, Ordering::AcqRel);
        while *round == begun && !self.is_over.load(Ordering::Acquire) {
            round = self.next_round.wait(round).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Lets all threads end when it is dropped: it wakes those that still sleep by this call.
pub struct SleepersRelease<'s, 'c>(pub &'s Sleepers<'c>, pub &'s dyn Fn());

impl Drop for SleepersRelease<'_, '_> {
    fn drop(&mut self) {
        let SleepersRelease(sleepers, wake) = *self;
        sleepers.is_over.store(true, Ordering::Release);
        // A thread may have looked at the flag before, and sleep after this.
        while sleepers.living.load(Ordering::Acquire) > 0 {
            let round = sleepers.round.lock().unwrap_or_else(PoisonError::into_inner);
            drop(round);
            sleepers.next_round.notify_all();
            wake();
            yield_now();
        }
    }
}

/// The words, and the threads that wait on them.
#[derive(Debug)]
pub struct FutexWaiters {
    /// The processes that may wait on the words.
    pub kind: FutexScope,
    /// Where each thread waits until it is moved.
    arrival: Vec<FutexWord>,
    /// A word for each thread.
    pub own: Vec<FutexWord>,
    /// Words for all.
    pub meeting: [FutexWord; 2],
    waiting: AtomicUsize,
    woken: AtomicUsize,
    is_over: AtomicBool,
}

impl FutexWaiters {
    /// So many words for as many threads.
    pub fn new(kind: FutexScope, count: usize) -> FutexWaiters {
        let words = || (0..count).map(|_| FutexWord::default()).collect();
        FutexWaiters {
            kind,
            arrival: words(),
            own: words(),
            meeting: Default::default(),
            waiting: AtomicUsize::new(0),
            woken: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    /// Starts a thread, and returns when it waits on that word.
    ///
    /// # Errors
    /// Those of pthread_create(3) and futex(2).
    pub fn start<'s>(
        &'s self,
        number: usize,
        word: &FutexWord,
        threads: &'s Scope<'s, '_>,
    ) -> io::Result<()> {
        let arrival = &self.arrival[number];
        spawn(&self.waiting, threads, move || self.wait(arrival))?;
        while arrival.requeue(word, self.kind, 1)? != 1 {
            yield_now();
        }
        Ok(())
    }

    /// Moves the threads of these numbers that wait where they arrived to that word, and returns how
    /// many: a thread that something else has woken by accident begins to wait anew there (`__futex_wait`
    /// in kernel/futex/waitwake.c).
    ///
    /// # Errors
    /// Those of futex(2).
    pub fn gather(&self, word: &FutexWord, numbers: impl IntoIterator<Item = usize>) -> io::Result<usize> {
        numbers.into_iter().map(|number| self.arrival[number].requeue(word, self.kind, 1)).sum()
    }

    /// Counts threads that were woken, and waits until they have left, of `count` in all.
    pub fn await_woken(&self, woken: usize, count: usize) {
        let woken = self.woken.fetch_add(woken, Ordering::AcqRel) + woken;
        while self.waiting.load(Ordering::Acquire) + woken > count {
            yield_now();
        }
    }

    /// The life of a thread.
    fn wait(&self, arrival: &FutexWord) {
        // An error would come again: the thread ends, and the trial counts one too few.
        while !self.is_over.load(Ordering::Acquire) && matches!(arrival.wait(self.kind), Ok(false)) {
            std::hint::spin_loop();
        }
        self.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Lets all threads end that still wait.
#[derive(Debug)]
pub struct FutexRelease<'w>(pub &'w FutexWaiters);

impl Drop for FutexRelease<'_> {
    fn drop(&mut self) {
        let waiters = self.0;
        waiters.is_over.store(true, Ordering::Release);
        // A thread may have looked at the flag before, and wait after this.
        while waiters.waiting.load(Ordering::Acquire) > 0 {
            for word in waiters.arrival.iter().chain(&waiters.own).chain(&waiters.meeting) {
                let _ = word.wake(waiters.kind, u32::MAX >> 1);
            }
            yield_now();
        }
    }
}

/// Starts a thread that counts as living; it takes itself out of the count at its end.
fn spawn<'s>(
    living: &AtomicUsize,
    threads: &'s Scope<'s, '_>,
    live: impl FnOnce() + Send + 's,
) -> io::Result<()> {
    living.fetch_add(1, Ordering::AcqRel);
    let started = Builder::new().stack_size(STACK_BYTES).spawn_scoped(threads, live);
    if let Err(error) = started {
        living.fetch_sub(1, Ordering::AcqRel);
        return Err(error);
    }
    Ok(())
}
