//! Cost of waking one thread while n wait.
//!
//! **Question.** Locks and condition variables are built on futex(2). What does it cost to wake one waiter,
//! to wake a word that has none, to move all waiters to another word, or to wake all, when n threads wait?
//!
//! **Method.** Threads are created, untimed, and each waits on a word of its own, until the kernel has moved
//! it to the word where it shall wait: so it is certain that it waits. With `words` that is one for each
//! thread, otherwise one for all. `shared` words could be in other processes too; `global` puts those of this
//! process into the hash table of all (`PR_FUTEX_HASH`), which others have for themselves since Linux 6.16.
//! After each thread, a word without waiters is woken, timed, and where all wait on one word they are moved
//! to another (`FUTEX_REQUEUE`). At the end one thread after the other is woken, timed, and ends, which is
//! not timed; in random order with `words`. With `all` the n threads wait on one word, each is known to sleep
//! there, and one call wakes all of them, timed; then they wait again, untimed.
//!
//! **Expected answer.** Flat where all wait on one word: the first waiter of its list is taken
//! (kernel/futex/waitwake.c). Linear with a small slope with `words`: the table of a process has about four
//! lists for each processor, however many words it has (`futex_hash_allocate_default` in
//! kernel/futex/core.c). Moving all and waking all are linear: the slope of `wake-all` is the price of one
//! waiter, with its share of the threads that run on the same processor before the call returns.

use workload::resource::{MAPPINGS, MEMORY, PROCESSES, THREADS};
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "futex",
    source: workload::page!("futex.rs"),
    grows: "waiting threads",
    variants: &[
        Variant { name: "private", summary: "one word of this process" },
        Variant { name: "global", summary: "the same, in the hash table of all processes" },
        Variant { name: "shared", summary: "one word that other processes could have" },
        Variant { name: "words", summary: "a word for each thread" },
        Variant { name: "all", summary: "one word of this process, and all are woken at once" },
    ],
    remedies: &[
        ("private", "let fewer threads wait for one word"),
        ("global", "let fewer threads wait for one word"),
        ("shared", "let fewer threads wait for one word"),
    ],
    operations: &[
        Operation::up("wake-none", Expect::Constant, "one futex(2) that wakes a word without waiters")
            .except(WORDS)
            .only(ONE_BY_ONE),
        Operation::up("requeue", Expect::Linear, "one futex(2) that moves all waiters to another word")
            .only(&["private", "global", "shared"]),
        Operation::up("wake-all", Expect::Linear, "one futex(2) that wakes all waiters").only(&["all"]),
        Operation::down("wake", Expect::Constant, "one futex(2) that wakes one waiter")
            .except(WORDS)
            .only(ONE_BY_ONE),
    ],
    // A thread with its stack, which has a guard page.
    needs: &[
        Need::new(PROCESSES, 1),
        Need::new(THREADS, 1),
        Need::new(MAPPINGS, 2),
        Need::new(MEMORY, 48 << 10),
    ],
    classic_n: 3000,
    run: on_linux!(measured::run, "waiters are moved from word to word by futex(2) on Linux only"),
    ..Workload::CURVE
};

const ONE_BY_ONE: &[&str] = &["private", "global", "shared", "words"];
const WORDS: &[(&str, Expect)] = &[("words", Expect::Linear)];

#[cfg(target_os = "linux")]
mod measured {
    use std::ops::Range;
    use std::thread::{Scope, scope};

    use sys::futex::{FutexScope, FutexWord, use_global_hash};
    use workload::{FutexRelease, FutexWaiters, Sleepers, SleepersRelease, Trial, TrialError};

