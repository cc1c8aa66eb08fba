//! Cost of one write to a descriptor that n watch.
//!
//! **Question.** Several event loops often watch the same descriptor: a listener that all workers share, a
//! clock, a pipe that ends all. What does the write(2) cost that makes it ready, when n watch it?
//!
//! **Method.** n instances of epoll(7) watch one eventfd(2), edge-triggered; adding one is timed. After each,
//! the eventfd is written, timed, and every instance is asked, untimed, how often it reports the change:
//! once, with `exclusive` (`EPOLLEXCLUSIVE`) once in at least one of them. No thread sleeps in them: what it
//! costs to wake sleepers is measured by `futex` and `accept`. At the end the instances are closed in random
//! order.
//!
//! **Expected answer.** Linear: the writer itself enters the descriptor into the list of every instance
//! (`ep_poll_callback` in fs/eventpoll.c). `exclusive` stops at the first instance in which a thread sleeps;
//! here none does, and it goes on to the last: as expensive as without.

use workload::resource::{DESCRIPTORS, EPOLL_WATCHES, MEMORY};
use workload::{Expect, Need, Operation, Variant, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "wake",
    source: workload::page!("wake.rs"),
    grows: "watchers of a descriptor",
    variants: &[
        Variant { name: "epoll", summary: "instances of epoll(7)" },
        Variant { name: "exclusive", summary: "instances of epoll(7) with EPOLLEXCLUSIVE" },
    ],
    operations: &[
        Operation::up("add", Expect::Constant, "one epoll_ctl(2) of a new instance"),
        Operation::up("write", Expect::Linear, "one write(2) to the descriptor that all watch"),
        Operation::down("close", Expect::Constant, "one close(2) of an instance, in random order"),
    ],
    needs: &[Need::new(DESCRIPTORS, 1), Need::new(EPOLL_WATCHES, 1), Need::new(MEMORY, 2 << 10)],
    run: cfg_select! {
        target_os = "linux" => { Ok(measured::run) }
        _ => { Err("epoll exists only on Linux") }
    },
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
mod measured {
    use std::io;
    use std::time::Duration;

    use sys::event::{EpollEdge, Flag, Interest, Poller};
    use sys::handle::AsHandle;
    use workload::{Trial, TrialError};

    /// Room for more events than the one that comes.
    const EVENTS: usize = 2;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let is_exclusive = trial.variant() == "exclusive";
        let flag = Flag::new().map_err(TrialError::at("to open the descriptor"))?;
        let add = |instance: &mut EpollEdge| match is_exclusive {
            true => instance.add_exclusive(flag.handle(), 0),
            false => instance.add(flag.handle(), 0, Interest::Read),
        };
        trial.warm(|| {
            let mut instance = EpollEdge::with_capacity(EVENTS)?;
            add(&mut instance)?;
            instance.close()
        });
        let (mut instances, mut events, mut wrong) = (Vec::with_capacity(trial.n()), Vec::new(), 0);
        let kept = trial.compact_steps(&["add", "write"], |n, lap| {
            let mut instance = EpollEdge::with_capacity(EVENTS)?;
            lap.skip();
            add(&mut instance)?;
            lap.mark();
            instances.push(instance);
            lap.skip();
            flag.raise()?;
            lap.mark();
            let mut reports = 0;
            for instance in &mut instances {
                instance.wait(&mut events, Some(Duration::ZERO))?;
                reports += events.len();
            }
            wrong += usize::from(reports == 0 || reports > n + 1 || !is_exclusive && reports != n + 1);
            flag.lower()?;
            lap.skip();
            Ok(())
        })?;
        trial.check("every write was reported, by every instance or at least by one", wrong == 0);
        instances.truncate(kept.len());
        let instances = trial.shuffled(instances);
        trial.compact_down("close", instances, |instance| -> io::Result<()> { instance.close() })
    }
}
