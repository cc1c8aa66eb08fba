//! The interfaces of POSIX, which get the whole set with every call: poll(2) as an array with one entry for
//! every descriptor; select(2) as two sets of bits, which end at `FD_SETSIZE` and come back with the bits of
//! the ready descriptors. Every call copies the bits of all descriptors up to the highest in both directions.

use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;
use std::time::Duration;

use super::{
    ByDescriptor, Event, Interest, Poller, event_from_revents, milliseconds, narrow, nothing_if_interrupted,
    poll_events,
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

/// Systems differ in the type of the number.
#[allow(clippy::unnecessary_cast)]
const FD_SETSIZE: usize = libc::FD_SETSIZE as usize;

/// A descriptor that select(2) cannot take: it is not below `FD_SETSIZE`.
#[derive(Clone, Copy, Debug)]
pub struct BeyondSelect {
    /// The descriptor's number.
    pub number: RawFd,
}

/// select(2).
pub struct Select {
    read: Set,
    write: Set,
    tokens: ByDescriptor<u32>,
    /// One more than the highest descriptor in a set.
    end: RawFd,
}

/// A set of descriptors below `FD_SETSIZE`.
#[derive(Clone, Copy)]
struct Set(libc::fd_set);

impl Poller for Select {
    const EDGE: bool = false;

    fn new() -> io::Result<Select> {
        Ok(Select { read: Set::empty(), write: Set::empty(), tokens: ByDescriptor::new(), end: 0 })
    }

    fn add(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        if number as usize >= FD_SETSIZE {
            return Err(BeyondSelect { number }.into());
        }
        self.tokens.insert(number, narrow(token)?)?;
        self.mark(number, interest);
        Ok(())
    }

    fn change(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        *self.tokens.known(number)? = narrow(token)?;
        self.mark(number, interest);
        Ok(())
    }

    fn remove(&mut self, descriptor: BorrowedFd<'_>, _token: usize) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        self.tokens.remove(number)?;
        self.mark(number, Interest::Nothing);
        Ok(())
    }

    fn wait(&mut self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()> {
        events.clear();
        let (mut read, mut write) = (self.read, self.write);
        let mut left = select(self.end, &mut read, &mut write, timeout)?;
        for number in 0..self.end {
            if left == 0 {
                break;
            }
            let (readable, writable) = (read.has(number), write.has(number));
            if !readable && !writable {
                continue;
            }
            left = left.saturating_sub(usize::from(readable) + usize::from(writable));
            if let Some(&mut token) = self.tokens.get_mut(number) {
                events.push(Event { token: token as usize, readable, writable });
            }
        }
        Ok(())
    }
}

impl Select {
    fn mark(&mut self, number: RawFd, interest: Interest) {
        self.read.put(number, matches!(interest, Interest::Read | Interest::Both));
        self.write.put(number, matches!(interest, Interest::Write | Interest::Both));
        if interest != Interest::Nothing {
            self.end = self.end.max(number + 1);
        }
        while self.end > 0 && !self.read.has(self.end - 1) && !self.write.has(self.end - 1) {
            self.end -= 1;
        }
    }
}

impl Set {
    fn empty() -> Set {
        let mut set = MaybeUninit::uninit();
        // SAFETY: FD_ZERO writes the whole set.
        unsafe {
            libc::FD_ZERO(set.as_mut_ptr());
            Set(set.assume_init())
        }
    }

    /// `number` must be below `FD_SETSIZE`; `add` refuses others.
    fn put(&mut self, number: RawFd, is_in: bool) {
        // SAFETY: the set is initialised, and the number's bit lies in it.
        unsafe { if is_in { libc::FD_SET(number, &mut self.0) } else { libc::FD_CLR(number, &mut self.0) } }
    }

    fn has(&self, number: RawFd) -> bool {
        // SAFETY: the set is initialised, and the number's bit lies in it, as for `put`.
        unsafe { libc::FD_ISSET(number, &self.0) }
    }
}

fn select(end: RawFd, read: &mut Set, write: &mut Set, timeout: Option<Duration>) -> io::Result<usize> {
    let mut time = timeout.map(|timeout| {
        let us = timeout.as_nanos().div_ceil(1000);
        libc::timeval {
            tv_sec: (us / 1_000_000).try_into().unwrap_or(libc::time_t::MAX),
            tv_usec: (us % 1_000_000) as libc::suseconds_t,
        }
    });
    let time = time.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
    // SAFETY: the sets and the time live as long as the call, and `end` is no more than FD_SETSIZE.
    let count = unsafe { libc::select(end, &mut read.0, &mut write.0, ptr::null_mut(), time) };
    usize::try_from(count).or_else(|_| nothing_if_interrupted(io::Error::last_os_error()))
}

impl fmt::Display for BeyondSelect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "select(2) cannot wait for descriptor {}, only for those below FD_SETSIZE, {}",
            self.number, FD_SETSIZE
        )
    }
}

impl std::error::Error for BeyondSelect {}

impl From<BeyondSelect> for io::Error {
    fn from(beyond: BeyondSelect) -> io::Error {
        io::Error::new(io::ErrorKind::QuotaExceeded, beyond)
    }
}

impl fmt::Debug for Select {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Select").field("tokens", &self.tokens).field("end", &self.end).finish()
    }
}
