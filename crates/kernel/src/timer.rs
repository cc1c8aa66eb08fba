//! Cost of one more armed timer.
//!
//! **Question.** What does it cost to arm a timer, to set it anew, to disarm it, and until one expires, when
//! n are armed? Servers have a time-out for each connection. What does a wait for events cost that ends by
//! its time-out?
//!
//! **Method.** n timers of the monotonic clock are created and set to expire at random times one to two hours
//! ahead, each call timed. After each, one of them, chosen at random, is set to another time. Then a further
//! timer is set to expire after a nanosecond and waited for, both together timed: that is the interrupt of
//! the clock and the way back into the program. With `posix` the expiry signals the thread, which waits in
//! sigtimedwait(2). At the end all are disarmed and removed in random order. With `epoll` the same timers are
//! made, untimed, and after each an empty instance of epoll(7) is waited for, until the time-out of 5 µs has
//! ended that (epoll_pwait2(2)): a shorter one has passed before the kernel arms its timer. The kernel may
//! not delay it to save interrupts (`PR_SET_TIMERSLACK`).
//!
//! **Expected answer.** At most logarithmic: Linux keeps high-resolution timers in a tree
//! (kernel/time/hrtimer.c), and the one that expires next is at hand; a time-out of epoll(7) is one of them
//! (`schedule_hrtimeout_range` in fs/eventpoll.c). Timers of POSIX are found by their numbers in a hash
//! table, which had 512 lists until Linux 6.15: create, set and delete were linear in long ones
//! (kernel/time/posix-timers.c).

use workload::resource::{DESCRIPTORS, MEMORY, PENDING_SIGNALS};
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "timer",
    source: workload::page!("timer.rs"),
    grows: "armed timers",
    variants: &[
        Variant { name: "timerfd", summary: "timerfd_create(2)" },
        Variant { name: "posix", summary: "timer_create(2)" },
        Variant {
            name: "epoll",
            summary: "a time-out of epoll_pwait2(2) beside timers of timerfd_create(2)",
        },
    ],
    operations: &[
        Operation::up("create", Expect::Constant, "one timerfd_create(2) or timer_create(2)")
            .only(TIMERS)
            .detail(),
        Operation::up(
            "arm",
            Expect::Logarithmic,
            "one timerfd_settime(2) or timer_settime(2) of a new timer",
        )
        .only(TIMERS),
        Operation::up("re-arm", Expect::Logarithmic, "the same call for a timer that is armed").only(TIMERS),
        Operation::up(
            "expiry",
            Expect::Logarithmic,
            "set to expire after 1 ns, until that was read or received",
        )
        .only(TIMERS),
        Operation::up("time-out", Expect::Logarithmic, "one epoll_pwait2(2) that ends after 5 µs")
            .only(&["epoll"]),
        Operation::down("disarm", Expect::Logarithmic, "the same call with time zero, in random order")
            .only(TIMERS),
        Operation::down("remove", Expect::Constant, "one close(2) or timer_delete(2)").only(TIMERS).detail(),
    ],
    needs: &[
        Need::new(DESCRIPTORS, 1).only_in(&["timerfd", "epoll"]),
        Need::new(PENDING_SIGNALS, 1).only_in(&["posix"]),
        Need::new(MEMORY, 1 << 10),
    ],
    run: on_linux!(measured::run, "timers with descriptors or a thread of their own exist on Linux only"),
    ..Workload::CURVE
};

const TIMERS: &[&str] = &["timerfd", "posix"];

#[cfg(target_os = "linux")]
mod measured {
    use std::time::{Duration, Instant};

    use sys::event::{EpollEdge, Poller};
    use sys::timer::{KernelTimer, TimerSignal, end_sleeps_in_time};
    use workload::{Trial, TrialError};

