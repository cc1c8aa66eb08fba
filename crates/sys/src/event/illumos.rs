//! The interfaces of illumos and Solaris. They are type-checked and have not been run yet.
//!
//! /dev/poll, poll(4D), is poll(2) whose list the kernel keeps. An event port, port_create(3C), forgets a
//! descriptor with the event that it reports (port_associate(3C)). The next wait associates it again, and a
//! descriptor that is still ready is reported at once: so the port reports states, like poll(2).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::ptr;
use std::time::Duration;

use rustix::event::{PollFlags, port};
use rustix::io::Errno;

use super::{
    ByDescriptor, EVENTS_MAX, Event, Interest, Poller, event_from_revents, milliseconds, narrow,
    nothing_if_interrupted, poll_events,
};

/// `POLLREMOVE` of sys/poll.h: the descriptor leaves the list.
const REMOVE: libc::c_short = 0x0800;
/// `DP_POLL` of sys/devpoll.h: a wait.
const WAIT: libc::c_int = (0xD0 << 8) | 1;

/// `struct dvpoll` of sys/devpoll.h, for a wait.
#[repr(C)]
struct Answer {
    entries: *mut libc::pollfd,
    length: libc::nfds_t,
    timeout_ms: libc::c_int,
}

/// /dev/poll.
pub struct DevPoll {
    device: File,
    /// The token of each descriptor.
    tokens: ByDescriptor<u32>,
    ready: Box<[libc::pollfd]>,
}

impl Poller for DevPoll {
    const EDGE: bool = false;

    fn new() -> io::Result<DevPoll> {
        let mut options = OpenOptions::new();
        let device = options.read(true).write(true).custom_flags(libc::O_CLOEXEC).open("/dev/poll")?;
        let ready = vec![entry(-1, 0); EVENTS_MAX].into_boxed_slice();
        Ok(DevPoll { device, tokens: ByDescriptor::new(), ready })
    }

    fn add(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        self.tokens.insert(number, narrow(token)?)?;
        self.enter(number, interest)
    }

    /// A write adds to the events of an entry, so the entry is removed first; one write(2) does both.
    fn change(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        *self.tokens.known(number)? = narrow(token)?;
        let new = [entry(number, REMOVE), entry(number, poll_events(interest))];
        self.write(if interest == Interest::Nothing { &new[..1] } else { &new })
    }

    fn remove(&mut self, descriptor: BorrowedFd<'_>, _token: usize) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        self.tokens.remove(number)?;
        self.write(&[entry(number, REMOVE)])
    }

    fn wait(&mut self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()> {
        events.clear();
        let mut answer = Answer {
            entries: self.ready.as_mut_ptr(),
            length: self.ready.len() as libc::nfds_t,
            timeout_ms: milliseconds(timeout),
        };
        // SAFETY: the count is that of the entries, and they and the result live as long as the call.
        let count = unsafe { libc::ioctl(self.device.as_raw_fd(), WAIT, &raw mut answer) };
        let count = usize::try_from(count).or_else(|_| nothing_if_interrupted(io::Error::last_os_error()))?;
        for entry in &self.ready[..count.min(self.ready.len())] {
            events.push(event_from_revents(*self.tokens.known(entry.fd)?, entry.revents));
        }
        Ok(())
    }
}

impl DevPoll {
    fn enter(&self, number: RawFd, interest: Interest) -> io::Result<()> {
        if interest == Interest::Nothing {
            Ok(())
        } else {
            self.write(&[entry(number, poll_events(interest))])
        }
    }

    /// Changes the list.
    fn write(&self, entries: &[libc::pollfd]) -> io::Result<()> {
        let bytes = size_of_val(entries);
        // SAFETY: the entries are so many bytes, and are only read.
        let written = unsafe { libc::write(self.device.as_raw_fd(), entries.as_ptr().cast(), bytes) };
        match usize::try_from(written) {
            Ok(count) if count == bytes => Ok(()),
            Ok(_) => Err(io::ErrorKind::WriteZero.into()),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }
}

fn entry(number: RawFd, events: libc::c_short) -> libc::pollfd {
    libc::pollfd { fd: number, events, revents: 0 }
}

/// port_create(3C).
pub struct EventPorts {
    port: OwnedFd,
    watched: ByDescriptor<Watched>,
    /// Those of the last wait.
    reported: Vec<RawFd>,
    ready: Box<[libc::port_event]>,
}

/// A descriptor that was added.
struct Watched {
    token: u32,
    interest: Interest,
    /// Whether the port knows it, and has not reported it since.
    is_associated: bool,
}

impl Poller for EventPorts {
    const EDGE: bool = false;

