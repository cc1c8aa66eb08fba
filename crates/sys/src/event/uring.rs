//! io_uring as an event interface: one multishot poll for each descriptor, and a completion for every change.
//! The set is changed through the same queue, with one io_uring_enter(2) per change.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use super::{
    BROKEN, ByDescriptor, EVENTS_MAX, Event, Interest, Poller, event_from_revents, narrow, poll_events,
};
use crate::ring::{OperationId, Ring, RingSettings};

/// Polls of io_uring(7), multishot.
#[derive(Debug)]
pub struct Uring {
    ring: Ring,
    watched: ByDescriptor<Watched>,
    /// Descriptors with something to report.
    news: Vec<RawFd>,
    /// Polls begun; distinguishes the completions of one from those of its predecessor on the same
    /// descriptor.
    begun: u32,
}

#[derive(Debug)]
struct Watched {
    token: u32,
    interest: Interest,
    /// Bits of poll(2) to report.
    bits: libc::c_short,
    poll: Option<(u32, OperationId)>,
}

impl Poller for Uring {
    const EDGE: bool = true;

    fn new() -> io::Result<Uring> {
        let ring = Ring::new(RingSettings { buffers: 0, ..RingSettings::default() })?;
        Ok(Uring { ring, watched: ByDescriptor::new(), news: Vec::new(), begun: 0 })
    }

    fn add(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let watched = Watched { token: narrow(token)?, interest, bits: 0, poll: None };
        self.watched.insert(descriptor.as_raw_fd(), watched)?;
        self.begin(descriptor)?;
        self.ring.submit()
    }

    fn change(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let watched = self.watched.known(descriptor.as_raw_fd())?;
        let before =
            std::mem::replace(watched, Watched { token: narrow(token)?, interest, bits: 0, poll: None });
        if let Some((_, poll)) = before.poll {
            self.ring.cancel(poll)?;
        }
        self.begin(descriptor)?;
        self.ring.submit()
    }

    fn remove(&mut self, descriptor: BorrowedFd<'_>, _token: usize) -> io::Result<()> {
        if let Some((_, poll)) = self.watched.remove(descriptor.as_raw_fd())?.poll {
            self.ring.cancel(poll)?;
        }
        self.ring.submit()
    }

    fn wait(&mut self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()> {
        events.clear();
        self.ring.wait(timeout)?;
        for _ in 0..EVENTS_MAX {
            let Some(completion) = self.ring.completion() else { break };
            let (token, result, more) = (completion.token, completion.result, completion.more);
            self.hear(token, result, more)?;
        }
        for number in self.news.drain(..) {
            let Some(watched) = self.watched.get_mut(number) else { continue };
            let bits = std::mem::take(&mut watched.bits);
            if bits != 0 {
                events
                    .push(event_from_revents(watched.token, bits & (poll_events(watched.interest) | BROKEN)));
            }
        }
        Ok(())
    }
}

impl Uring {
    /// Queues a poll for the events of the descriptor.
    fn begin(&mut self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        let watched = self.watched.known(number)?;
        if watched.interest != Interest::Nothing {
            self.begun = self.begun.wrapping_add(1);
            let token = u64::from(self.begun) << 32 | u64::from(number.unsigned_abs());
            let poll = self.ring.poll_multishot(descriptor, watched.interest, token)?;
            watched.poll = Some((self.begun, poll));
        }
        Ok(())
    }

    fn hear(&mut self, token: u64, result: io::Result<u32>, more: bool) -> io::Result<()> {
        let (number, begun) = (token as u32 as RawFd, (token >> 32) as u32);
        let Some(watched) = self.watched.get_mut(number) else { return Ok(()) };
        if watched.poll.is_none_or(|(present, _)| present != begun) {
            return Ok(());
        }
        // The next call on the descriptor returns its error.
        let again = result.is_ok() && !more;
        let bits = result.map_or(libc::POLLERR, |bits| bits as libc::c_short);
        if watched.bits == 0 {
            self.news.push(number);
        }
        watched.bits |= bits;
        if again {
            // SAFETY: descriptors are removed before they are closed, and this one was not.
            self.begin(unsafe { BorrowedFd::borrow_raw(number) })?;
        }
        Ok(())
    }
}
