//! epoll(7): the kernel keeps the set, and reports only those that are ready.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use super::{EVENTS_MAX, Event, Interest, Poller, nothing_if_interrupted};

/// epoll, level-triggered: reports a state as long as it lasts.
pub type Epoll = Set<false>;

/// epoll, edge-triggered: reports a change once.
pub type EpollEdge = Set<true>;

/// A set of descriptors in the kernel.
#[derive(Debug)]
pub struct Set<const EDGE: bool> {
    kernel: OwnedFd,
    events: Box<[MaybeUninit<epoll::Event>]>,
}

impl<const EDGE: bool> Poller for Set<EDGE> {
    const EDGE: bool = EDGE;
    const FORGETS_CLOSED: bool = true;

    fn new() -> io::Result<Self> {
        Set::with_capacity(EVENTS_MAX)
    }

    fn add(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let Some(flags) = flags::<EDGE>(interest) else { return Ok(()) };
        Ok(epoll::add(&self.kernel, descriptor, EventData::new_u64(token as u64), flags)?)
    }

    fn add_exclusive(&mut self, descriptor: BorrowedFd<'_>, token: usize) -> io::Result<()> {
        let edge = if EDGE { EventFlags::ET } else { EventFlags::empty() };
        let flags = EventFlags::IN | EventFlags::EXCLUSIVE | edge;
        Ok(epoll::add(&self.kernel, descriptor, EventData::new_u64(token as u64), flags)?)
    }

    fn change(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let Some(flags) = flags::<EDGE>(interest) else { return self.take_out(descriptor) };
        let data = EventData::new_u64(token as u64);
        match epoll::modify(&self.kernel, descriptor, data, flags) {
            Err(Errno::NOENT) => Ok(epoll::add(&self.kernel, descriptor, data, flags)?),
            answer => Ok(answer?),
        }
    }

    fn remove(&mut self, descriptor: BorrowedFd<'_>, _token: usize) -> io::Result<()> {
        self.take_out(descriptor)
    }

    fn wait(&mut self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()> {
        events.clear();
        // A time that does not fit a `Timespec` is for ever.
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match epoll::wait(&self.kernel, &mut self.events[..], timeout.as_ref()) {
            Ok((ready, _)) => events.extend(ready.iter().map(event_from_epoll)),
            Err(error) => {
                nothing_if_interrupted(error.into())?;
            }
        }
        Ok(())
    }
}

impl<const EDGE: bool> Set<EDGE> {
    /// A set whose wait returns at most `events_max` events; [`Poller::new`] takes 512.
    ///
    /// # Errors
    /// Those of epoll_create1(2).
    pub fn with_capacity(events_max: usize) -> io::Result<Self> {
        let kernel = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Set { kernel, events: (0..events_max).map(|_| MaybeUninit::uninit()).collect() })
    }

    /// Waits for at most this time, which [`Poller::wait`] rounds up to milliseconds, by one epoll_pwait2(2).
    /// Returns the number of events.
    ///
    /// # Errors
    /// Those of the call; unsupported before Linux 5.11.
    #[inline]
    pub fn wait_exactly(&mut self, timeout: Duration) -> io::Result<usize> {
        /// `struct __kernel_timespec`.
        #[repr(C)]
        struct Time {
            seconds: i64,
            nanoseconds: i64,
        }
        let time =
            Time { seconds: timeout.as_secs().cast_signed(), nanoseconds: timeout.subsec_nanos().into() };
        let (kernel, room) = (self.kernel.as_raw_fd(), self.events.as_mut_ptr());
        let most = libc::c_int::try_from(self.events.len()).unwrap_or(libc::c_int::MAX);
        let no_mask = std::ptr::null::<libc::sigset_t>();
        // SAFETY: the descriptor is open, there is room for so many events as the kernel lays them out, and
        // the time lives as long as the call. The mask of signals stays.
        let ready = unsafe {
            libc::syscall(libc::SYS_epoll_pwait2, kernel, room, most, &raw const time, no_mask, 0_usize)
        };
        usize::try_from(ready).map_err(|_| io::Error::last_os_error())
    }

