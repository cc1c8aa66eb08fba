//! Threads that wait on words of futex(2), each of which is known to wait.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Builder, Scope, yield_now};

use sys::futex::{FutexScope, FutexWord};

/// A thread needs little more than its frame.
const STACK_BYTES: usize = 64 << 10;

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
        self.waiting.fetch_add(1, Ordering::AcqRel);
        let started =
            Builder::new().stack_size(STACK_BYTES).spawn_scoped(threads, move || self.wait(arrival));
        if let Err(error) = started {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            return Err(error);
        }
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
