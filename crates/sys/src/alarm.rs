//! An alarm: a descriptor that becomes readable at a set time, to the microsecond. Waits of event interfaces
//! may be as coarse as milliseconds.

pub use platform::Alarm;

/// Linux: timerfd_create(2), to which timer slack does not apply.
#[cfg(target_os = "linux")]
mod platform {
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

        /// The descriptor for an event interface.
        pub fn descriptor(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
}

/// Systems without timers that are descriptors.
#[cfg(not(target_os = "linux"))]
mod platform {
    use std::io;
    use std::time::Duration;

    use crate::handle::Handle;

    missing! {
        "no timer of this system is a descriptor";
        pub struct Alarm;
        pub fn new() -> io::Result<Alarm>;
        pub fn set(&self, after: Duration) -> io::Result<()>;
        pub fn descriptor(&self) -> Handle<'_>;
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::event::{Epoll, Interest, Poller};

    #[test]
    fn it_rings_in_time_and_until_it_is_set_anew() {
        let mut poller = Epoll::new().unwrap();
        let alarm = Alarm::new().unwrap();
        poller.add(alarm.descriptor(), 7, Interest::Read).unwrap();
        let mut events = Vec::new();
        let start = Instant::now();
        let waited = Duration::from_micros(300);
        alarm.set(waited).unwrap();
        poller.wait(&mut events, Some(Duration::from_secs(10))).unwrap();
        assert_eq!(events.len(), 1);
        assert!(start.elapsed() >= waited, "{:?}", start.elapsed());
        poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert_eq!(events.len(), 1);
        alarm.set(Duration::from_secs(10)).unwrap();
        poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert_eq!(events.len(), 0);
    }
}