    /// One close(2), with its result.
    ///
    /// # Errors
    /// Those of close(2).
    #[inline]
    pub fn close(self) -> io::Result<()> {
        crate::file::close(self.kernel.into())
    }

    /// A descriptor that waits for nothing has been removed already.
    fn take_out(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        match epoll::delete(&self.kernel, descriptor) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// A set that several threads wait on, for the events of descriptors that each of them adds.
#[derive(Debug)]
pub struct SharedSet(OwnedFd);

impl SharedSet {
    /// An empty set.
    ///
    /// # Errors
    /// Those of epoll_create1(2).
    pub fn new() -> io::Result<SharedSet> {
        Ok(SharedSet(epoll::create(CreateFlags::CLOEXEC)?))
    }

    /// Watches until the descriptor is readable.
    ///
    /// # Errors
    /// Those of epoll_ctl(2).
    pub fn watch(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::add(&self.0, descriptor, EventData::new_u64(0), EventFlags::IN)?)
    }

    /// Returns whether a descriptor is readable, by one epoll_wait(2) that does not wait.
    ///
    /// # Errors
    /// Those of epoll_wait(2).
    #[inline]
    pub fn is_ready(&self) -> io::Result<bool> {
        let mut events = [const { MaybeUninit::uninit() }; 1];
        let (ready, _) = epoll::wait(&self.0, &mut events[..], Some(&rustix::time::Timespec::default()))?;
        Ok(!ready.is_empty())
    }
}

/// A set with one descriptor, which wakes no more than one of those that wait for it. Threads may share it.
#[derive(Debug)]
pub struct ExclusiveWatch(OwnedFd);

impl ExclusiveWatch {
    /// Watches until the descriptor is readable, with `EPOLLEXCLUSIVE`, and reports each change once.
    ///
    /// # Errors
    /// Those of epoll_create1(2) and epoll_ctl(2).
    pub fn new(descriptor: BorrowedFd<'_>) -> io::Result<ExclusiveWatch> {
        let kernel = epoll::create(CreateFlags::CLOEXEC)?;
        let flags = EventFlags::IN | EventFlags::EXCLUSIVE | EventFlags::ET;
        epoll::add(&kernel, descriptor, EventData::new_u64(0), flags)?;
        Ok(ExclusiveWatch(kernel))
    }

    /// Waits for a change, and returns whether there was one: a signal may end the wait too.
    ///
    /// # Errors
    /// Those of epoll_wait(2).
    pub fn wait(&self) -> io::Result<bool> {
        let mut events = [const { MaybeUninit::uninit() }; 1];
        match epoll::wait(&self.0, &mut events[..], None) {
            Ok((ready, _)) => Ok(!ready.is_empty()),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// `None` removes it from the set: the kernel reports a broken descriptor whatever its interest.
fn flags<const EDGE: bool>(interest: Interest) -> Option<EventFlags> {
    let wanted = match interest {
        // The end of input right behind the last bytes is an edge of its own.
        Interest::Read => EventFlags::IN | EventFlags::RDHUP,
        Interest::Write => EventFlags::OUT,
        Interest::Both => EventFlags::IN | EventFlags::RDHUP | EventFlags::OUT,
        Interest::Nothing => return None,
    };
    Some(if EDGE { wanted | EventFlags::ET } else { wanted })
}

fn event_from_epoll(ready: &epoll::Event) -> Event {
    // By value: the kernel packs the entries.
    let (flags, data) = (ready.flags, ready.data);
    let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
    Event {
        token: data.u64() as usize,
        readable: broken || flags.intersects(EventFlags::IN | EventFlags::RDHUP),
        writable: broken || flags.intersects(EventFlags::OUT),
    }
}
