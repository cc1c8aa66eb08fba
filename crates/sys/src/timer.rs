//! Timers of the kernel: timerfd_create(2), whose expiry makes a descriptor ready, and timer_create(2), whose
//! expiry sends a signal.

use std::io;
use std::time::Duration;

use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

use crate::error::checked;

/// A timer that expires once.
#[derive(Debug)]
pub enum KernelTimer {
    /// Of timerfd_create(2).
    Descriptor(std::os::fd::OwnedFd),
    /// Of timer_create(2).
    Posix(PosixTimer),
}

impl KernelTimer {
    /// One timerfd_create(2) of the monotonic clock.
    ///
    /// # Errors
    /// Those of the call.
    #[inline]
    pub fn descriptor() -> io::Result<KernelTimer> {
        let created = rustix::time::timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        Ok(KernelTimer::Descriptor(created))
    }

    /// One timer_create(2) of the monotonic clock, whose expiry signals this thread.
    ///
    /// # Errors
    /// Those of the call, `EAGAIN` at the limit of queued signals.
    #[inline]
    pub fn posix(signal: &TimerSignal) -> io::Result<KernelTimer> {
        Ok(KernelTimer::Posix(PosixTimer::create(signal)?))
    }

    /// Makes it expire after this time, or never: one timerfd_settime(2) or timer_settime(2).
    ///
    /// # Errors
    /// Those of the call.
    #[inline]
    pub fn set(&self, after: Option<Duration>) -> io::Result<()> {
        let after = after.unwrap_or_default();
        match self {
            KernelTimer::Descriptor(descriptor) => {
                let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
                let value =
                    Timespec { tv_sec: after.as_secs().cast_signed(), tv_nsec: after.subsec_nanos().into() };
                let once = Itimerspec { it_interval: zero, it_value: value };
                rustix::time::timerfd_settime(descriptor, TimerfdTimerFlags::empty(), &once)?;
                Ok(())
            }
            KernelTimer::Posix(timer) => timer.set(after),
        }
    }

    /// The time until it expires; zero when it is not armed.
    ///
    /// # Errors
    /// Those of timerfd_gettime(2) or timer_gettime(2).
    pub fn remaining(&self) -> io::Result<Duration> {
        match self {
            KernelTimer::Descriptor(descriptor) => {
                let value = rustix::time::timerfd_gettime(descriptor)?.it_value;
                Ok(duration(value.tv_sec, value.tv_nsec as _))
            }
            KernelTimer::Posix(timer) => timer.remaining(),
        }
    }

    /// Waits until it has expired, by one read(2) or sigtimedwait(2).
    ///
    /// # Errors
    /// Those of the call; of another kind when another timer of this thread has expired.
    #[inline]
    pub fn wait(&self, signal: &TimerSignal) -> io::Result<()> {
        match self {
            KernelTimer::Descriptor(descriptor) => match rustix::io::read(descriptor, &mut [0; 8])? {
                8 => Ok(()),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            },
            KernelTimer::Posix(timer) => signal.wait(timer),
        }
    }

    /// Removes it, by one close(2) or timer_delete(2).
    ///
    /// # Errors
    /// Those of the call.
    #[inline]
    pub fn remove(self) -> io::Result<()> {
        match self {
            KernelTimer::Descriptor(descriptor) => crate::file::close(descriptor.into()),
            KernelTimer::Posix(timer) => timer.delete(),
        }
    }
}

/// Lets sleeps of this thread end at their time, and not up to 50 µs later together with others:
/// `PR_SET_TIMERSLACK`.
///
/// # Errors
/// Those of prctl(2).
pub fn end_sleeps_in_time() -> io::Result<()> {
    // The shortest that there is: zero stands for the default.
    Ok(rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))?)
}

fn duration(seconds: i64, nanoseconds: i64) -> Duration {
    let nanoseconds = u32::try_from(nanoseconds).unwrap_or_default();
    Duration::new(u64::try_from(seconds).unwrap_or_default(), nanoseconds)
}

