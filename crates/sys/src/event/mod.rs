//! Event interfaces, which report the ready ones of many descriptors, all behind [`Poller`]; and [`Flag`], a
//! descriptor that the program makes ready, for events within a process.

#[cfg(target_os = "linux")]
mod epoll;
#[cfg(any(target_os = "illumos", target_os = "solaris"))]
mod illumos;
#[cfg(any(
    target_vendor = "apple",
    target_os = "dragonfly",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd"
))]
mod kqueue;
#[cfg(unix)]
mod poll;
#[cfg(windows)]
#[path = "wsapoll.rs"]
mod poll;
#[cfg(target_os = "linux")]
mod signal_io;
#[cfg(unix)]
mod uring;

use std::io;
#[cfg(unix)]
use std::os::fd::RawFd;
use std::time::Duration;

use crate::handle::Handle;

#[cfg(target_os = "linux")]
pub use epoll::{Epoll, EpollEdge, ExclusiveWatch, SharedSet};
pub use flag::Flag;
#[cfg(any(target_os = "illumos", target_os = "solaris"))]
pub use illumos::{DevPoll, EventPorts};
#[cfg(any(
    target_vendor = "apple",
    target_os = "dragonfly",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd"
))]
pub use kqueue::Kqueue;
pub use poll::Poll;
#[cfg(unix)]
pub use poll::{BeyondSelect, Select};
#[cfg(target_os = "linux")]
pub use signal_io::SignalIo;
#[cfg(unix)]
pub use uring::Uring;

/// The events that are waited for on a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Input, or the end of it.
    Read,
    /// Room for output.
    Write,
    /// Either.
    Both,
    /// Nothing for now, not even an error: an interface that reports states would report that one again and
    /// again.
    Nothing,
}

/// A descriptor that is ready.
///
/// A connection that is broken, or closed by the other end in both directions, is ready for both. select(2)
/// and kqueue(2) report it only for the requested events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The token that it was added with.
    pub token: usize,
    /// Input, its end, or an error waits.
    pub readable: bool,
    /// There is room for output, or an error waits.
    pub writable: bool,
}

/// An event interface.
pub trait Poller: Sized {
    /// Whether it reports a change once, rather than a state as long as it lasts. The caller must then go on
    /// until `WouldBlock`.
    const EDGE: bool;

    /// Whether closing a descriptor that was not duplicated removes it without [`Poller::remove`].
    const FORGETS_CLOSED: bool = false;

    /// An interface with nothing added.
    ///
    /// # Errors
    /// Those of the system; `Unsupported` where it has no such interface.
    fn new() -> io::Result<Self>;

