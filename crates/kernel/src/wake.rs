//! Cost of one write to a descriptor that n watch.
//!
//! **Question.** Several event loops often watch the same descriptor: a listener that all workers share, a
//! clock, a pipe that ends all. What does the write(2) cost that makes it ready, when n watch it?
//!
//! **Method.** n instances of epoll(7) watch one eventfd(2), edge-triggered; adding one is timed. After each,
//! the eventfd is written, timed, and every instance is asked, untimed, how often it reports the change:
//! once, with `exclusive` (`EPOLLEXCLUSIVE`) once in at least one of them. No thread sleeps in them. At the
//! end the instances are closed in random order. With the other variants n threads sleep, each of which is
//! known to sleep before the write, which is timed, and again before the next one: with `sleeping` each in an
//! exclusive instance of its own, with `poll` in poll(2), with `semaphore` in read(2) of an eventfd(2) that
//! counts. How many were woken is checked: one, all, and one whose read returned. The threads share the
//! processor of the writer; where they run before the write returns, it takes that time too.
//!
//! **Expected answer.** Linear: the writer itself enters the descriptor into the list of every instance
//! (`ep_poll_callback` in fs/eventpoll.c). `exclusive` stops at the first instance in which a thread sleeps;
//! without a sleeper it goes on to the last: as expensive as without. So `sleeping` is flat. `poll` is
//! linear, because all sleepers are woken. So is `semaphore`: read(2) of an eventfd does not wait
//! exclusively, all wake up, and all but one sleep again (`eventfd_read` in fs/eventfd.c).

use workload::resource::{DESCRIPTORS, EPOLL_WATCHES, MAPPINGS, MEMORY, PROCESSES, THREADS};
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "wake",
    source: workload::page!("wake.rs"),
    grows: "watchers of a descriptor",
    variants: &[
        Variant { name: "epoll", summary: "instances of epoll(7)" },
        Variant { name: "exclusive", summary: "instances of epoll(7) with EPOLLEXCLUSIVE" },
        Variant { name: "sleeping", summary: "the same, in each of which a thread sleeps" },
        Variant { name: "poll", summary: "threads that sleep in poll(2)" },
        Variant { name: "semaphore", summary: "threads that sleep in read(2) of a semaphore of eventfd(2)" },
    ],
    operations: &[
        Operation::up("add", Expect::Constant, "one epoll_ctl(2) of a new instance").only(AWAKE),
        Operation::up("write", Expect::Linear, "one write(2) to the descriptor that all watch")
            .except(&[("sleeping", Expect::Constant)]),
        Operation::down("close", Expect::Constant, "one close(2) of an instance, in random order")
            .only(AWAKE),
    ],
    needs: &[
        Need::new(DESCRIPTORS, 1).only_in(INSTANCES),
        Need::new(EPOLL_WATCHES, 1).only_in(INSTANCES),
        Need::new(MEMORY, 2 << 10),
        // A thread with its stack, which has a guard page.
        Need::new(PROCESSES, 1).only_in(ASLEEP),
        Need::new(THREADS, 1).only_in(ASLEEP),
        Need::new(MAPPINGS, 2).only_in(ASLEEP),
        Need::new(MEMORY, 48 << 10).only_in(ASLEEP),
    ],
    run: on_linux!(measured::run, "epoll exists only on Linux"),
    ..Workload::CURVE
};

/// Variants without threads.
const AWAKE: &[&str] = &["epoll", "exclusive"];
/// Those with threads.
const ASLEEP: &[&str] = &["sleeping", "poll", "semaphore"];
/// Those with an instance of epoll for each n.
const INSTANCES: &[&str] = &["epoll", "exclusive", "sleeping"];

#[cfg(target_os = "linux")]
mod measured {
    use std::io;
    use std::time::Duration;

    use sys::event::{EpollEdge, ExclusiveWatch, Flag, Interest, Poller};
    use sys::handle::AsHandle;
    use workload::{Sleepers, SleepersRelease, Trial, TrialError};

    /// Room for more events than the one that comes.
    const EVENTS: usize = 2;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let to_open = || TrialError::at("to open the descriptor");
        match trial.variant() {
            "sleeping" => {
                let flag = Flag::new().map_err(to_open())?;
                let instances = (0..trial.n()).map(|_| ExclusiveWatch::new(flag.handle()));
                let instances = TrialError::collect("to open the instances", instances)?;
                asleep(trial, &flag, Woken::One, &|number| instances[number].wait())
            }
            "poll" => {
                let flag = Flag::new().map_err(to_open())?;
                asleep(trial, &flag, Woken::All, &|_| flag.await_raised())
            }
            "semaphore" => {
                let flag = Flag::semaphore().map_err(to_open())?;
                asleep(trial, &flag, Woken::Taker, &|_| match flag.lower() {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
                    lowered => lowered.map(|()| true),
                })
            }
            _ => awake(trial),
        }
    }

    /// The threads that one write wakes.
    #[derive(Clone, Copy, PartialEq)]
    enum Woken {
        /// One, which leaves the descriptor as it is.
        One,
        /// All.
        All,
        /// One that has lowered the descriptor again.
        Taker,
    }

    /// Times the write while n threads sleep in that call.
    fn asleep(
        trial: &mut Trial<'_>,
        flag: &Flag,
        woken: Woken,
        sleep: &(dyn Fn(usize) -> io::Result<bool> + Sync),
    ) -> Result<(), TrialError> {
        let sleepers = Sleepers::new(trial.n(), sleep);
        let wake = || drop(flag.raise());
        std::thread::scope(|threads| {
            let _release = SleepersRelease(&sleepers, &wake);
            let mut wrong = 0;
            trial.compact_steps(&["write"], |n, lap| {
                sleepers.start(n, threads)?;
                lap.skip();
                flag.raise()?;
                lap.mark();
                let expected = if woken == Woken::All { n + 1 } else { 1 };
                wrong += usize::from(sleepers.await_woken(expected)? != expected);
                if woken != Woken::Taker {
                    flag.lower()?;
                }
                sleepers.sleep_again(n + 1)?;
                lap.skip();
                Ok(())
            })?;
            trial.check("every write woke as many threads as it should", wrong == 0);
            Ok(())
        })
    }

    fn awake(trial: &mut Trial<'_>) -> Result<(), TrialError> {
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
