//! Systems without io_uring.

use std::convert::Infallible;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use super::{Completion, OperationId, RingSettings};
use crate::Unsupported;
use crate::event::Interest;

/// There is none on this system.
#[derive(Debug)]
pub struct Ring(Infallible);

impl Ring {
    /// Reports that this system has no io_uring.
    ///
    /// # Errors
    /// Always [`Unsupported`].
    pub fn new(_settings: RingSettings) -> io::Result<Ring> {
        Err(Unsupported("io_uring is of Linux, on x86-64, Arm64 and RISC-V").into())
    }

    /// Not here.
    ///
    /// # Errors
    /// None, for there is no ring.
    pub fn accept_multishot(&mut self, _listener: BorrowedFd<'_>, _token: u64) -> io::Result<OperationId> {
        match self.0 {}
    }

    /// Not here.
    ///
    /// # Errors
    /// None, for there is no ring.
    pub fn recv_multishot(&mut self, _socket: BorrowedFd<'_>, _token: u64) -> io::Result<OperationId> {
        match self.0 {}
    }

    /// Not here.
    ///
    /// # Errors
    /// None, for there is no ring.
    pub fn send(&mut self, _socket: BorrowedFd<'_>, _bytes: Vec<u8>, _token: u64) -> io::Result<OperationId> {
        match self.0 {}
    }

    /// Not here.
    ///
    /// # Errors
    /// None, for there is no ring.
    pub fn read_at(
        &mut self,
        _file: BorrowedFd<'_>,
        _offset: u64,
        _bytes: Vec<u8>,
        _token: u64,
    ) -> io::Result<OperationId> {
        match self.0 {}
    }

    /// Not here.
    ///
    /// # Errors
    /// None, for there is no ring.
    pub fn poll_once(
        &mut self,
        _descriptor: BorrowedFd<'_>,
        _interest: Interest,
        _token: u64,
    ) -> io::Result<OperationId> {
        match self.0 {}
    }

    /// Not here.
    ///
    /// # Errors
    /// None, for there is no ring.
    pub fn poll_multishot(
        &mut self,
        _descriptor: BorrowedFd<'_>,
        _interest: Interest,
        _token: u64,
    ) -> io::Result<OperationId> {
        match self.0 {}
    }

    /// Not here.
    ///
    /// # Errors
    /// None, for there is no ring.
    pub fn cancel(&mut self, _operation: OperationId) -> io::Result<()> {
        match self.0 {}
    }

    /// Not here.
    pub fn close(&mut self, _descriptor: OwnedFd) {
        match self.0 {}
    }

    /// Not here.
    ///
    /// # Errors
    /// None, for there is no ring.
    pub fn submit(&mut self) -> io::Result<()> {
        match self.0 {}
    }

    /// Not here.
    ///
    /// # Errors
    /// None, for there is no ring.
    pub fn wait(&mut self, _timeout: Option<Duration>) -> io::Result<usize> {
        match self.0 {}
    }

    /// Not here.
    pub fn completion(&mut self) -> Option<Completion<'_>> {
        match self.0 {}
    }

    /// Not here.
    pub fn in_flight(&self) -> usize {
        match self.0 {}
    }
}
