//! n ready descriptors among a fixed number that are watched.
//!
//! **Question.** What does one more ready descriptor add to a wait?
//!
//! **Method.** 1 000 descriptors as in `ready` are watched, or as many as n goes to where that is more; that
//! is not timed. One after the other, in random order, they are raised and stay so; after each, it is timed
//! how long it takes to be told of all that are raised, each once. Where changes are told and not states, all
//! are raised anew before, untimed. Then they are lowered in another random order, and the same is timed
//! before each. One call tells of all, for epoll is given room for as many events; io_uring on Linux hands
//! out some twenty a call when the kernel still has to make them, so it takes several.
//!
//! **Expected answer.** Linear for epoll and io_uring, from near zero: the slope is the price of an event.
//! Flat and high for select(2) and poll(2), which look at every descriptor in any case. Where most are ready
//! the lines cross, and poll is the cheaper one.

use workload::{Expect, Operation, Workload};

use crate::ready;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "ready-many",
    source: include_str!("ready_many.rs"),
    grows: "ready descriptors",
    variants: ready::INTERFACES,
    rivals: true,
    operations: &[
        Operation::up("wait", Expect::Linear, "being told of all that are ready, after one more was raised"),
        Operation::down("wait-fewer", Expect::Linear, "the same, before one is lowered"),
    ],
    needs: ready::NEEDS,
    top: Some(WATCHED),
    classic_n: WATCHED,
    run: cfg_select! {
        unix => { Ok(measured::run) }
        _ => { Err("event interfaces are not written for this system yet") }
    },
    ..Workload::CURVE
};

/// Watched descriptors, ready or not; select(2) takes no more than about that.
const WATCHED: u64 = 1000;

#[cfg(unix)]
mod measured {
    use std::io;
    use std::os::fd::AsFd;
    use std::time::Duration;

    use sys::event::{Event, Flag, Interest, Poll, Poller, Select, Uring};
    use workload::{Trial, TrialError};

    use super::WATCHED;

    /// So long no wait lasts, for something is ready.
    const PATIENCE: Duration = Duration::from_secs(1);

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        match trial.variant() {
            "select" => measure(trial, Select::new()),
            "poll" => measure(trial, Poll::new()),
            "uring" => measure(trial, Uring::new()),
            #[cfg(target_os = "linux")]
            _ => measure(trial, sys::event::Epoll::telling(watched(trial))),
            #[cfg(not(target_os = "linux"))]
            _ => measure::<Poll>(trial, Err(sys::Unsupported("epoll is of Linux").into())),
        }
    }

    fn watched(trial: &Trial<'_>) -> usize {
        trial.n().max(WATCHED as usize)
    }

    fn measure<P: Poller>(trial: &mut Trial<'_>, poller: io::Result<P>) -> Result<(), TrialError> {
        let mut poller = poller.map_err(TrialError::at("to open the event interface"))?;
        let add = |token| {
            let flag = Flag::new()?;
            poller.add(flag.as_fd(), token, Interest::Read)?;
            Ok(flag)
        };
        let flags: io::Result<Vec<Flag>> = (0..watched(trial)).map(add).collect();
        let flags = flags.map_err(TrialError::at("to watch all descriptors"))?;
        let mut waits = Waits::among(flags.len());

        let order: Vec<usize> = trial.shuffled((0..flags.len()).collect()).take(trial.n()).collect();
        trial.timed_steps(&["wait"], |n, lap| {
            let already = if P::EDGE { &order[..n] } else { &[] };
            already.iter().chain([&order[n]]).try_for_each(|&token| flags[token].raise())?;
            lap.skip();
            waits.wait(&mut poller, n + 1)?;
            lap.mark();
            waits.look(n + 1);
            Ok(())
        })?;
        let reached = trial.n();
        let raised: Vec<usize> = trial.shuffled(order[..reached].to_vec()).collect();
        trial.timed_steps_back(&["wait-fewer"], 0..reached, |lowered, lap| {
            if P::EDGE {
                raised[lowered..].iter().try_for_each(|&token| flags[token].raise())?;
            }
            lap.skip();
            waits.wait(&mut poller, reached - lowered)?;
            lap.mark();
            waits.look(reached - lowered);
            flags[raised[lowered]].lower()
        })?;
        trial.check("every wait told of all that were ready, each once", waits.wrong == 0);
        Ok(())
    }

    struct Waits {
        events: Vec<Event>,
        more: Vec<Event>,
        /// The last wait that told of each descriptor.
        told: Vec<u64>,
        waits: u64,
        wrong: u64,
    }

    impl Waits {
        fn among(watched: usize) -> Waits {
            let (events, more) = (Vec::with_capacity(watched), Vec::with_capacity(watched));
            Waits { events, more, told: vec![0; watched], waits: 0, wrong: 0 }
        }

        /// Waits until all that are ready have been told.
        #[inline]
        fn wait<P: Poller>(&mut self, poller: &mut P, ready: usize) -> io::Result<()> {
            poller.wait(&mut self.events, Some(PATIENCE))?;
            while self.events.len() < ready {
                poller.wait(&mut self.more, Some(PATIENCE))?;
                if self.more.is_empty() {
                    break;
                }
                self.events.append(&mut self.more);
            }
            Ok(())
        }

        /// Sees whether `ready` were told, and none twice.
        fn look(&mut self, ready: usize) {
            self.waits += 1;
            let mut distinct = 0;
            for event in &self.events {
                distinct += usize::from(self.told[event.token] != self.waits && event.readable);
                self.told[event.token] = self.waits;
            }
            self.wrong += u64::from(distinct != ready || self.events.len() != ready);
        }
    }
}
