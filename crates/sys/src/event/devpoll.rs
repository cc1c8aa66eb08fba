//! /dev/poll of Solaris and illumos, poll(4D): poll(2) whose list the kernel keeps. It is type-checked and
//! has not been run yet.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use super::by_descriptor::ByDescriptor;
use super::{
    EVENTS_MAX, Event, Interest, Poller, event_from_revents, milliseconds, narrow, nothing_if_interrupted,
    poll_events,
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
