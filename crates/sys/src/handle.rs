//! The argument of system calls for a socket: its descriptor, or on Windows its handle.

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

/// A thing with a handle.
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

/// Whether standard output and standard error go to the same place: to one terminal, or to one file or pipe
/// as after `2>&1`. Where that cannot be found out, only two terminals count as one place.
pub fn are_outputs_one() -> bool {
    use std::io::IsTerminal;
    let are_terminals = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    are_terminals || are_outputs_one_file()
}

#[cfg(unix)]
fn are_outputs_one_file() -> bool {
    use std::os::unix::fs::MetadataExt;
    let file = |handle: BorrowedFd<'_>| {
        let metadata = std::fs::File::from(handle.try_clone_to_owned().ok()?).metadata().ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    let (out, err) = (std::io::stdout(), std::io::stderr());
    file(out.as_fd()).is_some_and(|out| file(err.as_fd()) == Some(out))
}

#[cfg(windows)]
fn are_outputs_one_file() -> bool {
    false
}
