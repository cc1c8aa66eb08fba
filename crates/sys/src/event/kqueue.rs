//! kqueue(2) of the BSDs and macOS, level-triggered. It is linked for them and has not been run there yet.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use rustix::event::kqueue::{self, EventFilter, EventFlags};

use super::{ByDescriptor, EVENTS_MAX, Event, Interest, Poller, nothing_if_interrupted};

/// kqueue(2).
pub struct Kqueue {
    kernel: OwnedFd,
    watched: ByDescriptor<Watched>,
    ready: Box<[MaybeUninit<kqueue::Event>; EVENTS_MAX]>,
}

/// A descriptor that was added.
struct Watched {
    /// Reading and writing are separate entries of the kernel's, and separate events.
    interest: Interest,
    /// Where its event was when it was last ready.
    place: usize,
}

impl Poller for Kqueue {
    const EDGE: bool = false;

    fn new() -> io::Result<Kqueue> {
        let kernel = kqueue::kqueue()?;
        rustix::io::fcntl_setfd(&kernel, rustix::io::FdFlags::CLOEXEC)?;
        let ready = Box::new([const { MaybeUninit::uninit() }; EVENTS_MAX]);
        Ok(Kqueue { kernel, watched: ByDescriptor::new(), ready })
    }

    fn add(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        self.watched.insert(number, Watched { interest, place: usize::MAX })?;
        self.enter(number, token, interest, EventFlags::ADD)
    }

    fn change(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        let before = std::mem::replace(&mut self.watched.known(number)?.interest, interest);
        if before != interest {
            self.enter(number, token, before, EventFlags::DELETE)?;
        }
        self.enter(number, token, interest, EventFlags::ADD)
    }

    fn remove(&mut self, descriptor: BorrowedFd<'_>, token: usize) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        let before = self.watched.remove(number)?;
        self.enter(number, token, before.interest, EventFlags::DELETE)
    }

    fn wait(&mut self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()> {
        events.clear();
        // SAFETY: a descriptor that is closed leaves the queue by itself.
        match unsafe { kqueue::kevent(&self.kernel, &[], &mut self.ready[..], timeout) } {
            Ok((ready, _)) => {
                for (number, event) in ready.iter().filter_map(event_from_kevent) {
                    report(events, self.watched.known(number)?, event);
                }
            }
            Err(error) => {
                nothing_if_interrupted(error.into())?;
            }
        }
        Ok(())
    }
}

impl Kqueue {
    fn enter(&self, number: RawFd, token: usize, interest: Interest, flags: EventFlags) -> io::Result<()> {
        let reads = matches!(interest, Interest::Read | Interest::Both);
        let writes = matches!(interest, Interest::Write | Interest::Both);
        let filters =
            [reads.then_some(EventFilter::Read(number)), writes.then_some(EventFilter::Write(number))];
        for filter in filters.into_iter().flatten() {
            let change = kqueue::Event::new(filter, flags, ptr::without_provenance_mut(token));
            let nowhere: &mut [MaybeUninit<kqueue::Event>] = &mut [];
            // SAFETY: as in `wait`; nothing is written to an empty list.
            unsafe { kqueue::kevent(&self.kernel, &[change], nowhere, Some(Duration::ZERO)) }?;
        }
        Ok(())
    }
}

/// A descriptor is reported once, even if both of its filters report.
fn report(events: &mut Vec<Event>, watched: &mut Watched, event: Event) {
    match events.get_mut(watched.place).filter(|earlier| earlier.token == event.token) {
        Some(earlier) => {
            earlier.readable |= event.readable;
            earlier.writable |= event.writable;
        }
        None => {
            watched.place = events.len();
            events.push(event);
        }
    }
}

/// The descriptor, and what it is ready for. `EV_EOF` comes with the requested filter; with the filter for
/// writing the connection is broken, and a read returns the reason.
fn event_from_kevent(ready: &kqueue::Event) -> Option<(RawFd, Event)> {
    let token = ready.udata().addr();
    match ready.filter() {
        EventFilter::Read(number) => Some((number, Event { token, readable: true, writable: false })),
        EventFilter::Write(number) => {
            let readable = ready.flags().contains(EventFlags::EOF);
            Some((number, Event { token, readable, writable: true }))
        }
        _ => None,
    }
}
