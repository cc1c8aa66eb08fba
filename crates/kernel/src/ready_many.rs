//! Cost of n ready descriptors among a fixed number that are watched.
//!
//! **Question.** How much does one more ready descriptor add to a wait?
//!
//! **Method.** 1 000 descriptors as in `ready` are watched, or the largest n if that is more; this is not
//! timed. One after the other, in random order, they are made ready and stay ready. After each, the time
//! is measured until all ready descriptors are reported, each once. Edge-triggered interfaces, which
//! report changes and not states, have all of them made ready again beforehand, untimed. Then they are
//! reset in another random order, with the same measurement before each. One call reports all, because
//! epoll gets room for that many events; io_uring on Linux returns about twenty per call while the kernel
//! creates their completions, so it needs several calls.
//!
//! **Expected answer.** Linear for epoll and io_uring, from near zero: the slope is the cost of an event.
//! Flat and high for select(2) and poll(2), which check every descriptor in any case. Where most
//! descriptors are ready, the lines cross and poll is cheaper.

use std::io;
use std::time::Duration;

use sys::event::{Event, Flag, Interest, Poll, Poller};
use sys::handle::AsHandle;
use workload::{Expect, Need, Operation, Trial, TrialError, Workload};

use crate::ready;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "ready-many",
    source: workload::page!("ready_many.rs"),
    grows: "ready descriptors",
    variants: ready::INTERFACES,
    rivals: true,
    operations: &[
        Operation::up(
            "wait",
            Expect::Linear,
            "the report of all ready descriptors, after one more became ready",
        )
        .except(EXAMINE_ALL),
        Operation::down("wait-fewer", Expect::Linear, "the same, before one is reset").except(EXAMINE_ALL),
    ],
    needs: &ready::NEEDS,
    fixed_needs: &Need::times(ready::NEEDS, WATCHED),
    top: Some(WATCHED),
    classic_n: WATCHED,
    run: Ok(run),
    ..Workload::CURVE
};

/// These examine every descriptor, ready or not.
const EXAMINE_ALL: &[(&str, Expect)] = &[("select", Expect::Constant), ("poll", Expect::Constant)];

/// Watched descriptors, ready or not; select(2) takes no more than about that.
const WATCHED: u64 = 1000;

/// No wait lasts this long, because something is ready.
const PATIENCE: Duration = Duration::from_secs(1);

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    match trial.variant() {
        "poll" => measure(trial, Poll::new()),
        #[cfg(unix)]
        "select" => measure(trial, sys::event::Select::new()),
        #[cfg(not(unix))]
        "select" => missing(trial, "select(2) takes arrays on Windows, which is not written; poll is"),
        #[cfg(unix)]
        "uring" => measure(trial, sys::event::Uring::new()),
        #[cfg(not(unix))]
        "uring" => missing(trial, "io_uring exists only on Linux"),
        #[cfg(target_os = "linux")]
        _ => measure(trial, sys::event::Epoll::with_capacity(watched(trial))),
        #[cfg(not(target_os = "linux"))]
        _ => missing(trial, "epoll exists only on Linux"),
    }
}

#[cfg(not(target_os = "linux"))]
fn missing(trial: &mut Trial<'_>, reason: &'static str) -> Result<(), TrialError> {
    measure::<Poll>(trial, Err(sys::Unsupported(reason).into()))
}

fn watched(trial: &Trial<'_>) -> usize {
    trial.n().max(WATCHED as usize)
}

fn measure<P: Poller>(trial: &mut Trial<'_>, poller: io::Result<P>) -> Result<(), TrialError> {
    let mut poller = poller.map_err(TrialError::at("to open the event interface"))?;
    let add = |token| {
        let flag = Flag::new()?;
        poller.add(flag.handle(), token, Interest::Read)?;
        Ok(flag)
    };
    let flags = TrialError::collect("to watch all descriptors", (0..watched(trial)).map(add))?;
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
    trial.check("every wait reported all ready descriptors, each once", waits.wrong == 0);
    Ok(())
}

struct Waits {
    events: Vec<Event>,
    more: Vec<Event>,
    /// The last wait that reported each descriptor.
    told: Vec<u64>,
    waits: u64,
    wrong: u64,
}

impl Waits {
    fn among(watched: usize) -> Waits {
        let (events, more) = (Vec::with_capacity(watched), Vec::with_capacity(watched));
        Waits { events, more, told: vec![0; watched], waits: 0, wrong: 0 }
    }

    /// Waits until all ready descriptors have been reported.
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

    /// Checks that `ready` were reported, and none twice.
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
