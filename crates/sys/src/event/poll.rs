//! poll(2): an array with one entry for every descriptor, passed with every call.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use super::by_descriptor::ByDescriptor;
use super::{
    Event, Interest, Poller, event_from_revents, milliseconds, narrow, nothing_if_interrupted, poll_events,
};

/// poll(2).
#[derive(Debug)]
pub struct Poll {
    /// The array that the system gets, without gaps.
    entries: Vec<libc::pollfd>,
    /// The token of each entry.
    tokens: Vec<u32>,
    /// Where each descriptor's entry is.
    places: ByDescriptor<usize>,
}

impl Poller for Poll {
    const EDGE: bool = false;

    fn new() -> io::Result<Poll> {
        Ok(Poll { entries: Vec::new(), tokens: Vec::new(), places: ByDescriptor::new() })
    }

    fn add(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let (number, token) = (descriptor.as_raw_fd(), narrow(token)?);
        self.places.insert(number, self.entries.len())?;
        self.entries.push(entry(number, interest));
        self.tokens.push(token);
        Ok(())
    }

    fn change(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        let place = *self.places.known(number)?;
        self.entries[place] = entry(number, interest);
        self.tokens[place] = narrow(token)?;
        Ok(())
    }

    fn remove(&mut self, descriptor: BorrowedFd<'_>, _token: usize) -> io::Result<()> {
        let place = self.places.remove(descriptor.as_raw_fd())?;
        self.entries.swap_remove(place);
        self.tokens.swap_remove(place);
        if let Some(moved) = self.entries.get(place) {
            *self.places.known(number(moved))? = place;
        }
        Ok(())
    }

    fn wait(&mut self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()> {
        events.clear();
        let mut left = poll(&mut self.entries, timeout)?;
        for (entry, &token) in self.entries.iter().zip(&self.tokens) {
            if left == 0 {
                break;
            }
            if entry.revents != 0 {
                left -= 1;
                events.push(event_from_revents(token, entry.revents));
            }
        }
        Ok(())
    }
}

/// poll(2) skips an entry with a negative number; otherwise it would report a broken descriptor at every
/// call, whatever the events.
fn entry(number: RawFd, interest: Interest) -> libc::pollfd {
    let fd = if interest == Interest::Nothing { !number } else { number };
    libc::pollfd { fd, events: poll_events(interest), revents: 0 }
}

fn number(entry: &libc::pollfd) -> RawFd {
    if entry.fd < 0 { !entry.fd } else { entry.fd }
}

/// One poll(2): how many are ready.
pub(super) fn poll(entries: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<usize> {
    // SAFETY: the entries live as long as the call, and their number is that of the slice.
    let count =
        unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, milliseconds(timeout)) };
    usize::try_from(count).or_else(|_| nothing_if_interrupted(io::Error::last_os_error()))
}