/// The signal of the timers of a thread, blocked in it so that it can wait for one.
#[derive(Debug)]
pub struct TimerSignal {
    set: libc::sigset_t,
    thread: libc::pid_t,
}

/// A wait lasts no longer.
static WAIT_MAX: libc::timespec = libc::timespec { tv_sec: 1, tv_nsec: 0 };

impl TimerSignal {
    /// Blocks the signal in this thread. It stays blocked.
    ///
    /// # Errors
    /// Those of pthread_sigmask(3).
    pub fn block() -> io::Result<TimerSignal> {
        // SAFETY: all zero is a valid `sigset_t`: it is an array of integers.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: `set` is memory for a set, and the number is that of a signal.
        unsafe { libc::sigaddset(&raw mut set, libc::SIGRTMIN()) };
        // SAFETY: `set` lives as long as the call, and the old mask is not requested.
        match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) } {
            // SAFETY: gettid(2) has no conditions.
            0 => Ok(TimerSignal { set, thread: unsafe { libc::gettid() } }),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Waits for the signal of that timer.
    #[inline]
    fn wait(&self, timer: &PosixTimer) -> io::Result<()> {
        // SAFETY: all zero is a valid `siginfo_t`.
        let mut information: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set, the time and the memory for the answer live as long as the call.
        checked(unsafe {
            libc::sigtimedwait(&raw const self.set, &raw mut information, &raw const WAIT_MAX)
        })?;
        // SAFETY: the signal comes from a timer, so that the kernel has filled this part of the union.
        let value = unsafe { information.si_value() };
        if value.sival_ptr.addr() == timer.number {
            Ok(())
        } else {
            Err(io::Error::other("another timer has expired"))
        }
    }
}

/// A timer of timer_create(2), which is deleted when it is dropped.
#[derive(Debug)]
pub struct PosixTimer {
    timer: libc::timer_t,
    /// The number that its signal carries.
    number: usize,
}

impl PosixTimer {
    #[inline]
    fn create(signal: &TimerSignal) -> io::Result<PosixTimer> {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static CREATED: AtomicUsize = AtomicUsize::new(1);
        let number = CREATED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: all zero is a valid `sigevent`.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGRTMIN();
        event.sigev_notify_thread_id = signal.thread;
        event.sigev_value = libc::sigval { sival_ptr: std::ptr::without_provenance_mut(number) };
        let mut timer = std::ptr::null_mut();
        // SAFETY: the event and the memory for the timer live as long as the call.
        checked(unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) })?;
        Ok(PosixTimer { timer, number })
    }

    #[inline]
    fn set(&self, after: Duration) -> io::Result<()> {
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = libc::timespec { tv_sec: after.as_secs() as _, tv_nsec: after.subsec_nanos() as _ };
        let once = libc::itimerspec { it_interval: zero, it_value: value };
        // SAFETY: the timer exists as long as this, and the value lives as long as the call.
        checked(unsafe { libc::timer_settime(self.timer, 0, &raw const once, std::ptr::null_mut()) })
            .map(drop)
    }

    fn remaining(&self) -> io::Result<Duration> {
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let mut value = libc::itimerspec { it_interval: zero, it_value: zero };
        // SAFETY: the timer exists as long as this, and the memory for the answer lives as long as the call.
        checked(unsafe { libc::timer_gettime(self.timer, &raw mut value) })?;
        Ok(duration(value.it_value.tv_sec, value.it_value.tv_nsec))
    }

    #[inline]
    fn delete(self) -> io::Result<()> {
        let timer = std::mem::ManuallyDrop::new(self);
        // SAFETY: we owned the timer, which nothing uses after this.
        checked(unsafe { libc::timer_delete(timer.timer) }).map(drop)
    }
}

impl Drop for PosixTimer {
    fn drop(&mut self) {
        // SAFETY: we own the timer, which nothing uses after this.
        unsafe { libc::timer_delete(self.timer) };
    }
}