    /// No timer expires before the end of the trial.
    const AHEAD_MIN: Duration = Duration::from_secs(3600);
    const SOON: Duration = Duration::from_nanos(1);
    /// `ep_schedule_timeout` arms no timer for a time that has passed.
    const TIME_OUT: Duration = Duration::from_micros(5);

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        if trial.variant() == "epoll" { time_out(trial) } else { expiry(trial) }
    }

    fn time_out(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        end_sleeps_in_time().map_err(TrialError::at("to end sleeps in time"))?;
        let mut instance = EpollEdge::new().map_err(TrialError::at("to open an instance of epoll"))?;
        let mut random = fastrand::Rng::with_seed(trial.seed());
        trial.warm(|| instance.wait_exactly(TIME_OUT).map(drop));
        let mut reported = 0;
        let timers = trial.compact_steps(&["time-out"], |_, lap| {
            let timer = KernelTimer::descriptor()?;
            timer.set(Some(AHEAD_MIN + Duration::from_nanos(random.u64(..AHEAD_MIN.as_nanos() as u64))))?;
            lap.skip();
            let ready = instance.wait_exactly(TIME_OUT)?;
            lap.mark();
            reported += ready;
            Ok(timer)
        })?;
        trial.check("no wait reported an event", reported == 0);
        let begun = Instant::now();
        instance.wait_exactly(TIME_OUT).map_err(TrialError::at("to wait once more"))?;
        trial.check("a wait takes as long as its time-out", begun.elapsed() >= TIME_OUT);
        let armed = timers.iter().map(KernelTimer::remaining);
        let armed = TrialError::collect("to ask for the time of a timer", armed)?;
        trial.check("every timer is armed", armed.into_iter().all(|remaining| !remaining.is_zero()));
        Ok(())
    }

    fn expiry(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let signal = TimerSignal::block().map_err(TrialError::at("to block the signal of timers"))?;
        let is_posix = trial.variant() == "posix";
        let create = || if is_posix { KernelTimer::posix(&signal) } else { KernelTimer::descriptor() };
        let expiring = create().map_err(TrialError::at("to create a timer"))?;
        let mut random = fastrand::Rng::with_seed(trial.seed());
        let mut ahead = || Some(AHEAD_MIN + Duration::from_nanos(random.u64(..AHEAD_MIN.as_nanos() as u64)));
        let mut choice = fastrand::Rng::with_seed(trial.seed().wrapping_add(1));
        trial.warm(|| {
            let timer = create()?;
            timer.set(Some(AHEAD_MIN))?;
            expiring.set(Some(SOON))?;
            expiring.wait(&signal)?;
            timer.remove()
        });
        let mut timers: Vec<KernelTimer> = Vec::with_capacity(trial.n());
        trial.compact_steps(&["create", "arm", "re-arm", "expiry"], |n, lap| {
            let timer = create()?;
            lap.mark();
            let first = ahead();
            lap.skip();
            timer.set(first)?;
            lap.mark();
            timers.push(timer);
            let (chosen, next) = (&timers[choice.usize(..=n)], ahead());
            lap.skip();
            chosen.set(next)?;
            lap.mark();
            expiring.set(Some(SOON))?;
            expiring.wait(&signal)?;
            lap.mark();
            Ok(())
        })?;
        timers.truncate(trial.n());
        let is_armed = |timer: &KernelTimer| Ok(!timer.remaining()?.is_zero());
        let armed = TrialError::collect("to ask for the time of a timer", timers.iter().map(is_armed))?;
        trial.check("every timer is armed", armed.into_iter().all(|is_armed| is_armed));
        let mut still = 0;
        let timers = trial.shuffled(timers);
        trial.compact_steps_back(&["disarm", "remove"], timers, |timer, lap| {
            timer.set(None)?;
            lap.mark();
            still += usize::from(is_armed(&timer)?);
            lap.skip();
            timer.remove()?;
            lap.mark();
            Ok(())
        })?;
        trial.check("no disarmed timer is armed", still == 0);
        Ok(())
    }
}
