//! Polling one descriptor, by several workers at once.
//!
//! **Question.** Do P processors poll P times as often as one?
//!
//! **Method.** Each worker repeats poll(2), without waiting, of one flag that is lowered: of its own, or all
//! of the same flag.
//!
//! **Expected answer.** Own flags scale. One flag has one counter of references for processes and threads
//! alike, and each poll takes and returns one where the table of descriptors is shared.

use std::time::Duration;

use sys::event::{Flag, Interest, Poll, Poller};
use sys::handle::AsHandle;
use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-poll",
    source: workload::page!("poll.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, PROCESSES_SHARED],
    run: Ok(run),
    ..Workload::SCALING
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    trial.scale(
        |_| Flag::new(),
        |shared, worker| {
            let own = Flag::new()?;
            let flag = worker.choose(shared, &own);
            let mut poll = Poll::new()?;
            poll.add(flag.handle(), 0, Interest::Read)?;
            let mut events = Vec::with_capacity(1);
            worker.repeat(|| poll.wait(&mut events, Some(Duration::ZERO)))
        },
    )
}
