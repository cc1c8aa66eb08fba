//! Sets of processes: groups, and descriptors of processes that are polled together.

use std::io;

use rustix::process::{Pid, Signal};

use super::Child;

impl Child {
    /// Makes the child a member of the process group of that number, which is its own or that of another
    /// child.
    ///
    /// # Errors
    /// Those of setpgid(2).
    pub fn join_group(&self, leader: u32) -> io::Result<()> {
        Ok(rustix::process::setpgid(pid(self.number()), pid(leader))?)
    }

    /// Kills the child and waits until it has ended; it is not reaped.
    ///
    /// # Errors
    /// Those of kill(2) and waitid(2).
    pub fn end(&self) -> io::Result<()> {
        let number = pid(self.number()).ok_or(io::ErrorKind::InvalidInput)?;
        rustix::process::kill_process(number, Signal::KILL)?;
        super::await_end(self.number())
    }
}

fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// Sends signal 0 to every member of a process group: it reaches all of them, and changes none.
///
/// # Errors
/// Those of kill(2).
pub fn probe_group(leader: u32) -> io::Result<()> {
    let leader = pid(leader).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::test_kill_process_group(leader)?)
}

/// Processes that are polled together, by a descriptor of each.
#[cfg(target_os = "linux")]
#[derive(Debug, Default)]
pub struct ProcessWatch {
    descriptors: Vec<std::os::fd::OwnedFd>,
    polled: Vec<libc::pollfd>,
}

#[cfg(target_os = "linux")]
impl ProcessWatch {
    /// Of no process yet.
    pub fn new() -> ProcessWatch {
        ProcessWatch::default()
    }

    /// Adds a child.
    ///
    /// # Errors
    /// Those of pidfd_open(2).
    pub fn add(&mut self, child: &Child) -> io::Result<()> {
        use std::os::fd::AsRawFd;

        let number = pid(child.number()).ok_or(io::ErrorKind::InvalidInput)?;
        let descriptor = rustix::process::pidfd_open(number, rustix::process::PidfdFlags::empty())?;
        self.polled.push(libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 });
        self.descriptors.push(descriptor);
        Ok(())
    }

    /// How many have ended. Does not wait.
    ///
    /// # Errors
    /// Those of poll(2).
    #[inline]
    pub fn poll(&mut self) -> io::Result<usize> {
        // SAFETY: the array has so many elements, and its descriptors are open as long as `self`.
        let ended = unsafe { libc::poll(self.polled.as_mut_ptr(), self.polled.len() as libc::nfds_t, 0) };
        usize::try_from(ended).map_err(|_| io::Error::last_os_error())
    }
}

/// There is none on this system.
#[cfg(not(target_os = "linux"))]
#[derive(Debug, Default)]
pub struct ProcessWatch(());

#[cfg(not(target_os = "linux"))]
impl ProcessWatch {
    /// Of no process.
    pub fn new() -> ProcessWatch {
        ProcessWatch::default()
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn add(&mut self, _child: &Child) -> io::Result<()> {
        Err(crate::Unsupported("descriptors of processes are Linux's; FreeBSD has them by pdfork(2) only")
            .into())
    }

    /// None has ended.
    ///
    /// # Errors
    /// None.
    pub fn poll(&mut self) -> io::Result<usize> {
        Ok(0)
    }
}
