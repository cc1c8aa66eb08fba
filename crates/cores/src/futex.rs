//! Futexes without a waiter, and two locks made of them, by several workers at once.
//!
//! **Question.** Locks end with futex(2). Do P processors call it P times as often as one, and what does one
//! lock allow that all of them take?
//!
//! **Method.** Each worker repeats a wake of a word that nobody waits for: of its own, or all of the same
//! word. The words are private to the process. With `threads-mutex` all lock one mutex and unlock it, which
//! hands it to the thread that has waited longest; with `threads-semaphore` all wait for the one permit of a
//! semaphore and post it, which wakes a waiter but lets the thread that posted take it again. Nothing is done
//! in between, and nobody spins: a thread that has to wait sleeps.
//!
//! **Expected answer.** Own words scale, apart from those that fall into one list of the table by chance. One
//! word has one list, under one lock, which a wake takes only if somebody waits: it scales nearly. The locks
//! do not: one worker takes them without a call of the system, several pass each turn of the mutex by a wake
//! and the start of a thread that slept, so that two do a small part of one. The semaphore loses less.

use workload::{PROCESSES, THREADS, THREADS_SHARED, Variant, Workload, on_linux};

const MUTEX: Variant = Variant {
    name: "threads-mutex",
    summary: "threads of one process, all with one mutex that is handed over",
};
const SEMAPHORE: Variant =
    Variant { name: "threads-semaphore", summary: "threads of one process, all with one semaphore" };

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-futex",
    source: workload::page!("futex.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, MUTEX, SEMAPHORE],
    run: on_linux!(measured::run, "futex(2) is used on Linux only"),
    ..Workload::SCALING
};

#[cfg(target_os = "linux")]
mod measured {
    use std::io;
    use std::sync::atomic::Ordering::SeqCst;
    use std::time::Duration;

    use sys::futex::{FutexScope, FutexWord};
    use workload::{Trial, TrialError};

    use super::{MUTEX, SEMAPHORE};

    /// A turn that has not come by then does not come any more, because a worker has failed.
    const WAIT_MAX: Duration = Duration::from_secs(5);

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        match trial.variant() {
            name if name == MUTEX.name => trial.scale(
                |_| Ok(Mutex::default()),
                |mutex, worker| worker.repeat(|| mutex.unlock(mutex.lock()?)),
            ),
            name if name == SEMAPHORE.name => trial.scale(
                |_| Ok(Semaphore::with_one_permit()),
                |semaphore, worker| {
                    worker.repeat(|| {
                        semaphore.wait()?;
                        semaphore.post()
                    })
                },
            ),
            _ => trial.scale(
                |_| Ok(FutexWord::default()),
                |shared, worker| {
                    let own = FutexWord::default();
                    let word = worker.choose(shared, &own);
                    worker.repeat(|| word.wake(FutexScope::Process, 1).map(drop))
                },
            ),
        }
    }

    /// Threads get tickets, and wait until theirs is called.
    #[derive(Default)]
    struct Mutex {
        next: FutexWord,
        /// Each shows the last ticket that was called there. With few threads no two wait at one place, so
        /// that the one whose turn it is wakes alone.
        places: [FutexWord; PLACES],
    }

    const PLACES: usize = 32;

    impl Mutex {
        fn place(&self, ticket: u32) -> &FutexWord {
            &self.places[ticket as usize % PLACES]
        }

        /// Returns the ticket.
        fn lock(&self) -> io::Result<u32> {
            let ticket = self.next.value().fetch_add(1, SeqCst);
            let place = self.place(ticket);
            loop {
                match place.value().load(SeqCst) {
                    called if called == ticket => return Ok(ticket),
                    called => place.wait_while(FutexScope::Process, called, WAIT_MAX)?,
                }
            }
        }

        fn unlock(&self, ticket: u32) -> io::Result<()> {
            let next = ticket.wrapping_add(1);
            let place = self.place(next);
            place.value().store(next, SeqCst);
            // A thread that takes its ticket later finds it called.
            if self.next.value().load(SeqCst) != next {
                place.wake(FutexScope::Process, u32::MAX >> 1)?;
            }
            Ok(())
        }
    }

    #[derive(Default)]
    struct Semaphore {
        permits: FutexWord,
        waiters: FutexWord,
    }

    impl Semaphore {
        fn with_one_permit() -> Semaphore {
            let semaphore = Semaphore::default();
            semaphore.permits.value().store(1, SeqCst);
            semaphore
        }

        fn wait(&self) -> io::Result<()> {
            let take = || self.permits.value().fetch_update(SeqCst, SeqCst, |permits| permits.checked_sub(1));
            while take().is_err() {
                self.waiters.value().fetch_add(1, SeqCst);
                let waited = self.permits.wait_while(FutexScope::Process, 0, WAIT_MAX);
                self.waiters.value().fetch_sub(1, SeqCst);
                waited?;
            }
            Ok(())
        }

        fn post(&self) -> io::Result<()> {
            self.permits.value().fetch_add(1, SeqCst);
            if self.waiters.value().load(SeqCst) > 0 {
                self.permits.wake(FutexScope::Process, 1)?;
            }
            Ok(())
        }
    }
}