    /// Waits for the descriptor too. `token` may be any number below `u32::MAX`.
    ///
    /// # Errors
    /// Those of the system; `BeyondSelect` for a descriptor too large for the interface. A server treats it
    /// like `EMFILE`: `crate::error::out_of_descriptors` holds for both.
    fn add(&mut self, descriptor: Handle<'_>, token: usize, interest: Interest) -> io::Result<()>;

    /// Waits for input on a descriptor that several sets watch, each for a process of its own: a change wakes
    /// one of them, or a few.
    ///
    /// # Errors
    /// Those of the system; `Unsupported` where every change wakes all.
    fn add_exclusive(&mut self, descriptor: Handle<'_>, token: usize) -> io::Result<()> {
        crate::error::unsupported("only epoll(7) wakes one of several sets", (descriptor, token))
    }

    /// Waits for something else on a descriptor that was added.
    ///
    /// # Errors
    /// Those of the system.
    fn change(&mut self, descriptor: Handle<'_>, token: usize, interest: Interest) -> io::Result<()>;

    /// Forgets the descriptor; before it is closed.
    ///
    /// # Errors
    /// Those of the system.
    fn remove(&mut self, descriptor: Handle<'_>, token: usize) -> io::Result<()>;

    /// Waits until something is ready, the time is over, or a signal comes, and fills `events` with each
    /// ready descriptor once; with nothing after a signal. `None` waits for ever, zero only looks. Times may
    /// be rounded up to milliseconds, never down.
    ///
    /// # Errors
    /// Those of the system, without `EINTR`.
    fn wait(&mut self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()>;
}

/// The cheapest descriptor that can become ready: eventfd(2) on Linux; elsewhere a pipe, which needs two.
#[cfg(unix)]
mod flag {
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    /// A descriptor that is readable while the flag is raised. Never blocks.
    #[derive(Debug)]
    pub struct Flag {
        shown: OwnedFd,
        #[cfg(not(target_os = "linux"))]
        held: OwnedFd,
    }

    impl Flag {
        /// A flag that is lowered.
        ///
        /// # Errors
        /// Those of eventfd(2), or of pipe(2) and fcntl(2).
        pub fn new() -> io::Result<Flag> {
            #[cfg(target_os = "linux")]
            {
                use rustix::event::{EventfdFlags, eventfd};
                Ok(Flag { shown: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)? })
            }
            #[cfg(not(target_os = "linux"))]
            {
                let (shown, held) = rustix::pipe::pipe()?;
                for end in [&shown, &held] {
                    rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
                    rustix::io::ioctl_fionbio(end, true)?;
                }
                Ok(Flag { shown, held })
            }
        }

        /// Makes it readable.
        ///
        /// # Errors
        /// Those of write(2).
        #[inline]
        pub fn raise(&self) -> io::Result<()> {
            #[cfg(target_os = "linux")]
            rustix::io::write(&self.shown, &1_u64.to_ne_bytes())?;
            #[cfg(not(target_os = "linux"))]
            rustix::io::write(&self.held, b"!")?;
            Ok(())
        }

        /// Makes it unreadable again.
        ///
        /// # Errors
        /// Those of read(2); `WouldBlock` when it was not raised.
        #[inline]
        pub fn lower(&self) -> io::Result<()> {
            rustix::io::read(&self.shown, &mut [0; 8])?;
            Ok(())
        }
    }

    #[cfg(target_os = "linux")]
    impl Flag {
        /// A flag whose raises are counted, and which one read(2) lowers by one; the read waits until there
        /// is one: eventfd(2) with `EFD_SEMAPHORE`.
        ///
        /// # Errors
        /// Those of eventfd(2).
        pub fn semaphore() -> io::Result<Flag> {
            use rustix::event::{EventfdFlags, eventfd};
            Ok(Flag { shown: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::SEMAPHORE)? })
        }

        /// Waits until it is raised, by one poll(2) without time-out. Returns whether it is: a signal may end
        /// the wait too.
        ///
        /// # Errors
        /// Those of poll(2).
        pub fn await_raised(&self) -> io::Result<bool> {
            use rustix::event::{PollFd, PollFlags, poll};
            match poll(&mut [PollFd::new(&self.shown, PollFlags::IN)], None) {
                Ok(ready) => Ok(ready > 0),
                Err(rustix::io::Errno::INTR) => Ok(false),
                Err(error) => Err(error.into()),
            }
        }
    }

    impl AsFd for Flag {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.shown.as_fd()
        }
    }
}

/// Windows: WSAPoll takes only sockets, so the flag is a UDP socket on loopback that sends datagrams to
/// itself.
#[cfg(windows)]
mod flag {
    use std::io;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::windows::io::{AsSocket, BorrowedSocket};

    /// A socket that is readable while the flag is raised. Never blocks.
    #[derive(Debug)]
    pub struct Flag(UdpSocket);

    impl Flag {
        /// A flag that is lowered.
        ///
        /// # Errors
        /// Those of socket, bind, connect and ioctlsocket.
        pub fn new() -> io::Result<Flag> {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            // No other process can raise it.
            socket.connect(socket.local_addr()?)?;
            socket.set_nonblocking(true)?;
            Ok(Flag(socket))
        }

        /// Makes it readable.
        ///
        /// # Errors
        /// Those of send.
        #[inline]
        pub fn raise(&self) -> io::Result<()> {
            self.0.send(b"!").map(drop)
        }