    /// Accidents are rare.
    const FEW: &str = "nearly all threads waited where they should";
    const FEW_SHARE: usize = 10;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        if trial.variant() == "all" {
            return all(trial);
        }
        if trial.variant() == "global" {
            use_global_hash().map_err(TrialError::at("to use the global hash table"))?;
        }
        let kind = if trial.variant() == "shared" { FutexScope::Machine } else { FutexScope::Process };
        let waiters = FutexWaiters::new(kind, trial.n());
        scope(|threads| {
            // It is dropped first, also after an error: then no thread is left to be waited for.
            let _release = FutexRelease(&waiters);
            if trial.variant() == "words" {
                words(trial, &waiters, threads)
            } else {
                one_word(trial, &waiters, threads)
            }
        })
    }

    fn all(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let word = FutexWord::default();
        let wait = |_| word.wait(FutexScope::Process);
        let sleepers = Sleepers::new(trial.n(), &wait);
        let wake_all = || word.wake(FutexScope::Process, i32::MAX.unsigned_abs());
        let release = || drop(wake_all());
        scope(|threads| {
            let _release = SleepersRelease(&sleepers, &release);
            let mut wrong = 0;
            trial.compact_steps(&["wake-all"], |n, lap| {
                sleepers.start(n, threads)?;
                lap.skip();
                let woken = wake_all()?;
                lap.mark();
                wrong += usize::from(woken != n + 1 || sleepers.await_woken(n + 1)? != n + 1);
                sleepers.sleep_again(n + 1)?;
                lap.skip();
                Ok(())
            })?;
            trial.check("every call woke all threads", wrong == 0);
            Ok(())
        })
    }

    fn one_word<'s>(
        trial: &mut Trial<'_>,
        waiters: &'s FutexWaiters,
        threads: &'s Scope<'s, '_>,
    ) -> Result<(), TrialError> {
        let ([mut here, mut there], nobody) =
            ([&waiters.meeting[0], &waiters.meeting[1]], FutexWord::default());
        let (mut wrong, mut displaced) = (0, 0);
        let made = trial.compact_steps(&["wake-none", "requeue"], |n, lap| {
            waiters.start(n, here, threads)?;
            lap.skip();
            let woken = nobody.wake(waiters.kind, 1)?;
            lap.mark();
            let moved = here.requeue(there, waiters.kind, i32::MAX.unsigned_abs())?;
            lap.mark();
            (here, there) = (there, here);
            let gathered = if moved == n + 1 { 0 } else { waiters.gather(here, 0..=n)? };
            displaced += gathered;
            wrong += usize::from(woken != 0 || moved + gathered != n + 1);
            lap.skip();
            Ok(())
        })?;
        trial.check("every waiter was moved, and none was woken", wrong == 0);
        trial.check(FEW, displaced <= made.len() / FEW_SHARE + 1);
        let all = 0..made.len();
        take_down(trial, waiters, made.into_iter().map(|()| (here, all.clone())))
    }

    fn words<'s>(
        trial: &mut Trial<'_>,
        waiters: &'s FutexWaiters,
        threads: &'s Scope<'s, '_>,
    ) -> Result<(), TrialError> {
        let (nobody, mut wrong) = (FutexWord::default(), 0);
        let made = trial.compact_steps(&["wake-none"], |n, lap| {
            waiters.start(n, &waiters.own[n], threads)?;
            lap.skip();
            let woken = nobody.wake(waiters.kind, 1)?;
            lap.mark();
            wrong += usize::from(woken != 0);
            lap.skip();
            Ok(n)
        })?;
        trial.check("none was woken by another word", wrong == 0);
        let order = trial.shuffled(made);
        take_down(trial, waiters, order.map(|n| (&waiters.own[n], n..n + 1)))
    }

    /// Wakes one thread after the other, each by its word; the numbers are those of threads that may wait
    /// there.
    fn take_down<'w>(
        trial: &mut Trial<'_>,
        waiters: &FutexWaiters,
        words: impl ExactSizeIterator<Item = (&'w FutexWord, Range<usize>)>,
    ) -> Result<(), TrialError> {
        let count = words.len();
        let (mut wrong, mut displaced) = (0, 0);
        trial.compact_steps_back(&["wake"], words, |(word, numbers), lap| {
            let mut woken = word.wake(waiters.kind, 1)?;
            lap.mark();
            if woken == 0 {
                displaced += waiters.gather(word, numbers)?;
                woken = word.wake(waiters.kind, 1)?;
            }
            wrong += usize::from(woken != 1);
            waiters.await_woken(woken, count);
            lap.skip();
            Ok(())
        })?;
        trial.check("every call woke one thread", wrong == 0);
        trial.check(FEW, displaced <= count / FEW_SHARE + 1);
        Ok(())
    }
}
