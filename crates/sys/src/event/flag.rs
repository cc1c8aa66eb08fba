//! A descriptor that the program makes ready, for events within a process.

pub use platform::Flag;

/// The cheapest descriptor that can become ready: eventfd(2) on Linux; elsewhere a pipe, which needs two.
#[cfg(unix)]
mod platform {
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

    #[cfg(target_os = "linux")]
    impl Flag {
        /// A flag whose raises are counted, and which one read(2) lowers by one; the read waits until there
        /// is one: eventfd(2) with `EFD_SEMAPHORE`.
        ///
        /// # Errors
        /// Those of eventfd(2).
        pub fn semaphore() -> io::Result<Flag> {
            use rustix::event::{EventfdFlags, eventfd};
            Ok(Flag { shown: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::SEMAPHORE)? })
        }

        /// Waits until it is raised, by one poll(2) without time-out. Returns whether it is: a signal may end
        /// the wait too.
        ///
        /// # Errors
        /// Those of poll(2).
        pub fn await_raised(&self) -> io::Result<bool> {
            use rustix::event::{PollFd, PollFlags, poll};
            match poll(&mut [PollFd::new(&self.shown, PollFlags::IN)], None) {
                Ok(ready) => Ok(ready > 0),
                Err(rustix::io::Errno::INTR) => Ok(false),
                Err(error) => Err(error.into()),
            }
        }
    }

    impl AsFd for Flag {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.shown.as_fd()
        }
    }
}

/// Windows: WSAPoll takes only sockets, so the flag is a UDP socket on loopback that sends datagrams to
/// itself.
#[cfg(windows)]
mod platform {
    use std::io;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::windows::io::{AsSocket, BorrowedSocket};

    /// A socket that is readable while the flag is raised. Never blocks.
    #[derive(Debug)]
    pub struct Flag(UdpSocket);

    impl Flag {
        /// A flag that is lowered.
        ///
        /// # Errors
        /// Those of socket, bind, connect and ioctlsocket.
        pub fn new() -> io::Result<Flag> {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            // No other process can raise it.
            socket.connect(socket.local_addr()?)?;
            socket.set_nonblocking(true)?;
            Ok(Flag(socket))
        }

        /// Makes it readable.
        ///
        /// # Errors
        /// Those of send.
        #[inline]
        pub fn raise(&self) -> io::Result<()> {
            self.0.send(b"!").map(drop)
        }

        /// Makes it unreadable again.
        ///
        /// # Errors
        /// Those of recv; `WouldBlock` when it was not raised.
        #[inline]
        pub fn lower(&self) -> io::Result<()> {
            self.0.recv(&mut [0; 8]).map(drop)
        }
    }

    impl AsSocket for Flag {
        fn as_socket(&self) -> BorrowedSocket<'_> {
            self.0.as_socket()
        }
    }
}