        /// Makes it unreadable again.
        ///
        /// # Errors
        /// Those of recv; `WouldBlock` when it was not raised.
        #[inline]
        pub fn lower(&self) -> io::Result<()> {
            self.0.recv(&mut [0; 8]).map(drop)
        }
    }

    impl AsSocket for Flag {
        fn as_socket(&self) -> BorrowedSocket<'_> {
            self.0.as_socket()
        }
    }
}

/// The most events that one wait returns, where the interface has a choice.
#[cfg(unix)]
const EVENTS_MAX: usize = 512;

/// For poll(2): rounded up, for a wait that ends before its time is only begun again; -1 waits for ever.
#[cfg(unix)]
fn milliseconds(timeout: Option<Duration>) -> libc::c_int {
    timeout
        .map_or(-1, |timeout| timeout.as_nanos().div_ceil(1_000_000).try_into().unwrap_or(libc::c_int::MAX))
}

/// The events that poll(2) waits for.
#[cfg(unix)]
fn poll_events(interest: Interest) -> libc::c_short {
    match interest {
        Interest::Read => libc::POLLIN,
        Interest::Write => libc::POLLOUT,
        Interest::Both => libc::POLLIN | libc::POLLOUT,
        Interest::Nothing => 0,
    }
}

/// The bits of poll(2) for a descriptor that cannot be used any more.
#[cfg(unix)]
const BROKEN: libc::c_short = libc::POLLERR | libc::POLLHUP | libc::POLLNVAL;

/// The event that the bits of poll(2) mean.
#[cfg(unix)]
fn event_from_revents(token: u32, bits: libc::c_short) -> Event {
    let has = |wanted| bits & (wanted | BROKEN) != 0;
    Event { token: token as usize, readable: has(libc::POLLIN), writable: has(libc::POLLOUT) }
}

/// A token as the tables keep it.
fn narrow(token: usize) -> io::Result<u32> {
    u32::try_from(token)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a token must fit in 32 bits"))
}

/// A wait that a signal ended found nothing; that is no error.
#[cfg(unix)]
fn nothing_if_interrupted(error: io::Error) -> io::Result<usize> {
    if error.kind() == io::ErrorKind::Interrupted { Ok(0) } else { Err(error) }
}

/// A table indexed by descriptor. It stays dense, because the system always allocates the lowest free one.
#[cfg(unix)]
#[derive(Debug)]
struct ByDescriptor<T>(Vec<Option<T>>);

#[cfg(unix)]
impl<T> ByDescriptor<T> {
    const fn new() -> ByDescriptor<T> {
        ByDescriptor(Vec::new())
    }

    /// `EEXIST` for one that is there, as epoll_ctl(2) answers.
    fn insert(&mut self, descriptor: RawFd, value: T) -> io::Result<()> {
        let index = usize::try_from(descriptor).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
        if index >= self.0.len() {
            self.0.resize_with(index + 1, || None);
        }
        match &mut self.0[index] {
            Some(_) => Err(io::Error::from_raw_os_error(libc::EEXIST)),
            free => {
                *free = Some(value);
                Ok(())
            }
        }
    }

    fn get_mut(&mut self, descriptor: RawFd) -> Option<&mut T> {
        self.0.get_mut(usize::try_from(descriptor).ok()?)?.as_mut()
    }

    /// `ENOENT` for one that is not there.
    fn known(&mut self, descriptor: RawFd) -> io::Result<&mut T> {
        self.get_mut(descriptor).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }

    /// `ENOENT` for one that is not there.
    fn remove(&mut self, descriptor: RawFd) -> io::Result<T> {
        let place = usize::try_from(descriptor).ok().and_then(|index| self.0.get_mut(index));
        place.and_then(Option::take).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }

    /// All that are there.
    #[cfg(target_os = "linux")]
    fn iter(&self) -> impl Iterator<Item = (RawFd, &T)> {
        (0..).zip(&self.0).filter_map(|(descriptor, value)| Some((descriptor, value.as_ref()?)))
    }
}
