//! n ready descriptors among a fixed number that are watched.
//!
//! **Question.** What does one more ready descriptor add to a wait?
//!
//! **Method.** 1 000 descriptors as in `ready` are watched, or as many as n goes to where that is more; that
//! is not timed. One after the other, in random order, they are raised and stay so; after each, one wait is
//! timed, which must tell of all that are raised, each once. Where changes are told and not states, all
//! are raised anew before each wait, untimed. Then they are lowered in another random order, and the waits
//! before each are timed. One wait may tell of all: epoll is given room for as many events.
//!
//! **Expected answer.** Linear for all, from a start that is high for select(2) and poll(2), which look at
//! every descriptor in any case, and near zero for the others. What the slope says is the price of an event;
//! with many ready at once poll has nothing to be ashamed of.

use crate::{Curve, Expect, Operation, ready};

pub(crate) const CURVE: Curve = Curve {
    name: "ready-many",
    source: include_str!("ready_many.rs"),
    grows: "ready descriptors",
    variants: ready::INTERFACES,
    rivals: true,
    operations: &[
        Operation::up("wait", Expect::Linear, "one wait, after one more was raised"),
        Operation::down("wait-fewer", Expect::Linear, "one wait, before one is lowered"),
    ],
    needs: ready::NEEDS,
    top: Some(WATCHED),
    classic_n: WATCHED,
    run: cfg_select! {
        unix => { Ok(measured::run) }
        _ => { Err("event interfaces are not written for this system yet") }
    },
    ..Curve::KERNEL
};

/// Watched descriptors, ready or not; select(2) takes no more than about that.
const WATCHED: u64 = 1000;

#[cfg(unix)]
mod measured {
    use std::io;
    use std::os::fd::AsFd;
    use std::time::Duration;

    use sys::event::{Event, Flag, Interest, Poll, Poller, Select, Uring};

    use super::WATCHED;
    use crate::{Stop, Trial};

    /// So long no wait lasts, for something is ready.
    const PATIENCE: Duration = Duration::from_secs(1);

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), Stop> {
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

    fn measure<P: Poller>(trial: &mut Trial<'_>, poller: io::Result<P>) -> Result<(), Stop> {
        let mut poller = poller.map_err(Stop::at("to open the event interface"))?;
        let add = |token| {
            let flag = Flag::new()?;
            poller.add(flag.as_fd(), token, Interest::Read)?;
            Ok(flag)
        };
        let flags: io::Result<Vec<Flag>> = (0..watched(trial)).map(add).collect();
        let flags = flags.map_err(Stop::at("to watch all descriptors"))?;
        let mut waits = Waits {
            events: Vec::with_capacity(flags.len()),
            told: vec![0; flags.len()],
            waits: 0,
            wrong: 0,
        };

        let order: Vec<usize> = trial.shuffled((0..flags.len()).collect()).take(trial.n()).collect();
        trial.timed_steps(&["wait"], |n, lap| {
            let already = if P::EDGE { &order[..n] } else { &[] };
            already.iter().chain([&order[n]]).try_for_each(|&token| flags[token].raise())?;
            lap.skip();
            waits.wait(&mut poller)?;
            lap.mark();
            waits.look(n + 1);
            Ok(())
        })?;
        let mut raised = order;
        raised.truncate(trial.n());
        let mut left: Vec<usize> = trial.shuffled(raised).collect();
        let lowered = vec![(); left.len()];
        trial.timed_steps_back(&["wait-fewer"], lowered.into_iter(), |(), lap| {
            if P::EDGE {
                left.iter().try_for_each(|&token| flags[token].raise())?;
            }
            lap.skip();
            waits.wait(&mut poller)?;
            lap.mark();
            waits.look(left.len());
            left.pop().map_or(Ok(()), |token| flags[token].lower())
        })?;
        trial.check("every wait told of all that were ready, each once", waits.wrong == 0);
        Ok(())
    }

    struct Waits {
        events: Vec<Event>,
        /// The last wait that told of each descriptor.
        told: Vec<u64>,
        waits: u64,
        wrong: u64,
    }

    impl Waits {
        #[inline]
        fn wait<P: Poller>(&mut self, poller: &mut P) -> io::Result<()> {
            poller.wait(&mut self.events, Some(PATIENCE))
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
