//! Waking a futex that has no waiter, by several workers at once.
//!
//! **Question.** Locks end with futex(2). Do P processors call it P times as often as one?
//!
//! **Method.** Each worker repeats a wake of a word that nobody waits for: of its own, or all of the same
//! word. The words are private to the process.
//!
//! **Expected answer.** Own words scale, apart from those that fall into one list of the table by chance. One
//! word has one list, under one lock, which a wake takes only if somebody waits: it scales nearly.

use workload::{PROCESSES, THREADS, THREADS_SHARED, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-futex",
    source: workload::page!("futex.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED],
    run: cfg_select! {
        target_os = "linux" => { Ok(run) }
        _ => { Err("futex(2) is used on Linux only") }
    },
    ..Workload::SCALING
};

#[cfg(target_os = "linux")]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    use sys::futex::{FutexScope, FutexWord};

    trial.scale(
        |_| Ok(FutexWord::default()),
        |shared, worker| {
            let own = FutexWord::default();
            let word = worker.choose(shared, &own);
            worker.repeat(|| word.wake(FutexScope::Process, 1).map(drop))
        },
    )
}
