//! Linux: timerfd_create(2), to which timer slack does not apply.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

/// A descriptor that becomes readable at a set time.
#[derive(Debug)]
pub struct Alarm(OwnedFd);

impl Alarm {
    /// One that is not set.
    ///
    /// # Errors
    /// Those of timerfd_create(2); `Unsupported` elsewhere.
    pub fn new() -> io::Result<Alarm> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Alarm(rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?))
    }

    /// Rings once, after this time, and no longer for an earlier one. At once is after a nanosecond.
    ///
    /// # Errors
    /// Those of timerfd_settime(2).
    #[inline]
    pub fn set(&self, after: Duration) -> io::Result<()> {
        let seconds = i64::try_from(after.as_secs()).unwrap_or(i64::MAX);
        let after = Timespec { tv_sec: seconds, tv_nsec: i64::from(after.subsec_nanos()).max(1) };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: after };
        rustix::time::timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }

    /// What an event interface waits for.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