    fn new() -> io::Result<EventPorts> {
        let port = port::create()?;
        rustix::io::fcntl_setfd(&port, rustix::io::FdFlags::CLOEXEC)?;
        let ready = vec![nothing(); EVENTS_MAX].into_boxed_slice();
        Ok(EventPorts { port, watched: ByDescriptor::new(), reported: Vec::new(), ready })
    }

    fn add(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        let watched = Watched { token: narrow(token)?, interest, is_associated: false };
        self.watched.insert(number, watched)?;
        self.associate(number)
    }

    fn change(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        let watched = self.watched.known(number)?;
        (watched.token, watched.interest) = (narrow(token)?, interest);
        self.associate(number)
    }

    fn remove(&mut self, descriptor: BorrowedFd<'_>, _token: usize) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        self.watched.remove(number)?;
        self.dissociate(number)
    }

    fn wait(&mut self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()> {
        events.clear();
        let mut reported = std::mem::take(&mut self.reported);
        for number in reported.drain(..) {
            // It may have been removed or changed since, or the number may belong to another descriptor now.
            if self.watched.get_mut(number).is_some_and(|watched| !watched.is_associated) {
                self.associate(number)?;
            }
        }
        self.reported = reported;
        let count = self.events(timeout)?;
        for event in &self.ready[..count] {
            let number = event.portev_object as RawFd;
            let watched = self.watched.known(number)?;
            watched.is_associated = false;
            self.reported.push(number);
            events.push(event_from_revents(watched.token, event.portev_events as libc::c_short));
        }
        Ok(())
    }
}

impl EventPorts {
    /// Replaces the events that the port waits for on a descriptor.
    fn associate(&mut self, number: RawFd) -> io::Result<()> {
        let watched = self.watched.known(number)?;
        watched.is_associated = watched.interest != Interest::Nothing;
        if !watched.is_associated {
            return self.dissociate(number);
        }
        let wanted = PollFlags::from_bits_retain(poll_events(watched.interest));
        // SAFETY: the caller removes a descriptor before it is closed, see `Poller::remove`.
        Ok(unsafe { port::associate_fd(&self.port, number, wanted, ptr::null_mut()) }?)
    }

    /// A descriptor that the port has reported is no longer associated.
    fn dissociate(&self, number: RawFd) -> io::Result<()> {
        // SAFETY: the port compares the number with those that it knows, and reads nothing of it.
        match unsafe { port::dissociate_fd(&self.port, number) } {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// One port_getn(3C): how many events it wrote.
    fn events(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        let mut time = timeout.map(|timeout| libc::timespec {
            tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(timeout.subsec_nanos() as i32),
        });
        let time = time.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        // Waits for one event, and returns all that are there.
        let mut count = 1;
        let port = self.port.as_raw_fd();
        // After a timeout its count is unreliable: there may be no event, or several.
        self.ready[0] = nothing();
        let length = self.ready.len() as libc::c_uint;
        // SAFETY: the length is that of the list, and count and time live as long as the call.
        let answer = unsafe { libc::port_getn(port, self.ready.as_mut_ptr(), length, &raw mut count, time) };
        if answer != 0 {
            let error = io::Error::last_os_error();
            if !matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR)) {
                return Err(error);
            }
            if i32::from(self.ready[0].portev_source) != libc::PORT_SOURCE_FD {
                return Ok(0);
            }
        }
        Ok((count as usize).min(self.ready.len()))
    }
}

/// An event without a source.
const fn nothing() -> libc::port_event {
    libc::port_event {
        portev_events: 0,
        portev_source: 0,
        portev_pad: 0,
        portev_object: 0,
        portev_user: ptr::null_mut(),
    }
}
