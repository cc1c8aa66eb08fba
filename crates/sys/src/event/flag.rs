//! The cheapest descriptor that can become ready: eventfd(2) on Linux; elsewhere a pipe, which needs two.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A descriptor that is readable while the flag is raised. Never blocks.
#[derive(Debug)]
pub struct Flag {
    shown: OwnedFd,
    #[cfg(not(target_os = "linux"))]
    held: OwnedFd,
}

impl Flag {
    /// A flag that is lowered.
    ///
    /// # Errors
    /// Those of eventfd(2), or of pipe(2) and fcntl(2).
    pub fn new() -> io::Result<Flag> {
        #[cfg(target_os = "linux")]
        {
            use rustix::event::{EventfdFlags, eventfd};
            Ok(Flag { shown: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)? })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let (shown, held) = rustix::pipe::pipe()?;
            for end in [&shown, &held] {
                rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
                rustix::io::ioctl_fionbio(end, true)?;
            }
            Ok(Flag { shown, held })
        }
    }

    /// Makes it readable.
    ///
    /// # Errors
    /// Those of write(2).
    #[inline]
    pub fn raise(&self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        rustix::io::write(&self.shown, &1_u64.to_ne_bytes())?;
        #[cfg(not(target_os = "linux"))]
        rustix::io::write(&self.held, b"!")?;
        Ok(())
    }

    /// Makes it unreadable again.
    ///
    /// # Errors
    /// Those of read(2); `WouldBlock` when it was not raised.
    #[inline]
    pub fn lower(&self) -> io::Result<()> {
        rustix::io::read(&self.shown, &mut [0; 8])?;
        Ok(())
    }
}

impl AsFd for Flag {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shown.as_fd()
    }
}
