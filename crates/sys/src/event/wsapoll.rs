//! WSAPoll: an array with one entry for every socket, passed with every call, as for poll(2).
//!
//! Before Windows 10 2004 it does not report a connection that could not be made; the time limit of the
//! caller ends that wait. See "WSAPoll function" of Microsoft's documentation.

use std::collections::HashMap;
use std::io;
use std::os::windows::io::AsRawSocket;
use std::time::Duration;

use windows_sys::Win32::Networking::WinSock::{
    POLLERR, POLLHUP, POLLNVAL, POLLRDNORM, POLLWRNORM, SOCKET, WSAPOLLFD,
};

use super::{Event, Interest, Poller, narrow};
use crate::handle::Handle;
use crate::winsock;

/// WSAPoll.
#[derive(Default)]
pub struct Poll {
    /// The array that the system gets, without gaps and without sockets that wait for nothing: errors of
    /// these would be reported too.
    entries: Vec<WSAPOLLFD>,
    /// The token of each entry.
    tokens: Vec<u32>,
    /// Where each socket's entry is, if it has one. The numbers of handles are not dense as descriptors are.
    places: HashMap<SOCKET, Option<usize>>,
}

impl Poller for Poll {
    const EDGE: bool = false;

    fn new() -> io::Result<Poll> {
        Ok(Poll::default())
    }

    fn add(&mut self, socket: Handle<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let (socket, token) = (socket.as_raw_socket() as SOCKET, narrow(token)?);
        if self.places.contains_key(&socket) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.places.insert(socket, None);
        self.set(socket, token, interest);
        Ok(())
    }

    fn change(&mut self, socket: Handle<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let (socket, token) = (socket.as_raw_socket() as SOCKET, narrow(token)?);
        if !self.places.contains_key(&socket) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.set(socket, token, interest);
        Ok(())
    }

    fn remove(&mut self, socket: Handle<'_>, _token: usize) -> io::Result<()> {
        let place = self.places.remove(&(socket.as_raw_socket() as SOCKET)).ok_or(io::ErrorKind::NotFound)?;
        self.vacate(place);
        Ok(())
    }

    fn wait(&mut self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()> {
        events.clear();
        let mut left = winsock::poll(&mut self.entries, timeout)?;
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

impl Poll {
    /// Changes the events of a socket that was added.
    fn set(&mut self, socket: SOCKET, token: u32, interest: Interest) {
        let place = self.places.get(&socket).copied().flatten();
        if interest == Interest::Nothing {
            self.places.insert(socket, None);
            return self.vacate(place);
        }
        let entry = WSAPOLLFD { fd: socket, events: poll_events(interest), revents: 0 };
        match place {
            Some(place) => {
                self.entries[place] = entry;
                self.tokens[place] = token;
            }
            None => {
                self.places.insert(socket, Some(self.entries.len()));
                self.entries.push(entry);
                self.tokens.push(token);
            }
        }
    }

    /// Removes the entry there; the last one takes its place.
    fn vacate(&mut self, place: Option<usize>) {
        let Some(place) = place else { return };
        self.entries.swap_remove(place);
        self.tokens.swap_remove(place);
        if let Some(moved) = self.entries.get(place) {
            self.places.insert(moved.fd, Some(place));
        }
    }
}

/// The events that WSAPoll waits for. It refuses the bits of poll(2) that it does not know.
fn poll_events(interest: Interest) -> i16 {
    match interest {
        Interest::Read => POLLRDNORM,
        Interest::Write => POLLWRNORM,
        Interest::Both => POLLRDNORM | POLLWRNORM,
        Interest::Nothing => 0,
    }
}

/// The event that its bits mean.
fn event_from_revents(token: u32, bits: i16) -> Event {
    let has = |wanted| bits & (wanted | POLLERR | POLLHUP | POLLNVAL) != 0;
    Event { token: token as usize, readable: has(POLLRDNORM), writable: has(POLLWRNORM) }
}

impl std::fmt::Debug for Poll {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Poll").field("places", &self.places).finish_non_exhaustive()
    }
}
