//! kqueue(2) of the BSDs and macOS, level-triggered. It is type-checked for them and has not been run yet.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use rustix::event::kqueue::{self, EventFilter, EventFlags};

use super::by_descriptor::ByDescriptor;
use super::{EVENTS_MAX, Event, Interest, Poller, nothing_if_interrupted};

/// kqueue(2).
pub struct Kqueue {
    kernel: OwnedFd,
    /// What each descriptor waits for: reading and writing are separate entries of the kernel's.
    interests: ByDescriptor<Interest>,
    told: Box<[MaybeUninit<kqueue::Event>; EVENTS_MAX]>,
}

impl Poller for Kqueue {
    const EDGE: bool = false;

    fn new() -> io::Result<Kqueue> {
        let kernel = kqueue::kqueue()?;
        rustix::io::fcntl_setfd(&kernel, rustix::io::FdFlags::CLOEXEC)?;
        let told = Box::new([const { MaybeUninit::uninit() }; EVENTS_MAX]);
        Ok(Kqueue { kernel, interests: ByDescriptor::new(), told })
    }

    fn add(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        self.interests.insert(number, interest)?;
        self.enter(number, token, interest, EventFlags::ADD)
    }

    fn change(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        let before = std::mem::replace(self.interests.known(number)?, interest);
        if before != interest {
            self.enter(number, token, before, EventFlags::DELETE)?;
        }
        self.enter(number, token, interest, EventFlags::ADD)
    }

    fn remove(&mut self, descriptor: BorrowedFd<'_>, token: usize) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        let before = self.interests.remove(number)?;
        self.enter(number, token, before, EventFlags::DELETE)
    }

    fn wait(&mut self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()> {
        events.clear();
        // SAFETY: a descriptor that is closed leaves the queue by itself.
        match unsafe { kqueue::kevent(&self.kernel, &[], &mut self.told[..], timeout) } {
            Ok((told, _)) => events.extend(told.iter().filter_map(|told| event(told))),
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

fn event(told: &kqueue::Event) -> Option<Event> {
    let token = told.udata().addr();
    match told.filter() {
        EventFilter::Read(_) => Some(Event { token, readable: true, writable: false }),
        EventFilter::Write(_) => {
            Some(Event { token, readable: told.flags().contains(EventFlags::EOF), writable: true })
        }
        _ => None,
    }
}
