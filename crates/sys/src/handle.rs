//! What calls of the system are given for a socket: its descriptor, or on Windows its handle.

#[cfg(unix)]
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
#[cfg(windows)]
use std::os::windows::io::{AsSocket, BorrowedSocket, OwnedSocket};

/// A socket, open as long as it is borrowed; on Unix any descriptor.
#[cfg(unix)]
pub type Handle<'a> = BorrowedFd<'a>;
/// A socket, open as long as it is borrowed.
#[cfg(windows)]
pub type Handle<'a> = BorrowedSocket<'a>;

/// A socket that is closed when it is dropped; on Unix any descriptor.
#[cfg(unix)]
pub type OwnedHandle = OwnedFd;
/// A socket that is closed when it is dropped.
#[cfg(windows)]
pub type OwnedHandle = OwnedSocket;

/// What has a handle.
pub trait AsHandle {
    /// The handle.
    fn handle(&self) -> Handle<'_>;
}

#[cfg(unix)]
impl<T: AsFd> AsHandle for T {
    #[inline]
    fn handle(&self) -> Handle<'_> {
        self.as_fd()
    }
}

#[cfg(windows)]
impl<T: AsSocket> AsHandle for T {
    #[inline]
    fn handle(&self) -> Handle<'_> {
        self.as_socket()
    }
}
