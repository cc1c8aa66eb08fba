//! Event ports of illumos and Solaris: unsupported, because they are not implemented yet.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::{Event, Interest, Poller};
use crate::Unsupported;

/// port_create(3C); there is none.
#[derive(Debug)]
pub enum EventPorts {}

impl Poller for EventPorts {
    const EDGE: bool = false;

    fn new() -> io::Result<EventPorts> {
        Err(Unsupported("event ports are not written yet; poll and select are there").into())
    }

    fn add(&mut self, _descriptor: BorrowedFd<'_>, _token: usize, _interest: Interest) -> io::Result<()> {
        match *self {}
    }

    fn change(&mut self, _descriptor: BorrowedFd<'_>, _token: usize, _interest: Interest) -> io::Result<()> {
        match *self {}
    }

    fn remove(&mut self, _descriptor: BorrowedFd<'_>, _token: usize) -> io::Result<()> {
        match *self {}
    }

    fn wait(&mut self, _events: &mut Vec<Event>, _timeout: Option<Duration>) -> io::Result<()> {
        match *self {}
    }
}
